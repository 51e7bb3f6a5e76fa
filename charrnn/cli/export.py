"""``charrnn export``: a model as a file for somebody who does not have charrnn."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.options import check_read_once, flag, group
from charrnn.errors import SettingError
from charrnn.export import KINDS, kind_of
from charrnn.settings.fields import File, OneOf, Text, setting
from charrnn.settings.using import FILE, ExportOptions

EXAMPLES = """
# one web page, for a friend without charrnn: it writes, reads, and asks no network
charrnn export names.html
charrnn export names.html --title Heroes --bits 8

# which says nothing that stands in the corpus (it holds what tells that)
charrnn export names.html --novel names.txt

# a module for a page of your own
charrnn export names.mjs

# one header for a program in C
charrnn export names.h

# for torch, and for whatever runs ONNX: pip install 'charrnn[onnx]'
charrnn export names.safetensors
charrnn export names.onnx
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    out: Path = setting(
        File(),
        f"The file to write. Its suffix says of what kind it is:"
        f" {', '.join(kind.suffix for kind in KINDS.values())}.",
        panel=FILE,
        default=MISSING,
        names=("FILE",),
    )
    to: str | None = setting(
        OneOf(tuple(KINDS)), "Its kind, where the suffix says another.", panel=FILE
    )
    about: dict[str, Any] = group(ExportOptions)
    novel: tuple[str, ...] = setting(
        Text("CORPUS"),
        "A page draws again what stands in this corpus word for word; may be repeated. Whoever has"
        " the page can find out whether a text is in there.",
        panel=FILE,
        default=(),
        repeated=True,
    )
    model: Path = options.model()
    force: bool = flag("Replace a file that is there.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()

    @property
    def kind(self) -> str:
        """What the file is to be."""
        return kind_of(self.out) if self.to is None else self.to

    @property
    def said(self) -> ExportOptions:
        """The same without the corpus, which is not read yet."""
        return ExportOptions(
            **self.about, novel=self.novel, name=self.out.stem, model=self.model.name
        )

    def check(self) -> None:
        """Raise SettingError where an option is not for this kind of file."""
        if str(self.out) == "-":
            raise SettingError("FILE names a file, and - is none", "Name one: names.html")
        takes = KINDS[self.kind].takes
        if self.novel and "novel" not in takes:
            raise SettingError(f"--novel is not for {self.kind}", "Leave it out.")
        self.said.check_for(self.kind, takes)
        check_read_once(self.novel)


def export(options: Options) -> None:
    """Write a model for somebody without charrnn.

    A page (.html) is one file that writes new texts, colours any text by surprise and shows what
    may come next, in any browser, and loads nothing. With 32 bits its texts are those of charrnn
    sample with the same --seed. Nothing in it names the corpus, and no texts are in it. A module
    (.mjs) is the same without the page. A header (.h) is C99 that allocates nothing and draws the
    same texts.

    A .safetensors file loads into the RNN, GRU or LSTM of torch, and an .onnx file runs wherever
    there is a runtime for it: with the same probabilities, but not the same texts.
    """
    options.check()
    thread_count.prepare(1)

    from charrnn.cli.run_export import run  # numpy comes with it, and must find the threads set

    run(options, Console(options.quiet))

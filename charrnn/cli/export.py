"""``charrnn export``: a model as a file for somebody who does not have charrnn."""

from __future__ import annotations

import os
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.options import CommandOptions, Source, flag, group
from charrnn.errors import SettingError
from charrnn.export import KINDS, exported, kind_of
from charrnn.settings.fields import File, OneOf, setting
from charrnn.settings.using import FILE, ExportOptions

if TYPE_CHECKING:
    from charrnn.model import Model

HELP = """
Write a model for somebody without charrnn.

A page (.html) is one file that writes new texts, colours any text by surprise and shows what
may come next, in any browser, and loads nothing. With 32 bits its texts are those of charrnn
sample with the same --seed. Nothing in it names the corpus, and no texts are in it. A module
(.mjs) is the same without the page. A header (.h) is C99 that allocates nothing and draws the
same texts.

A .safetensors file loads into the RNN, GRU or LSTM of torch, and an .onnx file runs wherever
there is a runtime for it: with the same probabilities, but not the same texts.
"""
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

LARGE = 10_000_000  # bytes of a file that a friend has to wait for
SAY = {
    "html": "Open it in a browser.",
    "js": 'Use it with: import model from "./{name}"; model.sample({{ seed: 1 }}).text',
    "c": "The comment at its top says how it is used.",
}


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """The options of charrnn export."""

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
        Source("CORPUS"),
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


def run(options: Options, _threads: int, console: Console) -> None:
    """Write the file."""
    from charrnn.cli.files import OutputFile
    from charrnn.cli.terminal.tables import entries
    from charrnn.runs import load

    file = OutputFile(options.out, "", force=options.force)
    model_as_a_source = os.path.join(os.curdir, options.model)  # no corpus of that name is meant
    model = load(options.model)
    learned_from = (name for name in model.corpus.files if name != "-")
    file.check(model_as_a_source, *options.novel, *learned_from)
    console.note_if_waiting(options.novel)
    said = replace(options.said, novel=known(options, model))
    content = exported(model.trained, options.kind, said)
    if len(content) > LARGE and options.kind in ("html", "js") and said.bits > 8:
        console.note(f"{len(content):,} bytes are much for a page: --bits 8 makes it smaller")
    file.write(len(content), [content])
    if options.as_json:
        about = {"file": str(options.out), "kind": options.kind, "bytes": len(content)}
        console.json("export", {**about, "from": str(options.model)})
        return
    rows = [("file", str(options.out)), ("size", f"{len(content):,} bytes")]
    console.out.write_lines(entries(rows, console.out))
    if options.kind in SAY:
        console.note(SAY[options.kind].format(name=options.out.name))


def known(options: Options, model: Model) -> tuple[str, ...]:
    """The texts of the corpus that a page is not to repeat."""
    from charrnn.sampling.constraints import texts_of
    from charrnn.scoring.texts import codes_in

    return tuple(texts_of(codes_in(options.novel, model.corpus.config.examples, model.reading)))

"""Export a model to HTML, JavaScript, C, PyTorch or ONNX.

A web page (.html) is one file that works in any browser without a network connection. It draws
new texts, colours any text by surprisal and shows the likeliest next characters. It contains
neither the training texts nor the name of the corpus. A module (.mjs) is the same without the page.
A header (.h) is C99 that allocates no memory. With 32 bits these three draw the texts of charrnn
sample with the same --seed.

A .safetensors file loads into the RNN, GRU or LSTM of PyTorch. An .onnx file runs in any ONNX
runtime. Both give the same probabilities, but not the same texts.

All formats take models of --cell tanh, gru and lstm with --ends symbol or halt, without --clock. Of
a model with --counts they take the network alone, with --without-counts.

# one web page, for a friend without charrnn
charrnn export names.html
charrnn export names.html --title Heroes --bits 8

# a page that never repeats a text of the corpus
charrnn export names.html --novel names.txt

# a module for a web page of your own
charrnn export names.mjs

# one header for a program in C
charrnn export names.h

# for PyTorch, and for ONNX runtimes: pip install onnx
charrnn export names.safetensors
charrnn export names.onnx
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile
from charrnn.cli.options import CommandOptions, NewFile, Source, flag, group
from charrnn.errors import SettingError
from charrnn.export import FILE, KINDS, ExportOptions, export, kind_of
from charrnn.settings.fields import OneOf, setting

LARGE = 10_000_000  # bytes: a page that is slow to load
NEXT_STEP = {
    "html": "Open it in a browser.",
    "js": 'Use it with: import model from "./{name}"; model.sample({{ seed: 1 }}).text',
    "c": "The comment at its top shows how to use it.",
}


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    out: Path = setting(
        NewFile(),
        f"The file to write. The suffix selects the format:"
        f" {', '.join(kind.suffix for kind in KINDS.values())}.",
        panel=FILE,
        default=MISSING,
        names=("FILE",),
    )
    to: str | None = setting(
        OneOf(tuple(KINDS)), "Write this format.", panel=FILE, default_in_words="by the suffix"
    )
    about: dict[str, Any] = group(ExportOptions)
    novel: tuple[str, ...] = setting(
        Source("CORPUS"),
        "Make the page reject exact copies of the texts in this corpus. Repeatable. Anyone who has"
        " the page can test whether a text is in the corpus.",
        panel=FILE,
        repeated=True,
    )
    model: Path = options.model()
    force: bool = flag("Replace FILE if it exists.")

    @property
    def kind(self) -> str:
        return kind_of(self.out) if self.to is None else self.to

    @property
    def export_options(self) -> ExportOptions:
        """Return the options of the export; ``novel`` names files that are not read yet."""
        return ExportOptions(
            **self.about, novel=self.novel, name=self.out.stem, model=self.model.name
        )

    def check(self) -> None:
        takes = KINDS[self.kind].takes
        if self.novel and "novel" not in takes:
            raise SettingError(f"--novel does not apply to {self.kind}", "Leave it out.")
        self.export_options.check_for(self.kind, takes)


def run(options: Options, _threads: int, console: Console) -> None:
    from charrnn.cli.terminal.tables import Fact, Report
    from charrnn.corpus.segmentation import texts_in, whole_examples
    from charrnn.runs import load
    from charrnn.texts import codes_like

    file = OutputFile(options.out, "FILE", force=options.force)
    model = load(options.model)
    file.check(options.model, *options.novel, corpus=model.corpus.names)
    console.note_if_waiting(options.novel)
    codes = codes_like(model.corpus, options.novel, {})
    novel = tuple(text for block in whole_examples(codes) for text in texts_in(block))
    about = replace(options.export_options, novel=novel)
    if about.without_counts and model.trained.counted is None:
        console.note(f"{options.model} has no counts to leave out")
    content = export(model.trained, options.kind, about)
    size = len(content)
    if size > LARGE and options.kind in ("html", "js") and about.bits > 8:
        console.note(f"the file is large ({size:,} bytes): --bits 8 makes it smaller")
    file.write(size, [content])
    report = Report(
        Fact("file", str(options.out), "file", str(options.out)),
        Fact("kind", options.kind),
        Fact("bytes", size, "size", f"{size:,} bytes"),
        Fact("from", str(options.model)),
    )
    report.show("export", console, as_json=options.as_json)
    if options.kind in NEXT_STEP and not options.as_json:
        console.note(NEXT_STEP[options.kind].format(name=options.out.name))

"""``charrnn export``: convert a model to another format and write the file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile
from charrnn.cli.terminal.report import Fact, Report
from charrnn.export import exported
from charrnn.model import Model
from charrnn.runs import load
from charrnn.sampling.constraints import texts_of
from charrnn.scoring.texts import codes_in

if TYPE_CHECKING:
    from charrnn.cli.export import Options

LARGE = 10_000_000  # bytes: a page that is slow to load
NEXT_STEP = {
    "html": "Open it in a browser.",
    "js": 'Use it with: import model from "./{name}"; model.sample({{ seed: 1 }}).text',
    "c": "The comment at its top shows how to use it.",
}


def run(options: Options, console: Console) -> None:
    """Write the file and report its size."""
    file = OutputFile(options.out, "", force=options.force)
    model_as_a_source = os.path.join(os.curdir, options.model)  # never the name of a corpus
    model = load(options.model)
    learned_from = (name for name in model.corpus.files if name != "-")
    file.check(model_as_a_source, *options.novel, *learned_from)
    console.note_if_waiting(options.novel)
    said = replace(options.said, novel=known(options, model))
    content = exported(model.trained, options.kind, said)
    if len(content) > LARGE and options.kind in ("html", "js") and said.bits > 8:
        console.note(f"the page is large ({len(content):,} bytes): --bits 8 makes it smaller")
    file.write(len(content), [content])
    report = Report(
        [
            Fact("file", str(options.out), "file", str(options.out)),
            Fact("kind", options.kind),
            Fact("bytes", len(content), "size", f"{len(content):,} bytes"),
            Fact("from", str(options.model)),
        ]
    )
    report.show("export", console, as_json=options.as_json)
    if options.kind in NEXT_STEP and not options.as_json:
        console.note(NEXT_STEP[options.kind].format(name=options.out.name))


def known(options: Options, model: Model) -> tuple[str, ...]:
    """Return the texts that an exported page must not repeat (--novel)."""
    return tuple(texts_of(codes_in(options.novel, model.corpus.config.examples, model.reading)))

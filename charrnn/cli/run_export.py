"""What ``charrnn export`` does: load, make the file, write it beside and rename it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile
from charrnn.cli.terminal.tables import entries
from charrnn.export import exported
from charrnn.model import Model
from charrnn.runs import load
from charrnn.sampling.constraints import texts_of
from charrnn.scoring.texts import codes_in

if TYPE_CHECKING:
    from charrnn.cli.export import Options

LARGE = 10_000_000  # bytes of a file that a friend has to wait for
SAY = {
    "html": "Open it in a browser.",
    "js": 'Use it with: import model from "./{name}"; model.sample({{ seed: 1 }}).text',
    "c": "The comment at its top says how it is used.",
}


def run(options: Options, console: Console) -> None:
    """Do all of it."""
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
    return tuple(texts_of(codes_in(options.novel, model.corpus.config.examples, model.reading)))

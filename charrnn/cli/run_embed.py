"""What ``charrnn embed`` does: find the texts, read them, write what became of each."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from numpy.lib import format as npy

from charrnn.analysis.embedding import Embedded, Vectors, embedded
from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile, Reads, codes_for, note_if_several
from charrnn.cli.terminal.tables import count
from charrnn.errors import CorpusError
from charrnn.runs import load
from charrnn.text import encodable

if TYPE_CHECKING:
    from charrnn.cli.embed import Options

NOTHING = CorpusError("there is no example in what was read", "Name a text that is not empty.")


def run(options: Options, console: Console) -> None:
    """Do all of it."""
    model = load(options.model)
    file = None
    if options.output is not None:
        file = OutputFile(options.output, "--output", force=options.force)
        learned_from = (one for one in model.corpus.files if one != "-")
        file.check(options.model_as_a_source, *options.sources, *learned_from)
    console.note_if_waiting(options.sources)
    note_if_several(model, console)
    codes = codes_for(model, Reads(options.sources, options.examples, options.reading))
    found = embedded(model.language_model, codes)
    if file is None:
        write_lines(found, console)
        return
    vectors = [some.vectors for some in found]
    rows = sum(map(len, vectors))
    if not rows:
        raise NOTHING
    write_array(file, vectors, rows)
    console.note(f"{count(rows, 'vector')} of {model.config.hidden:,} numbers: {file.path}")


def write_lines(found: Iterator[Embedded], console: Console) -> None:
    """A line of JSON for each example."""
    is_empty = True
    for some in found:
        for text, vector in zip(some.texts, some.vectors.tolist(), strict=True):
            console.json("embed", {"text": encodable(text), "vector": vector})
            is_empty = False
    if is_empty:
        raise NOTHING


def write_array(file: OutputFile, vectors: list[Vectors], rows: int) -> None:
    """All vectors as one array, as numpy.save would write it."""
    first = vectors[0]
    head = io.BytesIO()
    about = npy.header_data_from_array_1_0(first) | {"shape": (rows, first.shape[1])}
    npy.write_array_header_1_0(head, about)
    size = len(head.getvalue()) + sum(one.nbytes for one in vectors)
    file.write(size, [head.getvalue(), *(one.tobytes() for one in vectors)])

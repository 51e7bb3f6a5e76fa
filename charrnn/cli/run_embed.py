"""``charrnn embed``: write one vector for each text, as JSON or as a NumPy array."""

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


def run(options: Options, console: Console) -> None:
    """Write the vectors to stdout, or into the file of --output."""
    model = load(options.model)
    file = None
    if options.output is not None:
        file = OutputFile(options.output, "--output", force=options.force)
        learned_from = (name for name in model.corpus.files if name != "-")
        file.check(options.model_as_a_source, *options.sources, *learned_from)
    console.note_if_waiting(options.sources)
    note_if_several(model, console)
    codes = codes_for(model, Reads(options.sources, options.examples, options.reading))
    batches = embedded(model.language_model, codes)
    rows = 0
    if file is None:
        rows = write_lines(batches, console)
    else:
        vectors = [batch.vectors for batch in batches]
        rows = sum(map(len, vectors))
    if not rows:
        raise CorpusError("the text has no examples", "Name a text that is not empty.")
    if file is not None:
        write_array(file, vectors, rows)
        console.note(f"{count(rows, 'vector')} of {model.config.hidden:,} numbers: {file.path}")


def write_lines(batches: Iterator[Embedded], console: Console) -> int:
    """Write a JSON object for each example; return their number."""
    rows = 0
    for batch in batches:
        for text, vector in zip(batch.texts, batch.vectors.tolist(), strict=True):
            console.json("embed", {"text": encodable(text), "vector": vector})
        rows += len(batch.texts)
    return rows


def write_array(file: OutputFile, vectors: list[Vectors], rows: int) -> None:
    """Write all vectors as one array, in the format of numpy.save."""
    first = vectors[0]
    header = io.BytesIO()
    fields = npy.header_data_from_array_1_0(first) | {"shape": (rows, first.shape[1])}
    npy.write_array_header_1_0(header, fields)
    size = len(header.getvalue()) + sum(batch.nbytes for batch in vectors)
    file.write(size, [header.getvalue(), *(batch.tobytes() for batch in vectors)])

"""Convert each text to a vector.

The vector is the last hidden state of the top layer, after the whole text, with a number for each
unit. Texts with similar continuations have similar
vectors. The vector of a text does not depend on the other texts.

The output is one JSON object per example, with its text and vector. With -o it is an array
(examples, units) of 32-bit numbers. Blank lines are skipped.

# a line of JSON for each name
charrnn embed names.txt | head -n 2

# an array for NumPy, with a row for each name
charrnn embed names.txt -o names.npy

# a single text
echo Tyrannosaurus | charrnn embed | jq -c .vector
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile, codes_for
from charrnn.cli.options import OUTPUT, NewFile, TextOptions, excludes, flag, needs
from charrnn.errors import CorpusError
from charrnn.settings.fields import setting
from charrnn.text import encodable

if TYPE_CHECKING:
    from charrnn.analysis import Vectors


@dataclass(frozen=True, kw_only=True)
class Options(TextOptions):
    RULES = (*options.TEXT_OR_HELD_OUT, excludes("output", "as_json"), needs("force", "output"))

    model: Path = options.model()
    output: Path | None = setting(
        NewFile("FILE.npy", "a file name that ends in .npy", (".npy",)),
        "Write an array for numpy.load into this file, and nothing to stdout.",
        panel=OUTPUT,
        names=("-o", "--output"),
    )
    force: bool = flag("Replace the file of --output if it exists.")
    as_json: bool = flag("Write JSON; the default without -o.", names=("--json",))


def run(options: Options, _threads: int, console: Console) -> None:
    from charrnn.analysis import embed
    from charrnn.cli.terminal.tables import count
    from charrnn.runs import load

    model = load(options.model)
    file = None
    if options.output is not None:
        file = OutputFile(options.output, "--output", force=options.force)
        file.check(options.model, *options.sources, corpus=model.corpus.names)
    console.note_if_waiting(options.sources)
    vectors: list[Vectors] = []
    rows = 0
    for batch in embed(model.language_model, codes_for(model, options)):
        rows += len(batch.texts)
        if file is not None:
            vectors.append(batch.vectors)
            continue
        for text, vector in zip(batch.texts, batch.vectors.tolist(), strict=True):
            console.json("embed", {"text": encodable(text), "vector": vector})
    if not rows:
        raise CorpusError("the text has no examples", "Name a text that is not empty.")
    if file is not None:
        write_array(file, vectors, rows)
        console.note(f"{count(rows, 'vector')} of {model.config.hidden:,} numbers: {file.path}")


def write_array(file: OutputFile, vectors: list[Vectors], rows: int) -> None:
    """Write all vectors as one array, in the format of numpy.save."""
    import io

    from numpy.lib import format as npy

    first = vectors[0]
    header = io.BytesIO()
    fields = npy.header_data_from_array_1_0(first) | {"shape": (rows, first.shape[1])}
    npy.write_array_header_1_0(header, fields)
    size = len(header.getvalue()) + sum(batch.nbytes for batch in vectors)
    file.write(size, [header.getvalue(), *(batch.tobytes() for batch in vectors)])

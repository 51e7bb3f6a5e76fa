"""``charrnn embed``: one vector for each text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.options import (
    OUTPUT,
    TEXT_OR_HELD_OUT,
    CommandOptions,
    excludes,
    flag,
    group,
    like,
    needs,
)
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import CORPUS, File, setting
from charrnn.text import encodable

if TYPE_CHECKING:
    from charrnn.analysis.embedding import Embedded, Vectors
    from charrnn.cli.files import OutputFile

HELP = """
Turn each text into one vector.

The vector is the state of the network's top layer when it has read the whole text, the one
from which it predicts the end: as many numbers as a layer has units. Texts that would go on
alike are near each other. A text has the same vector alone and among thousands. Of several
networks (train --members), it is the first.

There is a line of JSON for each example, with its text and its vector; with -o there is an
array (examples, units) of 32-bit numbers instead. Blank lines are no examples.
"""
EXAMPLES = """
# a line of JSON for each name
charrnn embed names.txt | head -n 2

# an array for NumPy, a row for each
charrnn embed names.txt -o names.npy

# one text alone
echo Tyrannosaurus | charrnn embed | jq -c .vector
"""


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """The options of charrnn embed."""

    RULES = (*TEXT_OR_HELD_OUT, excludes("output", "as_json"), needs("force", "output"))

    sources: tuple[str, ...] = options.sources(
        "TEXT",
        "What to read: files, or - for standard input, which is read as well where it is a pipe or"
        " a file and no TEXT is named. Else it is what was held out in training.",
    )
    held_out: bool = flag("Read what was held out in training, whatever is piped.", panel=CORPUS)
    examples: str | None = like(CorpusConfig, "examples", default_in_words="as in training")
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    model: Path = options.model()
    output: Path | None = setting(
        File("FILE.npy"),
        "Write an array into this file, for numpy.load, and nothing to stdout.",
        panel=OUTPUT,
        names=("-o", "--output"),
    )
    force: bool = flag("Replace that file if it is there.")
    as_json: bool = flag("Write JSON, which is what it does without -o.", names=("--json",))
    quiet: bool = options.quiet()

    def check(self) -> None:
        """Raise SettingError if the array has no file to go to."""
        if self.output == Path("-"):
            raise SettingError(
                "--output names a file, and - is none",
                "Without it, JSON goes to standard output.",
            )

    @property
    def model_as_a_source(self) -> str:
        """The model as a file that must not be written over: no corpus of that name is meant."""
        return os.path.join(os.curdir, self.model)


NOTHING = CorpusError("there is no example in what was read", "Name a text that is not empty.")


def run(options: Options, _threads: int, console: Console) -> None:
    """Write the vector of each text."""
    from charrnn.analysis.embedding import embedded
    from charrnn.cli.files import OutputFile, Reads, codes_for, note_if_several
    from charrnn.cli.terminal.tables import count
    from charrnn.runs import load

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
    import io

    from numpy.lib import format as npy

    first = vectors[0]
    head = io.BytesIO()
    about = npy.header_data_from_array_1_0(first) | {"shape": (rows, first.shape[1])}
    npy.write_array_header_1_0(head, about)
    size = len(head.getvalue()) + sum(one.nbytes for one in vectors)
    file.write(size, [head.getvalue(), *(one.tobytes() for one in vectors)])

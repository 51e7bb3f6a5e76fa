"""Checks of a corpus: is too much held out, too little left to learn from, or anything in both?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

import numpy as np

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.vocabulary import END

LOOKED_FOR: Final = 1 << 16  # held-out examples
LOOKED_THROUGH: Final = 1 << 24  # symbols of the training part
BLOCK: Final = 1 << 10  # examples compared at a time


@dataclass(frozen=True)
class Warned:
    """A warning, and the two numbers behind it."""

    kind: Literal["much held out", "few examples", "repeated"]
    count: int  # characters held out; examples learned from; held-out examples that are known
    of: int  # all characters; all examples; held-out examples that were looked for


def warnings(corpus: Corpus) -> list[Warned]:
    """Return the reasons to doubt figures that are measured on this corpus."""
    train, held_out = corpus.train, corpus.held_out
    characters = train.characters + held_out.characters
    found = []
    if not corpus.valid and 3 * held_out.characters > characters:
        found.append(Warned("much held out", held_out.characters, characters))
    if len(train) < 2 and corpus.examples_are != "files":  # one does not show how examples end
        found.append(Warned("few examples", len(train), len(train) + len(held_out)))
    known, looked_for = repeated(train, held_out)
    if known:
        found.append(Warned("repeated", known, looked_for))
    return found


def repeated(train: Examples, held_out: Examples) -> tuple[int, int]:
    """Count the held-out examples that also are training examples; and those that were looked for.

    At most LOOKED_FOR of them are looked for, evenly spread, and only among the first
    LOOKED_THROUGH symbols of the training part: a warning must not delay the start.
    """
    every = -(-len(held_out) // LOOKED_FOR) or 1
    wanted = list(islice(_texts(held_out, len(held_out)), 0, None, every))
    longest = max(map(len, wanted), default=0)
    first = int(np.searchsorted(train.starts, train.starts.dtype.type(LOOKED_THROUGH)))
    known = set(wanted).intersection(_texts(train, min(first, len(train)), longest))
    return sum(text in known for text in wanted), len(wanted)


def _texts(examples: Examples, count: int, longest: int | None = None) -> Iterator[str]:
    """Yield the first ``count`` examples, a character for each id; not those that are too long."""
    for at in range(0, count, BLOCK):
        starts = examples.starts[at : min(at + BLOCK, count) + 1]
        lengths = np.diff(starts)
        ids = examples.ids[starts[0] : starts[-1]]
        if longest is not None and lengths.max() > longest + 1:  # END counted
            ids = ids[(lengths <= longest + 1).repeat(lengths)]
        text = ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        yield from text.split(chr(END))[:-1]

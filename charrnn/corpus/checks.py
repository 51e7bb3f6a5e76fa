"""What is doubtful about a corpus: figures that may not mean what they seem to.

Examples told apart by 64 bits each: how many of those held out also stand among the others.

    mark = sum over t of letter[x(t)] weight[t]   modulo 2^64

Letters and weights are random numbers that are the same each time. Among a million examples, one
is found that is not there by a chance of less than one in a hundred million."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.vocabulary import END

Marks = NDArray[np.uint64]

MOST: Final = 1 << 16  # held-out examples that are looked for: few enough to be found fast
FIRST_BITS: Final = np.uint64(44)  # what is left of 64 beside 20
BLOCK: Final = 1 << 15  # symbols worked on at a time
ENOUGH: Final = 1 << 24  # symbols of the training part
PLACES: Final = 1 << 16  # that have a weight of their own


def repeated(train: Examples, held_out: Examples) -> tuple[int, int]:
    """How many held-out examples also stand in the training part, letter for letter; of how many.

    Where there are more than MOST, some are looked for, evenly spread. Of a training part of more
    than ENOUGH symbols, its beginning is looked through: nobody waits long for a warning.
    """
    if not len(held_out):
        return 0, 0
    symbols = 1 + int(max(train.ids.max(), held_out.ids.max()))
    every = -(-len(held_out) // MOST)
    wanted = np.concatenate([*_marks(held_out, symbols, len(held_out.ids))])[::every]
    distinct, which = np.unique(wanted, return_inverse=True)
    is_there = np.zeros(len(distinct), np.bool_)
    may_be = np.zeros(1 << 20, np.bool_)  # by their first bits, which is a faster look
    may_be[distinct >> FIRST_BITS] = True
    for marks in _marks(train, symbols, ENOUGH):
        marks = marks[may_be[marks >> FIRST_BITS]]
        at = np.searchsorted(distinct, marks).clip(max=len(distinct) - 1)
        is_there[at[distinct[at] == marks]] = True
    return int(np.count_nonzero(is_there[which])), len(wanted)


def _marks(examples: Examples, symbols: int, enough: int) -> Iterator[Marks]:
    """The mark of each example, in their order, as long as they begin among so many symbols."""
    letters, weights = _random(symbols, 1), _random(PLACES, 2)
    starts, begun = examples.starts, np.zeros(1, np.uint64)
    for at in range(0, min(len(examples.ids), enough), BLOCK):
        ids = examples.ids[at : at + BLOCK]
        # The type is named: an int would have NumPy copy all starts, each time.
        first, last = np.searchsorted(
            starts, np.array([at, at + len(ids)], starts.dtype), side="right"
        )
        edges = starts[first - 1 : last].astype(np.int64)
        if edges[-1] == at + len(ids):  # the next one begins beyond this block
            edges = edges[:-1]
        inside = edges.clip(at) - at
        places = np.arange(at, at + len(ids)) - edges.repeat(np.diff(inside, append=len(ids)))
        terms = letters.take(ids, mode="clip") * weights.take(places, mode="wrap")
        sums = np.add.reduceat(terms, inside)
        sums[:1] += begun
        whole = len(sums) - (ids[-1] != END)
        begun = sums[whole:] if whole < len(sums) else np.zeros(1, np.uint64)
        yield sums[:whole]


@cache
def _random(count: int, use: int) -> Marks:
    return np.random.default_rng(use).integers(0, 1 << 64, count, np.uint64) | np.uint64(1)


MUCH: Final = Fraction(1, 3)  # of the characters
FEWEST: Final = 2  # examples: from one alone nobody learns how examples end


@dataclass(frozen=True)
class Warned:
    """A doubt, and the two numbers that it rests on."""

    kind: Literal["much held out", "few examples", "repeated"]
    count: int  # characters held out; examples learned from; held-out examples that are known
    of: int  # all characters; all examples; held-out examples that were looked at


def warnings(corpus: Corpus) -> list[Warned]:
    """What should be told before anybody believes a figure. It takes a look at every example.

    Files to validate with take nothing away, however large they are; and a file as a whole is one
    example only because somebody wished it.
    """
    train, held_out = corpus.train, corpus.held_out
    known, looked_at = repeated(train, held_out)
    characters = train.characters + held_out.characters
    found = [
        Warned("much held out", held_out.characters, characters),
        Warned("few examples", len(train), len(train) + len(held_out)),
        Warned("repeated", known, looked_at),
    ]
    is_so = (
        not corpus.valid and held_out.characters > MUCH * characters,
        len(train) < FEWEST and corpus.examples_are != "files",
        known > 0,
    )
    return [one for one, so in zip(found, is_so, strict=True) if so]

"""A text cut into pieces that can be scored apart, by other processes or at another time.

A piece ends where the first example ends that makes it PIECE symbols long, or longer. The state is
zero where an example begins, so what a symbol costs does not depend on who has read what stands
before it: the sums over all pieces are those over the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from charrnn.corpus.segmentation import END_CODE
from charrnn.errors import CorpusError
from charrnn.settings.part import Part
from charrnn.vocabulary import Codes

PIECE: Final = 1 << 18  # symbols: a second or two of work
LONGEST: Final = 1 << 26  # symbols of an example, which has to be held as a whole


def whole_pieces(blocks: Iterable[Codes], symbols: int | None = None) -> Iterator[Codes]:
    """The pieces of a text, which do not depend on the blocks in which it comes."""
    least = symbols or PIECE
    begun: list[Codes] = []
    size = 0  # of what has begun
    for block in blocks:
        ends = np.flatnonzero(block == END_CODE)
        start = 0
        while (at := int(ends.searchsorted(start + least - 1 - size))) < len(ends):
            stop = int(ends[at]) + 1
            yield np.concatenate([*begun, block[start:stop]])
            begun, size, start = [], 0, stop
        begun.append(block[start:])
        size += len(block) - start
        if size > LONGEST + least:
            raise CorpusError(
                f"an example has more than {LONGEST:,} characters, and is not cut",
                "Score it in one piece.",
            )
    if size:
        yield np.concatenate(begun)


class Extent(NamedTuple):
    """How many pieces a text has, and a hash by which it is known again."""

    pieces: int
    digest: str


def extent_of(blocks: Iterable[Codes]) -> Extent:
    """That of a text, read to its end."""
    found, count = blake2b(digest_size=16), 0
    for piece in whole_pieces(blocks):
        count += 1
        found.update(piece.astype("<u4").tobytes())
    return Extent(count, found.hexdigest())


def span_of(part: Part, pieces: int) -> range:
    """The numbers of the pieces that a part has: the parts follow each other, of about one size."""
    return range(pieces * (part.number - 1) // part.of, pieces * part.number // part.of)


def pieces_within(blocks: Iterable[Codes], span: range) -> tuple[int, Iterator[Codes]]:
    """How many examples come before these pieces of a text; and the pieces."""
    pieces = whole_pieces(blocks)
    before = sum(int(np.count_nonzero(piece == END_CODE)) for piece in islice(pieces, span.start))
    return before, islice(pieces, len(span))

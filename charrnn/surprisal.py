"""A text with what each of its symbols cost, piece by piece; and the same example by example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from charrnn.cutting import END_CODE
from charrnn.score import Score, tally
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids, Vocabulary

Floats = NDArray[np.float64]
Ranks = NDArray[np.integer[Any]]

AT_ONCE: Final = 1 << 20  # symbols read together: enough for long stretches, little for memory
AS_THEY_COME: Final = 1  # for whoever waits at the other end of a pipe


class Reader(Protocol):
    """Whoever reads on and on, and says what each symbol cost."""

    vocabulary: Vocabulary

    def begin(self) -> None:
        """Forget what was read."""

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        """The surprisal of every symbol, given all that was read since the beginning; its rank."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some symbols of a text in their order, and what each of them cost."""

    codes: Codes  # (S,)  END_CODE after each example
    ids: Ids  # (S,)
    nats: Floats  # (S,)
    ranks: Ranks | None  # (S,)  1: nothing was likelier

    def score(self) -> Score:
        """The sums over them."""
        return tally(self.ids, self.nats, self.codes)


def pieces(reader: Reader, blocks: Iterable[Codes], symbols: int = AT_ONCE) -> Iterator[Piece]:
    """A whole text from its beginning, in pieces of about so many symbols, cut anywhere."""
    reader.begin()
    for codes in _joined(blocks, symbols):
        ids = reader.vocabulary.encode_codes(codes)
        ids[codes == END_CODE] = END
        yield Piece(codes, ids, *reader.read(ids))


def _joined(blocks: Iterable[Codes], symbols: int) -> Iterator[Codes]:
    waiting: list[Codes] = []
    size = 0
    for block in blocks:
        for at in range(0, len(block), AT_ONCE):
            waiting.append(block[at : at + AT_ONCE])
            size += len(waiting[-1])
            if size >= symbols:
                yield np.concatenate(waiting)
                waiting, size = [], 0
    if size:
        yield np.concatenate(waiting)


@dataclass(frozen=True, eq=False)
class Rows:
    """Whole examples, and what each of them cost."""

    codes: Codes  # (S,)  END_CODE after each example
    stops: NDArray[np.int64]  # (n,)  where each ends: the place of its END_CODE
    nats: Floats  # (n,)  END counted
    unknown: NDArray[np.int64]  # (n,)  characters never seen

    def __len__(self) -> int:
        return len(self.stops)

    @property
    def characters(self) -> NDArray[np.int64]:
        """(n,)  their lengths, END not counted."""
        return np.diff(self.stops, prepend=-1) - 1

    @property
    def nats_per_character(self) -> Floats:
        """(n,)  over characters and END."""
        means: Floats = self.nats / (self.characters + 1)
        return means

    def text(self, i: int) -> str:
        """The characters of one of them."""
        start = int(self.stops[i - 1]) + 1 if i else 0
        return text_of(self.codes[start : self.stops[i]])


def text_of(codes: Codes) -> str:
    """The text of code points; an END prints nothing."""
    plain = codes[codes != END_CODE] if len(codes) else codes
    return plain.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def examples(pieces: Iterable[Piece]) -> Iterator[Rows]:
    """The same text by whole examples: at each piece those that end in it."""
    begun: list[Piece] = []  # what there is of an example whose END is yet to come
    for piece in pieces:
        ends = np.flatnonzero(piece.ids == END)
        if not len(ends):
            begun.append(piece)
            continue
        rows, rest = _split(piece, int(ends[-1]) + 1)
        yield _rows([*begun, rows])
        begun = [rest] if len(rest.ids) else []


def _split(piece: Piece, at: int) -> tuple[Piece, Piece]:
    first, second = slice(0, at), slice(at, None)
    return (
        Piece(piece.codes[first], piece.ids[first], piece.nats[first], None),
        Piece(piece.codes[second], piece.ids[second], piece.nats[second], None),
    )


def _rows(parts: list[Piece]) -> Rows:
    ids = np.concatenate([part.ids for part in parts])
    stops = np.flatnonzero(ids == END)
    starts = np.concatenate([[0], stops[:-1] + 1])
    nats = np.concatenate([part.nats for part in parts])
    return Rows(
        np.concatenate([part.codes for part in parts]),
        stops,
        np.add.reduceat(nats, starts),
        np.add.reduceat(ids == UNKNOWN, starts, dtype=np.int64),
    )

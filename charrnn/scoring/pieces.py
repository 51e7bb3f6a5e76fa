"""A text with what each of its symbols cost, piece by piece; and the same example by example.

A text cut into pieces that can be scored apart, by other processes or at another time.

A piece ends where the first example ends that makes it PIECE symbols long, or longer. The state is
zero where an example begins, so what a symbol costs does not depend on who has read what stands
before it: the sums over all pieces are those over the text.

Where each example of some files begins: in which of them, and on which line."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import END_CODE, NEWLINE, LineNumbers
from charrnn.errors import CorpusError
from charrnn.network.rounding import UNIT
from charrnn.scoring.score import Score, sum_of_units, sums_of_units, tallies, tally
from charrnn.settings.using import Part
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids, Vocabulary

Floats = NDArray[np.float64]
Ranks = NDArray[np.integer[Any]]

AT_ONCE: Final = 1 << 20  # symbols read together: enough for long chunks, little for memory
AS_THEY_COME: Final = 1  # for whoever waits at the other end of a pipe


class Reader(Protocol):
    """Whoever reads on and on, and says what each symbol cost."""

    vocabulary: Vocabulary
    wants_whole: bool  # whether examples must not be cut: their lengths come first

    @property
    def parts(self) -> Mapping[str, Floats]:
        """What the symbols that were read last cost each of those that it asks, by name."""

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
    parts: Mapping[str, Floats] = field(default_factory=dict)  # (S,) each: nats of each part

    def score(self) -> Score:
        """The sums over them."""
        return tally(self.ids, self.nats, self.codes)

    def of(self, part: str) -> Piece:
        """The same as one of the parts has it."""
        return Piece(self.codes, self.ids, self.parts[part], None)


@dataclass(frozen=True, eq=False)
class SummedPiece(Piece):
    """A piece that somebody else has read, and of which nothing is known but its text and the sums:
    its own under no name, those of its parts under theirs.
    """

    sums: Mapping[str, Score] = field(default_factory=dict)

    def score(self) -> Score:
        return self.sums[""]

    def of(self, part: str) -> Piece:
        return summed(self.codes, {"": self.sums[part]})


def summed(codes: Codes, sums: Mapping[str, Score]) -> SummedPiece:
    """A piece of which the sums are known."""
    parts = {name: np.empty(0) for name in sums if name}
    return SummedPiece(codes, np.empty(0, np.uint8), np.empty(0), None, parts, sums)


def pieces(
    reader: Reader, blocks: Iterable[Codes], symbols: int = AT_ONCE, *, whole: bool = False
) -> Iterator[Piece]:
    """A whole text from its beginning, in pieces of about so many symbols, cut anywhere unless
    the reader has to know where examples end, or somebody else has, who reads beside it.
    """
    reader.begin()
    joined = _joined(blocks, symbols)
    for codes in whole_examples(joined) if whole or reader.wants_whole else joined:
        ids = reader.vocabulary.encode_codes(codes)
        ids[codes == END_CODE] = END
        yield Piece(codes, ids, *reader.read(ids), dict(reader.parts))


def whole_examples(blocks: Iterable[Codes]) -> Iterator[Codes]:
    """The same, cut only where an example ends."""
    begun: list[Codes] = []
    for codes in blocks:
        ends = np.flatnonzero(codes == END_CODE)
        after = int(ends[-1]) + 1 if len(ends) else 0
        if after:
            yield np.concatenate([*begun, codes[:after]])
            begun = []
        begun.append(codes[after:])
    rest = np.concatenate([np.empty(0, np.uint32), *begun])
    if len(rest):
        yield rest


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


def scores(reader: Reader, blocks: Iterable[Codes]) -> Iterator[Score]:
    """The sums over each example of a text, as soon as its END was read."""
    begun = Score()  # of an example whose END is yet to come
    for piece in pieces(reader, blocks):
        found = tallies(piece.ids, piece.nats, piece.codes)
        found[0] = begun + found[0]
        begun = Score() if piece.ids[-1] == END else found.pop()
        yield from found


@dataclass(frozen=True, eq=False)
class Rows:
    """Whole examples, and what each of them cost."""

    spelt: str  # all of them, with one character more after each
    stops: NDArray[np.int64]  # (n,)  where each ends
    nats: Floats  # (n,)  END counted
    unknown: NDArray[np.int64]  # (n,)  characters never seen
    parts: Mapping[str, Floats] = field(default_factory=dict)  # (n,) each: nats, END counted

    def __len__(self) -> int:
        return len(self.stops)

    @cached_property
    def characters(self) -> NDArray[np.int64]:
        """(n,)  their lengths, END not counted."""
        return np.diff(self.stops, prepend=-1) - 1

    @cached_property
    def nats_per_character(self) -> Floats:
        """(n,)  over characters and END."""
        means: Floats = self.nats / (self.characters + 1)
        return means

    def text(self, i: int) -> str:
        """The characters of one of them."""
        stop = int(self.stops[i])
        return self.spelt[stop - int(self.characters[i]) : stop]


def text_of(codes: Codes) -> str:
    """The text of code points; an END looks like a newline."""
    spelt = np.where(codes == END_CODE, NEWLINE, codes).astype("<u4")
    return spelt.tobytes().decode("utf-32-le", "surrogatepass")


class Gatherer:
    """Makes whole examples of pieces that are cut anywhere.

    Of one that is longer than AT_ONCE nothing is kept but its text and its sums.
    """

    def __init__(self) -> None:
        self._begun: list[Piece] = []  # what there is of an example whose END is yet to come
        self._size = 0  # symbols in that
        self._spelt: list[str] = []  # what stands before that, where it is long
        self._units = 0
        self._units_of: dict[str, int] = {}  # of each part
        self._unknown = 0

    def add(self, piece: Piece) -> Rows | None:
        """The examples that end in this piece, if any do."""
        ends = np.flatnonzero(piece.ids == END)
        if not len(ends):
            self._begun.append(piece)
            self._size += len(piece.ids)
            if self._size >= AT_ONCE:
                self._sum_up()
            return None
        whole, rest = _split(piece, int(ends[-1]) + 1)
        rows = _rows([*self._begun, whole])
        if self._spelt:
            rows = self._completed(rows)
        self._size = len(rest.ids)
        self._begun = [rest] if self._size else []
        return rows

    def _sum_up(self) -> None:
        for part in self._begun:
            self._spelt.append(text_of(part.codes))
            self._units += sum_of_units(part.nats)
            for name, nats in part.parts.items():
                self._units_of[name] = self._units_of.get(name, 0) + sum_of_units(nats)
            self._unknown += int(np.count_nonzero(part.ids == UNKNOWN))
        self._begun, self._size = [], 0

    def _completed(self, rows: Rows) -> Rows:
        """The rows, what was summed up put before the first of them."""
        spelt = "".join([*self._spelt, rows.spelt])
        rows.nats[0] = (self._units + round(rows.nats[0] / UNIT)) * UNIT
        for name, units in self._units_of.items():
            rows.parts[name][0] = (units + round(rows.parts[name][0] / UNIT)) * UNIT
        rows.unknown[0] += self._unknown
        self._spelt, self._units, self._units_of, self._unknown = [], 0, {}, 0
        stops = rows.stops + len(spelt) - len(rows.spelt)
        return Rows(spelt, stops, rows.nats, rows.unknown, rows.parts)


def _split(piece: Piece, at: int) -> tuple[Piece, Piece]:
    first, second = (_cut(piece, part) for part in (slice(0, at), slice(at, None)))
    return first, second


def _cut(piece: Piece, part: slice) -> Piece:
    parts = {name: nats[part] for name, nats in piece.parts.items()}
    return Piece(piece.codes[part], piece.ids[part], piece.nats[part], None, parts)


def _rows(parts: list[Piece]) -> Rows:
    ids = np.concatenate([part.ids for part in parts])
    stops = np.flatnonzero(ids == END)
    starts = np.concatenate([[0], stops[:-1] + 1])
    nats = np.concatenate([part.nats for part in parts])
    return Rows(
        text_of(np.concatenate([part.codes for part in parts])),
        stops,
        sums_of_units(nats, starts),
        np.add.reduceat(ids == UNKNOWN, starts, dtype=np.int64),
        {
            name: sums_of_units(np.concatenate([part.parts[name] for part in parts]), starts)
            for name in parts[0].parts
        },
    )


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


Numbers = NDArray[np.int64]


class Origins:
    """Noted while the files are cut, and taken as soon as examples are complete."""

    def __init__(self) -> None:
        self._files = 0
        self._noted: deque[tuple[int, Numbers]] = deque()  # a file, and lines of it

    def of_next_file(self) -> LineNumbers:
        """What notes the lines of one more file."""
        number = self._files
        self._files += 1
        return LineNumbers(lambda lines: self.note(number, lines))

    def note(self, file: int, lines: Numbers) -> None:
        """Examples begin on these lines of a file."""
        self._noted.append((file, lines))

    def take(self, count: int) -> tuple[Numbers, Numbers]:
        """The files and the lines of the next examples, so many of them; both count from the first,
        files from 0 and lines from 1.
        """
        files, lines, left = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], count
        while left:
            file, noted = self._noted.popleft()
            if len(noted) > left:
                self._noted.appendleft((file, noted[left:]))
            lines.append(noted[:left])
            files.append(np.full(len(lines[-1]), file, np.int64))
            left -= len(lines[-1])
        return np.concatenate(files), np.concatenate(lines)


class Several(Origins):
    """What is noted here is noted by all of these, who are asked at different times."""

    def __init__(self, *others: Origins) -> None:
        super().__init__()
        self._others = others

    def note(self, file: int, lines: Numbers) -> None:
        for other in self._others:
            other.note(file, lines)

    def take(self, count: int) -> tuple[Numbers, Numbers]:
        """Have all of them forget these, too."""
        for other in self._others:
            other.take(count)
        return np.zeros(0, np.int64), np.zeros(0, np.int64)


class Counted(Origins):
    """Numbers for examples that are not cut from files: in their order, from 1."""

    def __init__(self) -> None:
        super().__init__()
        self._taken = 0

    def take(self, count: int) -> tuple[Numbers, Numbers]:
        first = self._taken + 1
        self._taken += count
        return np.zeros(count, np.int64), np.arange(first, first + count)

"""Texts scored as they stream by: block after block, example by example, or in pieces.

A block is any stretch of code points with END_CODE after each example. A piece ends with the first
example that makes it PIECE symbols long or longer, so it can be scored apart. The state is zero
where an example begins, so the sums over all pieces are the sums over the text. Examples can be
ranked by their surprisal, with repeated examples merged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from charrnn.network.rounding import UNIT
from charrnn.reading import END_CODE
from charrnn.scoring.score import BITS, Score, sum_of_units, sums_of_units, tally, tally_examples
from charrnn.scoring.streams import text_of, whole_examples
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids, Vocabulary

Floats = NDArray[np.float64]
Ranks = NDArray[np.integer[Any]]
Numbers = NDArray[np.int64]

AT_ONCE: Final = 1 << 20  # symbols scored together: enough for long chunks, little for memory
AS_THEY_COME: Final = 1  # symbols scored together where a reader waits at the end of a pipe
PIECE: Final = 1 << 18  # symbols: a second or two of work
LONGEST: Final = 1 << 26  # symbols of an example, which a piece holds as a whole


class Scorer(Protocol):
    """A reader of consecutive blocks of ids that returns the surprisal of each symbol."""

    vocabulary: Vocabulary
    needs_whole_examples: bool  # their lengths come first, so no block may cut one

    @property
    def parts(self) -> Mapping[str, Floats]:
        """The surprisals of the last block under each part of the model, by name."""

    def begin(self) -> None:
        """Start a new text: the next symbol is its first."""

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        """Return the surprisal and the rank of each symbol, given all that was read before."""


@dataclass(eq=False)
class ScoredBlock:
    """Consecutive symbols of a text with their surprisals."""

    codes: Codes  # (S,)  END_CODE after each example
    ids: Ids  # (S,)
    nats: Floats  # (S,)
    ranks: Ranks | None  # (S,)  1: no symbol was likelier
    parts: Mapping[str, Floats] = field(default_factory=dict)  # (S,) each: nats of each part

    def score(self) -> Score:
        """Return the sums over the block."""
        return tally(self.ids, self.nats, self.codes)

    def of_part(self, name: str) -> ScoredBlock:
        return ScoredBlock(self.codes, self.ids, self.parts[name], None)

    def __getitem__(self, rows: slice | NDArray[np.bool_]) -> ScoredBlock:
        parts = {name: nats[rows] for name, nats in self.parts.items()}
        ranks = None if self.ranks is None else self.ranks[rows]
        return ScoredBlock(self.codes[rows], self.ids[rows], self.nats[rows], ranks, parts)


def score_blocks(
    scorer: Scorer, blocks: Iterable[Codes], symbols: int = AT_ONCE, *, whole: bool = False
) -> Iterator[ScoredBlock]:
    """Score a text from its beginning, in blocks of about this size, or of ``whole`` examples."""
    scorer.begin()
    joined = _joined(blocks, symbols)
    for codes in whole_examples(joined) if whole or scorer.needs_whole_examples else joined:
        ids = scorer.vocabulary.encode_codes(codes)
        ids[codes == END_CODE] = END
        yield ScoredBlock(codes, ids, *scorer.read(ids), dict(scorer.parts))


def _joined(blocks: Iterable[Codes], symbols: int) -> Iterator[Codes]:
    """Yield the same code points in blocks of at least this many, and not many more."""
    held: list[Codes] = []
    size = 0
    for block in blocks:
        for at in range(0, len(block), AT_ONCE):
            held.append(block[at : at + AT_ONCE])
            size += len(held[-1])
            if size >= symbols:
                yield np.concatenate(held)
                held, size = [], 0
    if size:
        yield np.concatenate(held)


def score_examples(
    scorer: Scorer, blocks: Iterable[Codes], symbols: int = AT_ONCE
) -> Iterator[Score]:
    """Yield the Score of each example of a text as soon as its END is read."""
    begun = Score()  # of an example whose END is yet to come
    for block in score_blocks(scorer, blocks, symbols):
        scores = tally_examples(block.ids, block.nats, block.codes)
        scores[0] = begun + scores[0]
        begun = Score() if block.ids[-1] == END else scores.pop()
        yield from scores


class Row(NamedTuple):
    """An example, its surprisal, where it begins and how often it occurs."""

    text: str
    nats: float
    characters: int
    unknown: int
    file: int
    line: int
    times: int = 1
    parts: Mapping[str, float] = {}  # nats by part

    @property
    def nats_per_character(self) -> float:
        return self.nats / (self.characters + 1)


@dataclass(frozen=True, eq=False)
class Rows:
    """Whole examples with their surprisals, where each begins, and how often it has occurred."""

    text_of_all: str  # with one more character after each example
    stops: Numbers  # (n,)  where each ends in that text
    nats: Floats  # (n,)  with END
    unknown: Numbers  # (n,)  characters that the model has never seen
    files: Numbers  # (n,)  0 until they are known
    lines: Numbers  # (n,)  likewise
    times: Numbers  # (n,)
    parts: Mapping[str, Floats]  # (n,) each: nats with END

    @staticmethod
    def of(rows: Iterable[Row]) -> Rows:
        """Return these rows as one object."""
        listed = list(rows)
        texts = "".join([row.text + "\n" for row in listed])
        nats = np.array([row.nats for row in listed], np.float64)
        numbers = np.array([row[2:7] for row in listed], np.int64).reshape(-1, 5)
        characters, unknown, files, lines, times = numbers.T
        parts = {
            name: np.array([row.parts[name] for row in listed], np.float64)
            for name in (listed[0].parts if listed else ())
        }
        stops = np.cumsum(characters + 1) - 1
        return Rows(texts, stops, nats, unknown, files, lines, times, parts)

    def __len__(self) -> int:
        return len(self.stops)

    @cached_property
    def characters(self) -> Numbers:
        return np.diff(self.stops, prepend=-1) - 1

    @cached_property
    def nats_per_character(self) -> Floats:
        means: Floats = self.nats / (self.characters + 1)
        return means

    def text(self, i: int) -> str:
        stop = int(self.stops[i])
        return self.text_of_all[stop - int(self.characters[i]) : stop]

    def row(self, i: int) -> Row:
        numbers = self.characters, self.unknown, self.files, self.lines, self.times
        characters, unknown, file, line, times = (int(each[i]) for each in numbers)
        parts = {name: float(nats[i]) for name, nats in self.parts.items()}
        return Row(self.text(i), float(self.nats[i]), characters, unknown, file, line, times, parts)

    def above(self, bits: float) -> Rows:
        """Return the examples but blank lines with more bits per character than that."""
        chosen = np.flatnonzero(self.nats_per_character * BITS > bits).tolist()
        return Rows.of(self.row(i) for i in chosen if self.text(i).strip())


class Gatherer:
    """Whole examples of blocks that are cut anywhere; of a begun one, the text and the sums."""

    def __init__(self) -> None:
        self._texts: list[str] = []  # of the example that has begun
        self._units: dict[str, int] = {}  # its nats in units: "" is the whole, the rest are parts
        self._unknown = 0

    def add(self, block: ScoredBlock) -> Rows | None:
        """Return the examples that end in this block, if any."""
        ends = np.flatnonzero(block.ids == END)
        stop = int(ends[-1]) + 1 if len(ends) else 0
        rows = self._finish(block[:stop], ends) if stop else None
        if stop < len(block.ids):
            rest = block[stop:]
            self._texts.append(text_of(rest.codes))
            for name, nats in {"": rest.nats, **rest.parts}.items():
                self._units[name] = self._units.get(name, 0) + sum_of_units(nats)
            self._unknown += int(np.count_nonzero(rest.ids == UNKNOWN))
        return rows

    def _finish(self, block: ScoredBlock, ends: NDArray[np.intp]) -> Rows:
        starts = np.concatenate([[0], ends[:-1] + 1])
        own = {"": block.nats, **block.parts}
        nats = {name: sums_of_units(each, starts) for name, each in own.items()}
        unknown = np.add.reduceat(block.ids == UNKNOWN, starts, dtype=np.int64)
        unknown[0] += self._unknown
        for name, units in self._units.items():
            nats[name][0] = (units + sum_of_units(own[name][: ends[0] + 1])) * UNIT
        texts = [*self._texts, text_of(block.codes)]
        stops = ends + sum(map(len, self._texts))
        self._texts, self._units, self._unknown = [], {}, 0
        none = np.zeros(len(ends), np.int64)
        return Rows("".join(texts), stops, nats.pop(""), unknown, none, none, none + 1, nats)


class Origins:
    """The file and line of each example: noted as files are cut, and taken by several readers,
    each at its own pace.

    If no file was cut, the examples are numbered from 1.
    """

    def __init__(self, *readers: str) -> None:
        self._files = 0
        self._taken = dict.fromkeys(readers, 0)  # examples that come from no file
        # a file and lines in it, for each reader
        self._noted: dict[str, deque[tuple[int, Numbers]]] = {name: deque() for name in readers}

    def note(self, file: int, lines: Numbers) -> None:
        """Note the lines on which examples of a file begin."""
        self._files = file + 1
        for noted in self._noted.values():
            noted.append((file, lines))

    def take(self, reader: str, count: int) -> tuple[Numbers, Numbers]:
        """Return the files, from 0, and the lines, from 1, of the next examples of a reader."""
        if not self._files:
            first = self._taken[reader] + 1
            self._taken[reader] += count
            return np.zeros(count, np.int64), np.arange(first, first + count)
        files, lines, left = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], count
        while left:
            file, noted = self._noted[reader].popleft()
            if len(noted) > left:
                self._noted[reader].appendleft((file, noted[left:]))
            lines.append(noted[:left])
            files.append(np.full(len(lines[-1]), file, np.int64))
            left -= len(lines[-1])
        return np.concatenate(files), np.concatenate(lines)


SPARE = 1 << 12  # examples kept beside the top few, so that they are rarely sorted


class Ranking:
    """The examples with the most nats per character."""

    def __init__(self, top: int | None = None) -> None:
        self._top = top
        self._batches: list[Rows] = []
        self._size = 0

    def add(self, batch: Rows) -> None:
        if not len(batch):
            return
        self._batches.append(batch)
        self._size += len(batch)
        if self._top is not None and self._size > 2 * self._top + SPARE:
            self._batches = [Rows.of(self.rows())]
            self._size = len(self._batches[0])

    def rows(self) -> Iterator[Row]:
        """Yield the most surprising examples first; equals keep their order."""
        return islice(self._merged(), self._top)

    def _merged(self) -> Iterator[Row]:
        """Merge equal texts of equal surprisal."""
        same: dict[tuple[str, float], Row] = {}
        before = np.nan
        for cost, row in self._ordered():
            if cost != before:
                yield from same.values()
                same, before = {}, cost
            key = row.text, row.nats
            first = same.get(key)
            same[key] = row if first is None else first._replace(times=first.times + row.times)
        yield from same.values()

    def _ordered(self) -> Iterator[tuple[float, Row]]:
        if not self._batches:
            return
        cost = np.concatenate([batch.nats_per_character for batch in self._batches])
        firsts = np.cumsum([0, *map(len, self._batches)])
        for number in np.argsort(-cost, kind="stable").tolist():
            batch = int(np.searchsorted(firsts, number, side="right")) - 1
            yield float(cost[number]), self._batches[batch].row(number - int(firsts[batch]))

"""Examples in the order of their surprisal, with repeated examples merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from charrnn.scoring.pieces import Numbers, Rows
from charrnn.scoring.score import BITS

SPARE = 1 << 12  # examples kept beside the top few, so that they are rarely sorted


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
class Batch:
    """Some examples, where each begins, and how often each has occurred."""

    rows: Rows
    files: Numbers
    lines: Numbers
    times: Numbers

    @staticmethod
    def of(rows: Iterable[Row]) -> Batch:
        """Return a batch of these rows."""
        listed = list(rows)
        texts = "".join([row.text + "\n" for row in listed])
        nats = np.array([row.nats for row in listed], np.float64)
        numbers = np.array([row[2:7] for row in listed], np.int64).reshape(-1, 5)
        characters, unknown, files, lines, times = numbers.T
        stops = np.cumsum(characters + 1) - 1
        parts = {
            name: np.array([row.parts[name] for row in listed], np.float64)
            for name in (listed[0].parts if listed else ())
        }
        return Batch(Rows(texts, stops, nats, unknown, parts), files, lines, times)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, i: int) -> Row:
        rows = self.rows
        numbers = rows.characters, rows.unknown, self.files, self.lines, self.times
        characters, unknown, file, line, times = (int(each[i]) for each in numbers)
        parts = {name: float(nats[i]) for name, nats in rows.parts.items()}
        cost = float(rows.nats[i])
        return Row(rows.text(i), cost, characters, unknown, file, line, times, parts)

    def above(self, bits: float) -> Batch:
        """Return the examples with more bits per character than that."""
        chosen = np.flatnonzero(self.rows.nats_per_character * BITS > bits)
        return Batch.of(map(self.row, chosen.tolist()))


class Ranking:
    """Examples sorted by nats, or by nats per character."""

    def __init__(self, *, by_nats: bool, top: int | None = None) -> None:
        self._by_nats = by_nats
        self._top = top
        self._batches: list[Batch] = []
        self._size = 0

    def add(self, batch: Batch) -> None:
        if not len(batch):
            return
        self._batches.append(batch)
        self._size += len(batch)
        if self._top is not None and self._size > 2 * self._top + SPARE:
            self._batches = [Batch.of(self.rows())]
            self._size = len(self._batches[0])

    def rows(self) -> Iterator[Row]:
        """Yield the most surprising examples first; equals keep their order."""
        return islice(self._merged(), self._top)

    def _merged(self) -> Iterator[Row]:
        """Merge equal texts of equal surprisal; with --carry, equal texts may differ in it."""
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
        rows = [batch.rows for batch in self._batches]
        costs = [some.nats if self._by_nats else some.nats_per_character for some in rows]
        cost = np.concatenate(costs)
        firsts = np.cumsum([0, *map(len, rows)])
        for number in np.argsort(-cost, kind="stable").tolist():
            batch = int(np.searchsorted(firsts, number, side="right")) - 1
            yield float(cost[number]), self._batches[batch].row(number - int(firsts[batch]))

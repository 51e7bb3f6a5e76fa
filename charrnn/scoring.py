"""How surprised the network is by a text, symbol by symbol, and what that comes to.

The negative log-likelihood of an example is the sum of -log P(y(t) | y(1) .. y(t-1)) over its
characters and its END (10.32, 10.33). Lanes are only a way to compute several at once: each lane
is a stretch of whole examples, so no sum depends on how the work was cut.

A character that was never seen has a probability too. With the chance ``novelty``, estimated from
how many characters the corpus shows just once, the next character is one of those never seen, each
as likely as the other; with the rest of the chance it is what the network says. So the model is
a distribution over all texts there are, and no text has an infinite loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus import Examples
from charrnn.network.crew import Crew
from charrnn.network.network import State, Window
from charrnn.network.parameters import Array, Parameters
from charrnn.vocabulary import END, UNKNOWN, Ids, Vocabulary

LANES = 64
STEPS = 64
WARM_UP = 128  # symbols that a stretch reads before it counts, when it begins inside an example


@dataclass(frozen=True)
class Score:
    """Sums over a text, in nats and in counts; divided only when asked, and added like numbers."""

    characters: int = 0
    ends: int = 0
    unknown: int = 0  # of the characters
    nats: float = 0.0
    nats_of_ends: float = 0.0
    nats_of_unknown: float = 0.0

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def nats_per_character(self) -> float:
        """The mean over characters and ends."""
        return ratio(self.nats, self.characters + self.ends)

    @property
    def bits_per_character(self) -> float:
        return self.nats_per_character / math.log(2)

    @property
    def perplexity(self) -> float:
        return perplexity(self.nats_per_character)

    @property
    def without_end(self) -> float:
        """Nats per character, over the characters alone."""
        return ratio(self.nats - self.nats_of_ends, self.characters)

    @property
    def without_unknown(self) -> float:
        """Nats per character, over what the model had seen before."""
        count = self.characters + self.ends - self.unknown
        return ratio(self.nats - self.nats_of_unknown, count)


def ratio(nats: float, count: int) -> float:
    """Nats each; nothing costs nothing."""
    return nats / count if count else 0.0


def perplexity(nats: float) -> float:
    """Among how many equally likely symbols one would be as unsure; the largest float at most."""
    return math.exp(min(nats, 709.0))


class Scorer:
    """A network made ready to score one text after another."""

    def __init__(
        self, p: Parameters, vocabulary: Vocabulary, carry: bool = False, workers: int = 1
    ) -> None:
        self.p = p
        self.vocabulary = vocabulary
        self.carry = carry
        self.workers = workers
        self._crews: dict[int, Crew] = {}
        self._state: State | None = None  # with carry: where the text before this one ended

    def score(self, examples: Examples) -> Score:
        """The sums over these examples."""
        return self.tally(examples.ids, self.nats(examples))

    def tally(self, ids: Ids, nats: NDArray[np.floating]) -> Score:
        """The sums over symbols whose nats are known."""
        ends, unknown = ids == END, ids == UNKNOWN
        count = int(np.count_nonzero(ends))

        def total(of: NDArray[np.floating]) -> float:
            return float(of.sum(dtype=np.float64))

        return Score(
            characters=len(ids) - count,
            ends=count,
            unknown=int(np.count_nonzero(unknown)),
            nats=total(nats),
            nats_of_ends=total(nats[ends]),
            nats_of_unknown=total(nats[unknown]),
        )

    def nats(self, examples: Examples) -> Array:
        """The surprisal of every symbol of ``examples.ids``, exactly."""
        bounds = whole_examples(examples, 1 if self.carry else LANES)
        return self._read(examples, bounds, bounds[:-1])

    def nats_in_stretches(self, examples: Examples) -> Array:
        """Nearly the same, faster where examples are long.

        An example may be cut, and a stretch that begins inside one warms up on what stands before.
        """
        bounds, reads_from = stretches(examples, LANES)
        return self._read(examples, bounds, reads_from, continues=False)

    def _read(
        self,
        examples: Examples,
        bounds: NDArray[np.int64],
        reads_from: NDArray[np.int64],
        continues: bool = True,
    ) -> Array:
        lanes = len(reads_from)
        crew = self._crews.get(lanes)
        if crew is None:
            crew = Crew(self.p.size, STEPS, lanes, self.workers, self.p.flat.dtype)
            self._crews[lanes] = crew
        state = self._state if continues and self._state else self._zeros(lanes)
        crew.start_from(state)
        nats: Array = np.empty(len(examples.ids), self.p.flat.dtype)
        for window, places in windows(examples, bounds, reads_from, self.carry):
            counted = places >= 0
            nats[places[counted]] = crew.nats(self.p, window)[counted]
        if self.carry and continues:
            crew.copy_state(state)
            self._state = state
        return self._with_novelty(examples.ids, nats)

    def _zeros(self, lanes: int) -> State:
        size = self.p.size
        return [np.zeros((lanes, size.hidden), self.p.flat.dtype) for _ in range(size.layers)]

    def _with_novelty(self, ids: Ids, nats: Array) -> Array:
        novelty = self.vocabulary.novelty
        unknown = ids == UNKNOWN
        nats -= math.log1p(-novelty)
        if unknown.any():
            nats[unknown] = self.vocabulary.unseen_nats - np.logaddexp(
                -nats[unknown], math.log(novelty)
            )
        return nats


def whole_examples(examples: Examples, most: int) -> NDArray[np.int64]:
    """Bounds between examples that make lanes of about one length, as many as are of use."""
    starts = examples.starts
    total = int(starts[-1])
    if total == 0:
        return np.array([0])
    longest = int(np.max(starts[1:] - starts[:-1]))
    lanes = max(1, min(most, total // longest))
    near = np.searchsorted(starts, total * np.arange(1, lanes, dtype=np.int64) // lanes)
    return np.unique(np.concatenate([[0], starts[near], [total]]).astype(np.int64))


def stretches(examples: Examples, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bounds of lanes of one length, and for each lane from where it reads."""
    total = len(examples.ids)
    lanes = max(1, min(most, total // (4 * WARM_UP)))
    bounds = total * np.arange(lanes + 1, dtype=np.int64) // lanes
    example = np.searchsorted(examples.starts, bounds[:-1], side="right") - 1
    return bounds, np.maximum(examples.starts[example].astype(np.int64), bounds[:-1] - WARM_UP)


def windows(
    examples: Examples,
    bounds: NDArray[np.int64],
    reads_from: NDArray[np.int64],
    carry: bool,
) -> Iterator[tuple[Window, NDArray[np.int64]]]:
    """Windows over lanes that are stretches of ``examples.ids``, and where each target stands.

    The place is -1 where a target does not count: before a lane's first bound, after its last.
    """
    ids = examples.ids
    for at in range(0, int((bounds[1:] - reads_from).max(initial=0)), STEPS):
        left = int((bounds[1:] - reads_from).max()) - at
        places = reads_from + at + np.arange(min(STEPS, left))[:, None]
        inside = places < bounds[1:]
        y = ids[np.where(inside, places, 0)].astype(np.intp)
        x = np.where(places > 0, ids[np.where(inside, places - 1, 0)], END).astype(np.intp)
        begins = None if carry else x == END
        yield Window(x, y, begins), np.where(inside & (places >= bounds[:-1]), places, -1)

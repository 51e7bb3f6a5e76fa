"""Draw new texts, one symbol after the other until END.

    P(y(1) .. y(n), END)  =  P(y(1)) P(y(2) | y(1)) ..  P(END | y(1) .. y(n))      (10.31)

The seed, the number of a sample, its attempt and the step determine each draw, so a sample is the
same alone and among thousands.

A label is read before the first character. Where none is wanted, one is drawn by its frequency.

A model with ``--ends length`` draws the length of a text before its first character:

    P(tau | prime)  ~  P(tau) P(prime | tau)          for each tau from the length of the prime on
"""

import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise, repeat
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import Array64, Integers, log_softmax
from charrnn.network.parameters import LanguageModel
from charrnn.network.step import StepState
from charrnn.prediction.losses import BITS
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import add_novelty
from charrnn.settings.drawing import SampleConfig as SampleConfig
from charrnn.system.visible import encodable
from charrnn.text.vocabulary import END, UNKNOWN

Words = NDArray[np.uint64]
Draw = tuple[int, int]  # the number of a sample and its attempt

MOST_LANES: Final = 1024  # samples drawn side by side, at most
FIRST_LANES: Final = 64  # in the first group, so that the first texts appear soon
ROOM: Final = 1 << 22  # symbols of a group, and logits of a step, at most
AHEAD: Final = 16  # steps whose random numbers are computed at a time
LENGTH_STEP: Final = 1 << 48  # the step of the random number for a length
LABEL_STEP: Final = 1 << 49  # and for a label, which depends on no attempt
COLDEST: Final = 1e-100  # lower temperatures draw the same

GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: its multiples spread evenly


def keys(seed: int, numbers: Sequence[int], attempts: Sequence[int] = (0,)) -> Words:
    """Return the key of each sample (S,), with one attempt for each or for all."""
    word = np.array([seed], np.uint64)
    for part in (numbers, attempts):  # one after the other, so that (1, 2) is not (2, 1)
        word = mix(word + GAMMA) ^ np.array(part, np.uint64)
    return mix(word + GAMMA)


def uniform(streams: Words, first: int, steps: int) -> Array64:
    """Return the random numbers of these steps in [0, 1): (steps, S), multiples of 2^-52.

    With one more bit, the largest times a sum could round up to that sum.
    """
    places = np.arange(first + 1, first + 1 + steps, dtype=np.uint64)[:, None]
    return (mix(streams + places * GAMMA) >> np.uint64(12)).astype(np.float64) * 2.0**-52


def mix(z: Words) -> Words:
    """Return the hash of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def share_lanes(lane: Integers, y: Integers, symbols: int) -> tuple[Integers, Integers, Integers]:
    """Return lanes for samples, of which those that read the same so far share one.

    lane        (B,)  of each sample; 0, 1, 2 ... if no two share one
    source, x   (L,)  of each lane: the lane that it continues, and the symbol that it reads
    """
    pairs = lane * symbols + y  # a number for each pair of lane and symbol
    distinct, new_lane = np.unique(pairs, return_inverse=True)
    if len(distinct) == len(pairs):
        distinct, new_lane = pairs, np.arange(len(pairs))
    source, x = np.divmod(distinct, symbols)
    return new_lane, source, x


class Sample(NamedTuple):
    """A drawn text, with its prime."""

    number: int
    text: str
    nats: float  # the surprisal of its characters, and of END if it was drawn
    ended: str  # "end" or "limit"
    label: str | None = None

    @property
    def nats_per_character(self) -> float:
        return self.nats / (len(self.text) + (self.ended == "end"))

    def figures(self) -> dict[str, object]:
        """Return the text and its figures by name, as JSON has them."""
        figures: dict[str, object] = {"number": self.number, "text": encodable(self.text)}
        figures |= {"characters": len(self.text), "nats": round(self.nats, 6)}
        loss = self.nats_per_character
        figures |= {"nats_per_character": round(loss, 6)}
        figures |= {"bits_per_character": round(loss * BITS, 6), "ended": self.ended}
        return figures if self.label is None else figures | {"label": self.label}


# Calls draw_group for groups of draws, perhaps elsewhere, and yields the results in order.
MapGroups = Callable[[Iterable[list[Draw]]], Iterator[list[Sample]]]


@dataclass(eq=False, repr=False)
class Sampler:
    """A model and a prime that draw samples."""

    model: LanguageModel | Predictor
    config: SampleConfig
    prime: str = ""
    label: str | None = None
    may_be_empty: bool = False

    def __post_init__(self) -> None:
        model, config = self.model, self.config
        self.vocabulary = vocabulary = model.vocabulary
        self.predictor = model if isinstance(model, Predictor) else Predictor([model])
        self.seed = secrets.randbits(64) if config.seed is None else config.seed
        self.config = replace(config, seed=self.seed)
        self._by_label: dict[str | None, Sampler] = {}
        first = END if self.label is None else vocabulary.id_of(self.label)
        self.prime_ids = np.append(first, vocabulary.encode(self.prime)).astype(np.intp)
        may_end = self.may_be_empty or self.prime
        self.excluded = slice(UNKNOWN if may_end else END, UNKNOWN + 1)  # at first
        self._known_nats = -math.log1p(-vocabulary.novelty)  # of not being an unseen character
        self._state = self.predictor.zeros(1)
        self._lengths: LengthChoice | None = None
        if self.predictor.head.lengths is not None:
            least = len(self.prime) or int(not self.may_be_empty)
            self._lengths = LengthChoice(self.predictor, self.prime_ids, config.temperature, least)
            self.prime_nats = self._lengths.prime_nats
        else:
            self.prime_nats = float(read_prime(self.predictor, self.prime_ids, self._state)[0])

    def stream(self, number: int = 0) -> Iterator[str]:
        """Return the characters of one sample as they are drawn, and "" if its END is drawn."""
        steps = self.with_label(*self.labels_of([number]))._draw([number], [0])
        return (self.vocabulary.decode(y) for _, y, _ in steps)

    def labels_of(self, numbers: Sequence[int]) -> list[str | None]:
        """Return the label of each sample, which is drawn by its frequency unless one is wanted."""
        counts = np.cumsum([*self.vocabulary.labels.values()])
        if self.label is not None or not len(counts):
            return [self.label] * len(numbers)
        (chances,) = uniform(keys(self.seed, numbers), LABEL_STEP, 1)
        names = list(self.vocabulary.labels)
        return [names[at] for at in np.searchsorted(counts, chances * counts[-1], "right").tolist()]

    def with_label(self, label: str | None) -> "Sampler":
        if label == self.label:  # a circle would keep the networks until a collection of garbage
            return self
        if label not in self._by_label:
            self._by_label[label] = replace(self, model=self.predictor, label=label)
        return self._by_label[label]

    def samples(
        self, numbers: Iterable[int], attempts: Iterable[int] = (), share: MapGroups | None = None
    ) -> Iterator[Sample]:
        """Yield the samples of these numbers, at the first attempt or at these attempts."""
        groups = self._groups(zip(numbers, attempts or repeat(0), strict=False))
        return chain.from_iterable(share(groups) if share else map(self.draw_group, groups))

    def _groups(self, draws: Iterator[Draw]) -> Iterator[list[Draw]]:
        """Yield the draws in groups, each up to four times as large as the one before it."""
        most = ROOM // max(self.vocabulary.symbols, self.config.max_characters)
        size = FIRST_LANES
        while group := list(islice(draws, size)):
            yield group
            size = max(FIRST_LANES, min(4 * size, MOST_LANES, most))

    def draw_group(self, draws: Sequence[Draw]) -> list[Sample]:
        """Return the samples of these draws, those of a label drawn side by side."""
        labels = self.labels_of([number for number, _ in draws])
        by_label = {}
        for label in dict.fromkeys(labels):
            alike = [draw for draw, of_draw in zip(draws, labels, strict=True) if of_draw == label]
            by_label[label] = iter(self.with_label(label)._draw_alike(alike))
        return [next(by_label[label]) for label in labels]

    def _draw_alike(self, draws: Sequence[Draw]) -> list[Sample]:
        """Return the samples of these draws with the label of this sampler."""
        numbers, attempts = zip(*draws, strict=True)
        steps = zip(*self._draw(numbers, attempts), strict=True)
        rows, symbols, nats = (np.concatenate(part) for part in steps)
        totals = (self.prime_nats + np.bincount(rows, nats, len(draws))).tolist()
        order = np.argsort(rows, kind="stable")  # symbol by symbol within a sample
        by_sample = np.split(symbols[order], np.bincount(rows, minlength=len(draws)).cumsum()[:-1])
        texts = [self.prime + self.vocabulary.decode(ids) for ids in by_sample]
        ended = ["end" if ids[-1] == END else "limit" for ids in by_sample]
        return list(map(Sample, numbers, texts, totals, ended, repeat(self.label)))

    def _draw(
        self, numbers: Sequence[int], attempts: Sequence[int]
    ) -> Iterator[tuple[Integers, Integers, Array64]]:
        """Yield, for each step, the places of samples that go on, their symbols and their nats.

        Samples that read the same so far share a lane of the state.

            rows, lane, y   (B,)   of each sample that goes on: its place, its lane, its symbol
            x               (L,)   the symbol that each lane reads
        """
        streams = keys(self.seed, numbers, attempts)
        state = [h.copy() for h in self._state]
        lane: Integers = np.zeros(len(streams), np.intp)
        if self._lengths is not None:
            (of_lengths,) = uniform(streams, LENGTH_STEP, 1)
            state, lane, length_nats = self._lengths.draw_states(of_lengths)
        rows: Integers = lane.argsort(kind="stable")
        lane = lane[rows]
        x: Integers = np.full(len(state[0]), self.prime_ids[-1])
        limit, excluded = self.config.max_characters, self.excluded
        for step in range(limit + 1):  # the last step draws the END of a text of known length
            if step % AHEAD == 0:
                chances = uniform(streams, step, AHEAD)
            o = self.predictor.step(x, state)  # (L, K)
            is_shared = len(x) < len(rows)
            of_samples = o[lane] if is_shared else o  # (B, K)
            y, nats = self._choose(of_samples, chances[step % AHEAD, rows], excluded)
            excluded = slice(UNKNOWN, UNKNOWN + 1)
            if self._lengths is not None:
                to_come = state[-1][lane]  # (B,) characters after this one; -1 at END
                y = np.where(to_come < 0, END, y)
                nats = np.where(to_come < 0, length_nats[rows], nats)
            yield rows, y, nats
            goes_on = y != END
            if step + 1 >= limit:
                if self._lengths is None:
                    return
                goes_on &= to_come == 0  # END comes next
            if not goes_on.any():
                return
            if goes_on.all() and not is_shared:
                x = y
                continue
            lane, source, x = share_lanes(lane[goes_on], y[goes_on], o.shape[1])
            rows = rows[goes_on]
            state = [h[source] for h in state]

    def _choose(self, o: Array64, chances: Array64, excluded: slice) -> tuple[Integers, Array64]:
        """Return the symbols that these chances draw, (B,), and their surprisal at temperature 1.

        The logits o (B, K) change. The surprisal is that of the model, which excludes no symbol.
        """
        temperature = self.config.temperature
        log_excluded = np.logaddexp.reduce(o[:, excluded], 1)
        o[:, excluded] = -np.inf
        largest = np.maximum.reduce(o, 1)
        o -= largest[:, None]
        weights = np.exp(o)  # softmax (10.11), up to a factor
        log_sums = np.logaddexp(np.log(np.add.reduce(weights, 1)), log_excluded - largest)
        if temperature == 0:
            weights = np.zeros_like(o)
            weights[np.arange(len(o)), o.argmax(1)] = 1
        elif temperature != 1:
            weights = np.exp(o / max(temperature, COLDEST))
        sums = np.add.accumulate(self._filter(weights), 1)
        # ">" and not ">=", so that a symbol of weight 0 is never drawn
        symbols = (sums > (chances * sums[:, -1])[:, None]).argmax(1)
        return symbols, log_sums - o[np.arange(len(o)), symbols] + self._known_nats

    def _filter(self, weights: Array64) -> Array64:
        """Keep the top_k largest weights, and of these the fewest with top_p of the total."""
        top_k, top_p = self.config.top_k, self.config.top_p
        if top_k is None and top_p in (None, 1):
            return weights
        order = np.argsort(-weights, axis=1, kind="stable")  # of equals, the first
        ranked = np.take_along_axis(weights, order, 1)
        if top_k is not None:
            ranked[:, top_k:] = 0
        if top_p is not None:
            sums = np.add.accumulate(ranked, 1)
            is_enough = sums >= top_p * sums[:, -1:]
            ranked[:, 1:][is_enough[:, :-1]] = 0  # the symbols before reach top_p
        filtered = np.empty_like(weights)
        np.put_along_axis(filtered, order, ranked, 1)
        return filtered


def read_prime(predictor: Predictor, prime_ids: Integers, state: StepState) -> Array64:
    """Read all of the prime but its last symbol. Return the nats of the whole prime, (B,)."""
    lanes = len(state[0])
    total = np.zeros(lanes)
    for x, y in pairwise(prime_ids.tolist()):
        o = predictor.step(np.full(lanes, x), state)
        nats = -log_softmax(o)[:, y]
        add_novelty(predictor, np.full(lanes, y), nats)
        total += nats
    return total


SINGLE, WIDER = 256, 512  # ranges of one length, and of several
LONGEST_RANGE_END: Final = 1 << 28  # characters beyond the prime where the last range ends
RARE: Final = 1e-3  # of all texts


class LengthChoice:
    """The distribution of the length of a text with this prime.

    The prime is read once for each of some hundred lengths, and for the middles of ranges beyond
    them: to a network, large numbers of characters to come look alike.
    """

    def __init__(
        self, predictor: Predictor, prime_ids: Integers, temperature: float, least: int
    ) -> None:
        self._predictor, self._prime_ids = predictor, prime_ids
        wider = np.geomspace(SINGLE, LONGEST_RANGE_END, WIDER).astype(np.int64)
        bounds = least + np.concatenate([np.arange(SINGLE), wider])
        self._first, self._sizes = bounds[:-1], np.diff(bounds)  # (R,) the lengths of each range
        log_p = -self._read(self._first + (self._sizes - 1) // 2)[1]  # of one length and the prime
        sums = np.add.accumulate(np.exp(log_p - log_p.max()) * self._sizes)
        self.prime_nats = -float(log_p.max() + np.log(sums[-1])) if len(prime_ids) > 1 else 0.0
        if temperature != 1:
            # The longest are RARE, but so many that they could outweigh the others: leave out the
            # ranges that begin where all but the rare ones are summed up.
            log_p[1:][sums[:-1] > (1 - RARE) * sums[-1]] = -np.inf
        log_p = (log_p - log_p.max()) / max(temperature, COLDEST)
        self._weights = np.exp(log_p) * self._sizes

    def draw_states(self, chances: Array64) -> tuple[StepState, Integers, Array64]:
        """Draw lengths by these chances (S,).

        Return the states by length, (L, H), which have read all of the prime but its last symbol,
        the lane of each sample in them, (S,), and the nats of the lengths, (S,).
        """
        tau, lane = np.unique(self.draw(chances), return_inverse=True)  # read each length once
        state, nats = self._read(tau)
        return state, lane, (nats - self.prime_nats)[lane]

    def _read(self, tau: Integers) -> tuple[StepState, Array64]:
        """Return, by length (n,), the states ahead of the prime's last symbol, and the nats of the
        length and the prime.
        """
        lengths = self._predictor.head.lengths
        assert lengths is not None
        state = self._predictor.zeros(len(tau), to_come=tau)
        prime_nats = read_prime(self._predictor, self._prime_ids, state)
        return state, lengths.nats(self._predictor.model.parameters, tau) + prime_nats

    def draw(self, chances: Array64) -> Integers:
        """Return a length for each of these chances, (S,). Those of a range are equally likely."""
        sums = np.add.accumulate(self._weights)
        wanted = chances * sums[-1]
        which = np.searchsorted(sums, wanted, "right")  # (S,) ranges
        fraction = 1 - (sums[which] - wanted) / self._weights[which]  # how far into the range
        within = (fraction * self._sizes[which]).astype(np.int64)
        lengths: Integers = self._first[which] + within.clip(0, self._sizes[which] - 1)
        return lengths

"""Draw new texts, one symbol after the other until END.

    P(y(1) .. y(n), END)  =  P(y(1)) P(y(2) | y(1)) ..  P(END | y(1) .. y(n))      (10.31)

The seed, the number of a sample, its attempt and the step determine each draw, so a sample is the
same alone and among thousands. A sample that fails a condition is drawn again, as another attempt.

A model with ends length draws the length of a text before its first character:

    P(tau | prime)  ~  P(tau) P(prime | tau)          for each tau from the length of the prime on
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError
from charrnn.network.parameters import LanguageModel
from charrnn.network.step import State
from charrnn.predictor import Predictor
from charrnn.settings import SampleConfig as SampleConfig
from charrnn.vocabulary import END, UNKNOWN

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Words = NDArray[np.uint64]
Lengths = NDArray[np.int64]
Ending = Literal["end", "limit"]
Group = tuple[Sequence[int], Sequence[int]]  # numbers of samples, and an attempt for each

LANES: Final = 1024  # samples drawn side by side, at most
FIRST_LANES: Final = 64  # in the first group, so that the first texts appear soon
OUTPUTS: Final = 1 << 21  # logits of all lanes at a step, at most
CELLS: Final = 1 << 25  # symbols of a group, at most
AHEAD: Final = 16  # steps whose random numbers are computed at a time
BEFORE: Final = 1 << 48  # the step of the random number for a length
COLDEST: Final = 1e-100  # lower temperatures draw the same

GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: its multiples spread evenly


def keys(seed: int, numbers: Sequence[int], attempts: Sequence[int] = (0,)) -> Words:
    """Return the key of each sample (S,), with one attempt for each or for all."""
    word = np.array([seed], np.uint64)
    for part in (numbers, attempts):  # one after the other, so that (1, 2) is not (2, 1)
        word = mix(word + GAMMA) ^ np.array(part, np.uint64)
    return mix(word + GAMMA)


def uniform(streams: Words, first: int, steps: int) -> Floats:
    """Return the random numbers of these steps in [0, 1): (steps, S), multiples of 2^-52.

    With one more bit, the largest times a sum could round up to that sum.
    """
    at = np.arange(first + 1, first + 1 + steps, dtype=np.uint64)[:, None]
    return (mix(streams + at * GAMMA) >> np.uint64(12)).astype(np.float64) * 2.0**-52


def mix(z: Words) -> Words:
    """Return the hash of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def random_seed() -> int:
    return int.from_bytes(os.urandom(8), "little")


class Sample(NamedTuple):
    """A drawn text, without its prime."""

    number: int
    text: str
    nats: float  # the surprisal of its characters, and of END if it was drawn
    ended: Ending


Share = Callable[[Iterable[Group]], Iterator[list[Sample]]]


class Sampler:
    """A model and a prime that draw samples."""

    def __init__(
        self,
        model: LanguageModel | Predictor,
        config: SampleConfig | None = None,
        prime: str = "",
        *,
        may_be_empty: bool = False,
    ) -> None:
        self.config = config = config or SampleConfig()
        self.vocabulary = vocabulary = model.vocabulary
        self._symbols = symbols = vocabulary.symbols
        if config.top_k is not None and config.top_k > symbols:
            what = f"top_k {config.top_k} is more than the {symbols} symbols of the model"
            raise SettingError(what, f"It may be 1 to {symbols}.", "top_k")
        self.seed = random_seed() if config.seed is None else config.seed
        most = min(LANES, OUTPUTS // symbols, CELLS // config.max_characters)
        self.lanes = max(FIRST_LANES, most)
        self.prime = prime
        self.may_be_empty = may_be_empty or bool(prime)
        self._known_nats = -math.log1p(-vocabulary.novelty)  # of not being an unseen character
        self._read = np.append(END, vocabulary.encode(prime)).astype(np.intp)
        self.predictor = model if isinstance(model, Predictor) else Predictor([model])
        self._state = self.predictor.zeros(1)
        self._lengths: LengthChoice | None = None
        if self.predictor.head.lengths is not None:
            self._lengths = LengthChoice(self, max(len(prime), 0 if self.may_be_empty else 1))
            self.prime_nats = self._lengths.prime_nats
        else:
            self.prime_nats = float(self.read_prime(self._state)[0])

    @property
    def is_deterministic(self) -> bool:
        takes_likeliest = self.config.temperature == 0 or self.config.top_k == 1
        return takes_likeliest and self._lengths is None

    def stream(self, number: int = 0) -> Iterator[str]:
        """Yield the characters of one sample as they are drawn, and "" if its END is drawn."""
        for _, symbols, _ in self._draw([number], [0]):
            yield self._text_of(symbols)

    def samples(
        self, numbers: Sequence[int], attempts: Sequence[int] = (0,), share: Share | None = None
    ) -> Iterator[Sample]:
        """Yield the samples of these numbers, with one attempt for each or for all.

        ``share`` calls draw_group for each group elsewhere, and yields the results in order.
        """
        groups = self._groups(numbers, attempts)
        drawn = share(groups) if share else (draw_group(self, group) for group in groups)
        return chain.from_iterable(drawn)

    def _groups(self, numbers: Sequence[int], attempts: Sequence[int]) -> Iterator[Group]:
        tried = attempts if len(attempts) == len(numbers) else [*attempts] * len(numbers)
        at, lanes = 0, min(FIRST_LANES, self.lanes)
        while at < len(numbers):
            yield numbers[at : at + lanes], tried[at : at + lanes]
            at, lanes = at + lanes, min(4 * lanes, self.lanes)

    def draw_side_by_side(
        self, numbers: Sequence[int], attempts: Sequence[int]
    ) -> Iterator[Sample]:
        steps = list(self._draw(numbers, attempts))
        rows, symbols, nats = (np.concatenate(part) for part in zip(*steps, strict=True))
        costs = np.bincount(rows, nats, len(numbers))
        order = np.argsort(rows, kind="stable")  # symbol by symbol within a sample
        stops = np.bincount(rows, minlength=len(numbers)).cumsum()[:-1]
        for row, ids in enumerate(np.split(symbols[order], stops)):
            ended: Ending = "end" if ids[-1] == END else "limit"
            yield Sample(numbers[row], self._text_of(ids), float(costs[row]), ended)

    def _text_of(self, symbols: Integers) -> str:
        return self.vocabulary.decode(symbols.astype(self.vocabulary.dtype))

    def _draw(
        self, numbers: Sequence[int], attempts: Sequence[int]
    ) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Yield, for each step, the rows of samples that go on, their symbols and their nats."""
        streams = keys(self.seed, numbers, attempts)
        rows = np.arange(len(streams))
        to_come: Integers | None = None  # characters of each row, where lengths come first
        if self._lengths is None:
            state = [np.repeat(h, len(rows), 0) for h in self._state]
        else:
            state, to_come, length_nats = self._lengths.begin(uniform(streams, BEFORE, 1)[0])
        x = np.full(len(rows), self._read[-1])
        limit = self.config.max_characters
        for step in range(limit + 1):
            if step % AHEAD == 0:
                chances = uniform(streams, step, AHEAD)
            o = self.predictor.step(x, state)
            excluded = [UNKNOWN] if step or self.may_be_empty else [END, UNKNOWN]
            x, nats = self._choose(o, chances[step % AHEAD, rows], excluded)
            goes_on = np.full(len(rows), step + 1 < limit)
            if to_come is not None:
                x = np.where(to_come == 0, END, x)
                nats = np.where(to_come == 0, length_nats[rows], nats)
                goes_on |= to_come == 1  # this one ends at its length, not at the limit
            yield rows, x, nats
            goes_on &= x != END
            if not goes_on.all():
                rows, x, state = rows[goes_on], x[goes_on], [h[goes_on] for h in state]
                to_come = None if to_come is None else to_come[goes_on]
            if not len(rows):
                return
            to_come = None if to_come is None else to_come - 1

    def _choose(self, o: Floats, chances: Floats, excluded: list[int]) -> tuple[Integers, Floats]:
        """Return the symbols that these chances draw, (B,), and their surprisal at temperature 1.

        The logits o (B, K) change.
        """
        temperature = self.config.temperature
        aside = np.logaddexp.reduce(o[:, excluded], 1)
        o[:, excluded] = -np.inf
        most = np.maximum.reduce(o, 1)
        o -= most[:, None]
        weights = np.exp(o)  # softmax (10.11), up to a factor
        log_sums = np.logaddexp(np.log(np.add.reduce(weights, 1)), aside - most)
        if temperature == 0:
            weights = np.eye(self._symbols)[o.argmax(1)]
        elif temperature != 1:
            weights = np.exp(o / max(temperature, COLDEST))
        sums = np.add.accumulate(self._filter(weights), 1)
        # ">" and not ">=", so that a symbol of weight 0 is never drawn
        symbols = (sums > (chances * sums[:, -1])[:, None]).argmax(1)
        return symbols, log_sums - o[np.arange(len(o)), symbols] + self._known_nats

    def _filter(self, weights: Floats) -> Floats:
        """Keep the top_k largest weights, and of these the fewest with top_p of the total."""
        top_k, top_p = self.config.top_k, self.config.top_p
        if (top_k is None or top_k >= self._symbols - 1) and (top_p is None or top_p >= 1):
            return weights
        order = np.argsort(-weights, axis=1, kind="stable")  # of equals, the first
        ranked = np.take_along_axis(weights, order, 1)
        if top_k is not None:
            ranked[:, top_k:] = 0
        if top_p is not None:
            reached = np.add.accumulate(ranked, 1)
            ranked[:, 1:][reached[:, :-1] >= top_p * reached[:, -1:]] = 0
        filtered = np.empty_like(weights)
        np.put_along_axis(filtered, order, ranked, 1)
        return filtered

    def read_prime(self, state: State) -> Floats:
        """Move the state on to the prime's last symbol. Return the prime's nats, (B,)."""
        vocabulary, lanes = self.vocabulary, len(state[0])
        total = np.zeros(lanes)
        for index, y in enumerate(self._read[1:].tolist()):
            o = self.predictor.step(np.full(lanes, self._read[index]), state)
            nats = np.logaddexp.reduce(o, 1) - o[:, y] + self._known_nats
            if y == UNKNOWN:
                new = math.log(vocabulary.novelty) if vocabulary.novelty else -math.inf
                nats = vocabulary.unseen_nats - np.logaddexp(-nats, new)
            total += nats
        return total


def draw_group(sampler: Sampler, group: Group) -> list[Sample]:
    """Return the samples of a group; a worker calls this."""
    return list(sampler.draw_side_by_side(*group))


MOST: Final = 512  # lengths and ranges of lengths
WORK: Final = 1 << 16  # symbols of a prime to read, for all lengths together
FEWEST: Final = 16
FAR: Final = 1 << 40  # characters beyond the prime where the last range begins
LARGEST: Final = 1 << 60
RARE: Final = 1e-3  # of all texts


class LengthChoice:
    """The distribution of the length of a text with this prime.

    The prime is read once for each of some hundred lengths, and for the middles of ranges beyond
    them: to a network, large numbers of characters to come look alike.
    """

    def __init__(self, sampler: Sampler, least: int) -> None:
        lengths = sampler.predictor.head.lengths
        assert lengths is not None
        self._sampler, self._lengths = sampler, lengths
        self._p = sampler.predictor.model.parameters
        few = max(FEWEST, min(MOST, WORK // len(sampler._read))) // 2
        wider = np.geomspace(few, FAR, few).astype(np.int64)
        self._first = np.unique(np.concatenate([least + np.arange(few), least + wider]))  # (R,)
        self._stop = np.append(self._first[1:], LARGEST)
        starting, after = self._log_at_least(self._first), self._log_at_least(self._stop)
        after[-1] = -np.inf
        log_p = starting + np.log(-np.expm1(np.minimum(after - starting, -1e-300)))
        single = self._stop - self._first == 1
        log_p[single] = -lengths.nats(self._p, self._first[single])
        middle = np.minimum((self._first + self._stop - 1) // 2, 2 * self._first + MOST)
        log_p -= self._after_prime(middle)[1]
        self.prime_nats = -float(np.logaddexp.reduce(log_p)) if sampler.prime else 0.0
        self._sums = np.add.accumulate(self._weights(log_p, starting))

    def begin(self, chances: Floats) -> tuple[State, Integers, Floats]:
        """Draw lengths by these chances (S,).

        Return the states before the prime's last symbol (S, H), the characters to come and the
        nats of the lengths, both (S,).
        """
        tau, lane = np.unique(self.draw(chances), return_inverse=True)
        state, prime_nats = self._after_prime(tau)
        nats: Floats = self._lengths.nats(self._p, tau) + prime_nats - self.prime_nats
        to_come = (tau - len(self._sampler.prime)).astype(np.intp)
        return [h[lane] for h in state], to_come[lane], nats[lane]

    def draw(self, chances: Floats) -> Lengths:
        """Return a length for each of these chances, (S,)."""
        sums = self._sums
        wanted = chances * sums[-1]
        which = np.minimum(np.searchsorted(sums, wanted, "right"), len(sums) - 1)
        before = np.append(0.0, sums)[which]
        share = np.maximum(wanted - before, 0.0) / np.maximum(sums[which] - before, 1e-300)
        low: Lengths = self._first[which]
        high: Lengths = self._stop[which]
        starting = self._log_at_least(low)  # others are relative to it, so that none vanishes
        reached = 1 + share.clip(0, 1 - 2.0**-52) * np.expm1(self._log_at_least(high) - starting)
        while int((high - low).max(initial=0)) > 1:  # bisection within a range
            middle = low + (high - low) // 2
            is_before = np.exp(self._log_at_least(middle) - starting) >= reached
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        return low

    def _after_prime(self, tau: Lengths) -> tuple[State, Floats]:
        """Return, for these lengths, the states before the prime's last symbol and its nats."""
        state = self._sampler.predictor.zeros(len(tau), left=tau)
        return state, self._sampler.read_prime(state)

    def _log_at_least(self, n: Lengths) -> Floats:
        logs: Floats = self._lengths.log_at_least(self._p, n.astype(np.float64))
        return logs

    def _weights(self, log_p: Floats, log_at_least: Floats) -> Floats:
        """Return weights that are not normalised. At temperatures other than 1 the longest lengths,
        RARE in total, get 0: there are so many that they could outweigh the others.
        """
        temperature = self._sampler.config.temperature
        many = np.log((self._stop - self._first).astype(np.float64))
        each = log_p - many
        if temperature != 1:
            each[log_at_least - log_at_least[0] < math.log(RARE)] = -np.inf
        if temperature == 0:
            likeliest: Floats = np.eye(len(each))[int(np.argmax(each))]
            return likeliest
        logits = many + each / max(temperature, COLDEST)
        weights: Floats = np.exp(logits - logits.max())
        return weights


ATTEMPTS: Final = 101  # at one sample: the first and a hundred more
IN_VAIN: Final = 10  # samples in a row without success, after which drawing stops
BEST_OF, MOST_DRAWN = 10, 100  # samples for each of --best


@dataclass
class Conditions:
    """Conditions on samples with their prime, and a count of those that fail."""

    prime: str = ""
    known: Set[str] = frozenset()  # texts that are not shown, folded
    unique: bool = False
    shortest: int | None = None
    longest: int | None = None
    drawn: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # reason -> samples
    seen: set[str] = field(default_factory=set)

    def reason(self, sample: Sample) -> str:
        """Return why the sample may not be shown; "" if it may."""
        text = self.prime + sample.text
        if len(text) < (self.shortest or 0):
            return "too short"
        if self.longest is not None and (len(text) > self.longest or sample.ended == "limit"):
            return "too long"
        if self.known and folded(text) in self.known:
            return "copies"
        return "repeats" if self.unique and text in self.seen else ""

    def accept(self, sample: Sample) -> bool:
        """Return whether the sample may be shown, and count it."""
        self.drawn += 1
        reason = self.reason(sample)
        if reason:
            self.rejected[reason] += 1
        elif self.unique:
            self.seen.add(self.prime + sample.text)
        return not reason


def folded(text: str) -> str:
    """Return the text without case and outer spaces."""
    return text.strip().casefold()


def choose(
    sampler: Sampler, numbers: Sequence[int], conditions: Conditions, share: Share | None = None
) -> Iterator[Sample]:
    """Yield the samples of these numbers, each drawn until it meets the conditions.

    A sample that fails ATTEMPTS times is left out; after IN_VAIN of these in a row drawing stops.
    """
    later = range(1, 1 if sampler.is_deterministic else ATTEMPTS)
    in_vain = 0
    for first in sampler.samples(numbers, share=share):
        attempts = chain([first], sampler.samples([first.number] * len(later), later))
        sample = next(filter(conditions.accept, attempts), None)
        if sample is not None:
            yield sample
        in_vain = in_vain + 1 if sample is None else 0
        if in_vain == IN_VAIN:
            return


def best_of(
    sampler: Sampler, count: int, conditions: Conditions, share: Share | None = None
) -> list[Sample]:
    """Return the samples with the fewest nats a character, of ten times as many that pass."""
    accepted: list[Sample] = []
    for sample in sampler.samples(range(MOST_DRAWN * count), share=share):
        if conditions.accept(sample):
            accepted.append(sample)
        if len(accepted) == BEST_OF * count:
            break
    return nsmallest(count, accepted, lambda sample: nats_per_character(sampler, sample))


def nats_per_character(sampler: Sampler, sample: Sample) -> float:
    """Return the nats of the prime, the text and its END, over their number."""
    symbols = len(sampler.prime) + len(sample.text) + (sample.ended == "end")
    return (sampler.prime_nats + sample.nats) / symbols


def limit_length(
    config: SampleConfig, prime: str, shortest: int | None, longest: int | None
) -> SampleConfig:
    """Return the configuration with no more characters than ``longest`` needs.

    Raise SettingError if no sample can be long or short enough.
    """
    most = len(prime) + config.max_characters
    if (shortest or 0) > most:
        what = f"shortest {shortest} is more than the {most} characters of a sample"
        raise SettingError(what, "Raise [max_characters].", "shortest")
    if longest is None:
        return config
    if (shortest or 0) > longest:
        what = f"shortest {shortest} is more than longest {longest}"
        raise SettingError(what, "Swap them, or leave out [longest].", "shortest")
    if len(prime) > longest:
        raise SettingError(f"the prime has more than {longest} characters", "Raise [longest].")
    return replace(config, max_characters=min(config.max_characters, longest - len(prime) + 1))

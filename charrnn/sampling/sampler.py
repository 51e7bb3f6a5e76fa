"""Draw one conditional after another until END.

    P(y(1) .. y(n), END)  =  P(y(1)) P(y(2) | y(1)) ..  P(END | y(1) .. y(n))      (10.31)

The seed, the number of a sample, its attempt and the step determine each draw, so a group of any
size draws the same. A sample that fails a condition (a copy, too short, too long) is drawn again as
another attempt; that depends on the corpus and on samples with lower numbers, never on later ones.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import chain
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.checks import TextSet
from charrnn.errors import SettingError
from charrnn.network.parameters import LanguageModel
from charrnn.network.rounding import Array64, Integers, in_units
from charrnn.network.stepper import NONE, InputCounts
from charrnn.sampling import draws
from charrnn.sampling.copied import Runs
from charrnn.sampling.draws import Choice, LengthChoice, nats_of_beginning
from charrnn.scoring.predictor import Predictor, State, as_predictor, scorer_of
from charrnn.settings.sampling import SampleConfig as SampleConfig
from charrnn.text import SCRIPTS, script_of
from charrnn.vocabulary import END, Ids, Vocabulary

Beginning = tuple[State, NDArray[np.intp], NDArray[np.int64] | None, Array64]
Ending = Literal["end", "limit"]


LANES: Final = 1024  # at most
FEWEST: Final = 16  # lanes
OUTPUTS: Final = 1 << 21  # of all lanes at a step, at most
CELLS: Final = 1 << 25  # symbols drawn by a group before its first sample ends, at most
AHEAD: Final = 256  # steps whose random numbers are looked up at a time, for one sample
FEW: Final = 16  # and for many
BEFORE: Final = 1 << 48  # the step of the draw before the first character
REACH: Final = 1 << 17  # symbols at the end of a prime that are read; no state remembers more


class Fragment(NamedTuple):
    """A part of a sample, as it is drawn."""

    number: int
    text: str
    nats: list[float]  # the surprisal of each character, and of END if it was drawn
    ended: Ending | None  # set in the last fragment


@dataclass(frozen=True)
class Sample:
    """A drawn text, without its prime."""

    number: int
    text: str
    nats: list[float]  # the surprisal of each character, and of END if it was drawn
    ended: Ending
    copied: Runs | None = None  # where they are asked for


class Sampler:
    """A model and a prime, with the buffers to draw samples."""

    def __init__(
        self,
        model: LanguageModel | Predictor,
        config: SampleConfig | None = None,
        prime: str = "",
        threads: int = 1,
    ) -> None:
        vocabulary = model.vocabulary
        self.config = config = config or SampleConfig()
        symbols = vocabulary.symbols
        if config.top_k is not None and config.top_k > symbols:
            what = f"top_k {config.top_k} is more than the {symbols} symbols of the model"
            raise SettingError(what, f"It may be 1 to {symbols}.", "top_k")
        self._symbols = symbols
        self._characters = ["", "", *vocabulary.characters]
        self._seed = random_seed() if config.seed is None else config.seed
        self._known_nats = -math.log1p(-vocabulary.novelty)  # of not being an unseen character
        lanes = max(FEWEST, min(LANES, OUTPUTS // symbols))
        self.group = max(FEWEST, min(lanes, CELLS // config.max_characters))
        predictor = as_predictor(model)
        self._stepper = predictor.stepper(lanes, threads)
        excluded = None if config.script is None else not_in_script(vocabulary, config.script)
        self._choice = Choice(symbols, lanes, config, excluded)
        read = np.concatenate((np.array([END], vocabulary.dtype), vocabulary.encode(prime)))
        self._state = self._stepper.zeros(1)
        self._read = len(read) - 1  # symbols; the first step reads the last
        self._x = read[-1:].astype(np.intp)
        self._lengths: LengthChoice | None = None
        network = predictor.single_network
        if network is not None and network.architecture.head.lengths is not None:
            within = read[max(0, len(read) - REACH) :]
            self._lengths = LengthChoice(
                network, self._stepper, within, self._read, config.temperature
            )
            return
        for index in range(max(0, len(read) - REACH), self._read):
            self._stepper.read(read[index : index + 1].astype(np.intp), self._state, index)

    @property
    def is_deterministic(self) -> bool:
        takes_likeliest = self.config.temperature == 0 or self.config.top_k == 1
        return takes_likeliest and self._lengths is None

    def stream(self, number: int = 0, attempt: int = 0) -> Iterator[Fragment]:
        """Yield one sample, a character at a time."""
        stepper, choice, characters = self._stepper, self._choice, self._characters
        keys = draws.keys(self._seed, [number], [attempt])
        state, _, to_come, cost = self._begin(keys)
        x: Integers = self._x
        left, index = self.config.max_characters, self._read
        while True:
            for chances in draws.uniform(keys, self.config.max_characters - left, AHEAD):
                if to_come is not None and not to_come[0]:
                    yield Fragment(number, "", cost.tolist(), "end")
                    return
                choice.prepare(stepper.step(x, state, index, counts_for(to_come)))
                index += 1
                x, surprisal = choice.draw(chances)
                symbol, nats = x.item(), in_units(surprisal + self._known_nats).tolist()
                if symbol == END:
                    yield Fragment(number, "", nats, "end")
                    return
                left -= 1
                to_come = None if to_come is None else to_come - 1
                if not left and (to_come is None or to_come[0]):
                    yield Fragment(number, characters[symbol], nats, "limit")
                    return
                yield Fragment(number, characters[symbol], nats, None)

    def fragments(self, numbers: Sequence[int], attempt: int = 0) -> Iterator[Fragment]:
        """Yield several samples one after the other; all are drawn while the first is yielded."""
        if len(numbers) == 1:
            yield from self.stream(numbers[0], attempt)
            return
        for at in range(0, len(numbers), self.group):
            yield from self._draw_group(numbers[at : at + self.group], [attempt])

    def samples(self, numbers: Sequence[int], attempt: int = 0) -> Iterator[Sample]:
        """Yield the same samples, whole."""
        return self._join(self.fragments(numbers, attempt))

    def attempts(self, number: int, tried: range) -> Iterator[Sample]:
        """Yield several attempts at one sample, drawn side by side."""
        for at in range(0, len(tried), self.group):
            some = tried[at : at + self.group]
            yield from self._join(self._draw_group([number] * len(some), some))

    def _join(self, fragments: Iterable[Fragment]) -> Iterator[Sample]:
        held: list[Fragment] = []
        for fragment in fragments:
            held.append(fragment)
            if fragment.ended:
                text = "".join([each.text for each in held])
                nats = [nats for each in held for nats in each.nats]
                yield Sample(fragment.number, text, nats, fragment.ended)
                held = []

    def _draw_group(self, numbers: Sequence[int], attempts: Sequence[int]) -> Iterator[Fragment]:
        keys = draws.keys(self._seed, numbers, attempts)
        sheet = Sheet(numbers, self._characters)
        state, lane, to_come, cost = self._begin(keys)
        x = np.repeat(self._x, len(state[0]))
        rows = np.arange(len(numbers))  # of the sheet: the samples that have not ended
        limit = self.config.max_characters
        for step in range(limit + 1):
            if step % FEW == 0:
                chances = draws.uniform(keys, step, FEW)
            o = self._stepper.step(x, state, self._read + step, counts_for(to_come))
            self._choice.prepare(o)
            symbols, nats = self._choice.draw(chances[step % FEW][rows], lane)
            nats = in_units(nats + self._known_nats)
            goes_on = np.full(len(rows), step + 1 < limit)
            if to_come is not None:
                left = to_come[lane]
                symbols = np.where(left == 0, END, symbols)
                nats = np.where(left == 0, cost[rows], nats)
                goes_on |= left == 1  # this one ends at its length, not at the limit
            sheet.write(step, rows, symbols, nats)
            goes_on &= symbols != END
            rows = rows[goes_on]
            yield from sheet.take_new(rows)
            if not len(rows):
                return
            grown = lane[goes_on] * self._symbols + symbols[goes_on]
            distinct, lane = np.unique(grown, return_inverse=True)
            kept, x = np.divmod(distinct, self._symbols)
            state = [h[kept] for h in state]
            to_come = None if to_come is None else to_come[kept] - 1

    def _begin(self, keys: draws.Words) -> Beginning:
        """Return the first states and the lane of each sample; if lengths are drawn first, also the
        characters to come in each lane and the surprisal of each sample's length.
        """
        if self._lengths is not None:
            return self._lengths.begin(draws.uniform(keys, BEFORE, 1)[0])
        return [h.copy() for h in self._state], np.zeros(len(keys), np.intp), None, np.zeros(0)


def not_in_script(vocabulary: Vocabulary, script: str) -> NDArray[np.bool_]:
    """Return which symbols are characters of other scripts, (K,)."""
    scripts = ["", "", *map(script_of, vocabulary.characters)]
    if script not in scripts:
        known = ", ".join(sorted({*scripts}.intersection(SCRIPTS)))
        hint = f"Leave [script] out{known and ', or use one of '}{known}."
        raise SettingError(f"script {script}: the model knows none of its characters", hint)
    return np.array([one not in ("", script) for one in scripts])


def counts_for(to_come: Integers | None) -> InputCounts:
    """Return the counted inputs of a network besides the index."""
    return NONE if to_come is None else {"left": to_come}


class Sheet:
    """The symbols that a group has drawn so far, a row for each sample."""

    def __init__(self, numbers: Sequence[int], characters: Sequence[str]) -> None:
        self.numbers, self.characters = numbers, characters
        self.ids: Ids = np.empty((len(numbers), 64), np.min_scalar_type(len(characters)))
        self.nats: Array64 = np.empty((len(numbers), 64))
        self.lengths = np.zeros(len(numbers), np.intp)
        self._row = 0  # the first that was not yielded to its end
        self._yielded = 0  # symbols of that row

    def write(self, step: int, rows: Integers, symbols: Integers, nats: Array64) -> None:
        if step == self.ids.shape[1]:
            self.ids = np.concatenate([self.ids, np.empty_like(self.ids)], 1)
            self.nats = np.concatenate([self.nats, np.empty_like(self.nats)], 1)
        self.ids[rows, step] = symbols
        self.nats[rows, step] = nats
        self.lengths[rows] = step + 1

    def take_new(self, growing: Integers) -> Iterator[Fragment]:
        """Yield the new symbols of the first row that still grows, and of the rows before it."""
        first = int(growing[0]) if len(growing) else len(self.numbers)
        while self._row < first:
            last = self.ids[self._row, self.lengths[self._row] - 1]
            yield self._fragment("end" if last == END else "limit")
            self._row += 1
            self._yielded = 0
        if first < len(self.numbers):
            yield self._fragment(None)
            self._yielded = int(self.lengths[first])

    def _fragment(self, ended: Ending | None) -> Fragment:
        new = slice(self._yielded, self.lengths[self._row])
        text = "".join([self.characters[symbol] for symbol in self.ids[self._row, new].tolist()])
        return Fragment(self.numbers[self._row], text, self.nats[self._row, new].tolist(), ended)


def random_seed() -> int:
    """Return a new random seed."""
    return int.from_bytes(os.urandom(8), "little")


ATTEMPTS: Final = 101  # the first and a hundred more
IN_VAIN: Final = 10  # samples in a row without success, after which drawing stops


@dataclass(frozen=True)
class Conditions:
    """Conditions on a sample with its prime, apart from samples before it."""

    prime: str
    known: TextSet | None = None  # texts that are rejected
    shortest: int | None = None
    longest: int | None = None

    def whole(self, sample: Sample) -> str:
        return self.prime + sample.text

    def rejects(self, sample: Sample) -> bool:
        text = self.whole(sample)
        if self.longest is not None and (len(text) > self.longest or sample.ended == "limit"):
            return True
        return len(text) < (self.shortest or 0) or (self.known is not None and text in self.known)


def redraw(
    sampler: Sampler, numbers: range, conditions: Conditions | None, seen: TextSet | None = None
) -> Iterator[Sample | None]:
    """Yield the samples of these numbers, each drawn until it is accepted; None after ATTEMPTS.

    A sample whose whole text is in ``seen`` is rejected; that of an accepted one is added.
    Drawing stops after IN_VAIN failures in a row. A deterministic sampler gets one attempt. Without
    conditions, every sample is accepted.
    """
    if conditions is None:
        yield from sampler.samples(numbers)
        return
    in_vain = 0
    most = 1 if sampler.is_deterministic else ATTEMPTS

    def is_rejected(sample: Sample) -> bool:
        return conditions.rejects(sample) or (seen is not None and conditions.whole(sample) in seen)

    first = IN_VAIN + 1  # one success and IN_VAIN failures: a hopeless case ends soon
    for group in doubling(numbers, first, sampler.group):
        for number, attempts in _attempts_of(sampler, group, most, is_rejected).items():
            later = (
                sample
                for tried in doubling(range(len(attempts), most), 1, most)
                for sample in sampler.attempts(number, tried)
            )
            accepted = (sample for sample in chain(attempts, later) if not is_rejected(sample))
            sample = next(accepted, None)
            yield sample
            if sample is not None and seen is not None:
                seen.add(conditions.whole(sample))
            in_vain = 0 if sample is not None else in_vain + 1
            if in_vain == IN_VAIN:
                return


def doubling(numbers: range, size: int, most: int) -> Iterator[range]:
    """Yield the numbers in groups, each twice as large as the one before, up to ``most``."""
    at = 0
    while at < len(numbers):
        yield numbers[at : at + size]
        at, size = at + size, min(2 * size, most)


def _attempts_of(
    sampler: Sampler, numbers: range, most: int, is_rejected: Callable[[Sample], bool]
) -> dict[int, list[Sample]]:
    """Return the attempts of each sample up to one that is accepted but may repeat another."""
    tried: dict[int, list[Sample]] = {number: [] for number in numbers}
    rejected = list(numbers)
    for attempt in range(most):
        drawn = list(sampler.samples(rejected, attempt))
        for sample in drawn:
            tried[sample.number].append(sample)
        rejected = [sample.number for sample in drawn if is_rejected(sample)]
        if not rejected:
            break
    return tried


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
    left = longest - len(prime)
    if left < 0:
        raise SettingError(f"the prime has more than {longest} characters", "Raise [longest].")
    return replace(config, max_characters=min(config.max_characters, left + 1))


def nats_of(prime: str, predictor: Predictor) -> float:
    """Return the surprisal of the prime."""
    networks = predictor.used_networks
    if len(networks) == 1 and networks[0].architecture.head.lengths is not None:
        return nats_of_beginning(networks[0], prime)
    scorer = scorer_of(predictor)
    return float(scorer.read(predictor.vocabulary.encode(prime))[0].sum())


def likeliest(
    samples: Iterable[Sample], count: int, nats: float = 0.0, characters: int = 0
) -> list[Sample]:
    """Return the samples with the fewest nats per character, after a prime with these figures."""

    def mean(sample: Sample) -> float:
        return (nats + sum(sample.nats)) / (characters + len(sample.nats))

    return nsmallest(count, samples, mean)

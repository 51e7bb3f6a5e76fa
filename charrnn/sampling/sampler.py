"""Draw one conditional after another until END.

    P(y(1) .. y(n), END)  =  P(y(1)) P(y(2) | y(1)) ..  P(END | y(1) .. y(n))      (10.31)

A sample is known by its number, and by the attempt where it is drawn again. Both, with the seed
and the step, decide each draw. So many samples can be drawn side by side, in groups of any size,
and come out as if each had been drawn alone.

Samples that have said the same so far share a lane: a thousand names begin as one, then as
twenty-six. A lane that ends, or is left by all, is dropped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError
from charrnn.network.parameters import Integers, LanguageModel
from charrnn.network.rounding import Array64, in_units
from charrnn.network.stepper import NONE, InputCounts
from charrnn.sampling import draws
from charrnn.sampling.draws import Choice
from charrnn.scoring.predictor import Predictor, State, as_predictor
from charrnn.settings.using import SampleConfig as SampleConfig
from charrnn.vocabulary import END, Ids

if TYPE_CHECKING:
    from charrnn.sampling.lengths import LengthChoice

Beginning = tuple[State, NDArray[np.intp], NDArray[np.int64] | None, Array64]
Ending = Literal["end", "limit"]
Scalar = TypeVar("Scalar", bound=np.generic)

LANES: Final = 1024  # side by side, at most
FEWEST: Final = 16  # of them
OUTPUTS: Final = 1 << 21  # at most, of all lanes at a step
CELLS: Final = 1 << 25  # at most, drawn by a group before its first sample has ended
AHEAD: Final = 256  # steps for which chances are looked up at a time, for one sample
FEW: Final = 16  # and for many
BEFORE: Final = 1 << 48  # the step of a draw that comes before all characters
REACH: Final = 1 << 17  # symbols of a prime that are read, the last ones; no state holds as many


class Piece(NamedTuple):
    """A stretch of a sample, as it is drawn."""

    number: int
    text: str
    nats: list[float]  # the surprisal of each character, and of END where that was drawn
    ended: Ending | None  # how, with the last piece


@dataclass(frozen=True)
class Sample:
    """A text that was drawn, without its prime."""

    number: int
    text: str
    nats: list[float]  # the surprisal of each character, and of END where that was drawn
    ended: Ending


class Sampler:
    """A model and a prime, made ready to draw."""

    def __init__(
        self,
        model: LanguageModel | Predictor,
        config: SampleConfig | None = None,
        prime: str = "",
        workers: int = 1,
    ) -> None:
        vocabulary = model.vocabulary
        self.config = config = config or SampleConfig()
        symbols = vocabulary.symbols
        if config.top_k is not None and config.top_k > symbols:
            raise SettingError(
                f"top_k cannot be {config.top_k}",
                f"It may be 1 to {symbols}: the model has no more symbols.",
                "top_k",
            )
        self._symbols = symbols
        self._characters = ["", "", *vocabulary.characters]
        self._seed = random_seed() if config.seed is None else config.seed
        self._known_nats = -math.log1p(-vocabulary.novelty)  # what being no new character costs
        lanes = max(FEWEST, min(LANES, OUTPUTS // symbols))
        self.group = max(FEWEST, min(lanes, CELLS // config.max_characters))
        predictor = as_predictor(model)
        self._stepper = predictor.stepper(lanes, workers)
        self._choice = Choice(symbols, lanes, config.temperature, config.top_k, config.top_p)
        read = np.concatenate((np.array([END], vocabulary.dtype), vocabulary.encode(prime)))
        self._state = self._stepper.zeros(1)
        self._read = len(read) - 1  # symbols; the last comes with the first step
        self._x = read[-1:].astype(np.intp)
        self._lengths: LengthChoice | None = None
        alone = predictor.single_network
        if alone is not None and alone.architecture.head.lengths is not None:
            from charrnn.sampling.lengths import LengthChoice  # few models have them

            within = read[max(0, len(read) - REACH) :]
            self._lengths = LengthChoice(
                alone, self._stepper, within, self._read, config.temperature
            )
            return
        for index in range(max(0, len(read) - REACH), self._read):
            self._stepper.read(read[index : index + 1].astype(np.intp), self._state, index)

    @property
    def always_the_same(self) -> bool:
        """Whether nothing is left to chance: all samples are alike."""
        takes_likeliest = self.config.temperature == 0 or self.config.top_k == 1
        return takes_likeliest and self._lengths is None

    def stream(self, number: int = 0, attempt: int = 0) -> Iterator[Piece]:
        """One sample, a character at a time."""
        stepper, choice, characters = self._stepper, self._choice, self._characters
        keys = draws.keys(self._seed, [number], [attempt])
        state, _, to_come, cost = self._beginning(keys)
        x = self._x
        left, index = self.config.max_characters, self._read
        while True:
            for chances in draws.uniform(keys, self.config.max_characters - left, AHEAD):
                if to_come is not None and not to_come[0]:
                    yield Piece(number, "", cost.tolist(), "end")
                    return
                choice.prepare(stepper.step(x, state, index, counts_for(to_come)))
                index += 1
                x, surprisal = choice.draw(chances)
                symbol, nats = x.item(), in_units(surprisal + self._known_nats).tolist()
                if symbol == END:
                    yield Piece(number, "", nats, "end")
                    return
                left -= 1
                to_come = None if to_come is None else to_come - 1
                if not left and (to_come is None or to_come[0]):
                    yield Piece(number, characters[symbol], nats, "limit")
                    return
                yield Piece(number, characters[symbol], nats, None)

    def pieces(self, numbers: Sequence[int], attempt: int = 0) -> Iterator[Piece]:
        """Several samples, drawn side by side and told one after the other.

        The first that has not ended is told as it is drawn; what the others say meanwhile comes
        when it is their turn.
        """
        if len(numbers) == 1:
            yield from self.stream(numbers[0], attempt)
            return
        for at in range(0, len(numbers), self.group):
            yield from self._abreast(numbers[at : at + self.group], [attempt])

    def samples(self, numbers: Sequence[int], attempt: int = 0) -> Iterator[Sample]:
        """The same samples, whole."""
        return self._whole(self.pieces(numbers, attempt))

    def attempts(self, number: int, tried: range) -> Iterator[Sample]:
        """One sample in several attempts, drawn side by side."""
        for at in range(0, len(tried), self.group):
            some = tried[at : at + self.group]
            yield from self._whole(self._abreast([number] * len(some), some))

    def _whole(self, pieces: Iterable[Piece]) -> Iterator[Sample]:
        held: list[Piece] = []
        for piece in pieces:
            held.append(piece)
            if piece.ended:
                text = "".join([piece.text for piece in held])
                nats = [nats for piece in held for nats in piece.nats]
                yield Sample(piece.number, text, nats, piece.ended)
                held = []

    def _abreast(self, numbers: Sequence[int], attempts: Sequence[int]) -> Iterator[Piece]:
        keys = draws.keys(self._seed, numbers, attempts)
        sheet = Sheet(numbers, self._characters)
        state, lane, to_come, cost = self._beginning(keys)
        x = np.repeat(self._x, len(state[0]))
        rows = np.arange(len(numbers))  # of the sheet, one for each sample that has not ended
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
                goes_on |= left == 1  # it has come to its end, and not to the limit
            sheet.write(step, rows, symbols, nats)
            goes_on &= symbols != END
            rows = rows[goes_on]
            yield from sheet.news(rows)
            if not len(rows):
                return
            said = lane[goes_on] * self._symbols + symbols[goes_on]
            sayings, lane = np.unique(said, return_inverse=True)
            kept, x = np.divmod(sayings, self._symbols)
            state = [h[kept] for h in state]
            to_come = None if to_come is None else to_come[kept] - 1

    def _beginning(self, keys: draws.Words) -> Beginning:
        """Where samples begin: states, the lane of each sample, what is still to come in each lane
        and what the length of each sample costs, where lengths come first.
        """
        if self._lengths is not None:
            return self._lengths.begun(draws.uniform(keys, BEFORE, 1)[0])
        return [h.copy() for h in self._state], np.zeros(len(keys), np.intp), None, np.zeros(0)


def counts_for(to_come: Integers | None) -> InputCounts:
    """What a network has to know besides its index."""
    return NONE if to_come is None else {"left": to_come}


class Sheet:
    """What a group has drawn so far, a row for each sample."""

    def __init__(self, numbers: Sequence[int], characters: Sequence[str]) -> None:
        self.numbers = numbers
        self.characters = characters
        self.ids: Ids = np.empty((len(numbers), 64), np.min_scalar_type(len(characters)))
        self.nats: Array64 = np.empty((len(numbers), 64))
        self.lengths = np.zeros(len(numbers), np.intp)
        self._row = 0  # the first that has not been told to its end
        self._told = 0  # of that

    def write(self, step: int, rows: Integers, symbols: Integers, nats: Array64) -> None:
        """Add a symbol to these rows."""
        if step == self.ids.shape[1]:
            self.ids, self.nats = _widened(self.ids), _widened(self.nats)
        self.ids[rows, step] = symbols
        self.nats[rows, step] = nats
        self.lengths[rows] = step + 1

    def news(self, going: Integers) -> Iterator[Piece]:
        """What has not been told yet, as far as all samples before it have ended.

        ``going`` are the rows that may still grow, in order.
        """
        first = int(going[0]) if len(going) else len(self.numbers)
        while self._row < first:
            yield self._piece("end" if self._last() == END else "limit")
            self._row += 1
            self._told = 0
        if first < len(self.numbers):
            yield self._piece(None)
            self._told = int(self.lengths[first])

    def _piece(self, ended: Ending | None) -> Piece:
        new = slice(self._told, self.lengths[self._row])
        text = "".join([self.characters[symbol] for symbol in self.ids[self._row, new].tolist()])
        return Piece(self.numbers[self._row], text, self.nats[self._row, new].tolist(), ended)

    def _last(self) -> int:
        return int(self.ids[self._row, self.lengths[self._row] - 1])


def random_seed() -> int:
    """Another one each time."""
    return int.from_bytes(os.urandom(8), "little")


def _widened(array: NDArray[Scalar]) -> NDArray[Scalar]:
    return np.concatenate([array, np.empty_like(array)], 1)

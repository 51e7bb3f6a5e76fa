"""The distribution of the next symbol, by networks, by counts, or by both: ``step`` by symbol.

several networks   P = the mean of their P
with counts        P ~ P of the networks ^ a * P of the counts ^ b

The exponents a and b depend on how well the counts know the context, (F,) numbers: each is a sum of
these, times (F,) weights. Each half of a held-out text is scored with the weights that were fitted
on the other half, so that its loss is that of new text. Other texts have the mean of both. The
state is that of each network, then that of the counts.

Texts are read in lanes, side by side:

    a short text    |-----------|                             a lane
    a long text     |-------------------|                     a lane
                                 ~~~~~~~|------------------|  a lane;  ~ warms up: not counted

The stretches of a long text are read at once: the state after the warm-up is that of the whole text
but for some 1e-10, if the network forgets. ``reber`` remembers one symbol up to END, so a long text
without an END scores differently. Lanes are sorted by length, so those that have ended come last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from charrnn.errors import ModelFileError, SettingError
from charrnn.network.arrays import Array64, Integers, softmax
from charrnn.network.parameters import LanguageModel
from charrnn.network.step import Count, Network, StepState
from charrnn.text.corpus import Examples
from charrnn.text.counts import KNOWLEDGE, Ngrams
from charrnn.text.examples import WARM_UP, excerpt_of
from charrnn.text.vocabulary import END, Ids

Use = Literal["network", "counts", "both"]
Costs = dict[Use, Array64]  # the nats of some symbols, (S,)
Places = NDArray[np.int64]
Read = tuple[Places, Any, StepState]  # after a step: see read_texts

EVEN: Final = (0.5, 0.0, 0.0, 0.5, 0.0, 0.0)  # a and b are 0.5, whatever the counts know
SMALLEST: Final = 1e-300  # added to a mean of probabilities, so that its logarithm is finite
MIXABLE_HEADS: Final = ("symbol", "halt")  # their logits are a distribution that includes END
OTHER_VOCABULARY: Final = "Use models with the same vocabulary, such as models of the same texts."

SCORED_LANES: Final = 512  # at a time, at most
LOGITS_AT_ONCE: Final = 1 << 22  # of all lanes: a large vocabulary is scored in fewer

FEWEST_TO_FIT: Final = 500  # symbols in each half of a held-out text
FIT_LANE: Final = 256  # symbols of a lane that the fit reads
FIT_LANES: Final = 64
FIT_LOGITS: Final = 8000 * FIT_LANE  # fewer symbols of a large vocabulary, whose logits need memory
NEWTON_STEPS: Final = 6
PULL: Final = 50.0  # towards EVEN, where the text does not determine the weights: as of symbols


@dataclass(eq=False, repr=False)
class Predictor:
    """Networks and counts over one vocabulary, with the choice of those to use."""

    models: Sequence[LanguageModel]
    counts: Ngrams | None = None
    use: Use = "both"
    mixture: ArrayLike = EVEN  # the weights, or those of each half of the held-out text
    dtype: DTypeLike = np.float64

    def __post_init__(self) -> None:
        self.halves = np.reshape(self.mixture, (-1, 2, KNOWLEDGE, 1))  # (1 or 2, 2, F, 1)
        self.weights: Array64 = self.halves.mean(0)
        self.use = "network" if self.counts is None else self.use
        self.model = self.models[0]
        self.vocabulary = self.model.vocabulary
        self.head = self.model.architecture.head
        if len(self.models) > 1 or self.counts is not None:
            for model in self.models:
                check_mixable(model.architecture.head_name)
        used = self.models if self.use != "counts" else ()
        self.networks = [Network(model.parameters, self.dtype) for model in used]
        # An exponent may be above 1.
        self.is_bounded = self.use != "both" and all(net.is_bounded for net in self.networks)
        sizes = [len(network.zeros(1)) for network in self.networks]
        self.logits: dict[Use, Array64] = {}
        self.known: Array64 = np.empty((0, KNOWLEDGE))  # (B, F) what the counts know of a context
        self._slices = [slice(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]

    @property
    def uses(self) -> tuple[Use, ...]:
        """The names of what predicts: those of ``logits`` after a step."""
        return get_args(Use) if self.use == "both" else (self.use,)

    def zeros(self, lanes: int, clock: Count = 0, to_come: Count = 0) -> StepState:
        """Return the state before the first symbol: see Network."""
        states = [network.zeros(lanes, clock, to_come) for network in self.networks]
        if self.counts is not None and self.use != "network":
            states.append([self.counts.empty_contexts(lanes)])
        return [array for state in states for array in state]

    def step(self, x: Integers, state: StepState, mixture: Array64 | None = None) -> Array64:
        """Read x (B,), move the state on, and return the logits (B, K), which may be changed.

        ``logits`` has those of each use until the next step. Weights may differ by lane, (2, F, B).
        """
        logits = self.logits
        if self.use != "counts":
            pairs = zip(self.networks, self._slices, strict=True)
            outputs = [network.step(x, state[arrays]) for network, arrays in pairs]
            if len(outputs) > 1:  # log of the mean of P
                mean = np.add.reduce([softmax(o) for o in outputs]) / len(outputs)
                outputs = [np.log(mean + SMALLEST)]
            logits["network"] = outputs[0]
        if self.counts is not None and self.use != "network":
            self.counts.read(x, state[-1])
            logits["counts"] = np.log(self.counts.probabilities(state[-1]))
            if self.use == "both":
                weights = self.weights if mixture is None else mixture
                self.known = self.counts.knowledge(state[-1])
                a, b = (weights * self.known.T).sum(1)  # (B,)
                logits["both"] = a[:, None] * logits["network"] + b[:, None] * logits["counts"]
        return logits[self.use]


def check_mixable(head_name: str) -> None:
    """Raise SettingError if a network with this head does not predict END beside characters."""
    if head_name not in MIXABLE_HEADS:
        what = f"ends {head_name} cannot be mixed with counts or other networks"
        raise SettingError(what, f"Train with [ends] {' or '.join(MIXABLE_HEADS)}.", "ends")


def combine(predictors: Sequence[Predictor]) -> Predictor:
    """Return one predictor of all networks, with the mean novelty, the labels of all examples, and
    the counts of most text.
    """
    first = predictors[0]
    for other in (predictor.vocabulary for predictor in predictors[1:]):
        if other.characters != first.vocabulary.characters:
            raise ModelFileError("the models have different vocabularies", OTHER_VOCABULARY)
        if other.labels.keys() != first.vocabulary.labels.keys():
            raise ModelFileError("the models have different labels", "Use some of the same labels.")
    models = [model for predictor in predictors for model in predictor.models]
    vocabularies = [model.vocabulary for model in models]
    novelty = sum(each.novelty for each in vocabularies) / len(models)
    examples = {name: sum(v.labels[name] for v in vocabularies) for name in first.vocabulary.labels}
    shared = replace(first.vocabulary, novelty=novelty, labels=examples)
    largest = max(predictors, key=lambda predictor: getattr(predictor.counts, "size", 0))
    models = [replace(model, vocabulary=shared) for model in models]
    return Predictor(models, largest.counts, largest.use, largest.halves)


def read_texts(
    predictor: Predictor,
    ids: Integers,
    stretch: int,
    warm_up: int,
    split: int | None = None,
    labels: Ids | None = None,
) -> Iterator[Read]:
    """Read texts that lie end to end. After each step, yield the place of the symbol that comes
    next in each lane, the rows of the lanes where it counts, and the state.

    With labels of the symbols, (S,), each stretch begins with the label of its text.
    """
    stretches = cut_into_stretches(np.diff(stops_of(ids), prepend=0), stretch, warm_up)
    # The network reads x = flat[place], and y = ids[place] comes next.
    flat = np.append(END, ids).astype(np.intp)
    at_once = lanes_at_once(predictor.vocabulary.symbols)
    for first in range(0, stretches.shape[1], at_once):
        lanes = stretches[:, first : first + at_once]
        x = (flat if labels is None else labels)[lanes[0]].astype(np.intp)
        yield from read_stretches(predictor, flat, lanes, x, split)


def stops_of(ids: Integers) -> Places:
    """Return the place after each text; an END follows each but the last, perhaps."""
    stops = np.flatnonzero(ids == END) + 1
    return np.append(stops, len(ids)) if len(ids) and ids[-1] != END else stops


def lanes_at_once(symbols: int) -> int:
    """Return how many lanes are read side by side."""
    return max(1, min(SCORED_LANES, LOGITS_AT_ONCE // symbols))


def cut_into_stretches(sizes: Places, stretch: int, warm_up: int) -> Places:
    """Cut texts of these sizes into stretches; return rows of numbers of these, the longest first.

    first    the place of its first symbol
    size     in symbols
    warm_up  symbols at its beginning that do not count
    clock    symbols of its text before it
    to_come  characters of its text from its first symbol on

    A text of ten symbols, in stretches of four with a warm-up of one: 0123, 34567, 789.
    """
    counts = -(-sizes // stretch)  # rounded up
    text = np.repeat(np.arange(len(sizes)), counts)
    number = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)  # in its text
    counted_from = number * stretch
    clock = np.maximum(counted_from - warm_up, 0)
    first = (np.cumsum(sizes) - sizes)[text] + clock
    size = np.minimum(counted_from + stretch, sizes[text]) - clock
    rows = np.stack([first, size, counted_from - clock, clock, sizes[text] - 1 - clock])
    return rows[:, np.argsort(-size, kind="stable")]


def read_stretches(
    predictor: Predictor, flat: Integers, stretches: Places, x: Integers, split: int | None
) -> Iterator[Read]:
    """Read some stretches, the longest first, each in a lane, where x comes first."""
    first, size, warm_up, clock, to_come = stretches
    place, state = first.copy(), predictor.zeros(len(first), clock, to_come)
    last_warm, times = int(warm_up.max()), np.arange(int(size[0]))
    lane_counts = len(size) - np.searchsorted(size[::-1], times, "right")  # that have a step t
    halves = predictor.halves[-1], predictor.halves[0]  # the weights of each, fitted on the other
    for t, lane_count in enumerate(lane_counts.tolist()):
        if lane_count < len(place):
            place, warm_up = place[:lane_count], warm_up[:lane_count]
            state = [h[:lane_count] for h in state]
        mixture = None if split is None else np.where(place < split, *halves)
        predictor.step(flat[place] if t else x, state, mixture)
        # Once no lane warms up, all rows count: a slice copies nothing.
        yield place, np.flatnonzero(warm_up <= t) if t < last_warm else slice(None), state
        place += 1


def fit_mixture(predictor: Predictor, held_out: Examples) -> tuple[float, ...]:
    """Return the weights that suit each half of a held-out text; EVEN for a short text.

    A small penalty pulls them towards EVEN. With it, the loss is convex in them, and a few of
    Newton's steps find its minimum.
    """
    middle = len(held_out.ids) // 2
    if predictor.counts is None or middle < FEWEST_TO_FIT:
        return EVEN
    halves = slice(0, middle), slice(middle, None)
    first, second = (fit_weights(*read_excerpt(predictor, held_out, half)) for half in halves)
    return first + second


def symbols_to_fit(symbols: int) -> int:
    """Return how much of a text with so large a vocabulary is read, at most."""
    return min(FIT_LANES * FIT_LANE, 2 * FIT_LANE + FIT_LOGITS // symbols)


def read_excerpt(
    predictor: Predictor, held_out: Examples, half: slice
) -> tuple[Array64, Array64, Integers]:
    """Read some of one half of a text. Return, for each symbol that counts, the logits of network
    and counts (N, K, 2), what the counts know of its context (N, F), and the symbol (N,).
    """
    ids = held_out.ids[half]
    places, is_counted = excerpt_of(ids, symbols_to_fit(predictor.vocabulary.symbols))
    text, labels = ids[places].astype(np.intp), held_out.labels_at(places + half.start)
    size, read = np.count_nonzero(is_counted), 0
    logits: Array64 = np.empty((size, predictor.vocabulary.symbols, 2))
    known: Array64 = np.empty((size, KNOWLEDGE))
    y = np.empty(size, np.intp)
    for place, rows, _ in read_texts(predictor, text, FIT_LANE, WARM_UP, labels=labels):
        counts = is_counted[place[rows]]
        into = slice(read, read := read + int(np.count_nonzero(counts)))
        logits[into, :, 0] = predictor.logits["network"][rows][counts]
        logits[into, :, 1] = predictor.logits["counts"][rows][counts]
        known[into], y[into] = predictor.known[rows][counts], text[place[rows][counts]]
    return logits[:read], known[:read], y[:read]


def fit_weights(logits: Array64, known: Array64, y: Integers) -> tuple[float, ...]:
    """Return the weights (2 F,) with the lowest loss of these symbols."""
    weights, even = np.array(EVEN), np.array(EVEN)
    size = max(1, FIT_LOGITS // logits.shape[1])
    blocks = [slice(at, at + size) for at in range(0, len(y), size)]
    best_loss, best = np.inf, even
    for _ in range(NEWTON_STEPS):
        exponents = known @ weights.reshape(2, -1).T  # (N, 2)
        parts = (moments_of(logits[rows], exponents[rows], y[rows]) for rows in blocks)
        chances, at_y, spread = map(np.concatenate, zip(*parts, strict=True))
        penalty = PULL / 2 * ((weights - even) ** 2).sum()
        loss = penalty - np.log(chances + SMALLEST).sum()
        if loss < best_loss:
            best_loss, best = loss, weights.copy()
        gradient = PULL * (weights - even) - (at_y.T @ known).ravel()
        # (2, F, 2, F)
        hessian = np.einsum("nij,nf,ng->ifjg", spread, known, known, optimize=True)
        pull = PULL * np.eye(len(even))
        weights -= np.linalg.solve(hessian.reshape(pull.shape) + pull, gradient)
    return tuple(best.tolist())


def moments_of(logits: Array64, powers: Array64, y: Integers) -> tuple[Array64, Array64, Array64]:
    """Return P at y (n,), the logits at y less their means (n, 2), and their covariance (n, 2, 2).

    Few rows at a time: the arrays are as large as the logits.
    """
    rows = np.arange(len(y))
    y_hat = softmax(np.einsum("nki,ni->nk", logits, powers))
    centred = logits - np.einsum("nk,nki->ni", y_hat, logits)[:, None]
    spread = np.einsum("nki,nkj->nij", y_hat[:, :, None] * centred, centred)
    return y_hat[rows, y], centred[rows, y], spread

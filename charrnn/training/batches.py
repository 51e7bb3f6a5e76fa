"""Encoded examples cut into windows of T steps and B lanes, without padding, and what hides them.

    lane 0   . a n n a . b o b . c l a
    lane 1   . e v e . f r i t z . g u       . is END: it ends a name and precedes the next

A window is T rows of the lanes: the inputs x, and the targets y, which stand one place further on.
In training, some characters, units and weights are hidden at random; see below. Check-ups score
excerpts.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import Array, Integers
from charrnn.network.parameters import Architecture, LanguageModel, Parameters
from charrnn.network.through_time import Masks, State, Unfolded, Window
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import Score, score_ids, tally
from charrnn.settings.training import ORDER, OWN_INPUTS, REGULARIZATION, Fitted
from charrnn.text.corpus import Examples
from charrnn.text.vocabulary import END, UNKNOWN, Ids, Vocabulary

Places = NDArray[np.int64]

CHUNK = 1 << 16  # symbols gathered at a time, to need little memory
SLACK = 16  # a lane may be a sixteenth longer or shorter, to begin with an example


class Epoch:
    """One pass over the examples in a random order; every symbol is a target exactly once.

    The stream is a circle, cut at B places that move with each epoch. A cut near the beginning of
    an example is moved to that beginning. A cut through a long example stays, and the rest of that
    example is read from a zero state.

    The gradient stops where a window begins.
    """

    def __init__(
        self,
        examples: Examples,
        lanes: int,
        steps: int,
        seed: int,
        epoch: int,
        *,
        counting: bool = False,
    ) -> None:
        """With ``counting``, windows hold places in examples."""
        self.examples, self.steps, self.counting = examples, steps, counting
        rng = np.random.default_rng([seed, ORDER, epoch])
        order = np.arange(len(examples), dtype=np.uint32)
        rng.shuffle(order)
        starts, self.total = examples.starts.astype(np.int64), len(examples.ids)
        self.ends_in_ids = starts[order + 1]  # (n,) of each example, in this order
        self.sizes = self.ends_in_ids - starts[order]
        self.ends_on_circle = np.cumsum(self.sizes)  # (n,)
        # (B + 1,) The last bound is the first, once round, and moves as the first does.
        cuts = np.arange(lanes + 1, dtype=np.int64) * self.total // lanes
        cuts += int(rng.integers(self.total))
        back, ahead = self._distances(cuts % self.total)
        shift = np.where(back <= ahead, -back, ahead)  # to the nearest beginning of an example
        is_near = np.abs(shift) <= self.total // lanes // SLACK
        self.bounds = cuts + np.where(is_near, shift, 0)  # (B + 1,) of the lanes, on the circle
        self.lengths = np.diff(self.bounds)
        self.window_count = -(-int(self.lengths.max()) // steps)  # rounded up

    def windows_from(self, window: int) -> Iterator[Window]:
        """Yield the windows of this epoch from that number on."""
        rows = self._rows()
        for first in range(window * self.steps, self.window_count * self.steps, self.steps):
            unread = self.lengths - first  # (B,) symbols of each lane
            steps = min(self.steps, int(unread.max()))
            ids = rows[first : first + steps + 1].astype(np.intp)
            x, y = ids[:-1], ids[1:]
            t = np.arange(steps)[:, None]
            idle = t >= unread if unread.min() < steps else None
            clock = to_come = None
            if self.counting:  # the characters of the example before y, and from y on
                clock, ahead = self._distances((self.bounds[:-1] + first + t) % self.total)
                to_come = ahead - 1  # without END
            yield Window(x, y, x == END, idle, clock, to_come)

    def _rows(self) -> Ids:
        """Return the symbols of each lane in the whole epoch and the one before them, (rows, B).

        A lane that is shorter than the longest reads on beyond its end, where it is idle.
        """
        ids = self.examples.ids
        offsets = self.ends_in_ids - self.ends_on_circle
        circle = np.empty_like(ids)
        for first in range(0, self.total, CHUNK):
            places = np.arange(first, min(first + CHUNK, self.total))
            example = np.searchsorted(self.ends_on_circle, places, side="right")
            circle[places] = ids[places + offsets[example]]
        size = self.window_count * self.steps + 1
        circle = np.resize(circle, self.total + size)  # goes round again
        rows = np.empty((size, len(self.lengths)), ids.dtype)
        for lane, bound in enumerate(self.bounds[:-1].tolist()):
            first = (bound - 1) % self.total
            rows[:, lane] = circle[first : first + size]
        return rows

    def _distances(self, places: Places) -> tuple[Places, Places]:
        """Return the symbols from the beginning of its example to each place, and to its end."""
        example = np.searchsorted(self.ends_on_circle, places, side="right")
        ahead = self.ends_on_circle[example] - places
        return self.sizes[example] - ahead, ahead


# The memory of a batch, which the processes that compute its parts share


class BatchSize(NamedTuple):
    steps: int
    lanes: int
    parts: int
    has_dropout: bool


def memory_of(a: Architecture, size: BatchSize, shared: mmap.mmap | None = None) -> Any:
    """Return named arrays in shared memory, or in the memory of this process."""
    masked = a.layers if size.has_dropout else 0
    layout: list[Any] = [
        ("nats", "f8", (size.parts,)),
        ("window", "i8", (len(fields(Window)), size.steps, size.lanes)),  # 0 for None
        ("states", "f4", (len(a.state_names), size.lanes, a.hidden)),
        ("masks", "f4", (masked, 1, size.lanes, a.hidden)),
        ("p", "f4", (a.parameter_count,)),
        ("gradients", "f4", (size.parts, a.parameter_count)),
    ]
    if shared is None:
        return np.zeros((), layout)
    return np.frombuffer(shared, layout).reshape(())


# Excerpts that are scored at a check-up
#
# Excerpts of several texts are scored side by side, because many lanes are faster than a few. They
# come in as many portions as a batch has parts, so that each process scores some. One may be empty.


STRETCHES = 16  # taken from texts that are few and long, because some may be easier
SHORTEST = 1 << 8  # symbols of a stretch
EXCERPT_WARM_UP = 1 << 5  # symbols of a stretch, and of a lane, that do not count
CHECKUP_LANE = 1 << 8  # symbols counted in a lane of a check-up

Counted = NDArray[np.bool_]  # whether a symbol counts
Portion = Sequence[tuple[Ids, Counted]]  # of each text


def excerpt_of(examples: Examples, most: int) -> tuple[Examples, Counted]:
    """Return evenly spaced examples with about that many symbols, or stretches of long ones.

    The second array tells which symbols count.
    """
    total = len(examples.ids)
    if total <= most:
        return examples, np.ones(total, np.bool_)
    stride = -(-total // most)  # rounded up
    if len(examples) >= STRETCHES * stride:
        ids = np.concatenate([examples.nth(i) for i in range(0, len(examples), stride)])
        return Examples(ids), np.ones(len(ids), np.bool_)
    length = min(most, max(SHORTEST, most // STRETCHES))
    places = np.linspace(0, total - length, most // length, dtype=np.int64)
    ids = examples.ids[places[:, None] + np.arange(length)].ravel()
    # The stretches lie end to end, and a state goes on into the next, whose context was not read.
    is_counted = np.tile(np.arange(length) >= EXCERPT_WARM_UP, len(places))
    is_counted[:length] = True  # the first has its context
    return Examples(ids), is_counted


def portions_of(texts: Sequence[Examples], most: Sequence[int], parts: int) -> list[Portion]:
    """Return excerpts of these texts, with about so many symbols of each, in portions."""
    divided = [
        divide(*excerpt_of(text, size), parts) for text, size in zip(texts, most, strict=True)
    ]
    return list(zip(*divided, strict=True))


def divide(excerpt: Examples, is_counted: Counted, parts: int) -> list[tuple[Ids, Counted]]:
    """Cut an excerpt into parts of about one size, where an example or a stretch begins.

    Some parts may be empty.
    """
    ids = excerpt.ids
    stretch_begins = is_counted[:-1] & ~is_counted[1:]  # with a warm-up that does not count
    begins = (ids[:-1] == END) | stretch_begins
    starts = np.append(np.flatnonzero(begins) + 1, len(ids))
    cuts = starts[np.searchsorted(starts, len(ids) * np.arange(1, parts) // parts)]
    return list(zip(np.split(ids, cuts), np.split(is_counted, cuts), strict=True))


@np.errstate(all="ignore")  # overflow shows in the loss
def score_portion(vocabulary: Vocabulary, p: Parameters, portion: Portion) -> list[Score]:
    """Return the score of each text, in float32."""
    # An END after each, or a text would go on into the next.
    ids = np.concatenate([np.append(ids, ids.dtype.type(END)) for ids, _ in portion])
    predictor = Predictor([LanguageModel(p, vocabulary)], dtype=np.float32)
    nats, _ = score_ids(predictor, ids, stretch=CHECKUP_LANE, warm_up=EXCERPT_WARM_UP)
    scores, first = list[Score](), 0
    for ids, is_counted in portion:
        of_text = nats["network"][first : first + len(ids)]
        scores.append(tally(ids[is_counted], of_text[is_counted]))
        first += len(ids) + 1
    return scores


# The noise of a step
#
#     dropout       units of each lane, on the way up from a layer; the same for a whole window
#     dropconnect   weights of W, on the way from step to step
#     blank         input characters, which become UNKNOWN, so that UNKNOWN gets a meaning
#
# The rest is scaled up, so that sums are the same on average. In the second half of a run the
# shares fall to almost nothing, so that the last steps are those of the whole network. The noise of
# a step follows from the seed and the step number: a resume needs no state.


FADES_FROM = 0.5  # the share of a run from which the noise grows weaker


class Noise:
    """The noise of one training step after another: shares of units, weights and characters."""

    def __init__(self, p: Parameters, config: Fitted) -> None:
        self.config, self.architecture = config, p.architecture
        self.is_on = any((config.dropout, config.dropconnect, config.blank))
        weights = [name for name in p if name.startswith("W")]
        self.weight_names = weights if config.dropconnect else []
        self.factors: dict[str, Array] = {}  # of weights: 0 if hidden
        self._rng, self._strength = np.random.default_rng(), 1.0

    def begin(self, step: int, done: float) -> None:
        """Begin a step; ``done`` is the share of the run so far."""
        self._strength = min(1.0, (1 - done) / (1 - FADES_FROM))
        if self.is_on:  # a generator costs 4% of a step of 64 units
            numbers = np.random.SFC64([self.config.seed, REGULARIZATION, step])
            self._rng = np.random.Generator(numbers)

    def dropout_masks(self) -> Masks | None:
        """Return the factor of each unit of each lane, (1, B, H) for each layer."""
        if not self.config.dropout:
            return None
        shape = (self.architecture.layers, 1, self.config.batch, self.architecture.hidden)
        return list(self._draw_factors(shape, self.config.dropout))

    def hide_weights(self, p: Parameters) -> None:
        """Hide some weights, in place."""
        for name in self.weight_names:
            self.factors[name] = self._draw_factors(p[name].shape, self.config.dropconnect)
            p[name][...] *= self.factors[name]

    def mask_gradient(self, gradient: Parameters) -> None:
        """Turn the gradient of the thinned parameters into that of all parameters, in place."""
        for name in self.weight_names:
            gradient[name][...] *= self.factors[name]

    def hide_characters(self, window: Window) -> Window:
        """Return the window with some inputs hidden, and all targets."""
        if not self.config.blank:
            return window
        share = self.config.blank * self._strength
        is_blank = self._rng.random(window.x.shape, np.float32) < share
        return replace(window, x=np.where(is_blank & (window.x != END), UNKNOWN, window.x))

    def _draw_factors(self, shape: tuple[int, ...], share: float) -> Array:
        """Return factors with mean 1: 0 for about this share of places, and equal for the rest."""
        # At most 255: in the last steps, one place of 256 is still hidden.
        shown = min(255, max(1, round(256 * (1 - share * self._strength))))
        draws = self._rng.integers(0, 256, shape, np.uint8)
        # 0 or 1 times the factor: four times as fast as np.where.
        return np.multiply(draws < shown, np.float32(256 / shown), dtype=np.float32)


class OwnInputs:
    """Samples inputs before a step, by a network of its own that reads the window step by step.

    That network has no dropout.
    """

    def __init__(self, architecture: Architecture, config: Fitted) -> None:
        self.config = config
        self.is_on = config.own_inputs > 0 or config.free_running > 0
        if self.is_on:
            self._reader = Unfolded(architecture.plain, 1, config.batch)

    def read(self, p: Parameters, window: Window, state: State, step: int, done: float) -> Window:
        """Return the window with some inputs sampled; ``done`` is the share of the run so far."""
        if not self.is_on:
            return window
        rng = np.random.Generator(np.random.SFC64([self.config.seed, OWN_INPUTS, step]))
        sampled = self.draw_places(rng, window, done)
        draws = rng.random(sampled.shape, np.float32)
        x, reader, plain = window.x.copy(), self._reader, p.plain()
        for array, carried in zip(reader.states, state, strict=True):
            array[0] = carried
        inputs = replace(window, x=x, idle=None)  # shares x: the reader reads what is sampled
        last = np.flatnonzero(sampled.any(1)).max(initial=-1)  # the last step with a sampled input
        for t in range(last + 1):
            sampled_lanes = np.flatnonzero(sampled[t])
            if len(sampled_lanes):
                rows = reader.layers[-1].h[0, sampled_lanes]
                x[t, sampled_lanes] = sample_characters(plain, rows, draws[t, sampled_lanes])
            reader.read(plain, inputs.at(t))
        return replace(window, x=x)

    def draw_places(
        self, rng: np.random.Generator, window: Window, done: float
    ) -> NDArray[np.bool_]:
        """Return which inputs are sampled, (T, B)."""
        steps, lanes = window.x.shape
        sampled = rng.random(window.x.shape) < self.config.own_inputs * done
        length = min(self.config.free_running, steps)
        first = rng.integers(0, steps - length + 1, lanes)  # (B,) of a free-running stretch
        t = np.arange(steps)[:, None]
        sampled |= (t >= first) & (t < first + length)
        return sampled & (window.x > UNKNOWN)


def sample_characters(p: Parameters, h: Array, draws: Array) -> Integers:
    """Sample a character after each state (R, H), END and UNKNOWN left out, by draws (R,)."""
    o = h @ p["V"].T + p["c"]  # (10.10)
    p.architecture.head.logits(o)  # in place
    weights = o[:, UNKNOWN + 1 :]
    weights -= weights.max(1, keepdims=True)
    np.exp(weights, weights)
    sums = draws * np.add.reduce(weights, 1)
    is_beyond = np.add.accumulate(weights, 1) > sums[:, None]
    sampled: Integers = np.argmax(is_beyond, axis=1)  # the first True of each row
    return sampled + UNKNOWN + 1

"""The surprisal of each symbol of a text under one network (10.32, 10.33), in chunks side by side.

    the text       ...a long example, or many short ones...
    chunk 0        |-------------------|
    chunk 1                     ~~~~~~~|------------------|         ~ read to warm up: not counted

The state is zero where an example begins, so cuts move there if one is near. Other chunks warm up
on the symbols before them. A chunk whose warm-up state differs from the end of the chunk before it
is read again, or after some passes all that is left in one lane. So the result is that of reading
symbol after symbol, to the last bit if states are on a grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus import Examples
from charrnn.network.architecture import Counts, read_after, read_before, still_to_come
from charrnn.network.layer import SMALL
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.readout import ExactReadout, add_novelty
from charrnn.network.rounding import OFTEN, Integers
from charrnn.network.threads import Parallel
from charrnn.network.unfolded import State, Window
from charrnn.scoring.pieces import Floats, Ranks
from charrnn.scoring.score import Score, tally
from charrnn.vocabulary import END, Ids

Places = NDArray[np.int64]
Marks = NDArray[np.uint64]  # (windows, B): hashes of states

STEPS: Final = 64  # symbols of each chunk in a window
SHORTEST: Final = 64  # symbols of a chunk, if no chunk has to warm up
WARM_UP: Final = 256  # symbols read before a chunk: twice the memory of most networks
CHECKUP_WARM_UP: Final = 128
FEW: Final = (4, 16)  # lanes, if there are not enough chunks for all
PANEL: Final = 32  # columns of a blocked product that is still fast
WORTHWHILE: Final = 1 << 20  # multiply-adds a step and thread; steps without a gradient are short
SEAM: Final = 1e-5  # largest difference of two states where chunks meet, without a grid
PASSES: Final = 3  # that mend chunks before the rest is read in one lane
RUINED: Final = 1e15  # nats, if parameters have grown out of bounds
MOST_LENGTHS: Final = 1 << 16  # compared to rank an END
FEWEST_LENGTHS: Final = 1 << 8


@dataclass(frozen=True, eq=False)
class Passage:
    """Symbols to read, and the arrays that receive their scores."""

    ids: Ids  # (S,)
    before: int  # the symbol in front of it
    index: int  # of that symbol in its example, counted from the END before it
    nats: Floats  # (S,)
    ranks: NDArray[np.int32] | None  # (S,)
    since: int | None = None  # characters of the example before it, for networks that count them
    logits: Floats | None = None  # (S, K)  at each place


@dataclass(frozen=True)
class Chunks:
    """Chunks of a passage, one in each lane. Lane i counts symbols from first[i] up to stop[i]."""

    reads_from: Places  # (B,)
    first: Places  # (B,)
    stop: Places  # (B,)
    steps_of_all: int | None = None  # steps of the longest, if these are some of more chunks

    def __len__(self) -> int:
        return len(self.first)

    @property
    def steps(self) -> int:
        if self.steps_of_all is not None:
            return self.steps_of_all
        return int((self.stop - self.reads_from).max(initial=0))

    def some(self, lanes: slice) -> Chunks:
        """Return some of them, read for as many steps as all, so that sums round alike."""
        return Chunks(self.reads_from[lanes], self.first[lanes], self.stop[lanes], self.steps)

    @property
    def places(self) -> slice:
        return slice(int(self.first[0]), int(self.stop[-1])) if len(self) else slice(0, 0)

    def padded(self, lanes: int) -> Chunks:
        """Return them with empty chunks added up to this number of lanes."""
        none = np.zeros(lanes - len(self), np.int64)
        bounds = self.reads_from, self.first, self.stop
        reads_from, first, stop = (np.concatenate([each, none]) for each in bounds)
        return Chunks(reads_from, first, stop, self.steps_of_all)


def cut(ids: Ids, most: int, warm_up: int) -> Chunks:
    """Cut symbols into chunks of about one length, at most ``most``."""
    begins = np.flatnonzero(ids[:-1] == END) + 1
    for shortest in (SHORTEST, 4 * warm_up):
        lanes = max(1, min(most, len(ids) // shortest))
        bounds = _snap_to(begins, len(ids) * np.arange(lanes + 1, dtype=np.int64) // lanes)
        first, stop = bounds[:-1], bounds[1:]
        example = np.concatenate([[0], begins])[np.searchsorted(begins, first, side="right")]
        if (example[1:] == first[1:]).all():
            break
    return Chunks(np.maximum(example, first - warm_up).clip(0), first, stop)


def _snap_to(begins: Places, bounds: Places) -> Places:
    """Move each bound to the nearest beginning of an example, if one is near."""
    if not len(begins):
        return bounds
    slack = int(bounds[1]) // 4
    inner = bounds[1:-1]
    after = np.searchsorted(begins, inner)
    left = begins[np.maximum(after - 1, 0)]
    right = begins[np.minimum(after, len(begins) - 1)]
    nearest = np.where(np.abs(inner - left) <= np.abs(right - inner), left, right)
    moved = np.where(np.abs(nearest - inner) <= slack, nearest, inner)
    return np.concatenate([bounds[:1], moved, bounds[-1:]])


def windows(passage: Passage, chunks: Chunks) -> Iterator[tuple[int, Window, Places]]:
    """Yield the steps before each window, the window, and its targets (T, B): -1 if not counted."""
    ids = passage.ids
    index = read_before(ids, passage.index)
    settles = index % OFTEN == OFTEN - 1  # after the symbol before each place is read
    clock = left = None
    if passage.since is not None:
        clock, left = read_before(ids, passage.since), still_to_come(ids)
    for at in range(0, chunks.steps, STEPS):
        steps = min(STEPS, chunks.steps - at)
        places = chunks.reads_from + at + np.arange(steps)[:, None]
        inside = places < chunks.stop
        here = np.where(inside, places, 0)
        y = ids[here].astype(np.intp)
        x = ids[np.where(inside & (places > 0), places - 1, 0)].astype(np.intp)
        x[places == 0] = passage.before
        counted = inside & (places >= chunks.first)
        window = Window(x, y, x == END, settles=inside & settles[here])
        if clock is not None and left is not None:
            window = replace(window, clock=clock[here], left=left[here])
        yield at, window, np.where(counted, places, -1)


@dataclass(eq=False)
class Pass:
    """The states of each chunk in a pass."""

    begun: State  # at the first counted symbol
    ended: State  # after the last
    marks: Marks  # after each window, from where it was read


class ChunkReader:
    """A network unfolded over several chunks at once."""

    def __init__(
        self, model: LanguageModel, threads: int, *, on_grid: bool, ranking: bool, keep_logits: bool
    ) -> None:
        self.grid = model.architecture.grid if on_grid else None
        self.p = model.parameters.exact() if self.grid else model.parameters
        hidden = self.p.architecture.hidden
        lanes = min(64, SMALL // (PANEL * hidden) // 8 * 8)  # for a blocked product
        lanes = lanes if lanes >= 32 else 128  # enough for a plain one
        self.threads = max(1, min(threads, lanes * hidden**2 // WORTHWHILE))
        self.most = lanes * self.threads  # chunks that help
        self.ranking, self.keep_logits = ranking, keep_logits
        self._parallels: dict[int, tuple[Parallel, list[ExactReadout]]] = {}
        rng = np.random.default_rng(0)  # odd numbers, one for each number of a state
        self._odd = rng.integers(0, 1 << 63, hidden, np.uint64) * np.uint64(2) + 1

    def zeros(self, lanes: int) -> State:
        shape = (lanes, self.p.architecture.hidden)
        return [np.zeros(shape, self.p.flat.dtype) for _ in self.p.architecture.state_names]

    def read(self, passage: Passage, chunks: Chunks, state: State) -> State:
        """Read the passage from this state (1, H) and return the state it ends in."""
        begun = self.zeros(len(chunks))
        for h, given in zip(begun, state, strict=True):
            h[:1] = given
        done = self.read_once(passage, chunks, begun)
        for tries_left in range(PASSES, -1, -1):
            apart = self._apart(passage, chunks, done)
            if not apart.any():
                break
            if tries_left:
                self._mend(passage, chunks, done, apart)
                continue
            lane = int(np.argmax(apart))
            first = chunks.first[lane : lane + 1]
            rest = Chunks(first, first, chunks.stop[-1:])
            done = self.read_once(passage, rest, [h[lane - 1 : lane] for h in done.ended])
        return [h[-1:].copy() for h in done.ended]

    def read_once(
        self, passage: Passage, chunks: Chunks, state: State, known: Marks | None = None
    ) -> Pass:
        """Read each chunk from its own state, at most until all states have the marks ``known``."""
        count = len(chunks)
        lanes = next((few for few in FEW if few >= count), self.most)
        if chunks.steps_of_all is not None:
            lanes = self.most // self.threads
        parallel, readouts = self._parallel(lanes)
        chunks = chunks.padded(lanes)
        begun = self.zeros(lanes)
        for h, given in zip(begun, state, strict=True):
            h[:count] = given
        ended = [h.copy() for h in begun]
        marks: list[NDArray[np.uint64]] = []
        parallel.start_from(begun)
        for at, window, places in windows(passage, chunks):
            steps = len(window.x)
            nats = parallel.nats(self.p, window)
            counted = places >= 0
            passage.nats[places[counted]] = nats[counted]
            if passage.ranks is not None:
                ranks = np.concatenate([r.ranks.reshape(steps, -1) for r in readouts], 1)
                passage.ranks[places[counted]] = ranks[counted]
            if passage.logits is not None:
                size = passage.logits.shape[1]
                logits = np.concatenate([r.logits.reshape(steps, -1, size) for r in readouts], 1)
                passage.logits[places[counted]] = logits[counted]
            _copy_states(parallel, at, at + steps, chunks.first - chunks.reads_from, begun)
            _copy_states(parallel, at, at + steps, chunks.stop - chunks.reads_from, ended)
            if self.grid:
                marks.append(self._marks(parallel)[:count])
                if known is not None and np.array_equal(marks[-1:], known[len(marks) - 1 :][:1]):
                    break
        return Pass(
            [h[:count] for h in begun],
            [h[:count] for h in ended],
            np.array(marks, np.uint64).reshape(-1, count),
        )

    def _mend(self, passage: Passage, chunks: Chunks, done: Pass, apart: NDArray[np.bool_]) -> None:
        """Read some chunks again, each from the state in which the one before it ended."""
        these = np.flatnonzero(apart)
        right = [h[these - 1] for h in done.ended]
        # Windows from the beginning end where those after the warm-up did, if that was a multiple.
        skipped = (chunks.first - chunks.reads_from)[these].tolist()
        aligned = [(j, s // STEPS) for j, s in enumerate(skipped) if s % STEPS == 0]
        known = np.zeros((len(done.marks), len(these)), np.uint64)
        for j, start in aligned:
            own = done.marks[start:, these[j]]
            known[: len(own), j] = own
        first = chunks.first[apart]
        again = self.read_once(passage, Chunks(first, first, chunks.stop[apart]), right, known)
        read = len(again.marks)
        has_met = np.zeros(len(these), np.bool_)
        if 0 < read <= len(known):
            has_met = again.marks[-1] == known[read - 1]
        for number, (old, new) in enumerate(zip(right, again.ended, strict=True)):
            done.begun[number][apart] = old
            done.ended[number][these[~has_met]] = new[~has_met]
        for j, start in aligned:
            count = min(read, len(done.marks) - start)
            done.marks[start : start + count, these[j]] = again.marks[:count, j]

    def _apart(self, passage: Passage, chunks: Chunks, done: Pass) -> NDArray[np.bool_]:
        """Return which chunks should have started from the end of the one before and did not."""
        apart = np.zeros(len(chunks), np.bool_)
        seam = 0.0 if self.grid else SEAM
        for start, end in zip(done.begun, done.ended, strict=True):
            apart[1:] |= np.abs(start[1:] - end[:-1]).max(axis=1) > seam
        apart[1:] &= passage.ids[chunks.first[1:] - 1] != END
        return apart

    def _marks(self, parallel: Parallel) -> NDArray[np.uint64]:
        """Return a hash of the state that each lane's window ended in, (B,)."""
        lanes = [
            sum(
                (state[0].view(np.uint64) * self._odd * np.uint64(2 * number + 1)).sum(axis=1)
                for number, state in enumerate(part.states)
            )
            for part in parallel.parts
        ]
        return np.concatenate(lanes)

    def _parallel(self, lanes: int) -> tuple[Parallel, list[ExactReadout]]:
        if lanes not in self._parallels:
            architecture, dtype = self.p.architecture, self.p.flat.dtype
            threads = self.threads if lanes == self.most else 1
            parallel = Parallel(architecture, STEPS, lanes, threads, dtype, self.grid)
            how = {"ranking": self.ranking, "keeping": self.keep_logits}
            on_grid = self.grid is not None
            readouts = []
            for part in parallel.parts:
                rows = STEPS * part.lanes
                part.readout = ExactReadout(architecture, rows, on_grid=on_grid, **how)
                readouts.append(part.readout)
            self._parallels[lanes] = parallel, readouts
        return self._parallels[lanes]


def _copy_states(parallel: Parallel, at: int, now: int, when: Places, states: State) -> None:
    """Copy the states of the lanes that reached step ``when`` in the last window."""
    lanes = np.flatnonzero((when > at) & (when <= now))
    if not len(lanes):
        return
    spans = zip(parallel.parts, parallel.bounds, parallel.bounds[1:], strict=False)
    for part, start, stop in spans:
        own = lanes[(lanes >= start) & (lanes < stop)]
        for h, seen in zip(states, part.states, strict=True):
            h[own] = seen[when[own] - at, own - start]


def rank_ends(p: Parameters, ids: Ids, before: Counts, ranks: Ranks) -> None:
    """Set the ranks of the ENDs; ``before`` counts the characters of an example so far, (S,)."""
    ends = ids == END
    if ends.any():
        ranks[ends] = 1 + likelier_lengths(p, before[ends])


def likelier_lengths(p: Parameters, tau: Integers) -> Integers:
    """Return how many lengths are likelier than each of these, (n,), up to MOST_LENGTHS."""
    lengths = p.architecture.head.lengths
    assert lengths is not None
    nats = lengths.nats(p, tau)
    many, least = FEWEST_LENGTHS, -nats.max()  # of log P
    while many < MOST_LENGTHS and lengths.log_at_least(p, np.array([float(many)])) >= least:
        many *= 4  # a longer one may be likelier, until all of them together are not
    every = np.sort(lengths.nats(p, np.arange(many)))
    return every.searchsorted(nats)


class NetworkScorer:
    """A scorer of one network, exact to the last bit whatever the blocks, threads and processes.
    With ``fast`` it has the precision of training instead, in half the time.
    """

    def __init__(
        self,
        model: LanguageModel,
        threads: int = 1,
        *,
        ranking: bool = False,
        fast: bool = False,
        keep_logits: bool = False,
    ) -> None:
        """With ``keep_logits``, ``logits`` holds those of the last block."""
        self.model = model
        self.vocabulary = model.vocabulary
        self.ranking = ranking
        self.needs_whole_examples = model.architecture.head.lengths is not None
        self._counts = bool(model.architecture.inputs)
        self._reader = ChunkReader(
            model, threads, on_grid=not fast, ranking=ranking, keep_logits=keep_logits
        )
        self._keep_logits = keep_logits
        self.logits: Floats | None = None
        self.parts: dict[str, Floats] = {}  # one network has no parts
        self.begin()

    def begin(self) -> None:
        self._before, self._index, self._since = END, 0, 0
        self._state = self._reader.zeros(1)

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        ranks = np.zeros(len(ids), np.int32) if self.ranking else None
        since = self._since if self._counts else None
        passage = self._passage(ids, self._before, self._index, ranks, since)
        if len(ids):
            chunks = cut(ids, self._reader.most, WARM_UP)
            self._state = self._reader.read(passage, chunks, self._state)
            self._before = int(ids[-1])
            self._index = read_after(ids, self._index)  # of the last symbol in its example
            self._since = read_after(ids, self._since)
        add_novelty(self.model, ids, passage.nats, ranks)
        if ranks is not None and self.needs_whole_examples:
            rank_ends(self.model.parameters, ids, read_before(ids), ranks)
        return passage.nats, ranks

    def _passage(
        self, ids: Ids, before: int, index: int, ranks: NDArray[np.int32] | None, since: int | None
    ) -> Passage:
        shape = len(ids), self.vocabulary.symbols
        self.logits = np.empty(shape) if self._keep_logits else None
        return Passage(ids, before, index, np.zeros(len(ids)), ranks, since, self.logits)

    def score_in_chunks(self, examples: Examples, counted: NDArray[np.bool_]) -> Score:
        """Return the sums over the counted symbols."""
        return tally(examples.ids[counted], self.read_in_chunks(examples)[counted])

    def read_in_chunks(self, examples: Examples) -> Floats:
        """Return nearly the nats of ``read``, sooner."""
        ids = examples.ids
        passage = self._passage(ids, END, 0, None, 0 if self._counts else None)
        if len(ids):
            chunks = cut(ids, self._reader.most, CHECKUP_WARM_UP)
            self._reader.read_once(passage, chunks, self._reader.zeros(len(chunks)))
        np.nan_to_num(passage.nats, copy=False, nan=RUINED, posinf=RUINED)
        add_novelty(self.model, ids, passage.nats, None)
        return passage.nats

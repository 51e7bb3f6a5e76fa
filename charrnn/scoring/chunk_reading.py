"""Chunks of a text read side by side, and mended where they do not meet.

After a pass, the state in which each chunk ends is compared with the state from which the next one
started. Where they differ, the next one is read again from the state that it should have had, until
it is in a state in which it was before: from there on all is as it was. A network that remembers
for very long never is, and then the rest is read in one go. So the result is that of reading symbol
after symbol, to the last bit where states are on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.exact_readout import ExactReadout
from charrnn.network.language_model import LanguageModel
from charrnn.network.matmul import SMALL
from charrnn.network.parallel import Parallel
from charrnn.network.parameters import Array
from charrnn.network.rounding import Grid
from charrnn.network.unfolded import State
from charrnn.scoring.chunk_layout import STEPS, Chunks, Places, Text, windows
from charrnn.vocabulary import END, UNKNOWN

FEW: Final = (4, 16)  # lanes, where there are not enough chunks for all
PANEL: Final = 32  # columns of a product in pieces that is still quick
WORTHWHILE: Final = 1 << 20  # multiply-adds a step and thread: a step is short, without gradient
SEAM: Final = 1e-5  # how far apart two states may be, where chunks meet and there is no grid
PASSES: Final = 3  # in which chunks are mended, before the rest is read in one go

Marks = NDArray[np.uint64]  # (windows, B) by which a state is known again


@dataclass(eq=False)
class Pass:
    """What is known of each chunk once it was read."""

    begun: State  # where each stood when it began to count
    ended: State  # and where it ended
    marks: Marks  # after each window, from where it was read


class ChunkReader:
    """A network unfolded for several chunks at once."""

    def __init__(
        self,
        model: LanguageModel,
        workers: int,
        *,
        on_grid: bool = True,
        ranking: bool = False,
        keeping: bool = False,
    ) -> None:
        self.grid = Grid.of(model.architecture) if on_grid else None
        self.p = self.grid.parameters(model.parameters) if self.grid else model.parameters
        architecture = self.p.architecture
        self.carry = model.carry
        lanes = lanes_for(architecture.hidden)
        self.workers = max(1, min(workers, lanes * architecture.hidden**2 // WORTHWHILE))
        self.most = lanes * self.workers  # chunks that are of use
        self.ranking, self.keeping = ranking, keeping
        self._parallels: dict[int, Parallel] = {}
        rng = np.random.default_rng(0)  # odd numbers, one for each number of a state
        self._odd = rng.integers(0, 1 << 63, architecture.hidden, np.uint64) * np.uint64(2) + 1

    def zeros(self, lanes: int) -> State:
        """Where so many lanes start that have read nothing."""
        shape = (lanes, self.p.architecture.hidden)
        return [np.zeros(shape, self.p.flat.dtype) for _ in self.p.architecture.state_names]

    def read(self, text: Text, chunks: Chunks, state: State) -> State:
        """Read the text from this state (1, H); the state it ends in."""
        begun = self.zeros(len(chunks))
        for h, kept in zip(begun, state, strict=True):
            h[:1] = kept
        done = self.pass_over(text, chunks, begun)
        for _ in range(PASSES):
            apart = self._apart(text, chunks, done)
            if not apart.any():
                break
            self._mend(text, chunks, done, apart)
        else:
            apart = self._apart(text, chunks, done)
            if apart.any():
                lane = int(np.argmax(apart))
                first = chunks.first[lane : lane + 1]
                rest = Chunks(first, first, chunks.stop[-1:])
                done = self.pass_over(text, rest, [h[lane - 1 : lane] for h in done.ended])
        return [h[-1:].copy() for h in done.ended]

    def pass_over(
        self, text: Text, chunks: Chunks, state: State, known: Marks | None = None
    ) -> Pass:
        """Read each chunk from a state of its own; no further than until all are in states in
        which they are known to have been.
        """
        count = len(chunks)
        lanes = next((few for few in FEW if few >= count), self.most)
        if chunks.of_longest is not None:
            lanes = self.most // self.workers
        parallel = self._parallel(lanes)
        chunks = chunks.padded(lanes)
        begun = self.zeros(lanes)
        for h, given in zip(begun, state, strict=True):
            h[:count] = given
        ended = [h.copy() for h in begun]
        marks: list[NDArray[np.uint64]] = []
        parallel.start_from(begun)
        for at, window, places in windows(text, chunks, self.carry):
            nats = parallel.nats(self.p, window)
            counted = places >= 0
            text.nats[places[counted]] = nats[counted]
            if text.ranks is not None:
                text.ranks[places[counted]] = ranks_of(parallel, len(window.x))[counted]
            if text.logits is not None:
                text.logits[places[counted]] = logits_of(parallel, len(window.x))[counted]
            steps = at + len(window.x)
            note(parallel, at, steps, chunks.first - chunks.reads_from, begun)
            note(parallel, at, steps, chunks.stop - chunks.reads_from, ended)
            if self.grid:
                marks.append(self._marks(parallel)[:count])
                if known is not None and np.array_equal(marks[-1:], known[len(marks) - 1 :][:1]):
                    break
        return Pass(
            [h[:count] for h in begun],
            [h[:count] for h in ended],
            np.array(marks, np.uint64).reshape(-1, count),
        )

    def share(self, chunks: Chunks, number: int, processes: int) -> Chunks:
        """Those that one of several processes reads: what a thread would, in the same lanes."""
        if processes == 1:
            return chunks
        if len(chunks) <= FEW[-1]:
            return chunks if number == 0 else chunks.part(slice(0))
        each = self.most // self.workers
        return chunks.part(slice(each * number, each * (number + 1)))

    def _mend(self, text: Text, chunks: Chunks, done: Pass, apart: NDArray[np.bool_]) -> None:
        """Read some of them again, each from where the one before it ended."""
        these = np.flatnonzero(apart)
        right = [h[these - 1] for h in done.ended]
        skipped = (chunks.first - chunks.reads_from)[these]
        known = self._known(done.marks, these, skipped)
        again = self.pass_over(text, chunks.without_warming_up(apart), right, known)
        read = len(again.marks)
        has_met = np.zeros(len(these), np.bool_)
        if 0 < read <= len(known):
            has_met = again.marks[-1] == known[read - 1]
        for number, (old, new) in enumerate(zip(right, again.ended, strict=True)):
            done.begun[number][apart] = old
            done.ended[number][these[~has_met]] = new[~has_met]
        for j, start in self._aligned(skipped):
            count = min(read, len(done.marks) - start)
            done.marks[start : start + count, these[j]] = again.marks[:count, j]

    def _known(self, marks: Marks, these: NDArray[np.intp], skipped: Places) -> Marks:
        """The marks of some chunks, counted from where they begin; 0 where there are none."""
        known = np.zeros((len(marks), len(these)), np.uint64)
        for j, start in self._aligned(skipped):
            own = marks[start:, these[j]]
            known[: len(own), j] = own
        return known

    def _aligned(self, skipped: Places) -> list[tuple[int, int]]:
        """Those whose windows, read from the beginning, end where they ended after warming up."""
        return [(j, s // STEPS) for j, s in enumerate(skipped.tolist()) if s % STEPS == 0]

    def _apart(self, text: Text, chunks: Chunks, done: Pass) -> NDArray[np.bool_]:
        """Which of them did not start from where the one before ended, and should have."""
        apart = np.zeros(len(chunks), np.bool_)
        seam = 0.0 if self.grid else SEAM
        for start, end in zip(done.begun, done.ended, strict=True):
            apart[1:] |= np.abs(start[1:] - end[:-1]).max(axis=1) > seam
        if not self.carry:
            apart[1:] &= text.ids[chunks.first[1:] - 1] != END
        return apart

    def _marks(self, parallel: Parallel) -> NDArray[np.uint64]:
        """64 bits a lane, (B,), by which the states that a window ended in are known again."""
        lanes = [
            sum(
                (state[0].view(np.uint64) * self._odd * np.uint64(2 * number + 1)).sum(axis=1)
                for number, state in enumerate(part.states)
            )
            for part in parallel.parts
        ]
        return np.concatenate(lanes)

    def _parallel(self, lanes: int) -> Parallel:
        if lanes not in self._parallels:
            workers = self.workers if lanes == self.most else 1
            architecture = self.p.architecture
            parallel = Parallel(architecture, STEPS, lanes, workers, self.p.flat.dtype, self.grid)
            for part in parallel.parts:
                part.readout = ExactReadout(
                    architecture,
                    STEPS * part.lanes,
                    UNKNOWN,
                    on_grid=self.grid is not None,
                    ranking=self.ranking,
                    keeping=self.keeping,
                )
            self._parallels[lanes] = parallel
        return self._parallels[lanes]


def lanes_for(hidden: int) -> int:
    """As many for each thread as a product in pieces can take; if too few, enough for a whole."""
    lanes = min(64, SMALL // (PANEL * hidden) // 8 * 8)
    return lanes if lanes >= 32 else 128


def ranks_of(parallel: Parallel, steps: int) -> NDArray[np.integer]:
    """The ranks that the last window's targets had, (T, B)."""
    readouts = [part.readout for part in parallel.parts]
    return np.concatenate(
        [r.ranks.reshape(steps, -1) for r in readouts if isinstance(r, ExactReadout)], axis=1
    )


def logits_of(parallel: Parallel, steps: int) -> Array:
    """The logits that the last window's targets were among, (T, B, K)."""
    readouts = [part.readout for part in parallel.parts]
    kept = [r.logits for r in readouts if isinstance(r, ExactReadout)]
    return np.concatenate([o.reshape(steps, -1, o.shape[1]) for o in kept], axis=1)


def note(parallel: Parallel, at: int, now: int, when: Places, states: State) -> None:
    """Write down the states of the lanes that had reached a certain step in the last window."""
    lanes = np.flatnonzero((when > at) & (when <= now))
    if not len(lanes):
        return
    for number, h in enumerate(states):
        for part, start, stop in zip(
            parallel.parts, parallel.bounds, parallel.bounds[1:], strict=False
        ):
            own = lanes[(lanes >= start) & (lanes < stop)]
            seen: Array = part.states[number]
            h[own] = seen[when[own] - at, own - start]

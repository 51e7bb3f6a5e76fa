"""Chunks of a text read side by side, and mended where they do not meet.

After a pass, the state in which each stretch ends is compared with the state from which the next
one started. Where they differ by more than rounding does, the next one is read again from the
state that it should have had; and if that is not enough, the network is one that remembers for very
long, and reads the rest in one go. So the result is that of reading symbol after symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.exact_readout import ExactReadout
from charrnn.network.matmul import SMALL
from charrnn.network.model import LanguageModel
from charrnn.network.parallel import Parallel
from charrnn.network.parameters import Array, Parameters
from charrnn.network.unfolded import State
from charrnn.scoring.chunks import STEPS, Chunks, Places, windows
from charrnn.vocabulary import END, UNKNOWN, Ids

FEW: Final = (4, 16)  # lanes; never one alone, for BLAS rounds a single row in another way
PANEL: Final = 32  # columns of a product in pieces that is still quick
WORTHWHILE: Final = 1 << 20  # multiply-adds a step and thread: a step is short, without gradient
SEAM: Final = 1e-5  # how far apart two states may be, where chunks meet


@dataclass(frozen=True, eq=False)
class Text:
    """What is read, and where what is found goes."""

    ids: Ids  # (S,)
    before: int  # the symbol in front of it
    nats: NDArray[np.float64]  # (S,)
    ranks: NDArray[np.int32] | None  # (S,)


class ChunkReader:
    """A network unfolded for several chunks at once."""

    def __init__(
        self, model: LanguageModel, workers: int, exact: bool = True, ranking: bool = False
    ) -> None:
        self.p = model.parameters
        self.carry = model.carry
        architecture = model.architecture
        lanes = lanes_for(architecture.hidden)
        each = architecture.cell.gates * architecture.hidden**2
        self.workers = max(1, min(workers, lanes * each // WORTHWHILE))
        self.most = lanes * self.workers  # chunks that are of use
        self.exact = exact
        self.ranking = ranking
        self._parallels: dict[int, Parallel] = {}

    def read(self, text: Text, chunks: Chunks, state: State) -> State:
        """Read the text from this state (1, H); the state it ends in."""
        begun = zeros(self.p, len(chunks))
        for h, kept in zip(begun, state, strict=True):
            h[:1] = kept
        begun, ended = self.pass_over(text, chunks, begun)
        apart = self._apart(text, chunks, begun, ended)
        if apart.any():
            self._mend(text, chunks, begun, ended, apart)
            apart = self._apart(text, chunks, begun, ended)
        if apart.any():
            lane = int(np.argmax(apart))
            first = chunks.first[lane : lane + 1]
            rest = Chunks(first, first, chunks.stop[-1:])
            _, ended = self.pass_over(text, rest, [h[lane - 1 : lane] for h in ended])
        return [h[-1:].copy() for h in ended]

    def pass_over(self, text: Text, chunks: Chunks, state: State) -> tuple[State, State]:
        """Read each stretch from a state of its own: where it stood when it began to count, and
        where it ended.
        """
        count = len(chunks)
        lanes = next((few for few in FEW if few >= count), self.most)
        parallel = self._parallel(lanes)
        chunks = chunks.padded(lanes)
        begun = zeros(self.p, lanes)
        for h, given in zip(begun, state, strict=True):
            h[:count] = given
        ended = [h.copy() for h in begun]
        parallel.start_from(begun)
        for at, window, places in windows(text.ids, text.before, chunks, self.carry):
            nats = parallel.nats(self.p, window)
            counted = places >= 0
            text.nats[places[counted]] = nats[counted]
            if text.ranks is not None:
                text.ranks[places[counted]] = ranks_of(parallel, len(window.x))[counted]
            steps = at + len(window.x)
            note(parallel, at, steps, chunks.first - chunks.reads_from, begun)
            note(parallel, at, steps, chunks.stop - chunks.reads_from, ended)
        return [h[:count] for h in begun], [h[:count] for h in ended]

    def _mend(
        self,
        text: Text,
        chunks: Chunks,
        begun: State,
        ended: State,
        apart: NDArray[np.bool_],
    ) -> None:
        """Read some of them again, each from where the one before it ended."""
        right = [h[np.flatnonzero(apart) - 1] for h in ended]
        _, after = self.pass_over(text, chunks.without_warming_up(apart), right)
        for layer, (old, new) in enumerate(zip(right, after, strict=True)):
            begun[layer][apart] = old
            ended[layer][apart] = new

    def _apart(self, text: Text, chunks: Chunks, begun: State, ended: State) -> NDArray[np.bool_]:
        """Which of them did not start from where the one before ended, and should have."""
        apart = np.zeros(len(chunks), np.bool_)
        for start, end in zip(begun, ended, strict=True):
            apart[1:] |= np.abs(start[1:] - end[:-1]).max(axis=1) > SEAM
        if not self.carry:
            apart[1:] &= text.ids[chunks.first[1:] - 1] != END
        return apart

    def _parallel(self, lanes: int) -> Parallel:
        if lanes not in self._parallels:
            workers = self.workers if lanes == self.most else 1
            architecture = self.p.architecture
            parallel = Parallel(architecture, STEPS, lanes, workers, self.p.flat.dtype)
            for part in parallel.parts if self.exact else []:
                rows = STEPS * part.layers[0].h.shape[1]
                part.readout = ExactReadout(architecture, rows, UNKNOWN if self.ranking else None)
            self._parallels[lanes] = parallel
        return self._parallels[lanes]


def lanes_for(hidden: int) -> int:
    """As many for each thread as a product in pieces can take; if too few, enough for a whole."""
    lanes = min(64, SMALL // (PANEL * hidden) // 8 * 8)
    return lanes if lanes >= 32 else 128


def zeros(p: Parameters, lanes: int) -> State:
    """Where so many lanes start that have read nothing."""
    architecture = p.architecture
    return [np.zeros((lanes, architecture.hidden), p.flat.dtype) for _ in architecture.state_names]


def ranks_of(parallel: Parallel, steps: int) -> NDArray[np.integer]:
    """The ranks that the last window's targets had, (T, B)."""
    readouts = [part.readout for part in parallel.parts]
    return np.concatenate(
        [r.ranks.reshape(steps, -1) for r in readouts if isinstance(r, ExactReadout)], axis=1
    )


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

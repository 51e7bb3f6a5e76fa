"""Dynamic evaluation: score a window, learn from it, and go on.

    v = v + g^2;    p += pull (p at first - p) - rate g / (sqrt(v / n) + e)     after window n

A parameter moves by about the rate in a window, whatever the size of its gradient g.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from charrnn.errors import DivergedError
from charrnn.network.inputs import Counts, read_after, read_before, still_to_come
from charrnn.network.parameters import LanguageModel
from charrnn.network.readout import ExactReadout, add_novelty
from charrnn.network.rounding import Array
from charrnn.network.unfolded import Unfolded, Window
from charrnn.scoring.pieces import Floats, Ranks
from charrnn.scoring.scorer import rank_ends
from charrnn.settings.fields import DYNAMIC_RATE, check
from charrnn.vocabulary import END, UNKNOWN, Ids

STEPS: Final = 32  # symbols read before learning from them
TINY: Final = 1e-6
PULL: Final = 1e-3  # of the way back, at each window
REMEMBERED: Final = 100  # windows that Adam's second moments in a model file stand for
LARGEST: Final = 1000.0  # nats; no symbol is that improbable


class DynamicScorer:
    """A scorer of one network that learns from the text while it reads."""

    def __init__(
        self, model: LanguageModel, rate: float, ranking: bool = False, *, keep_logits: bool = False
    ) -> None:
        """With ``keep_logits``, ``logits`` holds those of the last block."""
        check("rate", rate, DYNAMIC_RATE)
        self.model = model
        self.vocabulary = model.vocabulary
        self.rate = rate
        self.ranking = ranking
        self.needs_whole_examples = model.architecture.head.lengths is not None
        self.parts: dict[str, Floats] = {}  # one network has no parts
        self._exact_readout = ExactReadout(
            model.architecture, STEPS, UNKNOWN, on_grid=False, ranking=ranking, keeping=keep_logits
        )
        self._keep_logits = keep_logits
        self.logits: Floats | None = None
        self.begin()

    def begin(self) -> None:
        p = self.model.parameters.copy()
        self._first = self.model.parameters.flat
        self._p, self._gradient, self._squares = p, p.like(), p.like()
        self._seen = Unfolded(p.architecture, STEPS, 1, p.flat.dtype)
        self._seen.readout = self._exact_readout
        self._learned = Unfolded(p.architecture, STEPS, 1, p.flat.dtype)
        self._windows = 0
        if self.model.squares is not None:
            self._windows = REMEMBERED
            self._squares.flat[...] = self.model.squares * (REMEMBERED / STEPS)
        # the symbols of the window so far, with one before it; clock and left of each
        self._line: Ids = np.zeros(1, self.vocabulary.dtype)
        self._counts: Counts = np.zeros((2, 1), np.int64)
        self._since = 0

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        nats = np.zeros(len(ids))
        ranks = np.zeros(len(ids), np.int32) if self.ranking else None
        counts = np.array([read_before(ids, self._since), still_to_come(ids)])
        self._since = read_after(ids, self._since)
        self.logits = np.empty((len(ids), self.vocabulary.symbols)) if self._keep_logits else None
        at = 0
        while at < len(ids):
            taken = ids[at : at + STEPS + 1 - len(self._line)]
            self._line = np.concatenate([self._line, taken])
            here = slice(at, at + len(taken))
            self._counts = np.concatenate([self._counts, counts[:, here]], 1)
            with np.errstate(all="ignore"):  # reported below as divergence
                nats[here] = self._seen.nats(self._p, self._window(len(taken)))[:, 0]
                if ranks is not None:
                    ranks[here] = self._exact_readout.ranks
                    if self.needs_whole_examples:
                        rank_ends(self._p, taken, counts[0, here], ranks[here])
                if self.logits is not None:
                    self.logits[here] = self._exact_readout.logits
                if len(self._line) == STEPS + 1:
                    self._learn()
            at += len(taken)
        if not (nats < LARGEST).all():  # also if one is NaN
            smaller = f"{min(self.rate / 10, 2e-4):.1g}"
            raise DivergedError(
                "the loss grew out of bounds while learning from the text",
                f"Try a smaller rate, such as [dynamic] {smaller}",
            )
        add_novelty(self.model, ids, nats, ranks)
        return nats, ranks

    def _window(self, steps: int) -> Window:
        line = self._line[-steps - 1 :, None].astype(np.intp)
        x = line[:-1]
        clock, left = self._counts[:, -steps:, None]
        begins = None if self.model.carry else x == END
        return Window(x, line[1:], begins, clock=clock, left=left)

    def _learn(self) -> None:
        """Update the parameters by the gradient of the full window."""
        self._windows += 1
        g, v = self._gradient.flat, self._squares.flat
        self._learned.nats_and_gradient(self._p, self._window(STEPS), self._gradient, 1 / STEPS)
        v += g * g
        size: Array = np.sqrt(v * (1 / self._windows))
        size += TINY
        step: Array = self.rate * (g / size)
        step += PULL * (self._p.flat - self._first)
        self._p.flat[...] -= step
        self._line, self._counts = self._line[-1:], self._counts[:, -1:]

"""How good the parameters are at this moment, found out at a small part of what learning costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.network.language_model import LanguageModel
from charrnn.scoring.score import Score, tally
from charrnn.scoring.scorer import Scorer
from charrnn.settings.training import Fitted

if TYPE_CHECKING:
    pass

SHARE = 0.1  # symbols examined for each one that is trained on between two check-ups
MINIMUM = 1 << 14
AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are looked at beside it


class Validator:
    """The texts to look at, and who scores them."""

    def __init__(self, model: LanguageModel, corpus: Corpus, config: Fitted) -> None:
        between = config.check_every * config.batch * config.moves_on
        self._held_out = part_of(corpus.held_out, max(MINIMUM, int(between * SHARE)))
        self._familiar = part_of(corpus.train, FAMILIAR)
        self._scorer = Scorer(model, config.workers, fast=True)

    def score(self) -> Score | None:
        """The loss on held-out text; nothing where none is held out."""
        if not len(self._held_out):
            return None
        nats = self._scorer.nats_in_chunks(self._held_out)
        return tally(self._held_out.ids, nats)

    @np.errstate(all="ignore")  # what overflows shows in the loss
    def familiar_nats(self) -> float:
        """The loss per character on a little of what was learned from."""
        return float(self._scorer.nats_in_chunks(self._familiar).mean())


def part_of(examples: Examples, most: int) -> Examples:
    """All of them if they have at most so many symbols, else evenly spaced ones, or a beginning."""
    total = len(examples.ids)
    if total <= most:
        return examples
    every = -(-total // most)
    if len(examples) < 2 * every:
        return Examples(examples.ids[:most], np.array([0, most], np.uint32))
    chosen = [examples.nth(number) for number in range(0, len(examples), every)]
    starts = np.cumsum([0, *(len(ids) for ids in chosen)]).astype(np.uint32)
    return Examples(np.concatenate(chosen), starts)

"""How good the parameters are at this moment, found out at a small part of what learning costs."""

from __future__ import annotations

import numpy as np

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.network.language_model import LanguageModel
from charrnn.scoring.score import Score
from charrnn.scoring.scorer import Scorer
from charrnn.settings.training import Fitted
from charrnn.training.single_process import ALONE, Ranks

SHARE = 0.1  # symbols examined for each one that is trained on between two check-ups
MINIMUM = 1 << 14
AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are looked at beside it


class Validator:
    """The texts to look at, and who scores them: each of several ranks a part."""

    def __init__(
        self, model: LanguageModel, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
    ) -> None:
        between = config.check_every * config.batch * config.moves_on
        self._held_out = part_of(corpus.held_out, max(MINIMUM, int(between * SHARE)))
        self._familiar = part_of(corpus.train, FAMILIAR)
        self._scorer = Scorer(model, config.workers, fast=True)
        self._ranks = ranks

    def score(self) -> Score | None:
        """The loss on held-out text; nothing where none is held out."""
        if not len(self._held_out):
            return None
        return self._sums(self._held_out)

    def familiar_nats(self) -> float:
        """The loss per character on a little of what was learned from."""
        return self._sums(self._familiar).nats_per_character

    @np.errstate(all="ignore")  # what overflows shows in the loss
    def _sums(self, examples: Examples) -> Score:
        part = self._scorer.score_in_chunks(examples, self._ranks.number, self._ranks.count)
        return self._ranks.total(part)


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

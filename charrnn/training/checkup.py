"""How good the parameters are at this moment, found out at a small part of what learning costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
STRETCHES = 16  # of texts that are few and long: some of them may be easier than the rest
SHORTEST = 1 << 8  # symbols of a stretch
SETTLING = 1 << 5  # of these that do not count, for what stood before them was not read


class Part(NamedTuple):
    """What is looked at, and which of its symbols count."""

    examples: Examples
    counted: NDArray[np.bool_]  # (S,)


class Validator:
    """The texts to look at, and who scores them: each of several ranks a part."""

    def __init__(
        self, model: LanguageModel, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
    ) -> None:
        self._held_out = part_of(corpus.held_out, most_looked_at(config))
        self._familiar = part_of(corpus.train, FAMILIAR)
        self._scorer = Scorer(model, config.workers, fast=True)
        self._ranks = ranks

    def score(self) -> Score | None:
        """The loss on held-out text; nothing where none is held out."""
        if not len(self._held_out.examples):
            return None
        return self._sums(self._held_out)

    def familiar_nats(self) -> float:
        """The loss per character on a little of what was learned from."""
        return self._sums(self._familiar).nats_per_character

    @np.errstate(all="ignore")  # what overflows shows in the loss
    def _sums(self, part: Part) -> Score:
        mine = self._scorer.score_in_chunks(*part, self._ranks.number, self._ranks.count)
        return self._ranks.total(mine)


def most_looked_at(config: Fitted) -> int:
    """How many symbols of held-out text a check-up looks at, if there are more."""
    between = config.check_every * config.batch * config.moves_on
    return max(MINIMUM, int(between * SHARE))


def part_of(examples: Examples, most: int) -> Part:
    """All of them if they have at most so many symbols, else evenly spaced ones; where those are
    few and long, evenly spaced stretches of them, end to end.
    """
    total = len(examples.ids)
    if total <= most:
        return Part(examples, np.ones(total, np.bool_))
    every = -(-total // most)
    if len(examples) < STRETCHES * every:
        return stretches_of(examples, most)
    chosen = [examples.nth(number) for number in range(0, len(examples), every)]
    starts = np.cumsum([0, *(len(ids) for ids in chosen)]).astype(np.uint32)
    return Part(Examples(np.concatenate(chosen), starts), np.ones(starts[-1], np.bool_))


def stretches_of(examples: Examples, most: int) -> Part:
    """As if they were one text, of which not all is there."""
    each = min(most, max(SHORTEST, most // STRETCHES))
    last = len(examples.ids) - each
    places = np.linspace(0, last, most // each, dtype=np.int64)
    ids = np.concatenate([examples.ids[at : at + each] for at in places])
    counted = np.tile(np.arange(each) >= SETTLING, len(places))
    counted[:each] = True
    return Part(Examples(ids, np.array([0, len(ids)], np.uint32)), counted)

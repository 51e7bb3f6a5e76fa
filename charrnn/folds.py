"""Cross-validation: K networks, each trained without another K-th of a corpus, which it scores.

Together they score every example of a short list. That is surer than a few held-out examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.counts.ngrams import sequence_of
from charrnn.errors import DivergedError, SettingError
from charrnn.plan import COUNTED, fit_settings
from charrnn.scoring.baselines import counting_baselines, places
from charrnn.scoring.pieces import Floats
from charrnn.scoring.score import Difference, Pairing
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.training.loop import nats_of_best
from charrnn.training.members import start_all, train_all
from charrnn.vocabulary import Ids


@dataclass(frozen=True)
class Fold:
    """The held-out symbols of a fold, and their costs under its networks and under baselines."""

    ids: Ids
    nats: Floats
    baselines: dict[str, Floats]  # at the places that baselines score
    places: NDArray[np.int64]


@dataclass(frozen=True)
class CrossValidated:
    """The loss on all of a corpus, and its difference from the best baseline."""

    folds: int
    loss: Difference  # from 0: its standard error is that of the loss
    baseline: str
    difference: Difference


def corpora_of(corpus: Corpus, folds: int, seed: int) -> Iterator[Corpus]:
    """Yield the corpus with another share of its examples held out; all share its vocabulary."""
    check_folds(corpus, folds)
    parts = corpus.train, corpus.held_out
    texts = [part.nth(i) for part in parts for i in range(len(part))]
    lots = (np.random.default_rng(seed).permutation(len(texts)) % folds).tolist()
    for fold in range(folds):
        kept, left = (
            [text for text, lot in zip(texts, lots, strict=True) if (lot == fold) == is_held_out]
            for is_held_out in (False, True)
        )
        yield replace(corpus, train=Examples.of(kept), held_out=Examples.of(left))


def check_folds(corpus: Corpus, folds: int) -> None:
    """Raise SettingError if a fold would be empty."""
    examples = len(corpus.train) + len(corpus.held_out)
    if examples < folds:
        what = f"{examples} examples cannot be cut into {folds} folds"
        raise SettingError(what, "Use fewer [folds].", "folds")


def cross_validate(
    corpus: Corpus, config: Fitted, folds: int, use: str = "both"
) -> Iterator[Fold | None]:
    """Train on each fold, and yield it with its costs; yield None after each step before."""
    for part in corpora_of(corpus, folds, config.seed):
        own = fit_settings(TrainConfig(**asdict(config)), part)
        symbols = part.vocabulary.symbols
        counted = sequence_of(part.train.ids, symbols, COUNTED) if own.counts else None
        states = start_all(part, own)
        for _ in train_all(states, part, own, counted):
            yield None
        costs = nats_of_best(states, part, own, counted, however_long=True)
        ids = part.held_out.ids
        every = {one.name: one.nats for one in counting_baselines(part, ids)}
        known = {name: nats for name, nats in every.items() if nats is not None}
        yield Fold(ids, costs.get(use, costs["network"]), known, places(ids))


def join(folds: list[Fold]) -> CrossValidated:
    """Return the loss over all folds."""
    loss, counting = Pairing(), {name: Pairing() for name in folds[0].baselines}
    for fold in folds:
        loss.add(fold.ids, fold.nats)
        ids, nats = fold.ids[fold.places], fold.nats[fold.places]
        for name, costs in fold.baselines.items():
            counting[name].add(ids, nats - costs)
    differences = {name: pairing.difference for name, pairing in counting.items()}
    best = max(differences, key=lambda name: differences[name].nats_per_character)
    return CrossValidated(len(folds), loss.difference, best, differences[best])


def validate(
    corpus: Corpus,
    config: Fitted,
    number: int,
    note: Callable[[str], None],
    is_stopped: Callable[[], bool] = lambda: False,
    use: str = "both",
) -> CrossValidated | None:
    """Train and score all folds, with a note of each; return None if stopped."""
    note(f"cross-validation: training {number:,} more networks")
    done: list[Fold] = []
    try:
        for fold in cross_validate(corpus, config, number, use):
            if is_stopped():
                note(f"cross-validation stopped after {len(done):,} of {number:,} folds")
                return None
            if fold is not None:
                done.append(fold)
                loss = f"{float(fold.nats.mean()):.3f} nats per character"
                note(f"fold {len(done):,} of {number:,}: {loss}")
    except DivergedError as error:
        what = f"in fold {len(done) + 1:,} of {number:,} {error.what}"
        raise DivergedError(what, "Train with a smaller [lr].") from error
    return join(done)

"""The state of a run: what changes from step to step, and when the run is over.

A new network predicts each symbol by about its frequency in the corpus, whatever came before. A
network that starts from a model has the model's sizes and predicts as the model does.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from charrnn.errors import SettingError
from charrnn.network.arrays import Array
from charrnn.network.parameters import LanguageModel, Parameters, architecture_of, initial
from charrnn.network.through_time import LaneStates
from charrnn.settings.training import AUTOMATIC, WEIGHTS, Ending, Fitted
from charrnn.text.corpus import Corpus
from charrnn.training.automatic_settings import usual_patience
from charrnn.training.optimizer import Moments, initial_moments

Row = Mapping[str, float]  # of a check-up


class Best(NamedTuple):
    """The parameters with the lowest held-out loss so far; the last ones if nothing is held out."""

    step: int
    nats_per_character: float
    flat: Array


@dataclass(kw_only=True)
class Counters:
    """The progress of a run."""

    step: int = 0
    epoch: int = 0
    window: int = 0  # of the epoch: how many have been read
    characters: int = 0  # targets seen, ENDs included
    nats: float = 0.0  # of the targets since the last check-up
    targets: int = 0  # the number of those targets
    minutes: float = 0.0  # used so far; counted only if minutes limit the run


@dataclass
class TrainState(Counters):
    """Everything that changes in a run. It belongs to ``train`` while that is running."""

    parameters: Parameters
    moments: Moments
    average: Array  # of the parameters, which check-ups measure
    carried: LaneStates  # (B, H) for each state: into the next window
    best: Best | None = None
    history: list[dict[str, float]] = field(default_factory=list)  # a row a check-up


def initial_state(corpus: Corpus, config: Fitted, model: LanguageModel | None = None) -> TrainState:
    """Return the state before the first step, with the parameters of a model if there is one."""
    check_patience(config.patience, len(corpus.held_out))
    architecture = architecture_of(config, corpus.vocabulary)
    if model is None:
        rng = np.random.default_rng([config.seed, WEIGHTS])
        p = initial(architecture, corpus.log_frequencies, rng, radius=config.init_radius)
        if architecture.head.lengths is not None:
            starts = corpus.train.starts.astype(np.int64)
            architecture.head.lengths.initialize(p, np.diff(starts) - 1)
    else:
        size = len(corpus.train.ids)
        # each count and 1, so that none is 0
        softened = (np.exp(corpus.log_frequencies) * size + 1) / (size + architecture.symbols)
        p = model.parameters_for(corpus.vocabulary, softened)
    shape = config.batch, config.hidden
    zeros: LaneStates = [np.zeros(shape, p.flat.dtype) for _ in architecture.state_names]
    return TrainState(p, initial_moments(config.optimizer, p), p.flat.copy(), zeros)


def check_patience(patience: int | None, held_out: int) -> None:
    """Raise SettingError if patience would wait for a held-out loss, and nothing is held out."""
    if patience is not None and not held_out:
        what = f"patience {patience} needs held-out text, and nothing is held out"
        hint = "Leave it out, or train a new model with some text held out."
        raise SettingError(what, hint, "patience")


def find_ending(
    config: Fitted, counters: Counters, best: Sequence[Any] | None, history: Sequence[Row]
) -> Ending | None:
    """Return why a run that is this far has ended, or None; ``best`` begins with the best step."""
    if counters.epoch >= config.epochs:
        return "epochs"
    if config.minutes is not None and counters.minutes >= config.minutes:
        return "minutes"
    if config.patience is not None and best is not None:
        # Called at each step, so a long history is not counted row by row.
        until_best = bisect_right(history, best[0], key=lambda row: int(row["step"]))
        after_best = len(history) - until_best
        patience = config.patience if config.patience != AUTOMATIC else usual_patience(until_best)
        return "patience" if after_best >= patience else None
    return None


def share_done(state: TrainState, config: Fitted, length: int) -> float:
    """Return the share of the run that is done, by symbols seen or by time, from 0 to 1."""
    seen = state.characters / (config.epochs * length)
    return min(1.0, max(seen, 0.0 if config.minutes is None else state.minutes / config.minutes))

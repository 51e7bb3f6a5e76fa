"""The state of a run: its beginning, also from a model, its progress and its ending.

A new network predicts each symbol by its frequency in the corpus, whatever came before. A network
that starts from a model has the model's sizes and predicts as the model does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from charrnn.corpus import Corpus
from charrnn.default_settings import Ending, Fitted, TrainConfig
from charrnn.errors import SettingError, check_agreement
from charrnn.mixture import check_mixable
from charrnn.network import Array
from charrnn.network.architecture import architecture_of
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.network.through_time import State, Unfolded
from charrnn.system import WEIGHTS
from charrnn.training.batches import Epoch
from charrnn.training.optimizers import Moments, initial_moments
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

MEASURED = 1 << 13  # symbols read to measure how likely new characters are
ROUNDS = 4  # of such a measurement
FEWEST_CHECKUPS = 12  # before a run of patience 0 may end


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
    since: int = 0  # the number of those targets
    minutes: float = 0.0  # used so far; counted only if minutes limit the run


@dataclass
class TrainState(Counters):
    """Everything that changes in a run. It belongs to ``train`` while that is running."""

    parameters: Parameters
    moments: Moments
    average: Array  # of the parameters, which check-ups measure: see loop
    lanes: State  # (B, H) for each state: where the next window starts from
    best: Best | None = None
    history: list[dict[str, float]] = field(default_factory=list)  # a row a check-up


def start(corpus: Corpus, config: Fitted, model: LanguageModel | None = None) -> TrainState:
    """Return the state before the first step, with the parameters of a model if there is one."""
    if config.counts:
        check_mixable(config.ends)
    check_patience(config.patience, corpus)
    architecture = architecture_of(config, corpus.vocabulary.symbols)
    if model is not None:
        size = len(corpus.train.ids)
        softened = (np.exp(corpus.log_frequencies) * size + 1) / (size + architecture.symbols)
        p = inherit(model, corpus.vocabulary, softened)
        fit_new(p, model.vocabulary, corpus, config, softened)
    else:
        rng = np.random.default_rng([config.seed, WEIGHTS])
        p = initial(architecture, corpus.log_frequencies, rng, radius=config.init_radius)
        if architecture.head.lengths is not None:
            starts = corpus.train.starts.astype(np.int64)
            architecture.head.lengths.begin(p, np.diff(starts) - 1)
    shape = config.batch, config.hidden
    lanes: State = [np.zeros(shape, p.flat.dtype) for _ in architecture.state_names]
    return TrainState(p, initial_moments(config.optimizer, p), p.flat.copy(), lanes)


def check_patience(patience: int | None, corpus: Corpus) -> None:
    """Raise SettingError if patience would wait for a held-out loss, and nothing is held out."""
    if patience is not None and not len(corpus.held_out):
        what = f"patience {patience} needs held-out text, and nothing is held out"
        hint = "Leave it out, or hold out some text with [holdout] or [valid]."
        raise SettingError(what, hint, "patience")


def inherit(model: LanguageModel, vocabulary: Vocabulary, frequencies: Array) -> Parameters:
    """Return the model's parameters for a larger vocabulary. New characters have zeros in U, V and
    W, and in c their frequencies relative to the rows that are copied.
    """
    old = model.parameters
    p = Parameters.zeros(replace(old.architecture, symbols=vocabulary.symbols))
    known = np.array([END, UNKNOWN, *vocabulary.encode(model.vocabulary.characters)])
    for name, array in p.items():
        sizes = zip(array.shape, old[name].shape, strict=True)
        axes = [known if wider > size else np.arange(size) for wider, size in sizes]
        array[np.ix_(*axes)] = old[name]
    new = np.setdiff1d(np.arange(vocabulary.symbols), known)
    p["c"][new] = np.log(frequencies[new]) + np.log(np.exp(old["c"]).sum())
    return p


@np.errstate(all="ignore")
def fit_new(
    p: Parameters, old: Vocabulary, corpus: Corpus, config: Fitted, frequencies: Array
) -> None:
    """Shift the c of new characters until they are predicted about as often as they occur."""
    characters = sorted(set(corpus.vocabulary.characters) - set(old.characters))
    if not characters:
        return
    new = corpus.vocabulary.encode("".join(characters))
    first = new[frequencies[new].argmax()]
    sizes = config.batch, config.bptt, config.seed, 0
    epoch = Epoch(corpus.train, *sizes, counting=bool(p.architecture.inputs))
    windows = list(islice(epoch, max(1, MEASURED // (config.batch * config.bptt))))
    reader = Unfolded(p.architecture, config.bptt, config.batch)
    for _ in range(ROUNDS):
        total = 0.0
        for window in windows:
            nats = reader.nats(p, replace(window, y=np.full_like(window.y, first)))
            if p.architecture.head.lengths is not None:
                nats[window.y == END] = np.inf  # the end is known beforehand
            total += np.exp(-nats).sum()
        p["c"][new] += np.log(frequencies[first] * sum(w.y.size for w in windows) / total)


def sizes_of(model: LanguageModel) -> dict[str, int | str | bool]:
    """Return the settings that the parameters of a model decide."""
    a = model.architecture
    sizes: dict[str, int | str | bool]
    sizes = {"hidden": a.hidden, "layers": a.layers, "cell": a.cell_name, "ends": a.head_name}
    return sizes | {"clock": "clock" in a.requested, "teacher_forcing": a.forced}


def take_sizes(
    config: TrainConfig, model: LanguageModel, typed: Collection[str] | None = None
) -> TrainConfig:
    """Return the settings with the sizes of the model; SettingError if other sizes were typed.

    Without ``typed``, each setting that differs from its default counts as typed.
    """
    sizes = sizes_of(model)
    hint = "Leave it out, or train without that model."
    if config.init_radius != TrainConfig.init_radius:
        what = f"init_radius {config.init_radius:g} is for new weights, and the model has its own"
        raise SettingError(what, hint, "init_radius")
    if typed is None:
        typed = {f.name for f in fields(config) if getattr(config, f.name) != f.default}
    wanted = {name: getattr(config, name) for name in sizes if name in typed}
    check_agreement("the model to start from", sizes, wanted, hint, error=SettingError)
    return replace(config, **sizes)  # type: ignore[arg-type]


def find_ending(state: TrainState, config: Fitted) -> Ending | None:
    return ending(config, state.epoch, state.minutes, state.best, state.history)


def ending(
    config: Fitted,
    epochs: int,
    minutes: float,
    best: tuple[Any, ...] | None,  # its step comes first
    history: Sequence[Mapping[str, float]],
) -> Ending | None:
    """Return why a run has ended that is this far, or None if it has not."""
    if epochs >= config.epochs:
        return "epochs"
    if config.minutes is not None and minutes >= config.minutes:
        return "minutes"
    if config.patience is not None and best is not None:
        until_best = bisect_right(history, best[0], key=lambda row: row["step"])
        in_vain = len(history) - until_best
        quarter = max(until_best // 4, FEWEST_CHECKUPS - until_best)
        return "patience" if in_vain >= (config.patience or quarter) else None
    return None


def progress(state: TrainState, config: Fitted, symbols: int) -> float:
    """Return the share of the run that is done, by symbols seen or by time, from 0 to 1."""
    seen = state.characters / (config.epochs * symbols)
    used = 0.0 if config.minutes is None else state.minutes / config.minutes
    return min(1.0, max(seen, used))

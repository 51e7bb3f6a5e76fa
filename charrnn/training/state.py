"""All that a run knows: what it starts with, is saved with and goes on from.

A network that has learned nothing yet says each symbol as often as the corpus has it, and nothing
of what came before; one that starts from a model says what that would.

What a network takes over from a model: its sizes, and the numbers of all that both know.

The arrays between the layers are copied as they are. U, V and c have a row for each symbol: that of
a character which both know is copied; a new one is zero in U and V, and in c what its frequency
says, so that it is as likely at first as it is frequent, whatever the state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.errors import SettingError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, LanguageModel, Parameters, initial
from charrnn.network.unfolded import State
from charrnn.settings.fields import check_agreement
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.system import WEIGHTS
from charrnn.training.optimizers import Moments, initial_moments
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

OF_SYMBOLS = ("U1", "V", "c")


def sizes_of(model: LanguageModel) -> dict[str, int | str | bool]:
    """The settings that the parameters of a model decide."""
    a = model.architecture
    return {
        "hidden": a.hidden,
        "layers": a.layers,
        "cell": a.cell_name,
        "ends": a.head_name,
        "clock": "clock" in a.asked,
        "teacher_forcing": a.forced,
    }


def sized_like(
    config: TrainConfig, model: LanguageModel, given: Collection[str] | None = None
) -> TrainConfig:
    """Return the settings with the sizes of the model; SettingError if other sizes were given.

    Without ``given``, each setting that differs from its default counts as given.
    """
    sizes = sizes_of(model)
    if given is None:
        given = {one.name for one in fields(config) if getattr(config, one.name) != one.default}
    check_agreement(
        "the model to start from",
        sizes,
        {name: getattr(config, name) for name in sizes if name in given},
        "Leave it out, or train without that model.",
        error=SettingError,
    )
    return replace(config, **sizes)  # type: ignore[arg-type]


def inherited(
    model: LanguageModel,
    vocabulary: Vocabulary,
    frequencies: Array,  # (K,) of the new vocabulary, in the text that will be learned from
) -> Parameters:
    """The parameters of the model over a vocabulary that has all of its characters, and others."""
    old = model.parameters
    p = Parameters.zeros(replace(old.architecture, symbols=vocabulary.symbols))
    kept = np.array([END, UNKNOWN, *vocabulary.encode(model.vocabulary.characters)])
    new = np.setdiff1d(np.arange(vocabulary.symbols), kept)
    for name in p:
        if name in OF_SYMBOLS:
            p[name][kept] = old[name]
        else:
            p[name][...] = old[name]
    level = np.log(np.exp(old["c"]).sum())  # which the rows of c that are copied add up to
    p["c"][new] = np.log(frequencies[new]) + level
    return p


BLOCK = 1 << 22  # symbols counted at a time


@dataclass(frozen=True)
class Best:
    """The parameters with the lowest held-out loss so far; where nothing is held out, the last."""

    step: int
    nats_per_character: float
    flat: Array


@dataclass
class TrainState:
    """All that a run knows. It belongs to ``train`` while that is running."""

    parameters: Parameters
    moments: Moments
    lanes: State  # (B, H) for each state: where the next window starts from
    step: int = 0
    epoch: int = 0
    window: int = 0  # of the epoch: how many have been read
    characters: int = 0  # targets seen, ends included
    nats: float = 0.0  # of the targets since the last check-up
    since: int = 0  # how many those are
    minutes: float = 0.0  # used so far; counted only where minutes are what ends the run
    best: Best | None = None
    history: list[dict[str, float]] = field(default_factory=list)  # a row a check-up


def start(corpus: Corpus, config: Fitted, model: LanguageModel | None = None) -> TrainState:
    """A network that has learned nothing yet, or no more than this model has."""
    check_patience(config.patience, corpus)
    architecture = architecture_of(config, corpus.vocabulary.symbols)
    rng = np.random.default_rng([config.seed, WEIGHTS])
    if model is None:
        p = initial(architecture, log_frequencies(corpus), rng)
        lengths = architecture.head.lengths
        if lengths is not None:
            starts = corpus.train.starts.astype(np.int64)
            lengths.begin(p, np.diff(starts) - 1)
    else:
        size = len(corpus.train.ids)
        softened = (np.exp(log_frequencies(corpus)) * size + 1) / (size + architecture.symbols)
        p = inherited(model, corpus.vocabulary, softened)
    lanes: State = [
        np.zeros((config.batch, config.hidden), p.flat.dtype) for _ in architecture.state_names
    ]
    return TrainState(p, initial_moments(config.optimizer, p), lanes)


def architecture_of(config: Fitted, symbols: int) -> Architecture:
    """The network that these settings ask for, over so many symbols."""
    sizes = symbols, config.hidden, config.layers, config.cell, config.ends
    asked = ("clock",) if config.clock else ()
    return Architecture(*sizes, forced=config.teacher_forcing, asked=asked)


def check_patience(patience: int | None, corpus: Corpus) -> None:
    """Raise SettingError where patience would wait for a held-out loss that there is not."""
    if patience is not None and not len(corpus.held_out):
        raise SettingError(
            f"patience {patience} needs text that is held out, and there is none",
            "Leave it out, or hold out some text with [holdout] or [valid].",
            "patience",
        )


def log_frequencies(corpus: Corpus) -> Array:
    """How often each symbol is a target in training, as a log; -inf where never."""
    counts = np.zeros(corpus.vocabulary.symbols, np.int64)
    for at in range(0, len(corpus.train.ids), BLOCK):
        block = corpus.train.ids[at : at + BLOCK]
        counts += np.bincount(block, minlength=len(counts))
    with np.errstate(divide="ignore"):
        logs: Array = np.log(counts / counts.sum())
    return logs


def entropy(logs: Array) -> float:
    """The entropy of the unigram distribution: what a network that has learned nothing loses."""
    seen = logs[np.isfinite(logs)]
    return -float(np.sum(np.exp(seen) * seen))

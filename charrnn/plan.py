"""What a run will be: sizes that fit the corpus, and what they cost.

Nothing here looks at a clock but ``characters_per_second``, so the same corpus and options give the
same plan everywhere.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from charrnn.corpus import Corpus
from charrnn.errors import CorpusError, DivergedError
from charrnn.network.parameters import count, shapes_of
from charrnn.optimizer import MOMENTS
from charrnn.settings import Fitted, TrainConfig
from charrnn.training import Step, start, train

CHECKUPS = 40  # in a whole run, if the held-out text is not so long that they would cost too much
FEWEST = 8  # better to examine a part than to examine less often
EXAMINED = 10  # symbols trained on for each that is held out, between two check-ups
LARGEST_EXAMINED = 1 << 14
ALONE = 45 << 20  # bytes: Python and the packages before anything is read
TRIAL = 0.25  # seconds in which a plan finds out how fast this machine is
FOREVER = 1 << 40  # epochs, where it is the clock that ends a run


@dataclass(frozen=True)
class Recipe:
    """What suits a corpus of up to so many symbols."""

    symbols: float
    hidden: int
    layers: int
    dropout: float
    dropconnect: float
    blank: float
    batch: int
    bptt: int
    lr: float
    passes: float  # epochs, for a corpus of exactly that size; a smaller one takes more


RECIPES = (
    Recipe(4_000, 64, 1, 0.4, 0.3, 0.1, 4, 16, 0.002, 120),
    Recipe(30_000, 160, 2, 0.4, 0.4, 0.1, 16, 16, 0.002, 71),
    Recipe(120_000, 160, 2, 0.3, 0.1, 0.0, 16, 32, 0.002, 40),
    Recipe(600_000, 256, 2, 0.3, 0.0, 0.0, 64, 32, 0.004, 19),
    Recipe(8_000_000, 256, 2, 0.12, 0.0, 0.0, 32, 64, 0.003, 3.2),
    Recipe(math.inf, 512, 2, 0.0, 0.0, 0.0, 64, 64, 0.003, 1),
)


FITTED = ("hidden", "layers", "dropout", "dropconnect", "blank", "lr")


def recipe(symbols: int) -> Recipe:
    """The first that is meant for so large a corpus."""
    return next(r for r in RECIPES if symbols <= r.symbols)


def fitted(config: TrainConfig, corpus: Corpus) -> Fitted:
    """The same settings with every choice made, none larger than the corpus can fill."""
    symbols = len(corpus.train.ids)
    usual = recipe(symbols)

    def chosen(name: str) -> Any:
        given = getattr(config, name)
        return getattr(usual, name) if given is None else given

    longest = longest_example(corpus)
    bptt = longest if config.bptt == 0 else min(int(chosen("bptt")), symbols)
    batch = max(1, min(int(chosen("batch")), symbols // bptt))
    epochs = config.epochs
    if epochs is None:
        epochs = FOREVER if config.minutes is not None else usual_epochs(usual, symbols)
    steps = -(-symbols // (batch * bptt))
    total = epochs * steps if config.epochs or config.minutes is None else 40 * steps
    check_every = config.check_every or usual_checks(corpus, batch * bptt, total)
    warmup = config.warmup if config.warmup is not None else min(200, total // 20)
    return Fitted(
        **(
            asdict(config)
            | {name: chosen(name) for name in FITTED}
            | {"bptt": bptt, "batch": batch, "epochs": epochs}
            | {"check_every": check_every, "warmup": warmup}
        )
    )


def usual_checks(corpus: Corpus, places: int, steps: int) -> int:
    """Steps of so many places from check-up to check-up, in a run of so many steps.

    So many that a check-up costs little, though it scores all that is held out. Only where that
    would leave a few check-ups in the whole run, it has to do with a part.
    """
    whole = -(-EXAMINED * len(corpus.held_out.ids) // places)
    if whole > steps // FEWEST:
        whole = -(-EXAMINED * min(len(corpus.held_out.ids), LARGEST_EXAMINED) // places)
    return max(1, steps // CHECKUPS, whole)


def paced(config: Fitted, corpus: Corpus, characters_per_second: float) -> Fitted:
    """The same with check-ups to suit a run that the clock ends: as many as others have."""
    if config.minutes is None:
        return config
    places = config.batch * config.bptt
    steps = int(characters_per_second * 60 * config.minutes / places)
    usual = usual_checks(corpus, places, steps)
    if config.epochs != FOREVER:
        usual = min(usual, config.check_every)
    return replace(config, check_every=usual)


def usual_epochs(usual: Recipe, symbols: int) -> int:
    """More passes over a smaller corpus, though not in proportion."""
    if usual.symbols == math.inf:
        return 1
    return max(1, round(usual.passes * math.sqrt(usual.symbols / symbols)))


def longest_example(corpus: Corpus) -> int:
    """How many symbols the longest example has, its END among them."""
    starts = corpus.train.starts
    return int(np.max(starts[1:] - starts[:-1]))


@dataclass(frozen=True)
class Plan:
    """What will be done."""

    config: Fitted
    examples: int
    characters: int
    symbols: int
    held_out_examples: int
    held_out_characters: int
    examples_are: str
    parameters: int
    memory_bytes: int
    steps_per_epoch: int
    steps: int | None  # None where the clock decides


def plan(config: TrainConfig, corpus: Corpus) -> Plan:
    """The plan for this corpus."""
    c = fitted(config, corpus)
    symbols = len(corpus.train.ids)
    steps = -(-symbols // (c.batch * c.bptt))
    return Plan(
        c,
        len(corpus.train),
        corpus.train.characters,
        corpus.vocabulary.symbols,
        len(corpus.held_out),
        corpus.held_out.characters,
        corpus.examples_are,
        parameters(c, corpus.vocabulary.symbols),
        memory_bytes(c, corpus),
        steps,
        None if c.epochs == FOREVER else steps * c.epochs,
    )


def parameters(config: Fitted, symbols: int) -> int:
    """How many numbers the network learns."""
    return count(shapes_of(symbols, config.hidden, config.layers))


def memory_bytes(config: Fitted, corpus: Corpus) -> int:
    """About as much memory as training will take."""
    symbols, rows = corpus.vocabulary.symbols, config.bptt * config.batch
    copies = 5 + len(MOMENTS[config.optimizer]) + config.workers
    numbers = copies * parameters(config, symbols)
    numbers += rows * config.hidden * config.layers * (3 if config.dropout else 2)
    numbers += 2 * min(rows * symbols, max(1 << 20, 16 * symbols)) * config.workers
    text = corpus.train.ids.nbytes + corpus.held_out.ids.nbytes
    orders = 2 * corpus.train.starts.nbytes
    return int(ALONE + 4 * numbers + text + orders)


def characters_per_second(config: Fitted, corpus: Corpus) -> float:
    """How fast this machine trains such a network: a few steps are tried and forgotten."""
    state = start(corpus, config)
    steps = (event for event in train(state, corpus, config) if isinstance(event, Step))
    rate, seen, began = 0.0, 0, time.monotonic()
    with suppress(DivergedError):  # which is for the run itself to tell
        for number, step in enumerate(islice(steps, 1000)):
            seen += step.characters
            seconds = time.monotonic() - began
            rate = seen / max(seconds, 1e-9)
            if seconds > TRIAL:
                break
            if number == 0:  # it has touched all memory for the first time
                seen, began = 0, time.monotonic()
    return rate


def check_memory(config: Fitted, corpus: Corpus, available: int | None) -> None:
    """Raise CorpusError where the plan needs more memory than there is."""
    needed = memory_bytes(config, corpus)
    if available is not None and needed > available:
        raise CorpusError(
            f"this run needs about {needed / 2**30:.1f} GiB of memory, and"
            f" {available / 2**30:.1f} GiB are free",
            "Try a smaller --hidden, --batch or --bptt.",
        )

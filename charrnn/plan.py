"""What suits a corpus: every setting that was left open is chosen, none larger than it can fill.

What a run will cost: memory, steps and time.

Nothing here looks at a clock but ``characters_per_second``, so the same corpus and options give the
same plan everywhere."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.counts.model import READY
from charrnn.errors import CorpusError, DivergedError, SettingError
from charrnn.network.threads import useful_workers
from charrnn.settings.fields import LARGEST
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.training.loop import Step
from charrnn.training.members import COUNTED, start_all, train_all
from charrnn.training.optimizers import MOMENTS
from charrnn.training.state import architecture_of

CHECKUPS = 40  # in a whole run, if the held-out text is not so long that they would cost too much
FEWEST = 8  # better to examine a part than to examine less often
EXAMINED = 10  # symbols trained on for each that is held out, between two check-ups
LARGEST_EXAMINED = 1 << 14
MOST_EPOCHS = 500  # by which time a handful of examples is known by heart
FOREVER = 1 << 40  # epochs, where it is the clock that ends a run
USUAL_MINUTES = 3  # that a run may take if it is not said
LIKELY_EPOCHS = 40  # that the clock leaves time for, until it is known how fast this machine is


@dataclass(frozen=True)
class Preset:
    """What suits a corpus of up to so many symbols, and as many minutes as there are for it."""

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
    minutes: float = 0  # where at least so many are given; the least of a corpus of that size is 0


TANH = (
    Preset(4_000, 64, 1, 0.4, 0.3, 0.02, 8, 16, 0.004, 120),
    Preset(30_000, 160, 2, 0.3, 0.4, 0.02, 32, 16, 0.004, 99),
    Preset(120_000, 160, 2, 0.3, 0.1, 0.0, 16, 32, 0.002, 40),
    Preset(600_000, 256, 2, 0.3, 0.0, 0.0, 64, 32, 0.004, 19),
    Preset(2_000_000, 384, 2, 0.12, 0.0, 0.0, 32, 64, 0.003, 4.2),
    Preset(2_000_000, 512, 2, 0.25, 0.0, 0.0, 64, 64, 0.003, 8.4, minutes=4),
    Preset(2_000_000, 512, 2, 0.4, 0.0, 0.0, 64, 64, 0.0012, 28, minutes=10),
    Preset(8_000_000, 384, 2, 0.12, 0.0, 0.0, 32, 64, 0.003, 2.1),
    Preset(8_000_000, 512, 2, 0.25, 0.0, 0.0, 64, 64, 0.003, 4.2, minutes=4),
    Preset(8_000_000, 512, 2, 0.25, 0.0, 0.0, 64, 64, 0.001, 8.5, minutes=10),
    Preset(math.inf, 384, 2, 0.0, 0.0, 0.0, 64, 64, 0.003, 1),
    Preset(math.inf, 512, 2, 0.0, 0.0, 0.0, 64, 64, 0.001, 1, minutes=3),
)  # plain units that learn for long at a high rate get worse
GRU = (
    Preset(4_000, 48, 1, 0.4, 0.3, 0.1, 4, 16, 0.003, 60),
    Preset(30_000, 96, 2, 0.4, 0.4, 0.1, 16, 16, 0.003, 35),
    Preset(120_000, 128, 2, 0.3, 0.1, 0.0, 16, 32, 0.003, 20),
    Preset(600_000, 256, 2, 0.35, 0.0, 0.0, 64, 32, 0.004, 14),
    Preset(8_000_000, 256, 2, 0.25, 0.0, 0.0, 32, 64, 0.004, 3.2),
    Preset(math.inf, 384, 2, 0.1, 0.0, 0.0, 64, 64, 0.003, 1),
)
LSTM = (
    Preset(4_000, 48, 1, 0.4, 0.3, 0.1, 4, 16, 0.004, 60),
    Preset(30_000, 128, 2, 0.45, 0.4, 0.1, 16, 16, 0.004, 35),
    Preset(120_000, 128, 2, 0.3, 0.1, 0.0, 16, 32, 0.004, 20),
    Preset(600_000, 256, 2, 0.4, 0.0, 0.0, 64, 32, 0.004, 13),
    Preset(8_000_000, 256, 2, 0.25, 0.0, 0.0, 32, 64, 0.004, 2.5),
    Preset(8_000_000, 384, 2, 0.4, 0.0, 0.0, 64, 64, 0.004, 6.4, minutes=12),
    Preset(math.inf, 384, 2, 0.1, 0.0, 0.0, 64, 64, 0.003, 1),
)
PRESETS = {"gru": GRU, "lstm": LSTM}  # and TANH for every cell whose steps take as long
FITTED = ("hidden", "layers", "dropout", "dropconnect", "blank", "lr")


def preset(symbols: int, cell: str = "tanh", minutes: float | None = None) -> Preset:
    """What is meant for so large a corpus, for such units, and for so many minutes."""
    given = USUAL_MINUTES if minutes is None else minutes
    return [one for one in of_size(symbols, cell) if one.minutes <= given][-1]


def for_longer(config: TrainConfig, symbols: int) -> Preset | None:
    """What more minutes would choose, if anything else."""
    given = config.minutes_each or USUAL_MINUTES
    return next((one for one in of_size(symbols, config.cell) if one.minutes > given), None)


def of_size(symbols: int, cell: str) -> list[Preset]:
    """The rows for the smallest size that so large a corpus goes into, by their minutes."""
    rows = [one for one in PRESETS.get(cell, TANH) if symbols <= one.symbols]
    return [one for one in rows if one.symbols == rows[0].symbols]


def fitted(config: TrainConfig, corpus: Corpus) -> Fitted:
    """The same settings with every choice made, none larger than the corpus can fill."""
    symbols = len(corpus.train.ids)
    usual = preset(symbols, config.cell, config.minutes_each)

    def chosen(name: str) -> Any:
        given = getattr(config, name)
        return getattr(usual, name) if given is None else given

    if config.cell == "output":
        usual = replace(usual, layers=1)  # only the top has outputs to feed back
    longest = longest_example(corpus)
    if config.bptt == 0 and longest > LARGEST:
        raise SettingError(
            f"bptt 0 would go back over a whole example, and the longest has {longest:,} symbols:"
            f" {LARGEST:,} are allowed",
            f"It may be a whole number up to {LARGEST}.",
            "bptt",
        )
    asked = longest if config.bptt == 0 else int(chosen("bptt"))
    bptt, batch = filled(asked, int(chosen("batch")), symbols)
    epochs = likely = config.epochs or usual_epochs(usual, symbols)
    if config.epochs is None and config.minutes is not None:
        epochs, likely = FOREVER, LIKELY_EPOCHS
    places = batch * min(bptt, config.stride or bptt)
    total = likely * steps_in(symbols, places)
    check_every = config.check_every or usual_checks(corpus, places, total)
    warmup = config.warmup if config.warmup is not None else min(200, total // 20)
    return Fitted(
        **(
            asdict(config)
            | {name: chosen(name) for name in FITTED}
            | {"bptt": bptt, "batch": batch, "epochs": epochs}
            | {"check_every": check_every, "warmup": warmup}
        )
    )


def filled(bptt: int, batch: int, symbols: int) -> tuple[int, int]:
    """The same, or as much of them as so many symbols fill."""
    bptt = min(bptt, symbols)
    return bptt, max(1, min(batch, symbols // bptt))


def steps_in(symbols: int, places: int) -> int:
    """How many steps of so many places it takes to pass over so many symbols."""
    return -(-symbols // places)


def usual_checks(corpus: Corpus, places: int, steps: int) -> int:
    """Steps of so many places from check-up to check-up, in a run of so many steps.

    So many that a check-up costs little, though it scores all that is held out. Only where that
    would leave a few check-ups in the whole run, it has to do with a part.
    """
    whole = steps_in(EXAMINED * len(corpus.held_out.ids), places)
    if whole > steps // FEWEST:
        whole = steps_in(EXAMINED * min(len(corpus.held_out.ids), LARGEST_EXAMINED), places)
    return max(1, steps // CHECKUPS, whole)


def paced(
    config: Fitted, given: TrainConfig, corpus: Corpus, characters_per_second: float
) -> Fitted:
    """The same with what was not given to suit a run that the clock ends: as many check-ups as
    others have, and a warm-up that is as short a part of it.
    """
    if config.minutes is None:
        return config
    places = config.batch * config.moves_on
    steps = int(characters_per_second * 60 * config.minutes / places)
    usual = usual_checks(corpus, places, steps)
    if config.epochs != FOREVER:
        usual = min(usual, config.check_every)
    check_every = usual if given.check_every is None else given.check_every
    warmup = min(config.warmup, steps // 20) if given.warmup is None else given.warmup
    return replace(config, check_every=check_every, warmup=warmup)


def usual_epochs(usual: Preset, symbols: int) -> int:
    """More passes over a smaller corpus, though not in proportion, and not without end."""
    if usual.symbols == math.inf:
        return 1
    return min(MOST_EPOCHS, max(1, round(usual.passes * math.sqrt(usual.symbols / symbols))))


def longest_example(corpus: Corpus) -> int:
    """How many symbols the longest example has, its END among them."""
    starts = corpus.train.starts
    return int(np.max(starts[1:] - starts[:-1]))


ALONE = 45 << 20  # bytes: Python and the packages before anything is read
COPIES = 5  # of the parameters: they, the best, thinned ones, two that the optimizer works in
COUNTING = 50  # bytes for each symbol that is counted, or its n-grams
FEWEST_STEPS = 1000  # in which a network learns as much of a text as in more, smaller ones
TRIAL = 0.25  # seconds in which a plan finds out how fast this machine is


@dataclass(frozen=True)
class Plan:
    """What will be done."""

    config: Fitted
    parameters: int
    memory_bytes: int
    steps_per_epoch: int
    steps: int | None  # None where the clock decides
    busy_ranks: int = 1  # those of several processes that have something to do


def plan(config: Fitted, corpus: Corpus, ranks: int = 1) -> Plan:
    """The plan for this corpus, on so many processes."""
    busy = busy_ranks(config, corpus, ranks)
    steps = steps_in(len(corpus.train.ids), config.batch * config.moves_on)
    return Plan(
        config,
        parameters(config, corpus.vocabulary.symbols),
        memory_bytes(part_of_each(config, ranks, busy), corpus),
        steps,
        None if config.minutes and config.epochs == FOREVER else steps * config.epochs,
        busy,
    )


def busy_ranks(config: Fitted, corpus: Corpus, ranks: int) -> int:
    """How many of so many processes get lanes to learn from."""
    architecture = architecture_of(config, corpus.vocabulary.symbols)
    return useful_workers(architecture, config.batch, ranks)


def part_of_each(config: Fitted, ranks: int, busy: int) -> Fitted:
    """What one process does of it, with one thread where there are several."""
    return config if ranks == 1 else replace(config, batch=-(-config.batch // busy), workers=1)


def parameters(config: Fitted, symbols: int) -> int:
    """How many numbers are learned, by all networks."""
    return config.members * architecture_of(config, symbols).parameter_count


def memory_bytes(config: Fitted, corpus: Corpus) -> int:
    """About as much memory as training will take."""
    symbols, rows = corpus.vocabulary.symbols, config.bptt * config.batch
    copies = COPIES + len(MOMENTS[config.optimizer]) + config.workers
    numbers = copies * parameters(config, symbols)
    own = rows * config.hidden * (config.layers * blocks_kept(config, symbols) + 1)
    own += 2 * min(rows * symbols, max(1 << 20, 16 * symbols)) * config.workers
    architecture = architecture_of(config, symbols)
    if architecture.cell.feedback is not None:  # the plain network alike to it, and its gradient
        own += 2 * architecture.plain.parameter_count * config.workers
    numbers += config.members * own
    counting = counting_bytes(len(corpus.train.ids), symbols) if config.counts else 0
    return int(ALONE + 4 * numbers + text_bytes(corpus) + counting)


def counting_bytes(size: int, symbols: int) -> int:
    """About as much memory as the counts of a text take: its n-grams, and rows made of them."""
    size = min(size, COUNTED)
    return COUNTING * size + 2 * 8 * min(READY, size * symbols)


def text_bytes(corpus: Corpus) -> int:
    """The memory that the corpus takes, whatever learns from it: its symbols, and their orders."""
    text = corpus.train.ids.nbytes + corpus.held_out.ids.nbytes
    return int(text + 2 * corpus.train.starts.nbytes)


def blocks_kept(config: Fitted, symbols: int) -> int:
    """How many numbers a unit keeps of each step until the way back has used them."""
    cell = architecture_of(config, symbols).cell
    of_gates = 0 if cell.gates == 1 else cell.gates  # one gate is in the place of the state
    return len(cell.states) + 1 + bool(config.dropout) + cell.has_tape + of_gates


def characters_per_second(config: Fitted, corpus: Corpus, ranks: int = 1) -> float:
    """How fast this machine trains such a network: a few steps are tried and forgotten, as they
    will be in the middle of the run. Of several processes one tries its part, for all.
    """
    busy = busy_ranks(config, corpus, ranks)
    config = part_of_each(config, ranks, busy)
    states = start_all(corpus, config)
    for state in states:
        state.characters = config.epochs * len(corpus.train.ids) // 2
    steps = (event for event in train_all(states, corpus, config) if isinstance(event, Step))
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
    return rate * busy


def check_memory(needed: int, available: int | None, for_text: int = 0) -> None:
    """Raise CorpusError where a plan needs more memory than there is, much of it for the text."""
    if available is None or needed <= available:
        return
    what = f"this run needs about {needed / 2**30:.1f} GiB of memory, and"
    what += f" {available / 2**30:.1f} GiB are free"
    if for_text > available / 2:
        raise CorpusError(
            f"{what}; {for_text / 2**30:.1f} GiB are for the corpus alone",
            "Learn from a part of it, or on a machine with more memory.",
        )
    raise CorpusError(what, "Try a smaller [hidden], [batch] or [bptt].")

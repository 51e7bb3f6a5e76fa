"""Settings that fit a corpus, and the cost of a run in memory, steps and time."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.counts.kneser_ney import READY
from charrnn.errors import CorpusError, DivergedError, SettingError
from charrnn.network.parameters import LanguageModel
from charrnn.network.threads import useful_threads
from charrnn.settings.fields import LARGEST
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.training.loop import Step
from charrnn.training.members import start_all, train_all
from charrnn.training.optimizers import MOMENTS
from charrnn.training.state import architecture_of

CHECKUPS = 40  # in a whole run, unless a long held-out text makes them too costly
FEWEST = 8  # with fewer check-ups, each scores a part of the held-out text
EXAMINED = 10  # symbols trained on between check-ups, for each symbol scored
LARGEST_EXAMINED = 1 << 14
MOST_EPOCHS = 500  # enough to memorise a handful of examples
FOREVER = 1 << 40  # epochs of a run that minutes alone end
USUAL_MINUTES = 3  # assumed without a time limit
LIKELY_EPOCHS = 40  # assumed under a time limit until the speed is measured


@dataclass(frozen=True)
class Preset:
    symbols: float  # of a corpus, at most
    hidden: int
    layers: int
    dropout: float
    dropconnect: float
    blank: float
    batch: int
    bptt: int
    lr: float
    passes: float  # epochs for a corpus of that size; a smaller one takes more
    minutes: float = 0  # needed for this preset; each size has one that needs 0


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
)  # long training at a high rate makes tanh units worse
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
# A run that starts from a model takes smaller steps, and fewer, the shorter the list. These are the
# least shares of a fresh start, and the symbols of a list that takes all of it.
LEAST_SHARES, WHOLE_START = {"lr": 0.4, "passes": 0.12}, 14_000
PRESETS = {"gru": GRU, "lstm": LSTM}  # TANH serves all other cells
FITTED = ("hidden", "layers", "dropout", "dropconnect", "blank", "lr")


def preset(symbols: int, cell: str = "tanh", minutes: float | None = None) -> Preset:
    """Return the preset for a corpus size, a cell and a number of minutes."""
    given = USUAL_MINUTES if minutes is None else minutes
    return [row for row in presets_of_size(symbols, cell) if row.minutes <= given][-1]


def preset_for_longer(config: TrainConfig, symbols: int) -> Preset | None:
    """Return the next preset that more minutes would choose, if there is one."""
    given = config.minutes_each or USUAL_MINUTES
    rows = presets_of_size(symbols, config.cell)
    return next((row for row in rows if row.minutes > given), None)


def presets_of_size(symbols: int, cell: str) -> list[Preset]:
    """Return the presets of the smallest size that holds the corpus, by their minutes."""
    rows = [row for row in PRESETS.get(cell, TANH) if symbols <= row.symbols]
    return [row for row in rows if row.symbols == rows[0].symbols]


def fit_settings(
    config: TrainConfig, corpus: Corpus, start_from: LanguageModel | None = None
) -> Fitted:
    """Return the settings with every open one chosen, none larger than the corpus can fill."""
    symbols = len(corpus.train.ids)
    usual = preset(symbols, config.cell, config.minutes_each)
    if start_from is not None:
        share, fresh = min(1, symbols / WHOLE_START), asdict(usual)
        usual = replace(
            usual, **{n: fresh[n] * max(least, share) for n, least in LEAST_SHARES.items()}
        )
    if config.cell == "output":
        usual = replace(usual, layers=1)  # only the top layer has outputs to feed back
    given = {name: value for name, value in asdict(config).items() if value is not None}
    chosen = {**asdict(usual), **given}
    longest = int(np.max(np.diff(corpus.train.starts)))  # symbols of an example, with its END
    if config.bptt == 0 and longest > LARGEST:
        raise SettingError(
            f"bptt 0 means the longest example, which has {longest:,} symbols; at most"
            f" {LARGEST:,} are allowed",
            f"It may be a whole number up to {LARGEST}.",
            "bptt",
        )
    bptt, batch = fit_window(chosen["bptt"] or longest, chosen["batch"], symbols)
    epochs = likely = config.epochs or usual_epochs(usual, symbols)
    if config.epochs is None and config.minutes is not None:
        epochs, likely = FOREVER, LIKELY_EPOCHS
    targets = batch * min(bptt, config.stride or bptt)  # of a step
    total = likely * steps_in(symbols, targets)
    check_every = config.check_every or usual_checks(corpus, targets, total)
    warmup = config.warmup if config.warmup is not None else min(200, total // 20)
    return Fitted(
        **{name: chosen[name] for name in (*given, *FITTED)}
        | {"bptt": bptt, "batch": batch, "epochs": epochs}
        | {"check_every": check_every, "warmup": warmup}
    )


def fit_window(bptt: int, batch: int, symbols: int) -> tuple[int, int]:
    """Return the steps and lanes of a window, shrunk to fit the corpus."""
    bptt = min(bptt, symbols)
    return bptt, max(1, min(batch, symbols // bptt))


def steps_in(symbols: int, targets: int) -> int:
    return -(-symbols // targets)


def usual_checks(corpus: Corpus, targets: int, steps: int) -> int:
    """Return the number of steps between check-ups, so many that check-ups cost little.

    If few check-ups would remain in the whole run, each scores a part of the held-out text.
    """
    held_out = len(corpus.held_out.ids)
    least = steps_in(EXAMINED * held_out, targets)
    if least > steps // FEWEST:
        least = steps_in(EXAMINED * min(held_out, LARGEST_EXAMINED), targets)
    return max(1, steps // CHECKUPS, least)


def fit_pace(
    config: Fitted, given: TrainConfig, corpus: Corpus, characters_per_second: float
) -> Fitted:
    """Return the settings with check-ups and warm-up that suit a run with a time limit."""
    if config.minutes is None:
        return config
    targets = config.batch * config.moves_on
    steps = int(characters_per_second * 60 * config.minutes / targets)
    usual = usual_checks(corpus, targets, steps)
    if config.epochs != FOREVER:
        usual = min(usual, config.check_every)
    check_every = usual if given.check_every is None else given.check_every
    warmup = min(config.warmup, steps // 20) if given.warmup is None else given.warmup
    return replace(config, check_every=check_every, warmup=warmup)


def usual_epochs(usual: Preset, symbols: int) -> int:
    """Return the epochs for a corpus: a smaller one gets more, by the root of its size."""
    if usual.symbols == math.inf:
        return 1
    return min(MOST_EPOCHS, max(1, round(usual.passes * math.sqrt(usual.symbols / symbols))))


BASE = 45 << 20  # bytes of Python and the packages
COPIES = 5  # of the parameters: current, best, thinned, and two work buffers of the optimizer
COUNTED = 10_000_000  # symbols of the text that is kept for counting, at most
COUNTING = 50  # bytes for the n-grams of each symbol
FEWEST_STEPS = 1000  # of an epoch; with more, smaller steps a network learns no more
TRIAL = 0.25  # seconds for measuring the speed of this machine


@dataclass(frozen=True)
class Plan:
    config: Fitted
    parameters: int
    memory_bytes: int
    steps_per_epoch: int
    steps: int | None  # None if minutes alone end the run
    busy_ranks: int = 1  # processes that have lanes to train on
    threads: int = 1  # that have work, of those that were asked for


def plan(config: Fitted, corpus: Corpus, ranks: int = 1) -> Plan:
    """Return the plan for this corpus on a number of processes."""
    share, busy = share_of_rank(config, corpus, ranks)
    architecture = architecture_of(config, corpus.vocabulary.symbols)
    parameters = config.members * architecture.parameter_count
    each = useful_threads(architecture, config.batch, config.threads // config.members)
    threads = max(1, each) * min(config.threads, config.members)
    memory, epochs = memory_bytes(share, corpus), config.epochs
    each = steps_in(len(corpus.train.ids), config.batch * config.moves_on)
    steps = None if config.minutes and epochs == FOREVER else each * epochs
    return Plan(config, parameters, memory, each, steps, busy, threads)


def share_of_rank(config: Fitted, corpus: Corpus, ranks: int) -> tuple[Fitted, int]:
    """Return the settings of each of several processes, and how many get lanes to train on."""
    architecture = architecture_of(config, corpus.vocabulary.symbols)
    busy = useful_threads(architecture, config.batch, ranks)
    if ranks > 1:
        config = replace(config, batch=-(-config.batch // busy), workers=1)
    return config, busy


def memory_bytes(config: Fitted, corpus: Corpus) -> int:
    """Estimate the memory that training takes."""
    symbols, rows = corpus.vocabulary.symbols, config.bptt * config.batch
    copies = COPIES + len(MOMENTS[config.optimizer]) + config.threads
    architecture = architecture_of(config, symbols)
    cell = architecture.cell
    of_gates = 0 if cell.gates == 1 else cell.gates  # a single gate is stored in place of the state
    kept = len(cell.states) + 1 + bool(config.dropout) + cell.has_tape + of_gates  # of each step
    own = copies * architecture.parameter_count
    own += rows * config.hidden * (config.layers * kept + 1)
    own += 2 * min(rows * symbols, max(1 << 20, 16 * symbols)) * config.threads
    if cell.feedback is not None:  # its plain twin, and the gradient
        own += 2 * architecture.plain.parameter_count * config.threads
    counting = counting_bytes(len(corpus.train.ids), symbols) if config.counts else 0
    return int(BASE + 4 * config.members * own + text_bytes(corpus) + counting)


def counting_bytes(size: int, symbols: int) -> int:
    """Estimate the memory of the n-gram counts of a text, with the rows computed from them."""
    size = min(size, COUNTED)
    return COUNTING * size + 2 * 8 * min(READY, size * symbols)


def text_bytes(corpus: Corpus) -> int:
    """Return the memory of the corpus: its symbols, and the order of its examples."""
    text = corpus.train.ids.nbytes + corpus.held_out.ids.nbytes
    return int(text + 2 * corpus.train.starts.nbytes)


def characters_per_second(config: Fitted, corpus: Corpus, ranks: int = 1) -> float:
    """Measure the speed of training by a few steps of one rank, as in the middle of the run."""
    config, busy = share_of_rank(config, corpus, ranks)
    states = start_all(corpus, config)
    for state in states:
        state.characters = config.epochs * len(corpus.train.ids) // 2
    steps = (step for step in train_all(states, corpus, config) if isinstance(step, Step))
    rate, seen, began = 0.0, 0, time.monotonic()
    with suppress(DivergedError):  # the run itself reports it
        for number, step in enumerate(islice(steps, 1000)):
            seen += step.characters
            seconds = time.monotonic() - began
            rate = seen / max(seconds, 1e-9)
            if seconds > TRIAL:
                break
            if number == 0:  # the first step touches all memory for the first time
                seen, began = 0, time.monotonic()
    return rate * busy


def check_memory(needed: int, available: int | None, for_text: int = 0, hint: str = "") -> None:
    """Raise CorpusError if a plan needs more memory than is available."""
    if available is None or needed <= available:
        return
    needs, free = f"{needed / 2**30:.1f} GiB of memory", f"{available / 2**30:.1f} GiB are free"
    what = f"this run needs about {needs}, and {free}"
    if for_text > available / 2:
        raise CorpusError(
            f"{what}; the corpus alone needs {for_text / 2**30:.1f} GiB",
            "Train on a part of it, or on a machine with more memory.",
        )
    raise CorpusError(what, hint or "Try a smaller [hidden], [batch] or [bptt].")

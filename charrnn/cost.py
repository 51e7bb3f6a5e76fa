"""What a run will cost: memory, steps and time.

Nothing here looks at a clock but ``characters_per_second``, so the same corpus and options give the
same plan everywhere.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from charrnn.corpus.corpus import Corpus
from charrnn.counts.model import READY
from charrnn.errors import CorpusError, DivergedError
from charrnn.network.parallel import useful_workers
from charrnn.presets import FOREVER, steps_in
from charrnn.settings.training import Fitted
from charrnn.training.loop import Step
from charrnn.training.members import COUNTED, start_all, train_all
from charrnn.training.optimizers import MOMENTS
from charrnn.training.state import architecture_of

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
    hint = "Try a smaller network, a smaller batch or a shorter horizon."
    raise CorpusError(what, hint, "memory")

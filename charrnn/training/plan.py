"""The cost of a run in memory and steps, before it begins."""

from __future__ import annotations

from dataclasses import dataclass

from charrnn.errors import CorpusError
from charrnn.network.parameters import architecture_of
from charrnn.network.readout import LARGEST_BLOCK
from charrnn.settings.training import Fitted
from charrnn.text.corpus import Corpus
from charrnn.text.counts import COUNTED
from charrnn.training.automatic_settings import FOREVER
from charrnn.training.batches import Epoch
from charrnn.training.optimizer import MOMENTS

BYTES_OF_PYTHON = 45 << 20  # and of the packages
COPIES = 6  # of the parameters: current, average, best, thinned, two work buffers
BYTES_OF_COUNTED_SYMBOL = 50  # of its n-grams
BYTES_OF_COUNT_ROWS = 1 << 26  # of the probabilities that are made of n-grams


@dataclass(frozen=True)
class Plan:
    """The cost of a run."""

    memory_bytes: int
    steps_per_epoch: int  # of the first; the others differ by a few
    steps: int | None  # None if minutes alone end the run


def plan(config: Fitted, corpus: Corpus) -> Plan:
    """Return the plan for this corpus."""
    per_epoch = Epoch(corpus.train, config.batch, config.bptt, config.seed, 0).window_count
    steps = None if config.minutes and config.epochs == FOREVER else per_epoch * config.epochs
    return Plan(memory_bytes(config, corpus), per_epoch, steps)


def memory_bytes(config: Fitted, corpus: Corpus) -> int:
    """Estimate the memory that training takes."""
    a, rows = architecture_of(config, corpus.vocabulary.symbols), config.bptt * config.batch
    copies = COPIES + len(MOMENTS[config.optimizer]) + config.shards
    gates = 0 if a.cell.gates == 1 else a.cell.gates  # one has the place of the state
    stored = len(a.cell.states) + 1 + gates  # by a layer
    if a.cell.has_tape:
        stored += 1
    if config.dropout:
        stored += 1
    units = rows * config.hidden * (config.layers * stored + 1)
    logits = 2 * min(rows * a.symbols, max(LARGEST_BLOCK, 16 * a.symbols)) * config.shards
    numbers = copies * a.parameter_count + units + logits
    text = corpus.train.ids.nbytes + corpus.held_out.ids.nbytes + 2 * corpus.train.starts.nbytes
    total = BYTES_OF_PYTHON + 4 * numbers + text
    if config.counts:
        counted = min(len(corpus.train.ids), COUNTED)
        total += BYTES_OF_COUNT_ROWS + BYTES_OF_COUNTED_SYMBOL * counted
    return total


def check_memory(needed: int, available: int | None) -> None:
    """Raise CorpusError if a plan needs more memory than is available."""
    if available is not None and needed > available:
        needs, free = f"{needed / 2**30:.1f} GiB of memory", f"{available / 2**30:.1f} GiB are free"
        hint = "Try a smaller [hidden], [batch] or [bptt], or a part of the corpus."
        raise CorpusError(f"this run needs about {needs}, and {free}", hint)

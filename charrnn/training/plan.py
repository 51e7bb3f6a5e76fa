"""The cost of a run in memory and steps, before it begins, and what a run of the book lacks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from charrnn.errors import CorpusError
from charrnn.network.parameters import Architecture, architecture_of
from charrnn.network.readout import LARGEST_BLOCK
from charrnn.prediction.predictor import lanes_at_once, symbols_to_fit
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.system.cores import cores_for
from charrnn.text.corpus import Corpus
from charrnn.text.counts import COUNTED, READY
from charrnn.training.automatic_settings import FOREVER, OFF_IN_BOOK, fit_settings
from charrnn.training.batches import Epoch
from charrnn.training.optimizer import MOMENTS

BYTES_OF_PYTHON = 56 << 20  # and of the packages, in each process
KEPT, AT_WORK = 3, 3  # copies of the parameters: current, average, best; thinned, two work buffers
NETWORKS = 2.3  # of a network that scores, all numbers in its precision
BYTES_IN_C = 18  # of a parameter: python -m tests.benchmarks exports
BYTES_OF_COUNTED_SYMBOL = 72  # of its n-grams, while these are made


def plan(config: Fitted, corpus: Corpus) -> dict[str, Any]:
    """Return the memory of a run, and its steps: None if minutes alone end it."""
    per_epoch = Epoch(corpus.train, config.batch, config.bptt, config.seed, 0).window_count
    steps = None if config.minutes and config.epochs == FOREVER else per_epoch * config.epochs
    needed = memory_bytes(config, corpus)
    return {"memory_bytes": needed, "steps_per_epoch": per_epoch, "steps": steps}


def memory_bytes(config: Fitted, corpus: Corpus) -> int:
    """Estimate the memory of training: of all processes, at the time when they need most."""
    a, ids = architecture_of(config, corpus.vocabulary), corpus.train.ids
    processes = min(config.shards, cores_for(config.cores))
    text = ids.nbytes + corpus.held_out.ids.nbytes + 2 * corpus.train.starts.nbytes
    kept = 4 * (KEPT + len(MOMENTS[config.optimizer])) * a.parameter_count
    counting = BYTES_OF_COUNTED_SYMBOL * min(len(ids), COUNTED)  # for the baselines
    shared = 4 * (1 + config.shards) * a.parameter_count
    ending = bytes_of_scoring(a, 8)
    if config.counts:
        to_fit = 2 * symbols_to_fit(a.symbols) * a.symbols
        uses = 4 * lanes_at_once(a.symbols) * a.symbols
        ending += counting + 8 * (READY + max(to_fit, uses))
    rows = config.bptt * config.batch
    gates = 0 if a.cell.gates == 1 else a.cell.gates  # one has the place of the state
    stored = len(a.cell.states) + 1 + gates + a.cell.has_tape + (config.dropout > 0)  # by a layer
    units = rows * config.hidden * (config.layers * stored + 1)
    logits = 2 * min(rows * a.symbols, max(LARGEST_BLOCK, 16 * a.symbols)) * config.shards
    parameters = (AT_WORK + config.shards) * a.parameter_count
    stepping = 4 * (parameters + units + logits) + bytes_of_scoring(a, 4)
    return processes * BYTES_OF_PYTHON + text + kept + max(shared + counting, stepping, ending)


def bytes_of_scoring(a: Architecture, size: int) -> int:
    """Estimate the memory of a network that scores, with numbers of this size."""
    return int(size * (NETWORKS * a.parameter_count + 4 * lanes_at_once(a.symbols) * a.symbols))


def check_memory(needed: int, available: int | None) -> None:
    """Raise CorpusError if a plan needs more memory than is available."""
    if available is not None and needed > available:
        needs, free = f"{needed / 2**30:.1f} GiB of memory", f"{available / 2**30:.1f} GiB are free"
        hint = "Try a smaller [hidden], [batch] or [bptt], or a part of the corpus."
        raise CorpusError(f"this run needs about {needs}, and {free}", hint)


def header_bytes(config: Fitted, corpus: Corpus, typed: Mapping[str, Any]) -> tuple[int, int]:
    """Estimate the bytes of the network as a C header, and of one that starts from no model."""
    own = fit_settings(TrainConfig(**typed), corpus)
    seen = np.union1d(corpus.train.ids, corpus.held_out.ids)  # without characters of the model
    alone = replace(architecture_of(own, corpus.vocabulary), symbols=len(seen) + 1)
    whole = architecture_of(config, corpus.vocabulary)
    return BYTES_IN_C * whole.parameter_count, BYTES_IN_C * alone.parameter_count


def left_out(config: Fitted) -> list[str]:
    """Return what a run of train --book does without, in words."""
    words = ["momentum"] if config.optimizer == "sgd" else []
    words += ["an average of parameters", "a higher rate of U1 and V"]
    words += ["a fall of the rate"] if config.schedule == "constant" else []
    return words + [name.replace("_", " ") for name in OFF_IN_BOOK if not getattr(config, name)]

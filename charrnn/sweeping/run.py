"""One run of a sweep, and the forecast of all runs.

A run ends in the same bytes as ``charrnn train`` with one thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from charrnn import errors
from charrnn.cluster.worker import own_folder
from charrnn.corpus.corpus import Corpus, from_texts, read_files
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint, Saver
from charrnn.model_file.fields import CorpusRecord, record_of
from charrnn.model_file.saving import locked
from charrnn.network.parameters import LanguageModel
from charrnn.plan import Plan, characters_per_second, fit_settings, plan
from charrnn.runs import begin, compute_baselines, configure, reopen
from charrnn.scoring.score import block_means, tally
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.training import Fitted
from charrnn.sweeping.grid import Grid, Result, Trial, failure
from charrnn.system import single_threaded
from charrnn.training.loop import Done, nats_of_best, train
from charrnn.training.state import progress

PATIENCE = 30.0  # seconds to wait for a killed sweep whose processes are still ending
TRIED = 8  # the number of networks whose speed is measured, at most
OF_SIZE = (  # settings that decide how long a step takes
    *("cell", "ends", "clock", "teacher_forcing", "hidden", "layers", "batch", "bptt"),
    *("optimizer", "own_inputs", "free_running"),
)


@dataclass(frozen=True)
class Material:
    """The corpus of a sweep, how it is read, and the model to start from, in plain values."""

    sources: tuple[str, ...] = ()  # as the user named them
    valid: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # absolute paths of both, "" for those without one
    reading: dict[str, Any] = field(default_factory=dict)
    cutting: dict[str, Any] = field(default_factory=dict)
    start_from: str | None = None  # a model file
    fingerprint: str = ""  # of the corpus, once it was read
    files: tuple[str, ...] = ()  # of the sources, to read here and now
    valid_files: tuple[str, ...] = ()
    texts: tuple[str, ...] | None = None  # from Python, in place of files
    contents: dict[str, bytes] = field(default_factory=dict)  # of all files, for other machines
    key: str = ""  # of the sweep, with contents

    @contextmanager
    def opened(self) -> Iterator[Material]:
        """Yield the material with its contents in files of a temporary folder, if it has any."""
        if not self.contents:
            yield self
            return
        with own_folder() as folder:
            names = {}
            for number, (name, content) in enumerate(self.contents.items()):
                names[name] = os.path.join(folder, str(number))
                Path(names[name]).write_bytes(content)
            files, valid = (tuple(names[n] for n in of) for of in (self.files, self.valid_files))
            start = None if self.start_from is None else names[self.start_from]
            yield replace(self, files=files, valid_files=valid, start_from=start)

    @staticmethod
    def from_json(values: dict[str, Any]) -> Material:
        """Return the material that was sent as JSON, which turns tuples into lists."""
        for name, value in values.items():
            values[name] = tuple(value) if isinstance(value, list) else value
        return Material(**values)


class Split(NamedTuple):
    """The corpus of one seed, and its record for model files."""

    corpus: Corpus
    record: CorpusRecord


class Splits:
    """The corpora of all seeds. Only the last one is kept in memory."""

    def __init__(self, material: Material) -> None:
        self.material = material
        with material.opened() as m:
            path = m.start_from
            self.model = None if path is None else checkpoint.load_trained(path).model
        self._last: tuple[int, Split] | None = None

    def of(self, seed: int) -> Split:
        """Return the corpus of a seed. Raise CorpusError if the text has changed."""
        if self._last is None or self._last[0] != seed:
            self._last = None  # frees the memory before the next corpus is read
            with self.material.opened() as material:
                self._last = seed, self._read(material)
        return self._last[1]

    def with_baselines(self, seed: int) -> Split:
        """Return the corpus of a seed with all baselines in its record."""
        split = self.of(seed)
        if not split.record.baselines:
            list(compute_baselines(split.corpus, split.record))
        return split

    def _read(self, m: Material) -> Split:
        known = "" if self.model is None else self.model.vocabulary.characters
        cutting = CorpusConfig(reading=Reading(**m.reading), known=known, **m.cutting)
        if m.texts is not None:
            corpus = from_texts(m.texts, cutting)
        else:
            corpus = read_files(m.files, cutting, m.valid_files)
            corpus = replace(corpus, sources=m.sources, valid=m.valid)
        if m.fingerprint and corpus.fingerprint != m.fingerprint:
            what = f"{', '.join(m.sources) or 'the corpus'} has changed since the sweep began"
            hint = "Give it the same text again, or begin a sweep in another folder."
            raise errors.CorpusError(what, hint)
        if not len(corpus.held_out):
            what = "nothing is held out, and a sweep compares held-out losses"
            raise errors.SettingError(what, "Hold out some text with [holdout] or [valid].")
        record = record_of(corpus, cutting, {})
        return Split(corpus, replace(record, places=m.places) if m.places else record)


@dataclass(frozen=True)
class Task:
    """A run to make, in plain values that can be sent to another process."""

    trial: Trial
    learning: dict[str, Any]  # the settings shared by all runs
    model: str  # the model file, as the user named it
    file: str = ""  # where it is written, if elsewhere
    home: str = ""  # its final path, if another machine writes it


@dataclass(frozen=True)
class Advanced:
    name: str
    share: float  # of the whole run, from 0 to 1


@dataclass(frozen=True)
class Ended:
    result: Result


def open_run(path: str, task: Task, split: Split, model: LanguageModel | None) -> Checkpoint:
    """Resume the run in the file, which must be that of the task, or begin a new one."""
    trial = task.trial
    given = {**task.learning, **trial.settings, "seed": trial.seed, "workers": 1}
    config = configure(given, model)
    if os.path.exists(path):
        wanted = {name: value for name, value in asdict(config).items() if value is not None}
        hint = "Move it away, or use another folder."
        _, run = reopen(path, lambda _: split.corpus, wanted, may_rise=(), hint=hint)
    else:
        run = begin(split.corpus, split.record.config, config, model)
        container.check_writable(path, checkpoint.room_needed(path, run))  # before the work
    run.corpus = split.record  # has the places of the texts, even if the file was moved
    return run


def make_run(task: Task, splits: Splits) -> Generator[Advanced | Ended, None, None]:
    """Make the run and yield an event at each step. To close the generator stops and saves it."""
    began = time.monotonic()
    try:
        with single_threaded(), locked(task.file or task.model, PATIENCE):
            split = splits.with_baselines(task.trial.seed)
            began = time.monotonic()  # without the time to read the corpus, which runs share
            yield from _train(task, split, splits.model, began)
    except errors.DivergedError as error:
        yield Ended(failure(task.trial, error.what, "diverged", time.monotonic() - began))
    except (errors.CharrnnError, OSError) as error:
        yield Ended(failure(task.trial, str(error), seconds=time.monotonic() - began))
    except MemoryError:
        yield Ended(failure(task.trial, "not enough memory", seconds=time.monotonic() - began))


def _train(
    task: Task, split: Split, model: LanguageModel | None, began: float
) -> Generator[Advanced | Ended, None, None]:
    trial, path = task.trial, task.file or task.model
    run = open_run(path, task, split, model)
    saver = Saver(path, run, home=task.home)
    why = "epochs"
    try:
        for event in train(run.state, split.corpus, run.config):
            saver.note(event)
            if isinstance(event, Done):
                why = event.why
            share = progress(run.state, run.config, len(split.corpus.train.ids))
            yield Advanced(trial.name, share)
    except GeneratorExit:
        with suppress(errors.SaveError):  # --resume then starts from the save before
            saver.save()
        raise
    saver.save()
    costs = nats_of_best(run.state, split.corpus, run.config, run.counted, however_long=True)
    scores = {name: tally(split.corpus.held_out.ids, nats) for name, nats in costs.items()}
    best = run.state.best
    step = None if best is None else best.step
    nats = scores["network"].overall.nats_per_character
    parts = {name: s.overall.per_character() for name, s in scores.items()}
    parts, seconds = parts if len(parts) > 1 else {}, time.monotonic() - began
    of_trial = trial.name, trial.settings, trial.seed
    means = block_means(costs.get("both", costs["network"]))
    result = Result(*of_trial, step, nats, task.model, seconds, why, parts=parts, blocks=means)
    yield Ended(result)


@dataclass(frozen=True)
class Planned:
    """A combination of settings with the plan of its runs."""

    settings: dict[str, Any]
    plan: Plan
    seconds: float = 0.0  # of one run


def plan_settings(
    settings: dict[str, Any], grid: Grid, learning: dict[str, Any], splits: Splits
) -> Planned:
    """Return the plan for these settings. Raise SettingError if they contradict each other."""
    seed = grid.seeds[0]
    config = configure({**learning, **settings, "seed": seed, "workers": 1}, splits.model)
    corpus = splits.of(seed).corpus
    return Planned(settings, plan(fit_settings(config, corpus, splits.model), corpus))


def estimate_seconds(plans: Sequence[Plan], corpus: Corpus) -> list[float]:
    """Return the duration of a run of each plan, from short trials of a few networks."""
    sizes: dict[tuple[object, ...], Plan] = {}
    for each in sorted(plans, key=lambda each: each.config.lr):  # a high rate may diverge
        sizes.setdefault(tuple(getattr(each.config, name) for name in OF_SIZE), each)
    ordered = sorted(sizes.values(), key=lambda each: each.parameters)
    speeds = [
        (each.parameters, characters_per_second(each.config, corpus))
        for each in ordered[:: -(-len(ordered) // TRIED)]
    ]

    def seconds(each: Plan) -> float:
        # The speed of the network of the most similar size, in proportion to its size.
        config = each.config
        size, rate = min(speeds, key=lambda known: abs(known[0] - each.parameters))
        speed = max(rate * size / each.parameters, 1e-9)
        ends = [] if each.steps is None else [config.epochs * len(corpus.train.ids) / speed]
        return min(ends + ([] if config.minutes is None else [60 * config.minutes]))

    return [seconds(each) for each in plans]


def duplicates(plans: Sequence[Planned]) -> list[tuple[Planned, Planned]]:
    """Return pairs of combinations with equal runs: the corpus is too small for both."""
    seen: dict[Fitted, Planned] = {}
    pairs = [(seen.setdefault(each.plan.config, each), each) for each in plans]
    return [(first, second) for first, second in pairs if first is not second]

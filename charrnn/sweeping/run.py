"""One run of a sweep from its beginning, or from where it was stopped, to its end.

The file that it comes to is, byte for byte, that of the same run alone with one thread.

What all runs of a sweep learn from, and how it becomes the corpus of one of them.

It holds plain values alone, so that it can be sent to another process. A seed decides which
examples are held out, so each seed has a corpus of its own; it is read once for all runs of that
seed that are made here in a row.

What a sweep will cost: each combination of settings made ready, and how long its runs will take.

Whatever can be known to fail is found out here, before the first run begins."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from charrnn.corpus.corpus import Corpus, CorpusConfig, from_texts, load
from charrnn.counts.baselines import Baseline
from charrnn.errors import (
    CharrnnError,
    CorpusError,
    DivergedError,
    ModelBusyError,
    ResumeError,
    SaveError,
    SettingError,
)
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.fields import CorpusRecord, record_of
from charrnn.model_file.saving import locked
from charrnn.network.parameters import LanguageModel
from charrnn.plan import Plan, characters_per_second, fitted, paced, plan
from charrnn.scoring.baselines import by_counting
from charrnn.settings.corpus import Reading
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.sweeping.grid import Grid, Result, Trial, failed, in_words
from charrnn.system import single_threaded
from charrnn.training.loop import Checkup, Done, Event
from charrnn.training.members import (
    check_together,
    scores_of_best,
    share_done,
    start_all,
    text_to_count,
    train_all,
)
from charrnn.training.state import sized_like


@dataclass(frozen=True)
class Material:
    """Files, or texts from Python; the names that are remembered of them; how they are read."""

    files: tuple[str, ...] = ()  # to be read here and now
    valid_files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # as the user knows them
    valid_names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # where those are
    texts: tuple[str, ...] | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    cutting: dict[str, Any] = field(default_factory=dict)
    start_from: str | None = None  # a model file
    fingerprint: str = ""  # of the corpus, once that was read


def material_of(sent: dict[str, Any]) -> Material:
    """The material from what is left of it when it was sent as JSON, which has no tuples."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in sent.items()
    }
    return Material(**values)


@dataclass(frozen=True)
class Split:
    """The corpus as a seed parts it, and what a model file will say of it."""

    corpus: Corpus
    record: CorpusRecord

    def baselines(self) -> Iterator[Baseline]:
        """What counting makes of it, each written into the record as it is found."""
        for one in by_counting(self.corpus, self.corpus.held_out.ids):
            self.record.baselines[one.name] = one.nats_per_character
            yield one


class Splits:
    """The corpus of each seed, of which the last is kept."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.model = model_in(material.start_from)
        self._last: tuple[int, Split] | None = None

    def of(self, seed: int) -> Split:
        """The corpus of that seed; CorpusError where it is no longer what it was."""
        if self._last is None or self._last[0] != seed:
            self._last = None  # so that two are never in memory
            self._last = seed, self._read(seed)
        return self._last[1]

    def counted(self, seed: int) -> Split:
        """The same, with all that counting makes of it."""
        split = self.of(seed)
        if not split.record.baselines:
            for _ in split.baselines():
                pass
        return split

    def _read(self, seed: int) -> Split:
        m = self.material
        known = "" if self.model is None else self.model.vocabulary.characters
        cutting = CorpusConfig(reading=Reading(**m.reading), seed=seed, known=known, **m.cutting)
        if m.texts is not None:
            corpus = from_texts(m.texts, cutting)
        else:
            corpus = load(m.files, cutting, m.valid_files)
            corpus = replace(corpus, sources=m.names, valid=m.valid_names)
        if m.fingerprint and corpus.fingerprint != m.fingerprint:
            raise CorpusError(
                f"{', '.join(m.names) or 'the corpus'} is no longer what the sweep began with",
                "Give it the same text again, or sweep anew into another folder.",
            )
        if not len(corpus.held_out):
            raise SettingError(
                "a sweep compares held-out losses, and nothing is held out",
                "Hold some out",
                "nothing held out",
            )
        record = record_of(corpus, cutting, {})
        return Split(corpus, replace(record, places=m.places) if m.places else record)


def model_in(path: str | None) -> LanguageModel | None:
    """The model to start from, if there is one."""
    return None if path is None else checkpoint.load_trained(path).model


OFTEN, SELDOM = 10.0, 60.0  # seconds from save to save, at check-ups and at any step
PATIENCE, TICK = 30.0, 0.1  # seconds to wait for a file in all, and from look to look
COSTLY = 50  # times as long as a save took pass until the next


@dataclass(frozen=True)
class Task:
    """A run to be made: plain values, to be sent to whoever makes it."""

    trial: Trial
    learning: dict[str, Any]  # the settings that are the same for all
    model: str  # the file, as the user knows it
    file: str = ""  # where it is written, if not there
    home: str = ""  # where it will be in the end, if it is written on another machine


@dataclass(frozen=True)
class Moved:
    """A run has come so far."""

    name: str
    share: float  # of the whole


@dataclass(frozen=True)
class Ended:
    """A run is over."""

    result: Result


def config_of(
    learning: dict[str, Any], settings: dict[str, Any], seed: int, model: LanguageModel | None
) -> TrainConfig:
    """The settings of a run; SettingError where they contradict each other."""
    given = {**learning, **settings}
    config = TrainConfig(**given, seed=seed, workers=1)
    if model is not None:
        config = sized_like(config, model, given)
    check_together(config)
    return config


def begun(task: Task, split: Split, model: LanguageModel | None) -> Checkpoint:
    """A run that has learned nothing yet."""
    trial, corpus = task.trial, split.corpus
    given = config_of(task.learning, trial.settings, trial.seed, model)
    c = fitted(given, corpus)
    if c.minutes is not None:
        c = paced(c, given, corpus, characters_per_second(c, corpus))
    first, *others = start_all(corpus, c, model)
    counted = text_to_count(corpus, c)
    return Checkpoint(corpus.vocabulary, c, split.record, first, others, counted)


def gone_on_with(path: str, task: Task, split: Split, model: LanguageModel | None) -> Checkpoint:
    """The run in a file; ResumeError unless it is this one."""
    run, corpus = checkpoint.load(path), split.corpus
    trial = task.trial
    wanted = fitted(config_of(task.learning, trial.settings, trial.seed, model), corpus)
    if not is_like(run.config, wanted) or not corpus.is_that_of(
        run.corpus.fingerprint, run.corpus.digest
    ):
        raise ResumeError(
            f"{path} holds another run",
            "Move it away, or sweep anew into another folder.",
        )
    run.corpus = split.record  # which knows where the texts are, wherever the file is by now
    return run


def is_like(had: Fitted, wanted: Fitted) -> bool:
    """Whether they are the same, but for what the speed of a machine has decided."""
    if wanted.minutes is not None:
        wanted = replace(wanted, check_every=had.check_every, warmup=had.warmup)
    return had == wanted


def learned(task: Task, splits: Splits) -> Generator[Moved | Ended, None, None]:
    """Make the run, telling of each step. Whoever closes this stops the run, which is saved."""
    at = time.monotonic()
    try:
        with single_threaded(), held(task.file or task.model):
            split = splits.counted(task.trial.seed)
            at = time.monotonic()  # what is read once for many runs is no part of any
            yield from _learned(task, split, splits.model, at)
    except DivergedError as error:
        yield Ended(failed(task.trial, error.what, "diverged", time.monotonic() - at))
    except (CharrnnError, OSError) as error:
        yield Ended(failed(task.trial, str(error), seconds=time.monotonic() - at))
    except MemoryError:
        yield Ended(failed(task.trial, "not enough memory", seconds=time.monotonic() - at))


@contextmanager
def held(path: str) -> Iterator[None]:
    """The file is ours alone in here. Who has it may be about to leave: a sweep that was killed."""
    with ExitStack() as stack:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                stack.enter_context(locked(path))
                break
            except ModelBusyError:
                if time.monotonic() > until:
                    raise
            time.sleep(TICK)
        yield


def _learned(
    task: Task, split: Split, model: LanguageModel | None, at: float
) -> Generator[Moved | Ended, None, None]:
    trial, path = task.trial, task.file or task.model
    is_there = os.path.exists(path)
    make = gone_on_with if is_there else _anew
    run = make(path, task, split, model)
    saving = Saving(path, run, task.home)
    why = "epochs"
    try:
        for event in train_all(run.states, split.corpus, run.config, run.counted):
            saving.note(event)
            if isinstance(event, Done):
                why = event.why
            share = share_done(run.states, run.config, len(split.corpus.train.ids))
            yield Moved(trial.name, share)
    except GeneratorExit:
        with suppress(SaveError):  # then it goes on from where it was saved before
            saving.save()
        raise
    saving.save()
    scores = scores_of_best(run.states, split.corpus, run.config, run.counted, however_long=True)
    best = run.state.best
    mean = scores["network"].overall.nats_per_character
    asked = {name: score.overall for name, score in scores.items() if name != "alone"}
    parts = {name: mean.per_character() for name, mean in asked.items()}
    yield Ended(
        Result(
            trial.name,
            trial.settings,
            trial.seed,
            None if best is None else best.step,
            mean,
            task.model,
            time.monotonic() - at,
            why,
            parts=parts if len(parts) > 1 else {},
        )
    )


def _anew(path: str, task: Task, split: Split, model: LanguageModel | None) -> Checkpoint:
    """A run into a file that is not there."""
    run = begun(task, split, model)
    container.check_writable(path, checkpoint.room_needed(path, run))  # before the work
    return run


class Saving:
    """Saves a run once in a while; a save that fails on the way is tried again later."""

    def __init__(self, path: str, run: Checkpoint, home: str) -> None:
        self.path, self.run, self.home = path, run, home
        self._at, self._cost = time.monotonic(), 0.0

    def note(self, event: Event) -> None:
        """Save if it is time."""
        pause = OFTEN if isinstance(event, Checkup) else SELDOM
        if time.monotonic() - self._at > max(pause, COSTLY * self._cost):
            with suppress(SaveError):
                self.save()

    def save(self) -> None:
        """Save it as it is now."""
        began = time.monotonic()
        try:
            checkpoint.save(self.path, self.run, self.home)
        finally:
            self._at = time.monotonic()
            self._cost = self._at - began


TRIED = 8  # networks whose speed is measured, at most
OF_SIZE = (  # what a step takes depends on these
    *("cell", "ends", "clock", "teacher_forcing", "hidden", "layers", "batch", "bptt", "stride"),
    *("optimizer", "members", "own_inputs", "free_running"),
)


@dataclass(frozen=True)
class Planned:
    """A combination of settings, and what each of its runs will do."""

    settings: dict[str, Any]
    plan: Plan
    seconds: float = 0.0  # that one run will take

    @property
    def name(self) -> str:
        """The settings on a line."""
        return in_words(self.settings)


def planned(
    settings: dict[str, Any], grid: Grid, learning: dict[str, Any], splits: Splits
) -> Planned:
    """What these settings come to; SettingError where they contradict each other."""
    seed = grid.seeds[0]
    config = config_of(learning, settings, seed, splits.model)
    corpus = splits.of(seed).corpus
    return Planned(settings, plan(fitted(config, corpus), corpus))


def seconds_of(plans: Sequence[Plan], corpus: Corpus) -> list[float]:
    """How long a run of each will take on this machine, by trying some of them for a moment."""
    sizes: dict[tuple[object, ...], Plan] = {}
    for one in sorted(plans, key=lambda one: one.config.lr):  # which may be too high to try
        sizes.setdefault(size_of(one.config), one)
    ordered = sorted(sizes.values(), key=lambda one: one.parameters)
    step = -(-len(ordered) // TRIED)
    speeds = [
        (one.parameters, characters_per_second(one.config, corpus)) for one in ordered[::step]
    ]

    def speed(one: Plan) -> float:
        """That of the network most like it in size, slower as it is larger."""
        size, found = min(speeds, key=lambda known: abs(known[0] - one.parameters))
        return max(found * size / one.parameters, 1e-9)

    return [_seconds(one, corpus, speed(one)) for one in plans]


def size_of(config: Fitted) -> tuple[object, ...]:
    """What tells two networks apart that do not learn equally fast."""
    return tuple(getattr(config, name) for name in OF_SIZE)


def alike(plans: Sequence[Planned]) -> list[tuple[Planned, Planned]]:
    """Pairs whose runs will be the same, for what they try was made to fit the corpus."""
    seen: dict[Fitted, Planned] = {}
    found = []
    for one in plans:
        first = seen.setdefault(one.plan.config, one)
        if first is not one:
            found.append((first, one))
    return found


def _seconds(one: Plan, corpus: Corpus, speed: float) -> float:
    config = one.config
    ends = [] if one.steps is None else [config.epochs * len(corpus.train.ids) / speed]
    ends += [] if config.minutes is None else [60 * config.minutes]
    return min(ends)

"""Training runs: begun, resumed and saved by Python, the commands and sweeps alike.

run = charrnn.train(["anna", "bob", ...], TrainConfig(hidden=64))
next(run)
run.save("names.npz")
run = charrnn.resume("names.npz", ["anna", "bob", ...], epochs=200)
"""

import math
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

import numpy as np

from charrnn.errors import CorpusError, DivergedError, ResumeError, SettingError
from charrnn.files import model_file
from charrnn.files.model_contents import Checkpoint, CorpusRecord, record_of
from charrnn.files.model_corpus import read_again
from charrnn.files.safe_writing import PathName
from charrnn.model import Model
from charrnn.network.arrays import Array64
from charrnn.network.parameters import LanguageModel
from charrnn.notebook import show_progress
from charrnn.prediction.losses import oddest
from charrnn.prediction.predictor import MIXABLE_HEADS, Costs, Predictor, check_mixable, fit_mixture
from charrnn.prediction.scoring import oddest_sums, score_ids
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import AUTOMATIC, LIMITS, Fitted, TrainConfig
from charrnn.settings.values import Flag, check, with_settings
from charrnn.system.children import in_one_thread
from charrnn.system.cores import available, cores_for
from charrnn.system.signals import delayed
from charrnn.text.corpus import Corpus, Examples, Texts, corpus_of, files_in
from charrnn.text.counts import Baseline, baselines, counts_of, sample_of
from charrnn.text.vocabulary import Ids
from charrnn.training import automatic_settings as auto
from charrnn.training import loop
from charrnn.training.state import check_patience, initial_state

LEAVE_OUT = "Leave it out to resume, or train a new model into another file."
TRIAL = 0.25  # seconds for measuring the speed of this machine
TRAINED_PER_SCORED_AT_END = 10  # symbols of a run, for each held-out symbol scored at its end
QUICKLY_COUNTED, MEMORY_TO_COUNT = 1 << 20, 1 << 28  # symbols, of a second or two; bytes
SHARED_SPEED = 0.85  # of the speed of a process, where several share a batch


class Run(Iterator[loop.Event]):
    """An iterator over the events of training.

    Ctrl-C takes effect after the current step, and the run can then go on or be saved.
    """

    def __init__(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        self.checkpoint, self._corpus = checkpoint, corpus
        self._nats: Costs = {}  # of held-out symbols, once they are scored
        self._events: Iterator[loop.Event] | None = None
        self._between_steps = threading.RLock()  # another thread saves whole steps only

    def __next__(self) -> loop.Event:
        with self._between_steps, delayed():
            event = next(events_of_run(self))
            if isinstance(event, loop.Checkup) and event.is_best:  # of others than before
                self.checkpoint.oddest, self.checkpoint.oddest_sums = {}, {}
            if isinstance(event, loop.Done):
                self._nats = fit_and_score(self.checkpoint, self._corpus)
            return event

    @property
    def model(self) -> Model:
        """A copy of the model with the lowest held-out loss so far."""
        with self._between_steps:
            trained = self.checkpoint.trained
            trained.model = replace(trained.model, parameters=trained.model.parameters.copy())
            return Model(trained, learned_from=self._corpus)

    def save(self, path: PathName, *, force: bool = False) -> None:
        """Write the run into a model file for ``load`` and ``resume``; replace an older model.

        path: The name of the file.
        force: Replace a file that is no model.
        """
        with model_file.locked_model(path, force=force), self._between_steps:
            model_file.save(path, self.checkpoint)


def events_of_run(run: Run) -> Iterator[loop.Event]:
    """Start the processes that share the work of a run, once, and return its events."""
    if run._events is None:
        state, config = run.checkpoint.state, run.checkpoint.config
        run._events = loop.Learner(state, run._corpus, config).events()
    return run._events


def train(
    texts: Texts,
    config: TrainConfig | None = None,
    *,
    holdout: float = 0.1,
    start_from: Model | None = None,
    labels: Iterable[str] | None = None,
    **settings: Any,
) -> Run:
    """Return a new run on texts, an example each, or on files.

    texts: An iterable of str, each an example; or a path or paths of files with examples.
    config: Settings for several uses.
    holdout: The fraction that is held out to measure the loss, below 1.
    start_from: A Model to start from, whose sizes the new one takes.
    labels: The label of each text.
    settings: Settings of TrainConfig by name, such as epochs=5, hidden=64.
    """
    for name, value, kind in (("config", config, TrainConfig), ("start_from", start_from, Model)):
        if not isinstance(value, kind | None):
            what = f"{name} cannot be {type(value).__name__}"
            raise SettingError(what, f"Give a {kind.__name__}.", name)
    config = with_settings(config or TrainConfig(), settings, train)
    model = None if start_from is None else start_from.language_model
    config = config if model is None else auto.take_sizes(config, model)
    known = "" if model is None else model.vocabulary.characters
    cutting = CorpusConfig(holdout=holdout, known=known)
    corpus = corpus_of(texts, cutting, labels)
    return run_of(corpus, begin_run(corpus, cutting, config, model))


def run_of(corpus: Corpus, checkpoint: Checkpoint) -> Run:
    """Return a run that may be saved after a change of the current folder."""
    checkpoint.corpus = checkpoint.corpus.from_anywhere()
    return Run(corpus, checkpoint)


def configure(typed: Mapping[str, Any], model: LanguageModel | None) -> TrainConfig:
    """Return the settings of a new run, which has the sizes of a model to start from."""
    if model is None:
        return TrainConfig(**typed)
    auto.check_sizes(typed, model)
    return auto.take_sizes(TrainConfig(**{**auto.sizes_of(model), **typed}), model)


@in_one_thread
def begin_run(
    corpus: Corpus,
    cutting: CorpusConfig,
    config: TrainConfig,
    start_from: LanguageModel | None = None,
    speed: float | None = None,  # characters a second, measured if a time limit needs that
) -> Checkpoint:
    """Return a new run on this corpus, every open setting chosen to fit it."""
    record, fitted = record_of(corpus, cutting), auto.fit_settings(config, corpus, start_from)
    if fitted.minutes is not None:
        rate = characters_per_second(fitted, corpus) if speed is None else speed
        fitted = auto.fit_pace(fitted, config, len(corpus.held_out.ids), rate)
    state = initial_state(corpus, fitted, start_from)
    counted = sample_of(corpus.train.labelled, corpus.vocabulary.symbols) if fitted.counts else None
    return Checkpoint(
        config=fitted, corpus=record, counted=counted, vocabulary=corpus.vocabulary, state=state
    )


@in_one_thread
def characters_per_second(config: Fitted, corpus: Corpus) -> float:
    """Measure the speed of training by a few steps, as in the middle of the run."""
    processes = min(config.shards, cores_for(config.cores))
    config = replace(config, cores=1)  # other processes would take longer to start
    state = initial_state(corpus, config)
    state.characters = config.epochs * len(corpus.train.ids) // 2  # noise as in mid-run
    rates, began, last = list[float](), math.inf, time.monotonic()
    with suppress(DivergedError):  # the run itself reports it
        for event in islice(loop.Learner(state, corpus, config).events(), 1000):
            ended = time.monotonic()
            if isinstance(event, loop.Step):
                rates.append(event.characters / max(ended - last, 1e-9))
            began, last = min(began, ended), ended  # without the start of processes
            if len(rates) > 1 and ended - began > TRIAL:
                break
    # The first step touches all memory for the first time, and any may be slow by chance.
    return statistics.median(rates[1:] or rates or [0.0]) * max(1.0, SHARED_SPEED * processes)


def compute_baselines(corpus: Corpus, record: CorpusRecord) -> list[Baseline]:
    """Return the baselines of a corpus, and add their losses to its record."""
    known = baselines(corpus.train.labelled, corpus.held_out.labelled, corpus.vocabulary)
    record.baselines.update({order.name: order.nats_per_character for order in known})
    return known


def fit_and_score(checkpoint: Checkpoint, corpus: Corpus, *, however_long: bool = False) -> Costs:
    """Fit the mixture, note the oddest example, and return the nats by use, if that is quick."""
    ids, state, best = corpus.held_out.ids, checkpoint.state, checkpoint.trained.model
    if state.best is None or not len(ids):
        return {}
    most = max(loop.SCORED_AT_ONCE, state.characters // TRAINED_PER_SCORED_AT_END)
    is_wanted = however_long or len(ids) <= most
    fitted = mixture_and_costs(best, checkpoint.counted, corpus.held_out, is_wanted)
    checkpoint.mixture, costs, checkpoint.oddest_sums = fitted
    checkpoint.oddest = oddest(ids, costs)
    return costs


def add_counts(checkpoint: Checkpoint, corpus: Corpus) -> bool:
    """Add the text to count to a run. Return False if it has that."""
    if checkpoint.config.counts:
        return False
    check_mixable(checkpoint.config.ends)
    checkpoint.config = replace(checkpoint.config, counts=True)
    checkpoint.counted = sample_of(corpus.train.labelled, corpus.vocabulary.symbols)
    return True


def nats_with_counts(run: Run) -> Array64 | None:
    """Return the held-out nats that a run without counts would have with them, if that is quick."""
    config, ids, room = run.checkpoint.config, run._corpus.train.labelled, available()
    is_small = len(ids) <= QUICKLY_COUNTED and (room is None or room > MEMORY_TO_COUNT)
    if config.counts or config.ends not in MIXABLE_HEADS or not (run._nats and is_small):
        return None
    model = run.checkpoint.trained.model
    return mixture_and_costs(model, ids, run._corpus.held_out, True)[1]["both"]


@in_one_thread
def mixture_and_costs(
    model: LanguageModel, counted: Ids | None, held_out: Examples, is_wanted: bool
) -> tuple[tuple[float, ...], Costs, dict[str, float]]:
    """Return the mixture that suits a text and, if wanted, its nats by use and its oddest sums."""
    counts = counts_of(counted, model.vocabulary)
    mixture = fit_mixture(Predictor([model], counts), held_out)
    if not is_wanted:
        return mixture, {}, {}
    predictor, ids = Predictor([model], counts, mixture=mixture), held_out.ids
    labels, split = held_out.labels_at(np.arange(len(ids))), len(ids) // 2
    costs = score_ids(predictor, ids, labels, split=split)[0]
    return mixture, costs, oddest_sums(predictor, held_out, costs)


def resume(
    path: PathName,
    texts: Texts | None = None,
    *,
    epochs: int | None = None,
    labels: Iterable[str] | None = None,
) -> Run:
    """Return the run in a file, to go on exactly where it stopped.

    path: The model file of the run.
    texts: The texts of the run in the same order; by default, its files are read again.
    epochs: More epochs than before.
    labels: The labels of these texts, if any.
    """

    def read(checkpoint: Checkpoint) -> Corpus:
        record, files = checkpoint.corpus, () if texts is None else files_in(texts)
        if labels is not None or (texts is not None and not files):
            if labels is None and checkpoint.vocabulary.labels:
                raise ResumeError(f"{path} was trained on texts with labels", "Give [labels], too.")
            return corpus_of(() if texts is None else texts, record.config, labels)
        try:
            return read_again(record, files, hint="Give the same texts again.")
        except CorpusError as error:
            raise ResumeError(error.what, error.hint_pattern) from error

    raised = {} if epochs is None else {"epochs": TrainConfig(epochs=epochs).epochs}
    return run_of(*reopen(path, read, raised))


def reopen(
    path: PathName, read: Callable[[Checkpoint], Corpus], typed: Mapping[str, Any]
) -> tuple[Corpus, Checkpoint]:
    """Return the corpus and the run in a file; ResumeError if a text or a setting differs."""
    checkpoint = model_file.load(path)
    record = checkpoint.corpus
    cut = asdict(record.reading) | {"examples": record.config.examples, "holdout": record.holdout}
    cut |= {"examples": "auto"} if typed.get("examples") == "auto" else {}  # as the run chose
    auto.check_agreement(path, cut, {name: typed[name] for name in cut if name in typed}, LEAVE_OUT)
    corpus = read(checkpoint)
    if corpus.digest != record.digest:
        names, old_names = map(", ".join, ((*corpus.sources, *corpus.valid), record.names))
        old = f"{old_names or 'texts from Python'} (SHA-256 {record.fingerprint[:12]})"
        new = f"{names or 'the given text'} (SHA-256 {corpus.fingerprint[:12]})"
        same = "the same text in the same order"
        same += ", in files of the same names" if record.reading.label_by == "file" else ""
        advice = f"Give {same}, or train a new model into another file."
        raise ResumeError(f"{path} was trained on {old}, not on {new}", advice)
    are_kept = corpus.files.keys() >= {*corpus.sources, *corpus.valid}
    if corpus.sources and are_kept and ("-" in record.names or corpus.files != record.files):
        checkpoint.corpus = record.with_files_of(corpus)
    checkpoint.config = with_limits(path, checkpoint.config, corpus, typed)
    return corpus, checkpoint


def with_limits(path: PathName, config: Fitted, corpus: Corpus, typed: Mapping[str, Any]) -> Fitted:
    """Return the settings of a run with the limits that are typed; ResumeError if others differ."""
    old = asdict(config)
    raised = {name: typed[name] for name in LIMITS if name in typed}
    retyped = {name: typed[name] for name in old if name in typed and name not in LIMITS}
    retyped.pop("cores", None)  # may change: shards decide the numbers
    check_patience(raised.get("patience"), len(corpus.held_out))
    auto.check_agreement(path, auto.settings_to_show(config), raised, LEAVE_OUT, may_rise=LIMITS)
    sizes = {name: retyped.pop(name) for name in ("bptt", "batch") if name in retyped}
    auto.check_agreement(path, old, retyped, LEAVE_OUT)
    # Sizes are fitted to the corpus as at the start: bptt 0 becomes the longest example. No window
    # is longer than the corpus, or a file could claim any memory.
    fitted = asdict(auto.fit_settings(TrainConfig(**old | {"free_running": 0} | sizes), corpus))
    auto.check_agreement(path, old, {name: fitted[name] for name in ["bptt", *sizes]}, LEAVE_OUT)
    is_raised = any(value != old[name] for name, value in raised.items())
    if config.patience == AUTOMATIC and is_raised and "patience" not in raised:
        raised["patience"] = None  # who raises a limit wants to reach it
    return replace(config, **raised, cores=typed.get("cores"))


def fit(
    texts: Texts,
    config: TrainConfig | None = None,
    progress: bool = False,
    labels: Iterable[str] | None = None,
    *,
    holdout: float = 0.1,
    start_from: Model | None = None,
    **settings: Any,
) -> Model:
    """Train on texts or files, and return the best model; its ``save`` keeps the run as well.

    progress: Show a progress bar, in a notebook or on the terminal.
    """
    progress = check("progress", progress, Flag())  # labels in its place would be lost
    how = {"holdout": holdout, "start_from": start_from, "labels": labels, **settings}
    run = train(texts, config, **how)
    for _ in show_progress(run.checkpoint, run) if progress else run:
        pass
    return replace(run.model, checkpoint=run.checkpoint)

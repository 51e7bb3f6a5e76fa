"""Runs with any settings, stopped at any step or killed, and what they learn."""

import math
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
import reber
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import charrnn
from charrnn import runs
from charrnn.errors import SettingError
from charrnn.files import model_file
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS
from charrnn.prediction.predictor import EVEN
from charrnn.runs import characters_per_second, with_limits
from charrnn.settings.training import AUTOMATIC
from charrnn.text.corpus import corpus_of, read_files
from charrnn.text.examples import texts_of
from charrnn.training.automatic_settings import fit_settings
from charrnn.training.loop import Checkup, Step
from tests.child import needs_strace, program_with, strace, wait_until
from tests.program import NAMES, SMALL, WORDS, Program, assert_no_temporary_files, chance, lines_of

Choice = dict[str, Any]
READS: Final[dict[str, Choice]] = {  # what the network reads, and what is fed back
    "truth": {},
    "forced": {"teacher_forcing": True},
    "own": {"own_inputs": 1.0},
    "free": {"free_running": 2},
}
SIZE: Final[Choice] = {"hidden": 4, "batch": 2, "bptt": 5, "check_every": 2}
CHOICES = [
    (cell, ends, reads)
    for cell, ends, reads in product(CELLS, HEADS, READS)
    if cell == "output" or reads != "forced"  # which replaces outputs that are fed back
]
FEW = WORDS[:6]


def stepped(run: charrnn.Run, steps: int) -> charrnn.Run:
    next(islice((event for event in run if isinstance(event, Step)), steps - 1, None))
    return run


@pytest.mark.parametrize("choice", CHOICES, ids="-".join)
def test_a_choice_is_learned_resumed_and_scored(tmp_path: Path, choice: tuple[str, ...]) -> None:
    """With a clock or without, so that any two values of two options meet."""
    cell, ends, reads = choice
    places = [*CELLS].index(cell), [*HEADS].index(ends), [*READS].index(reads)
    layers = 1 if cell == "output" else 2  # the layers below have no outputs
    chosen = SIZE | {"cell": cell, "ends": ends, "clock": sum(places) % 2 == 1, "layers": layers}
    chosen |= READS[reads]
    config = charrnn.TrainConfig(**chosen)
    whole, part = tmp_path / "whole.npz", tmp_path / "part.npz"
    stepped(charrnn.train(FEW, config), 2).save(whole)
    stepped(charrnn.train(FEW, config), 1).save(part)
    stepped(charrnn.resume(part, FEW), 1).save(part)
    assert part.read_bytes() == whole.read_bytes()
    model = charrnn.load(whole)
    assert {name: getattr(model.config, name) for name in chosen} == chosen
    assert math.isfinite(model.score([*FEW, "Ж?"]).nats)


CHOSEN: list[tuple[str, Sequence[Any]]] = [
    *(("cell", [*CELLS]), ("ends", [*HEADS]), ("clock", [False, True]), ("counts", [False, True])),
    *(("optimizer", ["adam", "rmsprop", "adagrad", "sgd"]), ("layers", [1, 2, 3])),
    *(("schedule", ["cosine", "linear", "constant"]), ("own_inputs", [0.0, 0.5, 1.0])),
    *(("dropout", [0.0, 0.5]), ("dropconnect", [0.0, 0.3]), ("blank", [0.0, 0.2])),
    *(("bptt", range(10)), ("batch", range(1, 10)), ("check_every", range(1, 10))),
    *(("warmup", range(6)), ("free_running", range(5)), ("cores", [1, 2])),
]
WAYS = st.fixed_dictionaries(
    {"seed": st.integers(0, 99), "epochs": st.integers(1, 3)},
    optional={name: st.sampled_from(values) for name, values in CHOSEN},
)


def test_fault_18_resumed_with_any_settings_it_ends_in_the_same_bytes(faults: int) -> None:
    holdouts, stops = st.sampled_from([0.0, 0.1, 0.4]), st.lists(st.integers(0, 12), max_size=3)

    @settings(max_examples=faults // 2)
    @given(WAYS, holdouts, stops)
    def assert_same_bytes(chosen: Choice, holdout: float, stops: list[int]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            straight, stopped = Path(folder) / "straight.npz", Path(folder) / "stopped.npz"
            try:
                config = charrnn.TrainConfig(**{"hidden": 3, "layers": 1, **chosen})
                run = charrnn.train(WORDS, config, holdout=holdout)
            except SettingError:  # they do not go together
                reject()
            list(run)
            run.save(straight)
            run = charrnn.train(WORDS, config, holdout=holdout)
            for stop in stops:
                list(zip(range(stop), run, strict=False))
                run.save(stopped)
                run = charrnn.resume(stopped, WORDS)
            list(run)
            run.save(stopped)
            assert stopped.read_bytes() == straight.read_bytes()

    assert_same_bytes()


def test_fault_18_a_mixture_is_fitted_to_the_same_bytes_after_a_resume(tmp_path: Path) -> None:
    texts = [f"{a} {b}" for a, b in product(WORDS, WORDS)]
    straight, stopped = tmp_path / "straight.npz", tmp_path / "stopped.npz"
    config = charrnn.TrainConfig(hidden=4, layers=1, epochs=2, counts=True)
    fitted = charrnn.fit(texts, config, holdout=0.5)
    fitted.save(straight)
    stepped(charrnn.train(texts, config, holdout=0.5), 3).save(stopped)
    assert charrnn.load(stopped).trained.mixture == EVEN
    run = charrnn.resume(stopped, texts)
    list(run)
    run.save(stopped)
    assert stopped.read_bytes() == straight.read_bytes()
    mixture = charrnn.load(straight).trained.mixture
    assert mixture == run.model.trained.mixture == fitted.trained.mixture
    means = np.reshape(mixture, (2, len(EVEN))).mean(0)
    assert fitted.predictor().weights.ravel() == pytest.approx(means)
    run = charrnn.resume(straight, texts, epochs=9)
    assert run.model.trained.oddest
    next(event for event in run if isinstance(event, Checkup) and event.is_best)
    assert not run.model.trained.oddest, "the unit of other parameters"


def test_ctrl_c_at_the_end_leaves_a_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    fit_and_score = runs.fit_and_score

    def interrupted(*run: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return fit_and_score(*run)

    monkeypatch.setattr(runs, "fit_and_score", interrupted)
    run = charrnn.train(WORDS * 9, epochs=1, hidden=4, cores=1, holdout=0.5)
    with pytest.raises(KeyboardInterrupt):
        list(run)
    assert run.model.trained.oddest
    assert not list(run)


def test_seeds_share_a_vocabulary_and_a_held_out_text(program: Program) -> None:
    program.train("names.txt", "--seed", "1", "-m", "one.npz").says()
    program.run("sweep", "names.txt", *SMALL, "--seeds", "2-3").says()
    models = [charrnn.load(file) for file in program.folder.rglob("*.npz")]
    assert {model.config.seed for model in models} == {1, 2, 3}
    assert len({model.corpus.digest for model in models}) == 1


@pytest.mark.parametrize(
    ("typed", "patience"),
    [
        *(({}, AUTOMATIC), ({"epochs": 999}, None), ({"minutes": 9.0}, None)),
        ({"minutes": 1.0}, AUTOMATIC),
        ({"epochs": 999, "patience": 7}, 7),
    ],
)
def test_who_raises_a_limit_reaches_it(typed: Choice, patience: int | None) -> None:
    corpus = corpus_of(WORDS)
    config = replace(fit_settings(charrnn.TrainConfig(minutes=1.0), corpus), patience=AUTOMATIC)
    assert with_limits("m.npz", config, corpus, typed).patience == patience


METRICS = ("--metrics", "metrics.jsonl")
OFTEN = program_with(
    "from charrnn.files import saves_and_metrics as s; s.SAVE_INTERVAL = s.SAVE_COST_FACTOR = 0"
)
HALF_A_SECOND = (
    *("train", "names.txt", "--hidden", "16", "--layers", "1", "--batch", "16", "--bptt", "2"),
    *("--cores", "3", "--check-every", "10", "--epochs", "20", "--preview", "0", *METRICS),
)
GO_ON = ("train", "--resume", "--preview", "0", *METRICS)


def files_of(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "model.npz").read_bytes(), (folder / "metrics.jsonl").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """The files of a run that is not interrupted."""
    beside = Program(tmp_path_factory.mktemp("undisturbed"))
    beside.write("names.txt", NAMES)
    beside.run(*HALF_A_SECOND).says("next ")
    return files_of(beside.folder)


def steps_saved(program: Program) -> int:
    """Return how far the model has come, which loads whatever happened."""
    path = program / "model.npz"
    return model_file.load(path).state.step if path.exists() else 0


def next_line(program: Program) -> tuple[str, ...]:
    """Return what a user types next: go on, or begin once more if nothing was saved."""
    if (program / "model.npz").exists():
        return GO_ON
    (program / "metrics.jsonl").unlink(missing_ok=True)
    return HALF_A_SECOND


def assert_same_end(program: Program, undisturbed: tuple[bytes, bytes]) -> None:
    program.run(*next_line(program)).says("next ")
    assert files_of(program.folder) == undisturbed
    assert_no_temporary_files(program)


def test_fault_18_killed_or_interrupted_at_random_it_ends_in_the_same_bytes(
    program: Program, undisturbed: tuple[bytes, bytes], kills: int
) -> None:
    chosen, step = chance(), 0
    signals = [signal.SIGKILL, signal.SIGTERM] * kills
    while signals:
        enough = chosen.randrange(30) + lines_of(program)
        with program.going(*next_line(program), by=OFTEN) as child:
            if len(signals) % 3:  # while it works, or while it starts
                wait_until(lambda: lines_of(program) > enough or child.process.poll() is not None)  # noqa: B023
            else:
                time.sleep(chosen.uniform(0, 0.5))
            child.send(signals[-1])
            ended = child.end()
        if ended.status == 0:  # it was quicker: once more from the beginning
            assert files_of(program.folder) == undisturbed
            (program / "model.npz").unlink()
            (program / "metrics.jsonl").unlink()  # whose lines are counted above
            step = 0
            continue
        signals.pop()
        assert steps_saved(program) >= step
        step = steps_saved(program)
    assert_same_end(program, undisturbed)


# Write 4 is into a semaphore of tqdm, which a kill would leave.
MOMENTS = ["write:5", "fsync:1", "rename:1", "rename:3"]
MORE = ["write:9", "fsync:2", "write:30"]  # with --long


@needs_strace
def test_fault_18_killed_exactly_there_it_ends_in_the_same_bytes(
    program: Program, undisturbed: tuple[bytes, bytes], pytestconfig: pytest.Config
) -> None:
    step = 0
    for moment in MOMENTS + MORE * pytestconfig.getoption("long"):
        call, _, number = moment.partition(":")
        killed = strace(f"{call}:signal=KILL:when={number}", OFTEN)
        ended = program.run(*next_line(program), "-q", by=killed)
        assert ended.status == 137, (moment, ended)
        assert steps_saved(program) >= step
        step = steps_saved(program)
    assert step
    assert_same_end(program, undisturbed)


def test_a_network_comes_to_know_a_grammar() -> None:
    """A model that forgets what came second loses log 2 nats a string, a fifth of all."""
    size: Choice = {"hidden": 64, "layers": 1, "batch": 16, "bptt": 32, "lr": 0.005, "epochs": 16}
    whole: Choice = {"dropout": 0.0, "dropconnect": 0.0, "blank": 0.0}
    model, corpus = charrnn.fit(Path("reber"), **size, **whole), read_files(["reber"])
    strings = texts_of(corpus.vocabulary.codes[corpus.held_out.ids])
    network = np.array([score.nats for score in model.scores(strings)])
    grammar = np.array([reber.nats(string) for string in strings])
    assert network.sum() <= 1.02 * grammar.sum()
    more = network - grammar
    assert more.mean() > -3 * more.std() / np.sqrt(len(more))  # nobody loses less but by chance
    assert reber.nats("BTBPVVEPE") == np.inf


def test_the_speed_is_that_of_a_step_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step of a large network alone takes longer than the whole trial should."""
    corpus = corpus_of(["abcde"] * 100)
    config = fit_settings(charrnn.TrainConfig(**SIZE, cores=1), corpus)
    clock = SimpleNamespace(monotonic=iter([0.0, 4.0, 5.0]).__next__)
    monkeypatch.setattr("charrnn.runs.time", clock)
    assert characters_per_second(config, corpus) == 10.0

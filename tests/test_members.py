"""Several networks that learn side by side, of which one comes to its end before the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.corpus.corpus import Corpus, from_texts
from charrnn.counts.kneser_ney import Counts
from charrnn.display import curve_of
from charrnn.model_file import checkpoint
from charrnn.network.parameters import LanguageModel
from charrnn.plan import fit_settings
from charrnn.scoring.predictor import MixedScorer, Predictor
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Fitted
from charrnn.training import loop, state
from charrnn.training.loop import (
    Checkup,
    Done,
    Event,
    JointCheckups,
    Learner,
    Step,
    lowest_so_far,
)
from charrnn.training.members import share_done, start_all, train_all
from charrnn.training.state import TrainState
from charrnn.vocabulary import Ids
from tests.program import Program

# How many windows an epoch has depends on the order of its examples, and so on the seed.
EPOCH = (
    *("--members", "2", "--epochs", "1", "--hidden", "4", "--layers", "1"),
    *("--batch", "5", "--bptt", "2", "--check-every", "1000"),
)
TICK = 0.6  # seconds


@pytest.fixture
def corpus() -> Corpus:
    """Words of all lengths, a tenth held out."""
    words = ["".join(letters) for letters in itertools.product("abc", repeat=4)]
    return from_texts([word * (1 + n % 7) for n, word in enumerate(words)], CorpusConfig())


def settings(corpus: Corpus, **given: object) -> Fitted:
    """Of small networks that end by patience, each in its own time."""
    usual: dict[str, object] = {"hidden": 6, "layers": 1, "batch": 4, "bptt": 8, "members": 3}
    usual |= {"epochs": 40, "patience": 2, "check_every": 5, "lr": 0.05}
    return fit_settings(charrnn.TrainConfig(**(usual | given)), corpus)  # type: ignore[arg-type]


def is_uneven(states: tuple[TrainState, ...]) -> bool:
    """Whether the networks have learned for different numbers of steps."""
    return len({state.step for state in states}) > 1


def ended_unevenly(corpus: Corpus) -> tuple[tuple[TrainState, ...], Fitted, list[Event]]:
    """A run whose networks did not end together, and all that was told of it."""
    for seed in range(20):
        config = settings(corpus, seed=seed)
        states = start_all(corpus, config)
        events = list(train_all(states, corpus, config))
        if is_uneven(states):
            return states, config, events
    raise AssertionError("they always end together")


def test_all_that_each_has_learned_is_in_the_file(program: Program) -> None:
    for seed in range(30):
        program.run("train", "names.txt", *EPOCH, "--seed", str(seed), "--force", "-q").says()
        states = checkpoint.load(Path("model.npz")).states
        if states[0].step < states[1].step:
            break
    assert states[0].step < states[1].step
    assert all(state.epoch == 1 and state.best is not None for state in states)
    told = program.run("info", "--json").json
    assert told["best"]["step"] == max(state.step for state in states)
    assert "finished after 1 epoch: use a larger --epochs" in " ".join(
        program.run("info").out.split()
    )
    before = Path("model.npz").read_bytes()
    assert "nothing was left to do" in program.run("train", "--resume").err
    assert Path("model.npz").read_bytes() == before


@pytest.mark.usefixtures("saves_often")
def test_what_others_learn_after_the_first_has_ended_is_saved_on_the_way(program: Program) -> None:
    line = ("train", "names.txt", "--members", "3", "--hidden", "4", "--layers", "1", "--lr", "0.1")
    dropped = ("--dropout", "0.4", "--dropconnect", "0.3")
    for seed in range(10):
        more = ("--epochs", "30", "--patience", "1", "--check-every", "2", "--seed", str(seed))
        program.run(*line, *dropped, *more, "--force", "-q").says()
        run = checkpoint.load(Path("model.npz"))
        assert run.ended == "patience"
        if run.states[0].step < run.longest.step:
            assert_told_of(program, run.longest)
            program.run("slim", "model.npz.slim").says()
            assert_told_of(program, run.longest, "model.npz.slim")
            return
    raise AssertionError("the first never ended before another one")


def assert_told_of(program: Program, longest: TrainState, file: str = "model.npz") -> None:
    """Assert that it is said of the longest run of all how much has been learned."""
    told = program.run("info", "--json", "-m", file).json
    assert (told["steps"], told["epochs"]) == (longest.step, longest.epoch)
    assert told["characters_seen"] == longest.characters
    assert told["history"] in (longest.history, [])  # none in a slim file
    curve = curve_of(charrnn.load(file).trained)
    assert curve is None or curve.steps[-1] == longest.step
    assert (curve is None) == (not told["history"])
    words = " ".join(program.run("info", "-m", file).out.split())
    assert (
        f"trained {longest.step:,} steps, {longest.epoch} epochs, {longest.characters:,}" in words
    )
    assert f"{longest.step:,} steps" in charrnn.load(file)._repr_html_()


def test_a_check_up_is_of_all_though_some_have_ended(corpus: Corpus) -> None:
    states, config, events = ended_unevenly(corpus)
    checkups = [event for event in events if isinstance(event, Checkup)]
    last = [state.history[-1]["held_out"] for state in states]
    found = checkups[-1]
    assert found.score is not None
    assert found.score.nats_per_character == pytest.approx(np.mean(last), rel=1e-6)
    networks = tuple(LanguageModel(one.parameters, corpus.vocabulary) for one in states)
    nats, _ = MixedScorer(Predictor(networks)).read(corpus.held_out.ids)
    assert found.together_nats_per_character == pytest.approx(nats.mean(), rel=1e-3)
    lowest = min(c.score.nats_per_character for c in checkups if c.score is not None)
    assert lowest_so_far(states) == pytest.approx(lowest, rel=1e-6)
    stars = [c.is_best for c in checkups]
    means = [c.score.nats_per_character for c in checkups if c.score is not None]
    assert stars == [mean < min(means[:n], default=np.inf) for n, mean in enumerate(means)]
    assert share_done(states, config, len(corpus.train.ids)) < 1  # patience has its own measure


def test_a_run_that_goes_on_without_the_first_tells_what_it_would_have_told(
    corpus: Corpus,
) -> None:
    _, config, whole = ended_unevenly(corpus)
    steps = [event.step for event in whole if not isinstance(event, Done)]
    assert steps == sorted(steps)
    first_end = min(state.step for state in ended_unevenly(corpus)[0])
    near = next(n for n, event in enumerate(whole) if getattr(event, "step", 0) >= first_end)
    for stop in sorted({*range(len(whole) // 4, len(whole), 80), *range(near - 2, near + 4)}):
        states = start_all(corpus, config)
        told = list(itertools.islice(train_all(states, corpus, config), stop))
        told += train_all(states, corpus, config)
        assert [*map(repr, told)] == [*map(repr, whole)], f"stopped after {stop} events"


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Let a clock on the wall advance for each epoch, step, check-up and mixture.

    Threads wait for each other, as on a busy machine.
    """
    ticks: list[None] = []

    def slow(method: Callable[..., Any]) -> Callable[..., Any]:
        def takes_time(*args: object) -> Any:
            ticks.append(None)
            return method(*args)

        return takes_time

    def now() -> float:
        return TICK * len(ticks)

    monkeypatch.setattr(Learner, "begin_epoch", slow(Learner.begin_epoch))
    monkeypatch.setattr(Learner, "check_divergence", slow(Learner.check_divergence))
    monkeypatch.setattr(JointCheckups, "gain", slow(JointCheckups.gain))
    clock = SimpleNamespace(monotonic=now, process_time=now)
    monkeypatch.setattr(state, "time", clock)
    return ticks


@pytest.mark.parametrize("check_every", [1, 10**6])
@pytest.mark.parametrize(("members", "threads"), [(1, 2), (2, 1), (2, 2), (4, 2), (3, 2), (3, 4)])
def test_minutes_are_those_of_a_clock_on_the_wall(
    corpus: Corpus, ticks: list[None], members: int, threads: int, check_every: int
) -> None:
    given = {"members": members, "workers": threads, "minutes": 1.2, "patience": None}
    config = settings(corpus, **given, check_every=check_every)
    states = start_all(corpus, config)
    seconds_elsewhere = 0.0
    for _ in train_all(states, corpus, config):
        ticks.append(None)  # the caller saves or shows something
        seconds_elsewhere += TICK
    seconds = TICK * len(ticks) - seconds_elsewhere
    last = 3 * members + (members > 1)  # a step, of a new epoch, and a check-up
    assert -1e-6 <= seconds - 72 <= TICK * last + 1e-6
    assert checkpoint.ending_of(config, [*map(checkpoint.learned_by, states)]) == "minutes"
    assert share_done(states, config, len(corpus.train.ids)) == 1


def test_the_counts_are_made_before_training_and_take_none_of_its_minutes(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Noted(Counts):
        def __init__(self, sequence: Ids, symbols: int) -> None:
            made.append(len(sequence))
            super().__init__(sequence, symbols)

    monkeypatch.setattr(loop, "Counts", Noted)
    config = settings(corpus, members=1, counts=True, minutes=1.0)
    states, counted = start_all(corpus, config), corpus.train.ids
    events = train_all(states, corpus, config, counted)
    assert isinstance(next(events), Step)
    assert made == [len(counted)]
    assert any(isinstance(event, Checkup) for event in itertools.islice(events, 10))
    assert made == [len(counted)]


def test_what_ended_them_is_what_ended_the_last(corpus: Corpus, tmp_path: Path) -> None:
    texts = ["anna", "bob", "clara", "dora"] * 9
    config = charrnn.TrainConfig(hidden=3, layers=1, members=2, epochs=3, minutes=50.0)
    run = charrnn.train(texts, config)
    for _ in run:
        pass
    run.save(tmp_path / "m.npz")
    assert checkpoint.load_trained(tmp_path / "m.npz").ended == "epochs"
    run.checkpoint.states[1].epoch = 2  # as if it had been stopped before its last window
    run.save(tmp_path / "m.npz")
    assert checkpoint.load_trained(tmp_path / "m.npz").ended is None

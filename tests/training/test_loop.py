"""A run from epoch to epoch, from its start or from a model; check-ups; and when it is over."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import charrnn
from charrnn.errors import DivergedError
from charrnn.model import Model
from charrnn.runs import fit, resume, train
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.text.vocabulary import Vocabulary
from charrnn.training.automatic_settings import take_sizes
from charrnn.training.loop import AVERAGED, Checkup, Done, Step
from charrnn.training.optimizer import Optimizer
from charrnn.training.state import Counters, find_ending
from tests.networks import babbler, model_of

TEXTS = ["anna", "bob", "cleo", "dora", "emil", "fritz"] * 5


def test_nothing_crosses_from_one_epoch_to_the_next() -> None:
    run = charrnn.train(TEXTS, hidden=5, layers=2, batch=3, bptt=8, epochs=2)
    state = run.checkpoint.state
    while (state.epoch, state.window) != (1, 0):
        next(run)
    assert not any(h.any() for h in state.carried)


def test_a_weight_that_is_dropped_is_not_read() -> None:
    size: dict[str, Any] = {"hidden": 5, "layers": 2, "batch": 3, "bptt": 8, "epochs": 1}
    first: list[Any] = [next(train(TEXTS, dropconnect=part, **size)) for part in (0.0, 0.9)]
    assert first[0].nats_per_character != first[1].nats_per_character


def test_minutes_are_those_of_steps_and_check_ups_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=iter(range(10**6)).__next__)  # each look takes a second
    monkeypatch.setattr("charrnn.training.loop.time", clock)
    size = charrnn.TrainConfig(hidden=5, layers=1, batch=3, bptt=8, check_every=5)
    *events, done = charrnn.train(TEXTS, size, minutes=0.49)
    assert done == Done("minutes")
    assert sum(isinstance(event, Step) for event in events) == 25


def test_the_best_network_is_an_average_of_the_last_ones() -> None:
    size: dict[str, Any] = {"epochs": 9, "hidden": 4, "lr": 0.01, "check_every": 7}
    run = train(["anna", "bob", "clara", "dora"] * 9, schedule="constant", **size)
    state, average, checked = run.checkpoint.state, np.zeros(0), 0
    for event in run:
        p = state.parameters.flat.astype(np.float64)
        if isinstance(event, Step):
            steps = AVERAGED * event.step * event.lr / 0.01
            average = p if steps < 1 or event.step == 1 else average + (p - average) / steps
        elif isinstance(event, Checkup) and event.is_best:
            checked += 1
            assert state.best is not None
            np.testing.assert_allclose(state.best.flat, average, atol=1e-6)
            assert not np.allclose(average, p, atol=1e-4)
    assert checked > 2


def test_known_rows_are_copied_and_a_new_character_is_as_likely_as_it_is_frequent() -> None:
    model = babbler("bd")
    model.parameters.flat[:] = np.arange(model.parameters.flat.size) / 100
    vocabulary = Vocabulary("abcd")
    frequencies = np.array([0.2, 0.1, 0.3, 0.1, 0.05, 0.25])
    p, old = model.parameters_for(vocabulary, frequencies), model.parameters
    for name in ("U1", "V", "c"):
        assert np.array_equal(p[name][[0, 1, 3, 5]], old[name].astype(np.float32))
    assert not p["U1"][[2, 4]].any()
    assert not p["V"][[2, 4]].any()
    for name in set(p) - {"U1", "V", "c"}:
        assert np.array_equal(p[name], old[name].astype(np.float32))
    kept = np.exp(p["c"][[0, 1, 3, 5]]).sum()
    np.testing.assert_allclose(np.exp(p["c"][[2, 4]]) / kept, frequencies[[2, 4]], rtol=1e-5)


def test_a_start_has_the_clock_of_its_model() -> None:
    with_clock = model_of("ab", hidden=4, layers=1, clock=True).language_model
    assert take_sizes(TrainConfig(), with_clock).clock


def settings_of_run(lines: int, start_from: Model | None, **given: Any) -> Fitted:
    texts = [f"{'ab' * 4}{number % 10}" for number in range(lines)]
    return train(texts, start_from=start_from, **given).checkpoint.config


@pytest.mark.parametrize(
    ("lines", "lr", "passes"), [(50, 0.0016, 0.12), (500, 0.0018, 0.45), (1600, 0.004, 1)]
)
def test_a_short_list_has_few_and_small_steps(lines: int, lr: float, passes: float) -> None:
    sizes: dict[str, Any] = {"hidden": 8, "layers": 1}
    model = fit(["ab1"] * 9, TrainConfig(epochs=1, **sizes), holdout=0.0)
    fresh, begun = settings_of_run(lines, None, **sizes), settings_of_run(lines, model)
    assert begun.lr == pytest.approx(lr, rel=0.05)
    assert begun.epochs == pytest.approx(passes * fresh.epochs, rel=0.05)
    assert (begun.dropout, begun.batch, begun.bptt) == (fresh.dropout, fresh.batch, fresh.bptt)
    typed = settings_of_run(lines, model, lr=0.01, epochs=7)
    assert (typed.lr, typed.epochs) == (0.01, 7)


def test_a_run_with_a_limit_of_its_own_goes_on(tmp_path: Path) -> None:
    names = ["anna", "bob"] * 9
    assert train(names, epochs=9).checkpoint.config.patience is None
    assert train(names, minutes=9).checkpoint.config.patience == 0  # the text is too short for it
    assert train(names * 900, minutes=0.001).checkpoint.config.patience is None
    assert train(names, holdout=0.0).checkpoint.config.patience is None
    run = train(names, hidden=2, lr=0.5)
    assert [event.why for event in run if isinstance(event, Done)] == ["patience"]
    run.save(tmp_path / "m.npz")
    again = resume(tmp_path / "m.npz", names, epochs=run.checkpoint.config.epochs + 1)
    assert again.checkpoint.config.patience is None
    assert isinstance(next(again), Step)


def test_fault_54_a_check_up_finds_that_the_only_step_diverged() -> None:
    size: dict[str, Any] = {"hidden": 4, "batch": 1, "bptt": 256, "warmup": 0, "epochs": 1}
    assert sum(isinstance(event, Step) for event in train(TEXTS, lr=0.01, **size)) == 1
    run = train(TEXTS, lr=1e6, **size)
    step = next(run)
    assert isinstance(step, Step)
    assert step.nats_per_character < 5  # it was measured before the parameters changed
    with pytest.raises(DivergedError, match="the loss diverged at step 1"):
        list(run)


def test_fault_59_the_rate_of_symbols_is_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    update = mock.create_autospec(Optimizer.update, side_effect=Optimizer.update)
    monkeypatch.setattr(Optimizer, "update", update)
    monkeypatch.setattr("charrnn.training.optimizer.ENOUGH_STEPS", 36)
    texts = ["anna", "dora", "emil"] * 8  # a window each
    list(train(texts, hidden=3, batch=1, bptt=5, epochs=1, holdout=0.0))
    rates = [call.args[-1] for call in update.call_args_list]
    assert rates == pytest.approx([1, *[36 / 24] * 23])  # nothing is known at the first step


def test_a_step_of_the_book_goes_down_the_gradient_and_nothing_else() -> None:
    run = train(["anna", "bob", "clara"] * 9, book=True, hidden=4, epochs=5, check_every=2, seed=1)
    state, config = run.checkpoint.state, run.checkpoint.config
    assert (config.layers, config.schedule, config.clip, config.warmup) == (1, "constant", 5, 0)
    assert config.dropout == config.dropconnect == config.blank == config.weight_decay == 0
    for _ in range(6):
        before = state.parameters.flat.copy()
        step = next(event for event in run if isinstance(event, Step))
        gradient = state.moments["m"]  # of this step alone, whatever the last one was
        assert np.linalg.norm(gradient) == pytest.approx(step.gradient_norm, rel=1e-5)
        assert step.lr == config.lr
        after = before - np.float32(config.lr) * gradient
        np.testing.assert_array_equal(state.parameters.flat, after)
        np.testing.assert_array_equal(state.average, state.parameters.flat)


@pytest.mark.parametrize(("patience", "why"), [(1, "patience"), (2, "patience"), (3, None)])
def test_patience_counts_the_check_ups_since_the_best(patience: int, why: str | None) -> None:
    config = train(["anna", "bob"] * 9, epochs=9, patience=patience).checkpoint.config
    history = [{"step": step} for step in (5, 10, 15, 20)]
    assert find_ending(config, Counters(epoch=1), (10,), history) == why


@pytest.mark.parametrize(("until_best", "in_vain"), [(1, 11), (10, 2), (16, 4), (19, 4), (32, 8)])
def test_without_a_limit_a_quarter_more_is_in_vain(until_best: int, in_vain: int) -> None:
    config = train(["anna", "bob"] * 9).checkpoint.config
    assert config.patience == 0
    for count, end in (in_vain - 1, None), (in_vain, "patience"):
        history = [{"step": 10.0 * row} for row in range(1, until_best + count + 1)]
        assert find_ending(config, Counters(), (10 * until_best,), history) == end

"""A run from epoch to epoch, from its start or from a model; check-ups; and the optimisers."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.errors import SettingError
from charrnn.model import Model
from charrnn.network.arrays import Array
from charrnn.network.parameters import Architecture, Parameters
from charrnn.runs import fit, resume, train
from charrnn.settings.training import Fitted, TrainConfig, UpdateRule
from charrnn.text.corpus import Examples
from charrnn.text.vocabulary import END, Vocabulary
from charrnn.training.automatic_settings import take_sizes
from charrnn.training.excerpts import EXCERPT_WARM_UP, excerpt_of, portions_of, score_portion
from charrnn.training.loop import AVERAGED, Checkup, Done, Step
from charrnn.training.optimizer import Optimizer, clip, haste_in, initial_moments
from charrnn.training.state import ending_at
from tests.networks import babbler, model_of

ONE_LONG = Examples(np.arange(100_000, dtype=np.uint32) + 2)


def lines(count: int, length: int) -> Examples:
    ids = np.arange(count * length, dtype=np.uint32) + 2
    ids[length - 1 :: length] = END
    return Examples(ids)


TEXTS = ["anna", "bob", "cleo", "dora", "emil", "fritz"] * 5


def test_nothing_crosses_from_one_epoch_to_the_next() -> None:
    run = charrnn.train(TEXTS, hidden=5, layers=2, batch=3, bptt=8, epochs=2)
    state = run.checkpoint.state
    while (state.epoch, state.window) != (1, 0):
        next(run)
    assert not any(h.any() for h in state.carried)


def test_minutes_are_those_of_steps_and_check_ups_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(10**6))  # each look at the clock takes one
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("charrnn.training.loop.time", clock)
    size = charrnn.TrainConfig(hidden=5, layers=1, batch=3, bptt=8, check_every=5)
    *events, done = charrnn.train(TEXTS, size, minutes=0.49)
    assert done == Done("minutes")
    assert sum(isinstance(event, Step) for event in events) == 25


def test_what_is_short_is_looked_at_as_it_is() -> None:
    text = lines(10, 20)
    examples, counted = excerpt_of(text, 200)
    assert examples is text
    assert counted.all()


def test_of_many_examples_some_are_looked_at_whole() -> None:
    text = lines(1_000, 20)
    examples, counted = excerpt_of(text, 2_000)
    assert counted.all()
    assert len(examples) == 100
    assert [examples.nth(i).tolist() for i in (0, 99)] == [text.nth(i).tolist() for i in (0, 990)]


def test_a_few_long_ones_are_looked_at_in_stretches_of_all() -> None:
    """Three of forty, looked at whole, would stand for no more than themselves."""
    examples, counted = excerpt_of(lines(40, 10_000), 32_000)
    chosen = examples.ids[counted]
    files = np.unique((chosen[chosen != END] - 2) // 10_000)
    assert len(files) >= 16


def test_of_a_long_text_its_end_is_looked_at_as_well_as_its_beginning() -> None:
    examples, counted = excerpt_of(ONE_LONG, 16_384)
    chosen = examples.ids[counted]
    assert len(examples.ids) == 16_384
    assert chosen[0] == 2
    assert chosen[-1] == 100_001
    tenths = np.bincount((chosen - 2) // 10_000, minlength=10)
    assert tenths.min() > 0.5 * tenths.mean()


def test_where_a_stretch_follows_another_its_first_symbols_do_not_count() -> None:
    examples, counted = excerpt_of(ONE_LONG, 16_384)
    joints = np.flatnonzero(np.diff(examples.ids.astype(np.int64)) != 1) + 1
    assert len(joints) == 15
    for joint in joints:
        assert not counted[joint : joint + EXCERPT_WARM_UP].any()
        assert counted[joint - 1]
    assert (~counted).sum() == 15 * EXCERPT_WARM_UP


@pytest.mark.parametrize("parts", [1, 3])
def test_portions_begin_with_an_example_or_a_stretch(parts: int) -> None:
    texts, most = [lines(10, 20), ONE_LONG], [200, 16_384]
    sizes = {1: [[200], [15_904]], 3: [[80, 60, 60], [5_984, 4_960, 4_960]]}[parts]
    portions = portions_of(texts, most, parts)
    for number, text in enumerate(texts):
        examples, counted = excerpt_of(text, most[number])
        found = [ids[is_counted] for ids, is_counted in (portion[number] for portion in portions)]
        assert [len(ids) for ids in found] == sizes[number]
        assert np.concatenate(found).tolist() == examples.ids[counted].tolist()


def test_one_short_text_is_not_divided_and_nothing_held_out_is_empty() -> None:
    texts = [lines(1, 200), Examples(np.empty(0, np.uint8))]
    first, second = portions_of(texts, [1_000, 1_000], 2)
    assert [len(ids) for ids, _ in (*first, *second)] == [200, 0, 0, 0]


def test_a_portion_has_the_scores_of_its_texts_whatever_lies_beside_them() -> None:
    model = babbler()
    long = np.tile([2, 3, 4, 5, 4], 500).astype(np.uint8)
    names = np.tile([2, 3, END], 100).astype(np.uint8)
    pieces = [(ids, np.arange(len(ids)) >= 7) for ids in (long, names)]
    together = score_portion(model.vocabulary, model.parameters, pieces)
    for piece, score in zip(pieces, together, strict=True):
        (alone,) = score_portion(model.vocabulary, model.parameters, [piece])
        assert (score.count, score.ends) == (alone.count, alone.ends)
        assert score.count == len(piece[0]) - 7
        assert score.nats == pytest.approx(alone.nats, rel=1e-5)


def test_however_few_symbols_are_looked_at_there_is_one_that_counts() -> None:
    for most in (1, 33, 255, 256, 1_000):
        examples, counted = excerpt_of(ONE_LONG, most)
        assert counted.any()
        assert len(examples.ids) <= most


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


@pytest.mark.parametrize(("patience", "why"), [(1, "patience"), (2, "patience"), (3, None)])
def test_patience_counts_the_check_ups_since_the_best(patience: int, why: str | None) -> None:
    config = train(["anna", "bob"] * 9, epochs=9, patience=patience).checkpoint.config
    history = [{"step": step} for step in (5, 10, 15, 20)]
    assert ending_at(config, 1, 0.0, 10, history) == why


def test_rows_that_both_know_are_copied_and_new_ones_are_zero() -> None:
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


def test_a_new_character_is_at_first_as_likely_as_it_is_frequent() -> None:
    model = babbler("b")
    p = model.parameters_for(Vocabulary("ab"), np.array([0.2, 0.1, 0.4, 0.3]))
    kept = np.exp(p["c"][[0, 1, 3]]).sum()
    assert np.exp(p["c"][2]) / kept == pytest.approx(0.4, rel=1e-5)


def test_sizes_are_those_of_the_model_unless_contradicted() -> None:
    model = babbler("ab")
    sizes = model.architecture
    config = take_sizes(TrainConfig(lr=0.1), model)
    assert (config.hidden, config.layers, config.lr) == (sizes.hidden, sizes.layers, 0.1)
    with pytest.raises(SettingError, match="hidden 99 contradicts the model to start from"):
        take_sizes(TrainConfig(hidden=99), model)
    with pytest.raises(SettingError, match=r"cell gru contradicts .* which has tanh"):
        take_sizes(TrainConfig(cell="gru"), model)
    with pytest.raises(SettingError, match=r"clock contradicts .* which has no clock"):
        take_sizes(TrainConfig(clock=True), model)
    with_clock = model_of("ab", hidden=4, layers=1, clock=True).language_model
    assert take_sizes(TrainConfig(), with_clock).clock


def settings_of_run(lines: int, start_from: Model | None, **given: Any) -> Fitted:
    texts = [f"{'ab' * 4}{number % 10}" for number in range(lines)]
    return train(texts, start_from=start_from, **given).checkpoint.config


@pytest.mark.parametrize(
    ("lines", "lr", "passes"), [(50, 0.0016, 0.12), (500, 0.0018, 0.45), (1600, 0.004, 1)]
)
def test_the_shorter_the_list_the_fewer_and_smaller_are_the_steps(
    lines: int, lr: float, passes: float
) -> None:
    sizes: dict[str, Any] = {"hidden": 8, "layers": 1}
    model = fit(["ab1"] * 9, TrainConfig(epochs=1, **sizes), holdout=0.0)
    fresh, begun = settings_of_run(lines, None, **sizes), settings_of_run(lines, model)
    assert begun.lr == pytest.approx(lr, rel=0.05)
    assert begun.epochs == pytest.approx(passes * fresh.epochs, rel=0.05)
    assert (begun.dropout, begun.batch, begun.bptt) == (fresh.dropout, fresh.batch, fresh.bptt)
    typed = settings_of_run(lines, model, lr=0.01, epochs=7)
    assert (typed.lr, typed.epochs) == (0.01, 7)


@pytest.mark.parametrize(("until_best", "in_vain"), [(1, 11), (10, 2), (16, 4), (19, 4), (32, 8)])
def test_without_a_limit_a_run_ends_after_a_quarter_more_in_vain(
    until_best: int, in_vain: int
) -> None:
    config = train(["anna", "bob"] * 9).checkpoint.config
    assert config.patience == 0
    for count, end in (in_vain - 1, None), (in_vain, "patience"):
        history = [{"step": 10.0 * row} for row in range(1, until_best + count + 1)]
        assert ending_at(config, 0, 0.0, 10 * until_best, history) == end


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


def two_steps(rule: UpdateRule, weight_decay: float = 0.0, haste: float = 1.0) -> Array:
    """What becomes of p = 1 in every array under the gradients 2 and then -1, learning rate 0.1."""
    p = Parameters(Architecture(1, 1, 1), np.ones(5))
    moments = initial_moments(rule, p)
    optimizer = Optimizer(rule, p, weight_decay)
    optimizer.update(np.full(5, 2.0), moments, 1, 0.1, haste)
    optimizer.update(np.full(5, -1.0), moments, 2, 0.1, haste)
    return p.flat


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [
        ("sgd", 2, 0.8),  # m: 2, then 0.9 * 2 - 1
        ("adagrad", 1, -1 / math.sqrt(5)),  # v: 4, then 5
        ("rmsprop", 2 / 0.2, -1 / math.sqrt(0.0496)),  # v: 0.04, then 0.0396 + 0.01
        # m: 0.2, then 0.18 - 0.1; v: 0.004, then 0.003996 + 0.001
        ("adam", 1, 0.08 / 0.19 / math.sqrt(0.004996 / (1 - 0.999**2))),
    ],
)
def test_two_steps_worked_by_hand(rule: UpdateRule, first: float, second: float) -> None:
    np.testing.assert_allclose(two_steps(rule), 1 - 0.1 * first - 0.1 * second, rtol=1e-6)


def test_adam_adds_e_to_the_root_without_its_bias() -> None:
    p = Parameters(Architecture(1, 1, 1), np.ones(5))
    Optimizer("adam", p).update(np.full(5, 1e-9), initial_moments("adam", p), 1, 0.1)
    np.testing.assert_allclose(p.flat, 1 - 0.1 * 1e-9 / (1e-9 + 1e-8))


def test_weight_decay_shrinks_matrices_and_spares_biases() -> None:
    # V: 1 - 0.1 * 0.5 = 0.95 before the first step, and so on
    U, W, b, V, c = two_steps("sgd", weight_decay=0.5)
    assert [b, c] == pytest.approx([0.72, 0.72])
    assert pytest.approx(3 * [(0.95 - 0.2) * 0.95 - 0.08]) == [U, W, V]


@pytest.mark.parametrize("rule", ["sgd", "adagrad", "rmsprop", "adam"])
def test_haste_multiplies_the_steps_of_the_first_u_and_of_v(rule: UpdateRule) -> None:
    steps, hasty = 1 - two_steps(rule), 1 - two_steps(rule, haste=3.0)
    np.testing.assert_allclose(hasty, steps * [3, 1, 1, 3, 1])  # U, W, b, V, c


def test_only_a_run_of_few_steps_is_in_haste() -> None:
    assert [haste_in(steps) for steps in (10, 1000, 1500, 3000, 9999)] == [3, 3, 2, 1, 1]


numbers = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5)


@given(numbers, st.floats(1e-3, 1e3))
def test_clipping_never_lengthens_and_never_turns(values: list[float], longest: float) -> None:
    gradient = np.array(values)
    before = gradient.copy()
    length = clip(gradient, longest)
    assert length == pytest.approx(float(np.linalg.norm(before)))
    assert np.linalg.norm(gradient) <= max(longest, 0) * (1 + 1e-9)
    if length > 0:
        kept = min(1.0, longest / length)
        np.testing.assert_allclose(gradient, before * kept, rtol=1e-9)


def test_without_a_longest_nothing_is_clipped() -> None:
    gradient = np.array([3.0, 4.0])
    assert clip(gradient, 0) == 5
    assert gradient.tolist() == [3, 4]

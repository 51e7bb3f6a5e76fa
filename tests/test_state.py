"""What a network takes over from a model: what both know is kept, what is new begins at zero."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn.corpus import corpus_of
from charrnn.default_settings import Fitted, TrainConfig
from charrnn.errors import SettingError
from charrnn.model import Model
from charrnn.network.through_time import Unfolded
from charrnn.runs import fit, resume, train
from charrnn.training.batches import Epoch
from charrnn.training.loop import Done, Step
from charrnn.training.state import ending, inherit, take_sizes
from charrnn.vocabulary import Vocabulary
from tests.networks import babbler, model_of


@pytest.mark.parametrize(("patience", "why"), [(1, "patience"), (2, "patience"), (3, None)])
def test_patience_counts_the_check_ups_since_the_best(patience: int, why: str | None) -> None:
    config = train(["anna", "bob"] * 9, epochs=9, patience=patience).checkpoint.config
    history = [{"step": step} for step in (5, 10, 15, 20)]
    assert ending(config, 1, 0.0, (10, 2.0), history) == why


def test_rows_that_both_know_are_copied_and_new_ones_are_zero() -> None:
    model = babbler("bd")
    model.parameters.flat[:] = np.arange(model.parameters.flat.size) / 100
    vocabulary = Vocabulary("abcd")
    frequencies = np.array([0.2, 0.1, 0.3, 0.1, 0.05, 0.25])
    p, old = inherit(model, vocabulary, frequencies), model.parameters
    for name in ("U1", "V", "c"):
        assert np.array_equal(p[name][[0, 1, 3, 5]], old[name].astype(np.float32))
    assert not p["U1"][[2, 4]].any()
    assert not p["V"][[2, 4]].any()
    for name in set(p) - {"U1", "V", "c"}:
        assert np.array_equal(p[name], old[name].astype(np.float32))


def test_a_new_character_is_at_first_as_likely_as_it_is_frequent() -> None:
    model = babbler("b")
    p = inherit(model, Vocabulary("ab"), np.array([0.2, 0.1, 0.4, 0.3]))
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


@pytest.mark.parametrize(
    "setting",
    [
        {"cell": "gru"},
        {"cell": "output"},
        {"cell": "output", "teacher_forcing": True},
        {"ends": "halt"},
        {"ends": "length"},
    ],
    ids=str,
)
def test_new_characters_are_predicted_as_often_as_they_occur(setting: dict[str, Any]) -> None:
    """The old model expects much after some letters and little after others."""
    sizes: dict[str, Any] = {"hidden": 6, "layers": 1, "batch": 4, "bptt": 8, "lr": 0.02}
    config = TrainConfig(epochs=30, **sizes, **setting)
    old = fit(["ab" * 5, "aab" * 3, "abc"] * 8, config, holdout=0.0)
    texts = ["axbyab", "abzab", "aab", "xxabb", "c"] * 12
    start = train(texts, replace(config, epochs=1), holdout=0.0, start_from=old).checkpoint
    state, vocabulary = start.state, start.vocabulary
    corpus = corpus_of(texts, start.corpus.config)
    p, reader = state.parameters, Unfolded(state.parameters.architecture, 8, 4)
    expected = np.exp(corpus.log_frequencies)
    for new in vocabulary.encode("xyz"):
        chances = []
        for window in Epoch(corpus.train, 4, 8, 7, 3, counting=bool(p.architecture.inputs)):
            chance = np.exp(-reader.nats(p, replace(window, y=np.full_like(window.y, new))))
            if setting.get("ends") == "length":
                chance[window.y == 0] = 0
            chances.append(chance.mean())
        assert np.mean(chances) == pytest.approx(expected[new], rel=0.1)
        if p.architecture.cell.feeds_back:
            assert not p["W1"][:, new].any()


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
        assert ending(config, 0, 0.0, (10 * until_best, 1.0), history) == end


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

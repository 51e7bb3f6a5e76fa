"""From Python: fit, sample, score, save, load."""

from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.errors import SettingError
from tests.child import answer

TEXTS = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna"] * 4
CONFIG = charrnn.TrainConfig(hidden=16, layers=1, epochs=3)


@pytest.fixture(scope="module")
def model() -> charrnn.Model:
    return charrnn.fit(TEXTS, CONFIG)


def test_importing_the_package_is_light() -> None:
    code = "import sys, charrnn; print('numpy' in sys.modules, 'typer' in sys.modules)"
    assert answer(code).split() == ["False", "False"]


def test_everything_that_is_announced_is_there() -> None:
    for name in charrnn.__all__:
        assert getattr(charrnn, name) is not None
        assert name in dir(charrnn)
    with pytest.raises(AttributeError):
        _ = charrnn.nothing


def test_a_run_tells_its_events_and_hands_out_its_model() -> None:
    run = charrnn.train(TEXTS, CONFIG)
    events = list(run)
    assert isinstance(events[-1], charrnn.Done)
    assert any(isinstance(event, charrnn.Checkup) for event in events)
    assert sum(isinstance(event, charrnn.Step) for event in events) == run.checkpoint.state.step
    best = run.checkpoint.state.best
    assert best is not None
    np.testing.assert_array_equal(run.model.parameters.flat, best.flat)


def test_fit_is_a_run_to_its_end(model: charrnn.Model) -> None:
    run = charrnn.train(TEXTS, CONFIG)
    for _ in run:
        pass
    np.testing.assert_array_equal(model.parameters.flat, run.model.parameters.flat)


def test_a_model_shows_itself_in_a_line(model: charrnn.Model) -> None:
    size = model.parameters.architecture
    shown = f"<charrnn.Model: {size.layers} x {size.hidden} tanh units, {size.symbols} symbols, "
    assert repr(model).startswith(shown)
    assert repr(model).endswith(" nats per character>")


def test_a_saved_run_is_loaded_as_the_same_model(tmp_path: Path) -> None:
    run = charrnn.train(TEXTS, CONFIG)
    list(run)
    run.save(tmp_path / "model.npz")
    loaded = charrnn.load(tmp_path / "model.npz")
    assert loaded.sample(5, seed=3) == run.model.sample(5, seed=3)
    assert loaded.score(TEXTS) == run.model.score(TEXTS)


def test_a_saved_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    straight = charrnn.train(TEXTS, CONFIG)
    list(straight)
    straight.save(tmp_path / "straight.npz")
    run = charrnn.train(TEXTS, CONFIG)
    for _ in range(5):
        next(run)
    run.save(tmp_path / "broken.npz")
    again = charrnn.resume(tmp_path / "broken.npz", TEXTS)
    list(again)
    again.save(tmp_path / "broken.npz")
    assert (tmp_path / "broken.npz").read_bytes() == (tmp_path / "straight.npz").read_bytes()
    longer = charrnn.resume(tmp_path / "broken.npz", TEXTS, epochs=again.model.config.epochs + 1)
    assert isinstance(next(longer), charrnn.Step)
    with pytest.raises(charrnn.CharrnnError, match="these texts are not those"):
        charrnn.resume(tmp_path / "broken.npz", TEXTS[1:])


def test_samples_repeat_with_their_seed_and_begin_with_the_prime(model: charrnn.Model) -> None:
    samples = model.sample(count=4, temperature=0.8, prime="Ty", seed=1)
    assert len(samples) == 4
    assert all(sample.startswith("Ty") for sample in samples)
    assert samples == model.sample(count=4, temperature=0.8, prime="Ty", seed=1)
    assert "".join(model.stream(temperature=0.8, prime="Ty", seed=1)) == samples[0][2:]
    with pytest.raises(SettingError):
        model.sample(temperature=-1)


def test_logits_are_what_scores_are_made_of(model: charrnn.Model) -> None:
    text = "hanna"
    ids = model.vocabulary.encode(text).astype(int)
    o = model.logits([0, *ids])
    log_y = o - np.log(np.exp(o).sum(axis=1, keepdims=True))
    nats = -log_y[range(6), [*ids, 0]].sum() - 6 * np.log1p(-model.vocabulary.novelty)
    score = model.score([text])
    assert score.nats == pytest.approx(nats, rel=1e-5)
    assert (score.characters, score.ends) == (5, 1)
    with pytest.raises(ValueError, match="ids are"):
        model.logits([10**6])

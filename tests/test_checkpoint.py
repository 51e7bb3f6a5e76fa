"""A run goes into a file and comes out the same, and going on from it changes nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from charrnn.corpus.corpus import Corpus, from_texts
from charrnn.errors import DamagedModelError, SaveError
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.fields import record_of
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Fitted
from charrnn.training.loop import Checkup, Done, Step, train
from charrnn.training.state import start
from tests.rows import seldom

# only for tests
SMALL = Fitted(
    hidden=8,
    layers=2,
    dropout=0.25,
    dropconnect=0.25,
    blank=0.1,
    bptt=5,
    batch=3,
    lr=0.01,
    warmup=4,
    epochs=4,
    check_every=7,
    parts=1,
)
TEXTS = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna", "ida", "jo"] * 3


def corpus() -> Corpus:
    return from_texts(TEXTS, CorpusConfig(holdout=0.2))


def begin(config: Fitted = SMALL) -> Checkpoint:
    c = corpus()
    return Checkpoint(
        c.vocabulary, config, record_of(c, CorpusConfig("files"), {}), start(c, config)
    )


def go_on(run: Checkpoint, most: int = 10**9) -> int:
    """Train for at most so many steps; how many there were."""
    steps = 0
    for event in train(run.state, corpus(), run.config):
        steps += isinstance(event, Step)
        if steps >= most:
            break
    return steps


def bytes_of(run: Checkpoint, folder: Path) -> bytes:
    checkpoint.save(folder / "model.npz", run)
    return (folder / "model.npz").read_bytes()


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    run = begin()
    go_on(run, 20)
    saved = bytes_of(run, tmp_path)
    again = checkpoint.load(tmp_path / "model.npz")
    assert again.config == run.config
    assert again.corpus == run.corpus
    assert again.vocabulary == run.vocabulary
    np.testing.assert_array_equal(again.state.parameters.flat, run.state.parameters.flat)
    assert bytes_of(again, tmp_path) == saved


@pytest.mark.parametrize(
    "changes",
    [
        {},
        seldom({"dropout": 0.0, "dropconnect": 0.0, "blank": 0.0}),
        seldom({"optimizer": "rmsprop"}),
        {"optimizer": "adagrad", "schedule": "linear"},
        {"optimizer": "sgd", "weight_decay": 0.1, "schedule": "constant"},
        {"patience": 2, "lr": 0.5, "epochs": 50},
    ],
    ids=str,
)
def test_a_run_that_is_stopped_and_resumed_ends_in_the_same_bytes(
    changes: dict[str, object], tmp_path: Path
) -> None:
    config = replace(SMALL, **changes)  # type: ignore[arg-type]
    straight = begin(config)
    steps = go_on(straight)
    expected = bytes_of(straight, tmp_path)
    assert straight.state.epoch > 1 or config.patience
    broken = begin(config)
    for _ in range(steps):  # stopped after every single step: within epochs and right at their end
        assert go_on(broken, 1) == 1
        bytes_of(broken, tmp_path)
        broken = checkpoint.load(tmp_path / "model.npz")
    assert go_on(broken) == 0
    assert bytes_of(broken, tmp_path) == expected


def test_what_sampling_needs_is_the_best_and_not_the_last(tmp_path: Path) -> None:
    run = begin(replace(SMALL, lr=0.2, epochs=30, schedule="constant"))
    go_on(run)
    best = run.state.best
    assert best is not None
    assert best.step < run.state.step
    bytes_of(run, tmp_path)
    trained = checkpoint.load_trained(tmp_path / "model.npz")
    np.testing.assert_array_equal(trained.model.parameters.flat, best.flat)
    assert best.nats_per_character == min(row["held_out"] for row in trained.history)
    with np.load(tmp_path / "model.npz") as file:
        np.testing.assert_array_equal(file["V"], trained.model.parameters["V"])


def test_a_finished_run_has_nothing_left_to_do_until_more_is_asked_of_it(tmp_path: Path) -> None:
    run = begin()
    go_on(run)
    assert [type(e) for e in train(run.state, corpus(), run.config)] == [Done]
    longer = replace(run.config, epochs=6)
    events = list(train(run.state, corpus(), longer))
    assert any(isinstance(e, Checkup) for e in events)
    assert run.state.epoch == 6


@pytest.mark.parametrize(
    ("field", "key", "value"),
    [
        ("settings", "hidden", 10**9),
        ("settings", "lr", "fast"),
        ("settings", "optimizer", "magic"),
        ("settings", "layers", True),
        ("vocabulary", "characters", "ba"),
        ("corpus", "sources", [1]),
        ("corpus", "encoding", "klingon"),
        ("run", "step", None),
    ],
)
def test_facts_that_make_no_sense_are_not_saved_and_are_damage(
    field: str, key: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin()
    facts = checkpoint._facts("m.npz", run)
    facts[field] = {**facts[field], key: value}  # type: ignore[dict-item]
    path = tmp_path / "model.npz"
    checkpoint.save(path, run)
    good = path.read_bytes()
    monkeypatch.setattr(checkpoint, "_facts", lambda *_: facts)
    with pytest.raises(SaveError, match="was not saved, since it could not be loaded: "):
        checkpoint.save(path, run)
    assert path.read_bytes() == good
    container.save(path, checkpoint._arrays(run), facts)
    with pytest.raises(DamagedModelError):
        checkpoint.load(path)

"""A run from Python that is interrupted, and what must not be lost by a slip."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.errors import ModelExistsError, ModelFileError, NewerModelError, ResumeError
from charrnn.model_file import container
from charrnn.runs import delay_ctrl_c
from charrnn.training.optimizers import Optimizer
from tests.faults import forging

TEXTS = ["anna", "bob", "clara", "dora", "emil", "frieda"] * 4
CONFIG = charrnn.TrainConfig(hidden=4, layers=1, batch=4, bptt=4, epochs=3, check_every=2)


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has Ctrl-C come so many times in the middle of the third step, as numbers are changing."""
    update = Optimizer.update
    left = [0]

    def updated(*args: object) -> None:
        update(*args)  # type: ignore[arg-type]
        if args[4] == 3:
            times, left[0] = left[0], 0
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Optimizer, "update", updated)
    return lambda times: left.__setitem__(0, times)


@pytest.fixture
def straight(tmp_path: Path) -> bytes:
    """The file of a run that nobody interrupts."""
    run = charrnn.train(TEXTS, CONFIG)
    list(run)
    run.save(tmp_path / "straight.npz")
    return (tmp_path / "straight.npz").read_bytes()


def test_ctrl_c_comes_after_the_step(
    straight: bytes, interrupt: Callable[[int], None], tmp_path: Path
) -> None:
    whole = [repr(event) for event in charrnn.train(TEXTS, CONFIG)]
    interrupt(1)
    run, told = charrnn.train(TEXTS, CONFIG), list[str]()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        told.extend(map(repr, run))
    assert signal.getsignal(signal.SIGINT) is before
    assert run.checkpoint.state.step == 3
    run.save(tmp_path / "stopped.npz")
    told += [repr(event) for event in run]
    assert told == whole
    run.save(tmp_path / "whole.npz")
    assert (tmp_path / "whole.npz").read_bytes() == straight
    again = charrnn.resume(tmp_path / "stopped.npz", TEXTS)
    list(again)
    again.save(tmp_path / "stopped.npz")
    assert (tmp_path / "stopped.npz").read_bytes() == straight


def test_the_second_comes_at_once_and_nothing_torn_is_gone_on_with_or_saved(
    interrupt: Callable[[int], None], tmp_path: Path
) -> None:
    interrupt(2)
    run = charrnn.train(TEXTS, CONFIG)
    next(run)
    run.save(tmp_path / "model.npz")
    saved = (tmp_path / "model.npz").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        list(run)
    for again in (lambda: next(run), lambda: run.save(tmp_path / "model.npz")):
        with pytest.raises(ResumeError, match="interrupted in the middle of a step"):
            again()
    assert (tmp_path / "model.npz").read_bytes() == saved


def test_it_comes_though_the_step_came_to_nothing() -> None:
    def fails() -> None:
        with delay_ctrl_c():
            signal.raise_signal(signal.SIGINT)
            raise charrnn.CharrnnError("the loss diverged")

    with pytest.raises(KeyboardInterrupt):
        fails()


def test_a_model_alone_takes_the_place_of_no_run(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    whole = charrnn.fit(TEXTS, CONFIG)
    whole.save(path)
    before = path.read_bytes()
    with pytest.raises(ModelExistsError, match="holds a run that can be resumed"):
        charrnn.load(path).save(path)
    assert path.read_bytes() == before
    charrnn.load(path).save(tmp_path / "slim.npz")
    charrnn.load(path).save(tmp_path / "slim.npz")  # that of another model alone, as ever
    whole.save(path)


def test_a_run_that_cannot_be_read_here_is_not_replaced_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, newer = tmp_path / "model.npz", tmp_path / "newer.npz"
    charrnn.fit(TEXTS, CONFIG).save(path)
    model = charrnn.load(path)
    shutil.copy(path, newer)
    forging.forge(newer, lambda *_: None, container.FORMAT + 1)
    before = newer.read_bytes()
    with pytest.raises(NewerModelError, match="newer"):
        model.save(newer)
    assert newer.read_bytes() == before
    before = path.read_bytes()
    with monkeypatch.context() as changed:
        changed.setattr("charrnn.model_file.container.np.empty", no_memory)
        with pytest.raises(ModelFileError, match="more memory"):
            model.save(path)
    assert path.read_bytes() == before
    for name, content in [("damaged.npz", before[:-100]), ("text.npz", b"anna")]:
        (tmp_path / name).write_bytes(content)
        model.save(tmp_path / name, force=name == "text.npz")
        assert charrnn.load(tmp_path / name).trained.slim


def no_memory(*_: object) -> None:
    raise MemoryError


def test_epochs_may_be_raised_and_not_lowered(tmp_path: Path) -> None:
    run = charrnn.train(TEXTS, CONFIG)
    next(run)
    run.save(tmp_path / "model.npz")
    with pytest.raises(charrnn.CharrnnError, match="epochs cannot be '4'"):
        charrnn.resume(tmp_path / "model.npz", TEXTS, epochs="4")  # type: ignore[arg-type]
    with pytest.raises(ResumeError, match=r"epochs 2 contradicts .*, which has 3"):
        charrnn.resume(tmp_path / "model.npz", TEXTS, epochs=2)


def test_a_config_is_no_dict_and_a_model_no_name() -> None:
    with pytest.raises(charrnn.CharrnnError, match="config cannot be dict"):
        charrnn.train(TEXTS, {"hidden": 4})  # type: ignore[arg-type]
    with pytest.raises(charrnn.CharrnnError, match="start_from cannot be str"):
        charrnn.fit(TEXTS, start_from="latin")  # type: ignore[arg-type]
    with pytest.raises(charrnn.CharrnnError, match="seed cannot be"):
        charrnn.fit(TEXTS, seed=np.array([1, 2]))


def test_a_seed_alone_is_that_of_everything() -> None:
    one, two = (charrnn.train(TEXTS, seed=seed).checkpoint for seed in (1, 2))
    assert (one.config.seed, two.config.seed) == (1, 2)
    assert not np.array_equal(one.state.parameters["W1"], two.state.parameters["W1"])
    beside = charrnn.train(TEXTS, CONFIG, seed=5).checkpoint
    assert beside.config.seed == 5

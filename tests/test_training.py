"""What a run is asked for that it cannot do."""

from pathlib import Path

import pytest

import charrnn
from charrnn.errors import SettingError
from tests.program import Program

NAMES = ["anna", "bob", "clara", "dora"]


def test_patience_needs_text_that_is_held_out() -> None:
    with pytest.raises(SettingError, match="patience 3 needs held-out text"):
        charrnn.train(NAMES, charrnn.TrainConfig(patience=3), holdout=0)
    charrnn.train(NAMES, charrnn.TrainConfig(patience=3))


def test_so_does_patience_that_comes_later(program: Program) -> None:
    Path("names").write_text("\n".join(NAMES))
    assert (
        program.run("train", "names", "--holdout", "0", "--epochs", "1", "--hidden", "4").status
        == 0
    )
    before = Path("model.npz").read_bytes()
    ran = program.run("train", "--resume", "--patience", "3")
    assert (ran.status, Path("model.npz").read_bytes()) == (2, before)
    assert "patience 3 needs held-out text" in ran.err


def test_metrics_are_not_written_into_the_text_that_a_run_goes_on_with(program: Program) -> None:
    small = ("--hidden", "4", "--layers", "1", "-q")
    Path("names").write_text("\n".join(NAMES))
    assert program.run("train", "names", *small, "--epochs", "2", "--metrics", "lines").status == 0
    log = ("train", "lines", *small, "--epochs", "1", "-m", "log.npz")
    assert program.run(*log).status == 0
    before = Path("lines").read_bytes()
    ran = program.run("train", "-m", "log.npz", "--resume", "--epochs", "2", "--metrics", "lines")
    assert (ran.status, Path("lines").read_bytes()) == (2, before)
    assert "--metrics would overwrite lines" in ran.err

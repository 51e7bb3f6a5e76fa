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

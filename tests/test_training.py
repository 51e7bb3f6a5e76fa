"""What a run is asked for that it cannot do."""

from pathlib import Path

import pytest

import charrnn
from charrnn.errors import SettingError
from tests.running import Here

NAMES = ["anna", "bob", "clara", "dora"]


def test_patience_needs_text_that_is_held_out() -> None:
    with pytest.raises(SettingError, match="patience 3 needs text that is held out"):
        charrnn.train(NAMES, charrnn.TrainConfig(patience=3), holdout=0)
    charrnn.train(NAMES, charrnn.TrainConfig(patience=3))


def test_so_does_patience_that_comes_later(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("names").write_text("\n".join(NAMES))
    here = Here(capsys)
    assert here("train", "names", "--holdout", "0", "--epochs", "1", "--hidden", "4").status == 0
    before = Path("model.npz").read_bytes()
    ran = here("train", "--resume", "--patience", "3")
    assert (ran.status, Path("model.npz").read_bytes()) == (2, before)
    assert "patience 3 needs text that is held out" in ran.err


def test_metrics_are_not_written_into_the_text_that_a_run_goes_on_with(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    here = Here(capsys)
    small = ("--hidden", "4", "--layers", "1", "-q")
    Path("names").write_text("\n".join(NAMES))
    assert here("train", "names", *small, "--epochs", "2", "--metrics", "lines").status == 0
    log = ("train", "lines", *small, "--epochs", "1", "-m", "log.npz")
    assert here(*log).status == 0
    before = Path("lines").read_bytes()
    ran = here("train", "-m", "log.npz", "--resume", "--epochs", "2", "--metrics", "lines")
    assert (ran.status, Path("lines").read_bytes()) == (2, before)
    assert "--metrics would write into lines" in ran.err

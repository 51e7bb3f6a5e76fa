"""The bar of ``fit(..., progress=True)``: in a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tqdm.auto
import tqdm.std

import charrnn
from charrnn.display import show_progress
from tests.child import PYTHON
from tests.corpora import NAMES
from tests.program import Program

CONFIG = charrnn.TrainConfig(hidden=4, layers=1, epochs=3, check_every=3, batch=4, bptt=8)
TEXTS = NAMES.split()


def in_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if cells ran here."""
    ipython = ModuleType("IPython")
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setattr(ipython, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ipython)


def test_off_a_terminal_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    charrnn.fit(TEXTS, CONFIG, progress=True)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_without_widgets_gets_a_plain_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_a_kernel(monkeypatch)
    model = charrnn.fit(TEXTS, CONFIG, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "100% |" in err
    assert f"{model.trained.history[-1]['held_out']:.3f} nats held out" in err


def test_the_bar_is_that_of_the_notebook_where_it_has_one_and_ends_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bars = []

    class Widget(tqdm.std.tqdm):  # type: ignore[type-arg]
        def __init__(self, **how: Any) -> None:
            self.how = how
            bars.append(self)
            super().__init__(**how)

        def display(self, *_: object, **__: object) -> None:
            """It shows itself elsewhere."""

    in_a_kernel(monkeypatch)
    monkeypatch.setattr(tqdm.auto, "tqdm", Widget)
    charrnn.fit(TEXTS, CONFIG, progress=True)
    (bar,) = bars
    assert bar.how["disable"] is False
    assert bar.n == pytest.approx(1.0)


def test_the_run_is_the_same_with_a_bar_and_an_error_comes_through() -> None:
    plain, shown = charrnn.train(TEXTS, CONFIG), charrnn.train(TEXTS, CONFIG)
    assert list(plain) == list(show_progress(shown.checkpoint, shown))
    assert plain.model.parameters == shown.model.parameters

    def failing() -> Any:
        yield charrnn.Step(1, 1, 1.0, 1.0, 1.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(show_progress(shown.checkpoint, failing()))


def test_a_terminal_sees_the_bar(program: Program) -> None:
    program.write(
        "fit.py",
        "import charrnn\n"
        "config = charrnn.TrainConfig(hidden=4, layers=1, epochs=3, batch=4, bptt=8)\n"
        "charrnn.fit(open('names.txt').read().split(), config, progress=True)\n",
    )
    status, seen = program.terminal("fit.py", by=PYTHON)
    assert status == 0
    assert "100% |" in seen
    assert "nats held out" in seen

"""Learning curves and the reach of gradients, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import charrnn
from charrnn.display import plot, render
from charrnn.errors import CharrnnError, MissingPackageError, SettingError
from charrnn.model import Model
from tests.child import PYTHON
from tests.corpora import NAMES
from tests.extras import axes, without
from tests.program import Program

SVG = "{http://www.w3.org/2000/svg}"
CONFIG = charrnn.TrainConfig(hidden=4, layers=1, epochs=6, check_every=3, batch=4, bptt=8)


@pytest.fixture(scope="module")
def model() -> Model:
    return charrnn.fit(NAMES.split(), CONFIG)


def words(svg: bytes) -> list[str]:
    """What is written in a figure."""
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("kind", "head"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_the_same_curve_is_the_same_bytes(model: Model, kind: str, head: bytes) -> None:
    first, second = (render(kind, lambda ax: plot({"a": model, "b": model}, ax)) for _ in range(2))
    assert first == second
    assert first.startswith(head)


def test_the_lines_are_the_losses_of_the_history(model: Model) -> None:
    ax = axes()
    assert model.plot(ax) is ax
    learning, held_out, best = ax.lines
    history = model.trained.history
    steps, losses = zip(*((row["step"], row["held_out"]) for row in history), strict=True)
    assert list(learning.get_xdata()) == list(held_out.get_xdata()) == [*steps]  # type: ignore[arg-type]
    assert list(held_out.get_ydata()) == [*losses]  # type: ignore[arg-type]
    assert list(best.get_ydata()) == [min(losses)]  # type: ignore[arg-type]
    low, high = ax.get_ylim()
    assert low < min(losses) < high


def test_names_are_shown_as_they_are(model: Model) -> None:
    names = ["a$x$", "_a", "<b>", "\\frac", "\x1b[1m"]
    text = words(render("svg", lambda ax: plot(dict.fromkeys(names, model), ax)))
    for name in ["a$x$", "_a", "<b>", "\\frac", r"\x1b[1m"]:
        assert f"{name}, held out" in text


def test_a_new_figure_is_made_where_there_is_none(model: Model) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    one, other = model.plot(), charrnn.plot({"a": model, "b": model})
    assert one.figure is not other.figure
    legend = other.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a, held out", "b, held out"]
    plt.close("all")


def test_a_model_without_a_history_has_no_curve(model: Model) -> None:
    with pytest.raises(CharrnnError, match="this model has no learning curve"):
        charrnn.train(["anna", "bob"], CONFIG).model.plot()
    with pytest.raises(SettingError, match="no model was given to plot"):
        charrnn.plot({})


def test_without_the_package_it_says_what_to_install(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "matplotlib")
    with pytest.raises(MissingPackageError, match="matplotlib is not installed") as missing:
        model.plot()
    assert missing.value.hint == "pip install matplotlib"


@pytest.mark.parametrize("command", ["info", "reach"])
def test_a_command_without_the_package_says_what_to_install(
    well_trained: Program, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    without(monkeypatch, "matplotlib")
    line = (command, "--plot", "curve.svg")
    what, hint = "matplotlib is not installed", "pip install matplotlib"
    assert well_trained.refuses(*line, what=what, hint=hint).out == ""


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_info_draws_the_curves_of_models_beside_each_other(
    well_trained: Program, kind: str
) -> None:
    well_trained.write("_b$.npz", (well_trained / "model.npz").read_bytes())
    plain = well_trained.run("info").out
    line = ("info", "--plot", f"curve.{kind}", "--beside", "_b$.npz")
    ran = well_trained.run(*line)
    assert (ran.status, ran.out, ran.err) == (0, plain, f"figure saved to curve.{kind}\n")
    figure = (well_trained / f"curve.{kind}").read_bytes()
    assert well_trained.run(*line, "--force").status == 0
    assert (well_trained / f"curve.{kind}").read_bytes() == figure
    if kind == "svg":
        baseline = next(name for name in words(figure) if name.startswith("markov-"))
        assert {"model, held out", "_b$, held out", "step", baseline} <= set(words(figure))


def test_models_of_one_name_are_told_apart_by_their_folders(well_trained: Program) -> None:
    Path("old").mkdir()
    well_trained.write("old/model.npz", (well_trained / "model.npz").read_bytes())
    well_trained.run("info", "--plot", "a.svg", "--beside", "old/model.npz").says()
    text = words((well_trained / "a.svg").read_bytes())
    assert {"model.npz, held out", "old/model.npz, held out"} <= set(text)


def test_reach_draws_its_norms(well_trained: Program) -> None:
    well_trained.write("b.npz", (well_trained / "model.npz").read_bytes())
    line = ("reach", "-m", "model.npz", "-m", "b.npz")
    ran = well_trained.run(*line, "--plot", "reach.svg", "--json")
    assert ran.out == well_trained.run(*line, "--json").out
    text = words((well_trained / "reach.svg").read_bytes())
    assert {"model", "b", "steps back", "mean norm of the gradient"} <= set(text)


@pytest.mark.parametrize(
    ("line", "what", "status"),
    [
        (["info", "--plot", "curve.txt"], "--plot: 'curve.txt' is not a file name", 2),
        (["info", "--plot", "-"], "--plot: '-' is not a file name", 2),
        (["info", "--beside", "b.npz"], "--beside needs --plot FILE", 2),
        (["info", "--force"], "--force needs --plot FILE", 2),
        (["reach", "--force"], "--force needs --plot FILE", 2),
        (["info", "--plot", "names.svg"], "names.svg already exists", 1),
        (["reach", "--plot", "names.svg"], "names.svg already exists", 1),
        (["info", "--plot", "nowhere/a.svg"], "nowhere/a.svg cannot be written", 1),
        (["info", "--plot", "a.svg", "--beside", "none.npz"], "there is no model none.npz", 1),
        (
            ["info", "--plot", "a.svg", "--beside", "names.svg"],
            "names.svg is not a",
            1,
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    well_trained: Program, line: list[str], what: str, status: int
) -> None:
    well_trained.write("names.svg", "a drawing of mine")
    assert well_trained.refuses(*line, what=what, hint="", status=status).out == ""


def test_a_slim_model_has_nothing_to_draw(well_trained: Program) -> None:
    well_trained.run("export", "slim.npz").says()
    line = ("info", "-m", "slim.npz", "--plot", "a.svg")
    well_trained.refuses(
        *line, what="slim has no learning curve", hint="A slim model has no history"
    )


def test_no_window_is_looked_for(well_trained: Program) -> None:
    window = {"DISPLAY": None, "WAYLAND_DISPLAY": None, "MPLBACKEND": "TkAgg"}
    assert well_trained.run("info", "--plot", "a.png", env=window).status == 0


@pytest.mark.parametrize(
    "line",
    [
        ["-m", "charrnn", "info"],
        ["-m", "charrnn", "reach", "names.txt"],
        ["-m", "charrnn", "sample"],
        ["-c", "import charrnn; charrnn.load().sample()"],
    ],
)
def test_matplotlib_is_loaded_by_nobody_who_does_not_draw(
    well_trained: Program, line: list[str]
) -> None:
    timed = well_trained.run("-X", "importtime", *line, by=PYTHON).err
    imported = {row.rpartition("|")[2].strip().partition(".")[0] for row in timed.splitlines()}
    assert "charrnn" in imported
    assert not imported & {"matplotlib", "safetensors", "IPython"}
    assert "charrnn.export.c_header" not in timed


def test_a_model_without_a_name_is_told_to_have_one() -> None:
    with pytest.raises(SettingError, match="models cannot be list"):
        charrnn.plot([])  # type: ignore[arg-type]


@pytest.mark.parametrize(("other", "kind"), [(None, "NoneType"), ("model.npz", "str"), (3, "int")])
def test_what_is_no_model_has_no_curve(model: Model, other: Any, kind: str) -> None:
    with pytest.raises(SettingError, match=f"a model cannot be {kind}"):
        charrnn.plot({"a": model, "b": other})

"""What a notebook shows: learning curves by matplotlib, and coloured text."""

import sys
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.errors import CharrnnError, SettingError
from charrnn.model import Model
from charrnn.notebook import NOTEBOOK_LIMIT, Surprisal
from tests.browser import Reading
from tests.program import NAMES, Program

HOSTILE = "</pre><script>alert(1)</script>&amp;\"' onload=x <!-- \x1b[1m \u202e\n\t end"
CONFIG = charrnn.TrainConfig(hidden=4, layers=1, epochs=6, check_every=3, batch=4, bptt=8)


@pytest.fixture(scope="module")
def model() -> Model:
    return charrnn.fit(NAMES.split(), CONFIG)


def test_the_lines_are_the_losses_of_the_history(model: Model) -> None:
    ax, model.trained.history[0]["train"] = axes(), 9.0  # a high start need not be visible
    assert model.plot(ax) is ax
    learning, held_out, best = ax.lines
    steps, losses = ([row[key] for row in model.trained.history] for key in ("step", "held_out"))
    assert list(learning.get_xdata()) == list(held_out.get_xdata()) == steps  # type: ignore[arg-type]
    assert list(held_out.get_ydata()) == losses  # type: ignore[arg-type]
    assert list(best.get_ydata()) == [min(losses)]  # type: ignore[arg-type]
    shown = model.trained.history[-1]["train"], max(losses)  # the lowest and the highest here
    margin = 0.05 * (shown[1] - shown[0])
    assert ax.get_ylim() == pytest.approx((shown[0] - margin, shown[1] + margin))
    sides = ("top", "right", "bottom", "left")
    assert [ax.spines[side].get_visible() for side in sides] == [False, False, True, True]


def test_models_are_compared_by_their_names_or_sizes(model: Model) -> None:
    usual = ["1: 1 x 4 tanh", "2: 1 x 4 tanh"]
    each: Any = ((np.array(["a", "b"]), ["a", "b"]), (iter("ab"), ["a", "b"]), (None, usual))
    for names, shown in (*each, ("", usual), ("mine", ["mine"])):
        legend: Any = charrnn.plot(*[model] * len(shown), names=names, ax=axes()).get_legend()
        labels, curves = [text.get_text() for text in legend.get_texts()], ("training", "held out")
        assert labels == [f"{name}, {of}" for name in shown for of in curves[len(shown) > 1 :]]
    with pytest.raises(CharrnnError, match="names differ in number: 2 and 1"):
        charrnn.plot(model, model, names="ab")
    for each in ((), ([model, model],), (charrnn.mix(model, model),)):
        with pytest.raises(CharrnnError, match=r"no (model was given|learning curve)"):
            charrnn.plot(*each)


def test_counting_is_a_line_only_beside_curves_of_one_corpus(program: Program) -> None:
    for number, name in enumerate(("names.txt", "other.txt")):
        program.write(name, NAMES * (1 + number))
        program.train(name, "--epochs", "2", "-m", f"{number}.npz", "--check-every", "3")
    one, other = (charrnn.load(program / f"{number}.npz") for number in (0, 1))
    for models, are_alike in (((one, one), True), ((one, other), False)):
        ax = charrnn.plot(*models, ax=axes())
        lines = [line for line in ax.lines if str(line.get_label()).startswith("markov-")]
        assert bool(lines) is are_alike
        for line in lines:
            assert ax.get_ylim()[0] < np.min(line.get_ydata()) < ax.get_ylim()[1]


def test_what_to_install_is_said(model: Model, well_trained: Program, monkeypatch: Any) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CharrnnError, match="matplotlib is not installed"):
        model.plot()
    with pytest.raises(SettingError, match="names differ in number"):  # before an empty figure
        charrnn.plot(model, model, names=["a"])
    what, hint = "matplotlib is not installed", "pip install matplotlib"
    assert well_trained.refuses("info", "--plot", "curve.svg", what=what, hint=hint).out == ""


def test_info_draws_the_curve(well_trained: Program) -> None:
    plain = well_trained.run("info").out
    ran = well_trained.run("info", "--plot", "curve.svg")
    assert (ran.status, ran.out, ran.err) == (0, plain, "figure saved to curve.svg\n")
    svg = ET.fromstring((well_trained / "curve.svg").read_bytes())
    words = {"".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"training", "held out", "step", "nats per character"} <= words
    assert any(word.startswith("markov-") for word in words)


def axes() -> Any:
    """Return axes of matplotlib, whose import takes half a second."""
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def test_a_bar_ends_when_the_training_does(program: Program) -> None:
    fit = "import charrnn; charrnn.fit(['anna'] * 20, hidden=3, epochs=9, progress=True)"
    status, screen = program.terminal(by=[sys.executable, "-c", fit])
    assert (status, "100%" in screen, "nats held out" in screen) == (0, True, True)
    notebook = "import sys; from unittest.mock import Mock; sys.modules['IPython'] = shell = Mock()"
    notebook += "; shell.get_ipython().config = ['IPKernelApp']; "
    shown = [program.run(by=[sys.executable, "-c", lead + fit]).err for lead in ("", notebook)]
    assert ["100%" in err for err in shown] == [False, True]


def test_a_text_is_a_heat_map_with_its_sums() -> None:
    surprisal = Surprisal("an\nz", [0.1, 1.0, 2.0, 2.0, 9.0], [1] * 5)
    page = Reading(surprisal._repr_html_())
    titles = [attributes["title"] for _, attributes in page.elements if "title" in attributes]
    assert page.text == "an↵\nz■\n4 characters and the end: 20.3 bits, 4.068 for each."
    assert titles == ["1.4", "2.9 2.9", "13.0"]
    assert repr(surprisal) == "<charrnn.Surprisal: 4 characters, 14.1 nats>"
    assert repr(Surprisal("a", [0.1, 1.0], [])) == "<charrnn.Surprisal: 1 character, 1.1 nats>"


@given(st.one_of(st.text(max_size=30), st.just(HOSTILE)))
def test_no_text_gets_out_of_a_heat_map(text: str) -> None:
    nats = [0.1, 9.0, 5.0][: len(text) + 1] + [2.0] * (len(text) - 2)
    html = Surprisal(text, nats, [])._repr_html_()
    for tag, attributes in Reading(html).elements:
        assert tag in ("pre", "p", "span")
        assert attributes.keys() <= {"style", "title"}
    assert not {"\x1b", "\u202e", "\x00"} & set(html)


def test_a_long_text_is_cut_since_a_notebook_keeps_it() -> None:
    long = Surprisal("an" * NOTEBOOK_LIMIT, [0.1] * (2 * NOTEBOOK_LIMIT + 1), [])
    page = Reading(long._repr_html_())
    assert page.text.startswith("an" * (NOTEBOOK_LIMIT // 2) + f"{2 * NOTEBOOK_LIMIT:,} characters")
    assert page.text.endswith(f"The first {NOTEBOOK_LIMIT:,} are shown.")

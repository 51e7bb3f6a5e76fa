"""``charrnn unfold``: the table, the equations, the JSON, the picture and the page."""

import io
import json
import re
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import charrnn
from charrnn.cli.console import INDENT, Output
from charrnn.cli.unfold import largest_gradients
from charrnn.prediction.unfold import NAME, unfold
from tests.browser import Reading
from tests.networks import model_of
from tests.program import Program

HOSTILE = "a</title></script /<script>\u202e\x1b&\n\"'"


def test_json_has_every_number_and_gradients_on_request(well_trained: Program) -> None:
    found, whole = (
        well_trained.run("unfold", "anna", "--json", *more).json
        for more in ((), ("--backward", "--gradients"))
    )
    steps, model = found["time_steps"], charrnn.load("model.npz")
    assert sum(step["nats"] for step in steps) == pytest.approx(found["nats"], abs=1e-3)
    assert [step["target"] for step in steps] == [*"anna", None]
    assert [step["reads"] for step in steps] == [None, *"anna"]
    assert found["symbol_names"] == [None, "\ufffd", *model.vocabulary.characters]
    assert np.shape(found["output"]["values"]["y_hat"]) == (5, len(found["symbol_names"]))
    for layer, both in zip(found["by_layer"], whole["by_layer"], strict=True):
        assert np.shape(layer["values"]["h"]) == (5, model.parameters.architecture.hidden)
        assert not [name for name in layer["values"] if "dL/" in name]
        assert {*both["equations"]} == {"a", "h", "dL/dh", "dL/da"}
    squares = [np.square(layer["values"]["dL/dh"]).sum(1) for layer in whole["by_layer"]]
    np.testing.assert_allclose([step["norm_dh"] for step in steps], np.sqrt(np.sum(squares, 0)))
    assert not {"gradient", "gradients"} & {*found}
    shapes = {name: np.shape(array) for name, array in whole["gradients"].items()}
    assert shapes == {name: array.shape for name, array in model.parameters.items()}
    assert "gradients" not in well_trained.run("unfold", "anna", "--backward", "--json").json
    norms = {name: np.linalg.norm(array) for name, array in whole["gradients"].items()}
    assert norms == pytest.approx(whole["gradient"])


@pytest.mark.parametrize("columns", [48, 59, 64, 65])
def test_it_fits_the_window_with_or_without_colours(well_trained: Program, columns: int) -> None:
    line = ("unfold", "anna", "--backward")
    for changes in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": ""}):
        status, shown = well_trained.terminal(*line, columns=columns, env=changes)
        assert status == 0
        assert ("\x1b[" in shown) == (changes.get("TERM") == "xterm")
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert max(map(len, plain.splitlines())) < columns
        assert plain.isascii() == (changes.get("TERM") == "dumb" or columns < 65)
        head, row, *_ = plain.splitlines()
        assert (head.endswith("  dL/dh"), len(head) == len(row)) == (columns >= 65, columns < 65)
    _, shown = well_trained.terminal("unfold", "王李", columns=columns, env={"NO_COLOR": "1"})
    rows = [line for line in shown.splitlines() if re.match(r" +\d ", line)]
    assert len(rows) == 3
    assert len({*map(cell_len, rows)}) == 1  # a wide letter takes two
    last = well_trained.run("unfold", "王", "--step", "1").lines[-1]
    assert cell_len(last[: re.search(r"\d", last).start()]) == INDENT  # type: ignore[union-attr]


def test_the_gradient_of_the_last_step_has_an_equation_of_its_own(well_trained: Program) -> None:
    for line, numbers in (
        ("anna --step 2", ["10.21"]),
        ("anna --step 5", ["10.19"]),
        ("ab -m dinosaurs --step 3", ["10.21", "10.19"]),  # by layer
    ):
        shown = well_trained.run("unfold", *line.split(), "--backward").out
        assert re.findall(r"(?m)^\((10\.\d+)\) +dL/dh\(t\)", shown) == numbers
    forced = model_of(cell="output", layers=1, teacher_forcing=True).language_model
    layer = unfold(forced, "ab").layers[0]  # no later step reads its h
    assert layer.equations["dL/dh"] == "{V' dL/do(t)}  (10.19)"
    np.testing.assert_array_equal(layer.values["V' dL/do(t)"], layer.values["dL/dh"])


@pytest.mark.parametrize(
    ("ends", "label"), [("symbol", None), ("symbol", "b"), ("halt", "b"), ("length", None)]
)
@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm", "output"])
def test_the_terms_of_a_gradient_sum_to_it(cell: str, ends: str, label: str | None) -> None:
    size: dict[str, Any] = {"cell": cell, "layers": 1 if cell == "output" else 2, "ends": ends}
    model = model_of(hidden=4, labels=label and ["a", "b", "c"], **size).language_model
    found, forth = unfold(model, "abba", label), unfold(model, "abba", label, backward=False)
    terms_of_h = NAME.findall(found.layers[-1].equations["dL/dh"])
    assert len(terms_of_h) == 2
    only_back = {*found.layers[-1].values} - {*forth.layers[-1].values}
    assert only_back >= {*terms_of_h, "dL/dh", "dL/da"}
    names = {name for name in found.gradient or () if name[0] in "UWVbc" and "." not in name}
    assert {*found.factors} == ({"U1", "b1"} if cell == "output" else names)
    for name in found.factors:
        assert found.gradient is not None
        array = found.gradient[name].reshape(len(found.gradient[name]), -1)
        largest = found.largest(name, array.size)
        assert [abs(value) for *_, value, _ in largest] == sorted(np.abs(array.flat))[::-1]
        for row, column, value, terms in largest:
            assert value == array[row, column]
            assert len(terms) == 5
            assert sum(terms) == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_the_largest_gradients_are_shown_with_their_terms(well_trained: Program) -> None:
    ran = well_trained.run("unfold", "anna", "--gradients")
    found = unfold(charrnn.load("model.npz").language_model, "anna")
    titles = re.findall(r"^dL/d(\w+) = sum over t of (.*)  \((10\.\d+)\)$", ran.out, re.MULTILINE)
    assert " ".join(a + n for a, _, n in titles) == "c10.22 b10.23 V10.24 W10.26 U10.28"
    assert titles[3][1] == "diag(1 - h(t)^2) dL/dh(t) h(t-1)'"
    row, column, value, terms = found.largest("U1", 1)[0]
    written = [f"({term:.4g})" if term < 0 else f"{term:.4g}" for term in terms]
    shown = f"{column + 1}, {found.symbols[row] or 'END'} {value:.4g} = {' + '.join(written)}"
    assert shown in " ".join(ran.out.split())
    assert sum(term != 0 for term in terms) == [None, *"anna"].count(found.symbols[row])
    gated = unfold(model_of(cell="gru", layers=1, hidden=4).language_model, "ab")
    equations: Any = found.layers[0].equations
    equations["dL/da"] = "{dL/dh}(t)"  # as if of a cell with other slopes
    for one in (found, gated):
        text = "\n".join(largest_gradients(one, Output(io.StringIO())))
        assert "dL/dW = sum over t of dL/d(W h)(t) h(t-1)'" in text
        where = {array: text.partition(f"dL/d{array} ")[2].splitlines()[1] for array in "cVbWU"}
        assert [", " in where[array][:9] for array in "cVbWU"] == [False, True, False, True, True]
        assert where["W"].split()[1] == str(one.largest("W1", 1)[0][1] + 1)
    assert re.search(r"^[rzn][1-4]  ", text, re.MULTILINE)
    assert re.search(r"^[rzn][1-4], [1-4] ", text, re.MULTILINE)
    assert not re.search(r", [rzn]\d", text)  # a state has no gates


def test_a_label_is_shown_where_it_is_read(program: Program) -> None:
    model = model_of("ab", labels=["to the north", "south"], layers=1, hidden=4)
    model.save("kinds.npz")
    line = ("unfold", "ab", "-m", "kinds.npz", "--label", "to the north")
    steps = program.run(*line, "--json").json["time_steps"]
    assert [step["reads"] for step in steps] == ["to the north", "a", "b"]
    head, first = program.run(*line).lines[:2]
    assert first[: head.index("likeliest")] == "   1 to the   "
    out = program.run("unfold", "", *line[2:], "--gradients").out.partition("dL/dU")[2]
    assert set(re.findall(r"^[1-4], (.*?)  ", out, re.MULTILINE)) == {"to the"}
    found = unfold(model.language_model, "a", "south")
    rows = {row for row, *_, terms in found.largest("U1", 999) if any(terms)}
    assert rows == {found.inputs.index("a"), found.inputs.index("south")}


def test_a_page_holds_the_text_as_text_and_loads_nothing(well_trained: Program) -> None:
    well_trained.run("unfold", HOSTILE, "--backward", "-o", "page.html").says("page.html")
    text = (well_trained / "page.html").read_text("utf-8")
    page = Reading(text)
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert [one.get("type") for one in scripts] == ["application/json", None]
    assert not [one for _, some in page.elements for one in some if one in ("src", "href", "style")]
    assert not set(page.texts["script"][0]) & set("<>&")
    assert json.loads(page.texts["script"][0])["text"] == HOSTILE
    assert "names.txt" not in text
    assert not re.search("[\x00-\x08\x1b\u202e]", text)

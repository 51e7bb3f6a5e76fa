"""The numbers of an unfolded text: those of scores, of the equations, and of other gradients."""

import re
from typing import Any

import numpy as np
import pytest

from charrnn.model import Model
from charrnn.network.arrays import Array
from charrnn.network.parameters import Parameters, read_before, still_to_come
from charrnn.network.through_time import Unfolded, Window
from charrnn.prediction.unfold import NAME, Part, unfold
from charrnn.text.vocabulary import END
from tests import networks
from tests.networks import CHARACTERS, MANY
from tests.plain import sigmoid

TEXT = "abcéa€cab"
LONG = "".join(np.random.default_rng(0).choice([*"abcé€"], 150))
NETWORKS: list[dict[str, Any]] = [
    {"cell": "tanh", "layers": 1, "hidden": 6},
    {"cell": "tanh", "layers": 3, "hidden": 5, "ends": "halt", "clock": True},
    {"cell": "tanh", "layers": 2, "hidden": 4, "ends": "length"},
    {"cell": "tanh", "layers": 2, "hidden": 4},
    {"cell": "gru", "layers": 2, "hidden": 5, "clock": True},
    {"cell": "lstm", "layers": 2, "hidden": 5},
    {"cell": "output", "layers": 1, "hidden": 6},
    {"cell": "output", "layers": 1, "hidden": 6, "teacher_forcing": True},
]
every_network = pytest.mark.parametrize("size", NETWORKS, ids=str)


@every_network
@pytest.mark.parametrize("text", ["", "a", TEXT, "a?b", LONG])
def test_the_losses_are_those_of_eval(size: dict[str, Any], text: str) -> None:
    model = networks.model_of(**size)
    found, scored = unfold(model.language_model, text), model.surprisal(text)
    assert found.nats == pytest.approx(model.score([text]).nats, rel=1e-12)
    np.testing.assert_allclose(found.loss.values["L"][:, 0], scored.nats, rtol=1e-12)
    room = found.loss.values["room for unknown characters"][:-1, 0]
    of_known = [cost for cost, letter in zip(room, text, strict=True) if letter in CHARACTERS]
    np.testing.assert_allclose(of_known, -np.log1p(-model.vocabulary.novelty), atol=1e-6)


def test_a_colour_shows_the_sign_and_the_power_of_a_gradient() -> None:
    part = Part({"dL/dh": np.array([0.0, 2.0, -2.0, 0.3, -0.03, 0.004])}, {})
    assert part.bands("dL/dh").tolist() == [3, 6, 0, 6, 1, 4]


FUNCTIONS = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "sigmoid": sigmoid}


@every_network
@pytest.mark.parametrize("text", [TEXT, LONG])
def test_each_equation_is_true(size: dict[str, Any], text: str) -> None:
    found = unfold(networks.model_of(**size).language_model, text)
    for part in (*found.layers, found.output, found.loss):
        for name, template in part.equations.items():
            assert_true(part, name, template.partition("  ")[0])
            assert "{" not in part.filled(name, 1, 0)
    assert len(found.layers[0].equations) >= 3
    if size["cell"] == "output":
        fed_back = "y" if size.get("teacher_forcing") else "o"
        assert f"{{W {fed_back}(t-1)}}" in found.layers[0].equations["a"]
    assert [*found.output.equations][:2] == ["o", "y_hat"]


def assert_true(part: Part, name: str, template: str) -> None:
    values = {f"v{i}": column(part, of) for i, of in enumerate(NAME.findall(template))}
    places = iter(values)
    code = NAME.sub(lambda _: f"({next(places)})", template).replace("^", "**")
    code = re.sub(r"(tanh|log) \(", r"\1(", code)
    right = eval(code, {**FUNCTIONS, **values})
    np.testing.assert_allclose(part.values[name], right, rtol=1e-5, atol=1e-4)
    t, unit = min(2, len(part.values[name]) - 1), part.values[name].shape[1] - 1
    left = float(part.filled(name, t, unit).partition(" = ")[0])
    assert left == pytest.approx(part.values[name][t, unit], rel=1e-3)


def column(part: Part, name: str) -> Array:
    """All values that a name in an equation stands for."""
    if name in part.values:
        return part.values[name]
    value = part.values[name[: name.rindex("(")]]
    if name.endswith("(t)"):
        return value
    return np.concatenate([np.zeros_like(value[:1]), value[:-1]])


def window_of(model: Model, text: str) -> Window:
    ids = np.append(model.vocabulary.encode(text), 0).astype(np.intp)
    x = np.append(END, ids[:-1])[:, None]
    counts = read_before(ids)[:, None], still_to_come(ids)[:, None]
    return Window(x, ids[:, None], x == END, clock=counts[0], to_come=counts[1])


@every_network
def test_the_gradient_is_that_of_training(size: dict[str, Any]) -> None:
    model = networks.model_of(**size)
    found, window = unfold(model.language_model, TEXT), window_of(model, TEXT)
    p = Parameters(model.parameters.architecture, model.parameters.flat.astype(np.float64))
    gradient = p.like()
    reader = Unfolded(p.architecture, len(window.x), 1, np.float64)
    reader.nats_and_gradient(p, window, gradient)
    assert found.gradient is not None
    np.testing.assert_allclose(found.gradient.flat, gradient.flat, rtol=1e-9, atol=1e-12)
    for name, (left, right) in found.factors.items():
        np.testing.assert_allclose((left.T @ right).ravel(), gradient[name].ravel(), atol=1e-12)
    assert ("V" in found.factors) is (size["cell"] != "output" or "teacher_forcing" in size)
    if size["cell"] not in ("output", "gru"):  # b has other parts, or is not last
        for number, part in enumerate(found.layers, 1):
            d_b = part.values["dL/da"].sum(0)
            np.testing.assert_allclose(d_b, gradient[f"b{number}"], rtol=1e-9)


@every_network
@pytest.mark.parametrize("t", [0, 4, len(TEXT)])
def test_the_gradient_of_a_state_is_measured(size: dict[str, Any], t: int) -> None:
    model = networks.model_of(**size)
    found, window = unfold(model.language_model, TEXT), window_of(model, TEXT)
    p = Parameters(model.parameters.architecture, model.parameters.flat.astype(np.float64)).plain()

    def loss(unit: int, step: float) -> float:
        reader = Unfolded(p.architecture, len(window.x), 1, np.float64)
        reader.read(p, networks.steps_of(window, slice(t + 1)))
        top = reader.layers[-1].states[0]
        top[0, 0, unit] += step
        is_length = p.architecture.head.lengths is not None and t == len(TEXT)
        nats = 0.0 if is_length else networks.nats_at(p, top[0], window.y[t]).sum()
        if t < len(TEXT):
            rest = networks.steps_of(window, slice(t + 1, None))
            nats += networks.nats_through_time(reader, p, rest).sum()
        return float(nats)

    measured = [(loss(i, 1e-5) - loss(i, -1e-5)) / 2e-5 for i in range(size["hidden"])]
    np.testing.assert_allclose(found.layers[-1].values["dL/dh"][t], measured, rtol=1e-4, atol=1e-6)


def test_fault_40_to_unfold_needs_no_matrix_of_many_characters() -> None:
    model = networks.babbler(MANY, hidden=4, layers=1)
    assert networks.peak_bytes(lambda: unfold(model, MANY[:3])) < 150 * 8 * len(MANY)

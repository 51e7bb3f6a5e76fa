"""How far gradients reach, against finite differences; ``charrnn reach``."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.network.parameters import Architecture, LanguageModel, Parameters
from charrnn.network.through_time import Window
from charrnn.prediction import reach
from charrnn.prediction.reach import norms_back, reach_of, spectral_radius, window_before
from charrnn.text.vocabulary import END, Ids
from tests import networks
from tests.networks import STEPS, SYMBOLS
from tests.program import Program

STEP = 1e-5  # of a difference
SIZES = product((1, 3), ("tanh", "gru", "lstm"))
NETWORKS = [Architecture(SYMBOLS, 3, layers, cell) for layers, cell in SIZES]
NETWORKS += [Architecture(SYMBOLS, 3, 2, head_name="halt")]


def reading(begins: bool) -> Window:
    """Return a window of one example, or of two in the first lane."""
    w = networks.window()
    begun = np.zeros(w.x.shape, np.bool_)
    begun[3, 0] = begins
    return Window(w.x, w.y, begun)


def slopes_of_states(p: Parameters, w: Window, t: int, step: int, lane: int) -> list[float]:
    """Return differences of the loss at t, by each number of the state before a step."""
    unfolded, found = networks.begun(p, networks.state_of(p)), []
    unfolded.read(p, networks.steps_of(w, slice(step)))
    rest = networks.steps_of(w, slice(step, None))
    for number, unit in np.ndindex(len(p.architecture.state_names), p.architecture.hidden):
        losses = []
        for sign in (1, -1):
            state = [states[0].copy() for states in unfolded.states]
            state[number][lane, unit] += sign * STEP
            nats = networks.nats_through_time(networks.begun(p, state), p, rest)
            losses.append(nats[t - step, lane])
        found.append((losses[0] - losses[1]) / (2 * STEP))
    return found


@pytest.mark.parametrize("shape", NETWORKS, ids=str)
def test_the_norms_are_those_of_finite_differences(shape: Architecture) -> None:
    p, w, t = networks.parameters_of(shape), reading(begins=False), STEPS - 1
    norms, known = norms_back(networks.begun(p, networks.state_of(p)), p, w)
    measured = [np.linalg.norm(slopes_of_states(p, w, t, t - k, 1)) for k in range(t)]
    np.testing.assert_allclose(norms[1:, 1], measured, rtol=1e-6, atol=1e-9)
    assert known.all()


def test_nothing_is_carried_back_beyond_the_beginning_of_an_example() -> None:
    p, w = networks.parameters_of(NETWORKS[0]), reading(begins=True)
    norms, known = norms_back(networks.begun(p, networks.state_of(p)), p, w)
    since = STEPS - 3  # the example of the first lane began at step 3
    assert known.sum(0).tolist() == [since, STEPS, *[STEPS] * (w.x.shape[1] - 2)]
    assert not norms[since:, 0].any()


def remembering(weight: float) -> LanguageModel:
    """Units that hardly leave the middle of tanh, and W = weight times the identity."""
    model = networks.babbler("abcdefgh", hidden=6, layers=1)
    p = model.parameters
    p["U1"][...] *= 1e-7
    p["b1"][...] = 0
    p["W1"][...] = weight * np.eye(6)
    return model


def text(symbols: int, model: LanguageModel, every: int = 10**9) -> Ids:
    ids = np.random.default_rng(3).integers(2, model.vocabulary.symbols, symbols)
    ids[every - 1 :: every] = 0
    ids[-1] = 0
    return ids.astype(model.vocabulary.dtype)


@pytest.mark.parametrize("weight", [0.5, 0.9, 1.02])
def test_gradients_vanish_or_explode_by_the_spectral_radius_of_w(weight: float) -> None:
    model = remembering(weight)
    found = reach_of(model, text(3000, model))
    assert len(found.norms) == len(found.losses) == reach.FAR + 1
    assert found.decay_per_step == pytest.approx(weight, rel=1e-3)
    assert found.spectral_radius == pytest.approx(weight, rel=1e-6)
    powers = weight ** np.arange(reach.FAR + 1)
    assert found.norms[100] == pytest.approx(found.norms[0] * powers[100], rel=0.02)
    assert found.cut_off_share(10) == pytest.approx(powers[10:].sum() / powers.sum(), rel=0.05)


def test_gradients_that_explode_are_followed_as_long_as_there_are_numbers_for_them() -> None:
    model = remembering(1e6)
    model.parameters["U1"][...] = 0
    found = reach_of(model, text(3000, model))
    assert 10 < len(found.norms) < 20
    assert np.isfinite(found.norms).all()
    assert found.decay_per_step == pytest.approx(1e6, rel=1e-3)


def test_where_nothing_is_remembered_nothing_is_cut_off() -> None:
    model = networks.independent({"": 0.2, "a": 0.5, "b": 0.3})
    found = reach_of(model, text(300, model, every=7))
    assert set(found.norms) == {0.0}
    assert found.decay_per_step is None
    assert (found.cut_off_share(1), found.spectral_radius) == (0.0, 0.0)


@pytest.mark.parametrize(
    "size", [{"layers": 2}, {"layers": 1, "cell": "output"}, {"layers": 1, "ends": "length"}]
)
def test_an_example_is_as_far_as_it_goes(size: dict[str, Any]) -> None:
    model = networks.model_of("abcdefgh", hidden=6, clock=True, **size).language_model
    found = reach_of(model, text(2000, model, every=7))
    assert len(found.norms) == 7
    assert found.losses == sorted(found.losses, reverse=True)


def test_a_window_is_the_text_before_its_targets() -> None:
    w = window_before(np.array([5, 6, END, 7, 8, 9, END], np.uint8), np.array([1, 5]), 4)
    assert w.y[-1].tolist() == [6, 9]
    assert w.x.T.tolist() == [[END, END, END, 5], [6, END, 7, 8]]
    np.testing.assert_array_equal(w.is_first, w.x == END)
    assert w.clock is not None
    assert w.clock[-1].tolist() == [1, 2]


def test_the_spectral_radius_is_that_of_the_largest_block() -> None:
    p = Parameters.zeros(Architecture(4, 2, 2, "gru"), np.float64)
    p["W2"][2:4] = [[0, -3], [3, 0]]
    assert spectral_radius(p) == pytest.approx(3)


def test_json_and_table_say_the_same(well_trained: Program) -> None:
    found = well_trained.run("reach", "--json").json
    assert (found["model"], found["horizon"]) == ("model.npz", 8)
    assert all(math.isfinite(norm) for norm in found["norms"])
    ran = well_trained.run("reach").says()
    said = {line[:22].strip(): line[22:].strip() for line in ran.lines}
    assert float(said["decay per step"]) == pytest.approx(found["decay_per_step"], rel=0.01)
    assert float(said["spectral radius of W"]) == pytest.approx(found["spectral_radius"], rel=0.01)
    assert said["cut off by --bptt"] == f"{found['cut_off_share']:.1%}"
    norms = dict(row.split() for row in ran.out.split("norm\n")[1].splitlines())
    assert [*map(int, norms)] == [0, 1, 2, 4, len(found["norms"]) - 1]
    short = well_trained.run("reach", "--json", "--bptt", "2").json
    assert (short["horizon"], short["cut_off_share"] > found["cut_off_share"]) == (2, True)


def test_the_likeliest_label_of_a_text_is_read(program: Program) -> None:
    texts, labels = ["ann", "bob", "cleo"] * 4, ["x", "y", "x"] * 4
    model = charrnn.fit(texts, labels=labels, hidden=4, layers=1, epochs=1)
    ids = []
    for text in texts[:3]:
        ids += [*model.vocabulary.encode(text), END]
    program.write("three.txt", "ann\nbob\ncleo\n")
    model.save(program / "model.npz")
    kinds = [label for label, _ in model.classify(texts[:3])]
    of_symbols = np.repeat([model.vocabulary.id_of(label) for label in kinds], [4, 4, 5])
    expected = reach_of(model.language_model, np.array(ids), of_symbols).norms
    assert program.run("reach", "three.txt", "--json").json["norms"] == pytest.approx(expected)

"""What is hidden at random, and inputs that the network samples itself."""

from dataclasses import replace

import numpy as np
import pytest

from charrnn.network.parameters import Architecture, Parameters, initial
from charrnn.network.step import Network
from charrnn.network.through_time import Window
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.text.corpus import corpus_of
from charrnn.text.vocabulary import END, UNKNOWN
from charrnn.training.automatic_settings import fit_settings
from charrnn.training.noise import Noise, OwnInputs, sample_characters
from tests.program import WORDS

STEPS, LANES, SYMBOLS = 12, 400, 7
CELLS = ["tanh", "gru", "lstm", "output"]


def config(**more: object) -> Fitted:
    wanted = TrainConfig(hidden=6, bptt=STEPS, **more)  # type: ignore[arg-type]
    return replace(fit_settings(wanted, corpus_of(WORDS * 3)), batch=LANES)


def network(cell: str = "tanh", layers: int = 1) -> Parameters:
    rng = np.random.default_rng(0)
    p = initial(Architecture(SYMBOLS, 6, layers, cell), np.full(SYMBOLS, -2.0), rng)
    p["V"][...] *= 20
    return p


def window() -> Window:
    x, y = np.random.default_rng(1).integers(0, SYMBOLS, (2, STEPS, LANES))
    x[0] = END
    return Window(x, y, x == END)


def zeros(p: Parameters) -> list[np.ndarray]:
    return [np.zeros((LANES, 6), np.float32) for _ in p.architecture.state_names]


@pytest.mark.parametrize("done", [0.0, 0.5, 1.0])
def test_their_share_grows_to_what_was_asked_for(done: float) -> None:
    p, w = network(), window()
    own = OwnInputs(p.architecture, config(own_inputs=0.6))
    of_characters = own.draw_places(np.random.default_rng(0), w, done)[w.x > UNKNOWN].mean()
    assert of_characters == pytest.approx(0.6 * done, abs=0.03)


@pytest.mark.parametrize("length", [1, 5, STEPS])
def test_a_stretch_is_so_many_steps_in_a_row_in_every_lane(length: int) -> None:
    p, w = network(), window()
    full = Window(np.full_like(w.x, UNKNOWN + 1), w.y, np.zeros(w.x.shape, np.bool_))
    own = OwnInputs(p.architecture, config(free_running=length))
    places = own.draw_places(np.random.default_rng(0), full, 0.0)
    assert (places.sum(0) == length).all()
    assert (np.abs(np.diff(places.astype(int), axis=0)).sum(0) <= 2).all()
    assert set(places.argmax(0).tolist()) == set(range(STEPS - length + 1))


def test_what_begins_an_example_is_always_read_and_no_end_is_drawn() -> None:
    p, w = network(), window()
    read = OwnInputs(p.architecture, config(own_inputs=1.0)).read(p, w, zeros(p), 3, 1.0)
    np.testing.assert_array_equal(read.x == END, w.x == END)
    np.testing.assert_array_equal(read.x == UNKNOWN, w.x == UNKNOWN)
    np.testing.assert_array_equal(read.y, w.y)
    assert (read.x != w.x).mean() > 0.4
    x = np.where(w.x == END, SYMBOLS + 1, w.x)  # a label
    labelled = Window(x, w.y, w.x == END)
    p = initial(replace(p.architecture, labels=2), np.full(SYMBOLS, -2.0), np.random.default_rng(0))
    read = OwnInputs(p.architecture, config(own_inputs=1.0)).read(p, labelled, zeros(p), 3, 1.0)
    np.testing.assert_array_equal(read.x == SYMBOLS + 1, x == SYMBOLS + 1)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2])
def test_each_is_drawn_after_what_was_drawn_before_it(cell: str, layers: int) -> None:
    """As often as the network says, of all that begins as it has drawn."""
    layers = 1 if cell == "output" else layers
    p = network(cell, layers)
    x = np.full((3, LANES), UNKNOWN + 1)
    x[0] = END
    w = Window(x, x, x == END)
    own = OwnInputs(p.architecture, config(own_inputs=1.0))
    drawn = np.concatenate([own.read(p, w, zeros(p), step, 1.0).x for step in range(60)], axis=1)
    steps = Network(p)
    for first in range(UNKNOWN + 1, SYMBOLS):
        state = steps.zeros(1)
        after_end = chances(steps.step(np.array([END]), state)[0])
        after_first = chances(steps.step(np.array([first]), state)[0])
        among = drawn[:, drawn[1] == first]
        share = among.shape[1] / drawn.shape[1]
        assert share == pytest.approx(after_end[first - UNKNOWN - 1], abs=0.02)
        if among.shape[1] > 500:
            counts = np.bincount(among[2], minlength=SYMBOLS)[UNKNOWN + 1 :]
            np.testing.assert_allclose(counts / counts.sum(), after_first, atol=0.07)


def chances(logits: np.ndarray) -> np.ndarray:
    """Of the characters alone."""
    weights = np.exp(logits[UNKNOWN + 1 :] - logits[UNKNOWN + 1 :].max())
    return np.asarray(weights / weights.sum())


def test_fault_59_the_largest_draw_is_one_of_the_last_characters() -> None:
    rng = np.random.default_rng(0)
    p = Parameters.zeros(Architecture(3000, 6, 1))
    p["V"][...] = rng.standard_normal(p["V"].shape)
    h = rng.standard_normal((300, 6), np.float32)
    largest = np.nextafter(np.ones(300, np.float32), np.float32(0))
    assert sample_characters(p, h, largest).min() > 2900
    p["c"][7] = 99.0
    assert {*sample_characters(p, h, largest)} == {7}


@pytest.mark.parametrize(
    ("share", "done", "expected"),
    [(1e-6, 0, 0), (0.01, 0, 0.01), (0.95, 0.5, 0.95), (0.4, 0.75, 0.2), (0.4, 1, 0)],
)
def test_a_share_is_hidden_and_less_at_the_end(share: float, done: float, expected: float) -> None:
    p = Parameters.zeros(Architecture(5, 64, 1), np.float32)
    p.flat[...] = 1
    config = TrainConfig(batch=64, seed=3, dropout=share, dropconnect=share, blank=share)
    hiding, w = Noise(p, Fitted(**vars(config))), window()
    units, weights, read = [], [], []
    for step in range(20):
        hiding.begin_step(step, done)
        hidden = hiding.hide_characters(w)
        assert hidden.y is w.y  # no target
        np.testing.assert_array_equal(hidden.x == END, w.x == END)
        assert (hidden.x[hidden.x != w.x] == UNKNOWN).all()
        read.append(hidden.x[w.x != END] == UNKNOWN)
        thinned = p.copy()
        hiding.hide_weights(thinned)
        weights.append(thinned["W1"])
        masks = hiding.dropout_masks()
        assert masks is not None
        units.append(masks[0])
    for loud in (np.array(units), np.array(weights)):
        assert ((256 / loud[loud > 0]) % 1 % 0.999 < 0.001).all()  # of 256, a whole number is shown
        assert 0 < (loud == 0).mean() == pytest.approx(expected, rel=0.1, abs=1 / 200)
        assert loud.mean() == pytest.approx(1, rel=0.05)
    known = 1 / (SYMBOLS - 1)  # of the characters are unknown already
    assert np.mean(read) == pytest.approx(known + (1 - known) * expected, abs=0.01)

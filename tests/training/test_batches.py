"""Every symbol is a target exactly once an epoch, and nothing leaks; what is hidden or drawn."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.network.parameters import Architecture, Parameters, initial
from charrnn.network.step import Network
from charrnn.network.through_time import Window
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.text.corpus import Examples, corpus_of
from charrnn.text.vocabulary import END, UNKNOWN
from charrnn.training.automatic_settings import fit_settings
from charrnn.training.batches import SLACK, Epoch
from charrnn.training.noise import Noise
from charrnn.training.own_inputs import OwnInputs


def examples(lengths: list[int], symbols: int = 60000) -> Examples:
    """Examples of so many characters, no two characters alike as far as there are symbols."""
    total = sum(lengths) + len(lengths)
    ids = (2 + np.arange(total) % (symbols - 2)).astype(np.uint16)
    ids[np.cumsum(np.array(lengths) + 1) - 1] = END
    return Examples(ids)


def targets(window: Window) -> list[int]:
    every = window.y if window.idle is None else window.y[~window.idle]
    found: list[int] = every.reshape(-1).tolist()
    return found


@st.composite
def epochs(draw: st.DrawFn, *, counting: bool = False) -> Epoch:
    """Draw an epoch of some examples, most of them short, in any number of lanes."""
    text = examples(draw(st.lists(st.integers(0, 40), min_size=1, max_size=30)))
    lanes = min(draw(st.integers(1, 6)), len(text.ids))
    steps, seed, number = (draw(st.integers(least, 9)) for least in (1, 0, 0))
    return Epoch(text, lanes, steps, seed, number, counting=counting)


@given(epochs())
def test_every_symbol_is_a_target_exactly_once(epoch: Epoch) -> None:
    seen = Counter(t for window in epoch.windows_from(0) for t in targets(window))
    assert seen == Counter(epoch.examples.ids.tolist())
    assert len(list(epoch.windows_from(0))) == epoch.window_count


@given(epochs())
def test_an_epoch_can_be_entered_at_any_window(epoch: Epoch) -> None:
    whole = list(epoch.windows_from(0))
    for number in range(len(whole)):
        for window, expected in zip(epoch.windows_from(number), whole[number:], strict=True):
            busy = ... if expected.idle is None else ~expected.idle
            np.testing.assert_array_equal(window.x[busy], expected.x[busy])
            np.testing.assert_array_equal(window.y[busy], expected.y[busy])


@given(epochs())
def test_before_a_symbol_stands_the_last_of_its_example_or_a_new_beginning(epoch: Epoch) -> None:
    """So nothing leaks from one example to the next: see test_cells for what a beginning does."""
    before = np.append(END, epoch.examples.ids[:-1])
    for window in epoch.windows_from(0):
        is_letter = window.y > 0
        places = window.y[is_letter] - 2  # no two letters are alike
        assert (window.x[is_letter] == before[places]).all()
        assert window.begins is not None
        assert window.begins[window.x == END].all()


@given(epochs(counting=True))
def test_each_place_knows_what_was_read_of_its_example_and_what_is_left(epoch: Epoch) -> None:
    text = epoch.examples
    sizes = np.diff(text.starts.astype(int))
    begins, stops = np.repeat(text.starts[:-1], sizes), np.repeat(text.starts[1:], sizes)
    for window in epoch.windows_from(0):
        assert window.clock is not None
        assert window.to_come is not None
        assert ((window.to_come == 0) == (window.y == 0)).all()
        is_letter = window.y > 0
        places = window.y[is_letter] - 2  # no two letters are alike
        assert (window.clock[is_letter] == places - begins[places].astype(int)).all()
        assert (window.to_come[is_letter] == stops[places].astype(int) - 1 - places).all()


def test_each_epoch_has_an_order_of_its_own_and_a_seed_repeats_it() -> None:
    text = examples([5] * 40)
    first, again, second = (
        [t for w in Epoch(text, 2, 10, 1, epoch).windows_from(0) for t in targets(w)]
        for epoch in (0, 0, 1)
    )
    assert first == again
    assert first != second


def test_lanes_begin_with_an_example_where_examples_are_short() -> None:
    text = examples([3, 4, 5, 6] * 100)
    first = next(Epoch(text, 8, 16, 0, 0).windows_from(0))
    assert first.begins is not None
    assert first.begins[0].all()


def test_one_long_example_is_cut_into_as_many_stretches_as_there_are_lanes() -> None:
    text = examples([10_000])
    windows = list(Epoch(text, 10, 50, 0, 0).windows_from(0))
    assert windows[0].x.shape == (50, 10)
    assert sum(len(window.x) for window in windows) <= 1000 + 1000 // SLACK + 1  # one cut may move


def test_short_examples_cost_no_padding() -> None:
    text = examples([1, 2, 3] * 1000)
    places = sum(window.y.size for window in Epoch(text, 16, 20, 0, 0).windows_from(0))
    assert places < 1.1 * len(text.ids)


NAMES = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna", "ida", "jo"] * 4
STEPS, LANES, SYMBOLS = 12, 400, 7
CELLS = ["tanh", "gru", "lstm", "output"]


def config(**more: object) -> Fitted:
    corpus = corpus_of(NAMES, CorpusConfig())
    wanted = charrnn.TrainConfig(hidden=6, bptt=STEPS, **more)  # type: ignore[arg-type]
    made = fit_settings(wanted, corpus)
    return Fitted(**{**vars(made), "batch": LANES})


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


def test_without_them_the_window_is_the_one_that_was_given() -> None:
    p, w = network(), window()
    assert OwnInputs(p.architecture, config()).read(p, w, zeros(p), 3, 1.0) is w


@pytest.mark.parametrize("done", [0.0, 0.5, 1.0])
def test_their_share_grows_to_what_was_asked_for(done: float) -> None:
    p, w = network(), window()
    own = OwnInputs(p.architecture, config(own_inputs=0.6))
    places = own.draw_places(np.random.default_rng(0), w, done)
    of_characters = places[w.x > UNKNOWN].mean()
    assert of_characters == pytest.approx(0.6 * done, abs=0.03)


@pytest.mark.parametrize("length", [1, 5, STEPS])
def test_a_stretch_is_so_many_steps_in_a_row_in_every_lane(length: int) -> None:
    p, w = network(), window()
    full = Window(np.full_like(w.x, UNKNOWN + 1), w.y)
    own = OwnInputs(p.architecture, config(free_running=length))
    places = own.draw_places(np.random.default_rng(0), full, 0.0)
    assert (places.sum(0) == length).all()
    assert (np.abs(np.diff(places.astype(int), axis=0)).sum(0) <= 2).all()
    starts = places.argmax(0)
    assert set(starts.tolist()) == set(range(STEPS - length + 1))


def test_what_begins_an_example_is_always_read_and_no_end_is_drawn() -> None:
    p, w = network(), window()
    read = OwnInputs(p.architecture, config(own_inputs=1.0)).read(p, w, zeros(p), 3, 1.0)
    np.testing.assert_array_equal(read.x == END, w.x == END)
    np.testing.assert_array_equal(read.x == UNKNOWN, w.x == UNKNOWN)
    np.testing.assert_array_equal(read.y, w.y)
    assert (read.x != w.x).mean() > 0.4


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
    reads = [own.read(p, w, zeros(p), step, 1.0).x for step in range(60)]
    drawn = np.concatenate(reads, axis=1)
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


def test_a_step_draws_the_same_again_and_another_step_others() -> None:
    p, w = network(), window()
    one, again, other = (
        OwnInputs(p.architecture, config(own_inputs=1.0)).read(p, w, zeros(p), step, 1.0).x
        for step in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize(
    ("share", "done", "expected"),
    [(1e-6, 0, 0), (0.01, 0, 0.01), (0.95, 0.5, 0.95), (0.4, 0.75, 0.2), (0.4, 1, 0)],
)
def test_about_that_share_is_hidden_and_less_towards_the_end(
    share: float, done: float, expected: float
) -> None:
    p = Parameters.zeros(Architecture(5, 64, 1), np.float32)
    p.flat[...] = 1
    config = TrainConfig(batch=64, seed=3, dropout=share, dropconnect=share, blank=share)
    hiding = Noise(p, Fitted(**vars(config)))
    units, weights, read = [], [], []
    for step in range(20):
        hiding.begin(step, done)
        read.append(hiding.hide_characters(window()).x[window().x != END] == UNKNOWN)
        thinned = p.copy()
        hiding.hide_weights(thinned)
        weights.append(thinned["W1"])
        masks = hiding.dropout_masks()
        assert masks is not None
        units.append(masks[0])
    for loud in (np.array(units), np.array(weights)):
        hidden = (loud == 0).mean()
        assert 0 < hidden == pytest.approx(expected, rel=0.1, abs=1 / 200)
        assert loud.mean() == pytest.approx(1, rel=0.05)
    known = 1 / (SYMBOLS - 1)  # of the characters are unknown already
    assert np.mean(read) == pytest.approx(known + (1 - known) * expected, abs=0.01)

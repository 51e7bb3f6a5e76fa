"""What is hidden at random."""

import numpy as np
import pytest

from charrnn.network.parameters import Architecture, Parameters
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.text.vocabulary import END, UNKNOWN
from charrnn.training.noise import Noise
from tests.training.test_own_inputs import SYMBOLS, window


@pytest.mark.parametrize(
    ("share", "done", "expected"),
    [(1e-6, 0, 0), (0.01, 0, 0.01), (0.95, 0.5, 0.95), (0.4, 0.75, 0.2), (0.4, 1, 0)],
)
def test_a_share_is_hidden_and_less_at_the_end(share: float, done: float, expected: float) -> None:
    p = Parameters.zeros(Architecture(5, 64, 1), np.float32)
    p.flat[...] = 1
    config = TrainConfig(batch=64, seed=3, dropout=share, dropconnect=share, blank=share)
    hiding = Noise(p, Fitted(**vars(config)))
    units, weights, read = [], [], []
    for step in range(20):
        hiding.begin_step(step, done)
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


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95])
def test_blank_hides_no_end_and_no_target(share: float) -> None:
    p, w = Parameters.zeros(Architecture(5, 4, 1), np.float32), window()
    config = TrainConfig(batch=64, seed=3, blank=share)
    hiding = Noise(p, Fitted(**vars(config)))
    for step in range(9):
        hiding.begin_step(step, 0.3)
        hidden = hiding.hide_characters(w)
        assert hidden.y is w.y
        changed = hidden.x != w.x
        assert not (changed & (w.x == END)).any()
        assert (hidden.x[changed] == UNKNOWN).all()
        assert changed.any() == bool(share)

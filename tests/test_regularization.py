"""What is hidden from a network while it learns: about the share that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.settings import Fitted, TrainConfig
from charrnn.training.noise import Regularization


@pytest.mark.parametrize("share", [1e-6, 0.001, 0.01, 0.3, 0.95])
def test_about_that_share_of_units_and_of_weights_is_hidden(share: float) -> None:
    p = Parameters.zeros(Architecture(5, 64, 1), np.float32)
    p.flat[...] = 1
    config = TrainConfig(batch=64, seed=3, dropout=share, dropconnect=share, blank=0)
    hiding = Regularization(p, Fitted(**vars(config)))
    units, weights = [], []
    for step in range(20):
        hiding.begin(step)
        thinned = p.copy()
        hiding.hide_weights(thinned)
        weights.append(thinned["W1"])
        masks = hiding.units()
        assert masks is not None
        units.append(masks[0])
    for loud in (np.array(units), np.array(weights)):
        hidden = (loud == 0).mean()
        assert 0 < hidden == pytest.approx(share, rel=0.1, abs=1 / 200)
        assert loud.mean() == pytest.approx(1, rel=0.05)

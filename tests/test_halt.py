"""A unit that halts in place of a symbol for the end: its gradient, and what it is a model of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters, initial
from charrnn.vocabulary import END
from tests.test_unfolded import assert_gradient_is_right, masks, state, window


def network(cell: str = "tanh", symbols: int = 7) -> Parameters:
    rng = np.random.default_rng(0)
    size = Architecture(symbols, 5, 1, cell, "halt")
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    return p


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("dropout", [True, False])
def test_its_gradient_is_what_central_differences_say(resets: bool, dropout: bool) -> None:
    p = network()
    assert_gradient_is_right(
        p, window(resets=resets, idle=True), state(p), masks(p) if dropout else None
    )


def test_the_chance_of_the_end_is_the_sigmoid_of_its_unit() -> None:
    o = np.random.default_rng(0).standard_normal((5, 6))
    logits = o.copy()
    Architecture(6, 1, 1, head_name="halt").head.logits(logits)
    y_hat = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    ends = 1 / (1 + np.exp(-o[:, END]))
    others = np.exp(o[:, 1:]) / np.exp(o[:, 1:]).sum(1, keepdims=True)
    np.testing.assert_allclose(y_hat[:, END], ends)
    np.testing.assert_allclose(y_hat[:, 1:], (1 - ends)[:, None] * others)


def test_a_run_that_was_stopped_ends_in_the_bytes_of_one_that_was_not(tmp_path: Path) -> None:
    names = ["anna", "bob", "clara", "dora"] * 6
    config = charrnn.TrainConfig(ends="halt", hidden=6, batch=3, bptt=5, epochs=3, check_every=7)
    whole = charrnn.train(names, config)
    events = sum(1 for _ in whole)
    whole.save(tmp_path / "whole.npz")
    part = charrnn.train(names, config)
    for _ in zip(range(events // 2), part, strict=False):
        pass
    part.save(tmp_path / "parts.npz")
    part = charrnn.resume(tmp_path / "parts.npz", names)
    list(part)
    part.save(tmp_path / "parts.npz")
    assert (tmp_path / "parts.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()

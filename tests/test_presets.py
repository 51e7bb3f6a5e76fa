"""What suits a corpus: sizes that grow with it, and gated units that do not take much longer."""

from __future__ import annotations

from itertools import pairwise

import pytest

from charrnn.network.architecture import Architecture
from charrnn.network.cells import CELLS
from charrnn.presets import PRESETS, TANH, preset, usual_epochs

SYMBOLS = 65
CORPORA = (2_000, 15_000, 50_000, 200_000, 1_000_000, 20_000_000)


def products(cell: str, symbols: int) -> float:
    """Multiplications of a whole run on a corpus of so many symbols, a lane and a way."""
    usual = preset(symbols, cell)
    size = Architecture(SYMBOLS, usual.hidden, usual.layers, cell)
    weights = sum(
        rows * columns
        for name, (rows, columns) in (
            (name, shape) for name, shape in size.shapes.items() if len(shape) == 2
        )
        if name != "U1"  # a row of it is looked up
    )
    return float(weights) * symbols * usual_epochs(usual, symbols)


@pytest.mark.parametrize("cell", CELLS)
def test_a_larger_corpus_has_no_smaller_a_network(cell: str) -> None:
    rows = PRESETS.get(cell, TANH)
    for smaller, larger in pairwise(rows):
        assert smaller.symbols < larger.symbols
        assert smaller.hidden * smaller.layers <= larger.hidden * larger.layers


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("symbols", CORPORA)
def test_gated_units_take_about_as_long_as_plain_ones(cell: str, symbols: int) -> None:
    assert products(cell, symbols) < 4 * products("tanh", symbols)


def test_the_plan_of_a_gated_cell_is_its_own() -> None:
    assert preset(200_000, "lstm").dropout > preset(200_000).dropout
    assert preset(200_000, "output") == preset(200_000)

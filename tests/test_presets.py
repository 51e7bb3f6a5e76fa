"""What suits a corpus: sizes that grow with it, and gated units that do not take much longer."""

from __future__ import annotations

from itertools import pairwise

import pytest

from charrnn.corpus.corpus import from_texts
from charrnn.network.architecture import Architecture
from charrnn.network.cells import CELLS
from charrnn.plan import (
    PRESETS,
    TANH,
    fit_pace,
    fit_settings,
    preset,
    preset_for_longer,
    usual_epochs,
)
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import TrainConfig

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


@pytest.mark.parametrize("minutes", [None, 0.5, 5, 20, 600])
@pytest.mark.parametrize("cell", CELLS)
def test_a_larger_corpus_has_no_smaller_a_network(cell: str, minutes: float | None) -> None:
    for smaller, larger in pairwise(CORPORA):
        few, many = preset(smaller, cell, minutes), preset(larger, cell, minutes)
        assert few.symbols < many.symbols
        assert few.hidden * few.layers <= many.hidden * many.layers


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("symbols", CORPORA)
def test_more_minutes_have_no_smaller_a_network(cell: str, symbols: int) -> None:
    rows = [row for row in PRESETS.get(cell, TANH) if row.symbols == preset(symbols, cell).symbols]
    assert rows[0].minutes == 0, "there is something for however few"
    for shorter, longer in pairwise(rows):
        assert shorter.minutes < longer.minutes
        assert shorter.hidden * shorter.layers <= longer.hidden * longer.layers
        assert preset(symbols, cell, longer.minutes) is longer
        assert preset(symbols, cell, longer.minutes - 0.01) is shorter


def test_sizes_suit_the_minutes_that_are_given() -> None:
    million = 1_000_000
    assert preset(million) == preset(million, minutes=1)
    assert preset(million, minutes=5).hidden > preset(million).hidden
    longer, shorter = (preset(million, "lstm", minutes) for minutes in (20, 5))
    assert longer.hidden > shorter.hidden
    assert longer.dropout > shorter.dropout


def test_plain_units_that_learn_for_long_learn_slowly() -> None:
    for symbols in (1_000_000, 20_000_000):
        assert preset(symbols, minutes=20).lr < preset(symbols, minutes=1).lr


def test_what_longer_would_choose_is_the_next_that_would_be_chosen() -> None:
    million = 1_000_000
    longer = preset_for_longer(TrainConfig(), million)
    assert longer is not None
    assert preset(million, minutes=longer.minutes) is longer
    assert longer != preset(million)
    assert preset_for_longer(TrainConfig(minutes=600), million) is None
    members = preset_for_longer(TrainConfig(minutes=64, members=64), million)
    assert members is longer, "each of them has its part of the minutes"


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("symbols", CORPORA)
def test_gated_units_take_about_as_long_as_plain_ones(cell: str, symbols: int) -> None:
    assert products(cell, symbols) < 4 * products("tanh", symbols)


def test_the_plan_of_a_gated_cell_is_its_own() -> None:
    assert preset(200_000, "lstm").dropout > preset(200_000).dropout
    assert preset(200_000, "output") == preset(200_000)


def test_a_warm_up_and_check_ups_suit_the_run_that_the_clock_ends() -> None:
    corpus = from_texts(["a line of some length"] * 2_000, CorpusConfig())
    asked = TrainConfig(minutes=0.5, hidden=4, layers=1, batch=10, bptt=10)
    guessed = fit_settings(asked, corpus)
    quick, slow = (fit_pace(guessed, asked, corpus, rate) for rate in (1e6, 2000.0))
    assert slow.warmup == int(2000 * 30 / 100) // 20 < quick.warmup == 200
    assert slow.check_every < quick.check_every
    asked = TrainConfig(**{**vars(asked), "warmup": 150, "check_every": 7})
    given = fit_pace(fit_settings(asked, corpus), asked, corpus, 2000.0)
    assert (given.warmup, given.check_every) == (150, 7)

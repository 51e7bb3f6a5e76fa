"""What suits a corpus: sizes, passes and dropout that change smoothly with text, time and cell."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from charrnn.corpus import Corpus, Examples, from_texts
from charrnn.network.cells import CELLS
from charrnn.plan import (
    FOREVER,
    LEAST_PASSES,
    SPEED,
    fit_network,
    fit_pace,
    fit_settings,
    rule_of,
    weights_of,
)
from charrnn.settings import CorpusConfig, Fitted, TrainConfig

CORPORA = (300, 2_000, 5_900, 15_000, 50_000, 200_000, 700_000, 1_000_000, 5_000_000, 20_000_000)
MINUTES = (0.1, 0.5, 2, 5, 20, 60, 600)
DROPPED = ("dropout", "dropconnect", "blank")
TWO_CELLS = ("tanh", "lstm")
GATED = ("gru", "lstm")


def corpus_of(symbols: int, period: int | None = None) -> Corpus:
    """Return a corpus of a single text with so many symbols to train on, random or periodic."""
    usual = from_texts(["abcdefgh"], CorpusConfig())
    held_out = np.random.default_rng(0).integers(2, 9, max(1, symbols // 9), np.uint8)
    train = np.zeros(symbols, np.uint8)  # takes next to no memory
    if period is not None:
        held_out, train = (np.resize(held_out[:period], len(ids)) for ids in (held_out, train))
    one, other = (Examples(ids, np.array([0, len(ids)])) for ids in (train, held_out))
    return Corpus(usual.vocabulary, one, other, "files", "", usual.held_out_codes)


def fitted(symbols: int, period: int | None = None, **given: Any) -> Fitted:
    return fit_settings(TrainConfig(**{"cores": 1, **given}), corpus_of(symbols, period))


def weights(config: Fitted) -> int:
    return weights_of(config.hidden, config.layers, config.cell)


def products(config: Fitted, symbols: int) -> int:
    """Return the multiplications of a whole run."""
    return weights(config) * symbols * config.epochs


def is_read_often(symbols: int, config: Fitted) -> bool:
    """Return whether a gated cell reads its text so often that it had better be larger."""
    asked = TrainConfig(cell=config.cell, minutes=config.minutes, cores=config.cores)
    return config.cell in GATED and fit_network(asked, symbols, 1.0, 9.0)["passes"] > 4


@pytest.mark.parametrize(
    ("symbols", "cell", "hidden", "epochs", "dropout", "lr"),
    [
        (15_025, "tanh", 160, 128, 0.3, 0.004),  # dinosaurs
        (205_000, "tanh", 256, 31, 0.22, 0.004),  # names.txt
        (1_003_854, "tanh", 392, 6, 0.0, 0.0035),  # tinyshakespeare.txt
        (205_000, "gru", 256, 22, 0.28, 0.004),
        (898_000, "gru", 376, 5, 0.09, 0.004),
        (1_003_854, "lstm", 312, 5, 0.05, 0.006),
    ],
)
def test_corpora_that_were_measured_keep_their_settings(
    symbols: int, cell: str, hidden: int, epochs: int, dropout: float, lr: float
) -> None:
    config = fitted(symbols, cell=cell)
    assert (config.hidden, config.layers, config.epochs) == (hidden, 2, epochs)
    assert (config.dropout, config.lr) == (dropout, lr)


@pytest.mark.parametrize("minutes", [None, 0.5, 5, 20])
@pytest.mark.parametrize("cell", TWO_CELLS)
@pytest.mark.parametrize("symbols", [30_000, 120_000, 600_000, 2_000_000, 8_000_000])
def test_nearly_equal_corpora_get_nearly_equal_settings(
    symbols: int, cell: str, minutes: float | None
) -> None:
    few, many = (fitted(round(s * symbols), cell=cell, minutes=minutes) for s in (0.99, 1.01))
    assert abs(many.hidden - few.hidden) <= max(16, 0.05 * few.hidden)
    for name in DROPPED:
        assert abs(getattr(many, name) - getattr(few, name)) <= 0.02


@pytest.mark.parametrize("cell", TWO_CELLS)
def test_corpora_on_both_sides_of_two_million_symbols_differ_little(cell: str) -> None:
    few, many = (fitted(symbols, cell=cell) for symbols in (1_900_000, 2_100_000))
    assert many.layers == few.layers
    assert many.dropout == pytest.approx(few.dropout, abs=0.02)
    for name in ("hidden", "lr"):
        assert getattr(many, name) == pytest.approx(getattr(few, name), rel=0.05)


@pytest.mark.parametrize("minutes", [None, *MINUTES])
@pytest.mark.parametrize("cell", CELLS)
def test_a_larger_corpus_has_no_smaller_a_network_unless_the_smaller_is_read_often(
    cell: str, minutes: float | None
) -> None:
    for smaller, larger in pairwise(sorted((*CORPORA, 900_000, 1_500_000))):
        few, many = (fitted(symbols, cell=cell, minutes=minutes) for symbols in (smaller, larger))
        least = 0.7 if is_read_often(smaller, few) else 1
        assert weights(many) >= least * weights(few)


@pytest.mark.parametrize("cell", GATED)
def test_a_gated_cell_with_enough_passes_is_larger_and_has_fewer(cell: str) -> None:
    plain = replace(rule_of(cell), often=math.inf)
    for symbols, minutes in itertools.product((600_000, 900_000, 1_100_000), (None, 5)):
        config = TrainConfig(cell=cell, minutes=minutes, cores=2)
        with pytest.MonkeyPatch.context() as patch:
            larger = fit_network(config, symbols, 1.0, 9.0)
            patch.setattr(f"charrnn.plan.{cell.upper()}", plain)
            usual = fit_network(config, symbols, 1.0, 9.0)
        assert larger["hidden"] > 1.05 * usual["hidden"]
        assert 4 < larger["passes"] < usual["passes"]


@pytest.mark.parametrize("minutes", [0.5, 1])
@pytest.mark.parametrize("cell", GATED)
def test_a_gated_cell_with_few_steps_is_no_larger(cell: str, minutes: float) -> None:
    for symbols in (900_000, 2_000_000):
        few, usual = (fitted(symbols, cell=cell, minutes=m, cores=2) for m in (minutes, None))
        assert weights(few) == pytest.approx(
            math.sqrt(60 * minutes * 2 * SPEED / rule_of(cell).readings), rel=0.1
        )
        assert weights(few) < weights(usual)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("symbols", CORPORA)
def test_more_minutes_have_no_smaller_a_network(cell: str, symbols: int) -> None:
    configs = [fitted(symbols, cell=cell, minutes=minutes) for minutes in MINUTES]
    for shorter, longer in pairwise(configs):
        assert weights(shorter) <= weights(longer)
        assert shorter.dropout <= longer.dropout, "weights read the text more often"


@pytest.mark.parametrize("minutes", [None, 2, 20])
@pytest.mark.parametrize("cell", TWO_CELLS)
@pytest.mark.parametrize("sizes", [{"hidden": 256, "layers": 2}, {"hidden": 64, "layers": 1}])
def test_more_text_has_no_more_dropout(
    sizes: dict[str, int], cell: str, minutes: float | None
) -> None:
    configs = [fitted(n, cell=cell, minutes=minutes, **sizes) for n in CORPORA[3:]]
    for smaller, larger in pairwise(configs):
        assert all(getattr(smaller, name) >= getattr(larger, name) for name in DROPPED)


@pytest.mark.parametrize("cell", TWO_CELLS)
@pytest.mark.parametrize("symbols", CORPORA)
def test_given_sizes_and_epochs_change_what_is_dropped(symbols: int, cell: str) -> None:
    usual = fitted(symbols, cell=cell)
    smaller = fitted(symbols, cell=cell, hidden=usual.hidden // 4)
    shorter = fitted(symbols, cell=cell, epochs=max(1, usual.epochs // 4))
    for other in (smaller, shorter):
        assert all(getattr(other, name) <= getattr(usual, name) for name in DROPPED)
    if usual.dropout and symbols > 10_000:
        assert max(smaller.dropout, shorter.dropout) < usual.dropout
    assert smaller.epochs == usual.epochs
    assert shorter.hidden == usual.hidden


@pytest.mark.parametrize("cell", GATED)
def test_gated_cells_that_read_a_long_text_often_need_dropconnect(cell: str) -> None:
    assert fitted(1_000_000, cell=cell).dropconnect == 0
    runs = [fitted(1_000_000, cell=cell, cores=2, minutes=minutes) for minutes in (10, 20, 40)]
    ten, twenty, forty = (run.dropconnect for run in runs)
    assert ten == 0 < twenty < forty < 0.2
    assert 0.03 <= fitted(1_000_000, cell=cell, hidden=384, epochs=19).dropconnect <= 0.1
    assert 0.14 <= fitted(90_000, cell=cell).dropconnect <= 0.22
    hidden = {"gru": 296, "lstm": 256}[cell]  # as many weights as 512 plain units
    twice = [fitted(1_000_000, cell=cell, hidden=hidden, epochs=n).dropconnect for n in (22, 30)]
    assert twice == [0, 0.03]
    assert fitted(1_000_000, hidden=512, epochs=30).dropconnect == 0, "plain units need none"


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
def test_held_out_text_that_counting_predicts_leaves_less_dropout(cell: str) -> None:
    new, known = (fitted(20_000, period=period, cell=cell) for period in (None, 50))
    assert known.dropout == pytest.approx(new.dropout / 2, abs=0.01)
    assert known.dropconnect < new.dropconnect
    same = {**vars(known), **{name: getattr(new, name) for name in DROPPED}}
    assert same == vars(new), "nothing else follows from the text"
    assert fitted(20_000, period=50, cell=cell, dropout=0.4).dropout == 0.4
    short = [fitted(8_000, period=period, cell=cell) for period in (None, 50)]
    assert short[0] == short[1], "the held-out text is too short to tell"


@pytest.mark.parametrize(("cell", "nats"), [("tanh", 1.5), ("gru", 1.5), ("lstm", 1.35)])
def test_dropout_falls_to_a_half_over_a_tenth_of_a_nat(cell: str, nats: float) -> None:
    def dropout(counting: float) -> float:
        chosen: float = fit_network(TrainConfig(cell=cell), 60_000, 1.0, counting)["dropout"]
        return chosen

    assert dropout(nats - 1) == dropout(nats) == pytest.approx(dropout(9) / 2, abs=0.006)
    assert dropout(nats + 0.1) == dropout(9)
    assert dropout(nats) < dropout(nats + 0.05) < dropout(9)


def test_megabytes_that_are_read_a_few_times_need_no_dropout() -> None:
    novel = 2_340_000
    assert fitted(novel, minutes=5).dropout == 0
    assert fitted(novel, minutes=8, hidden=273, layers=1).dropout == 0
    assert fitted(novel, epochs=200).dropout > 0.1


def test_gated_cells_that_read_a_megabyte_some_times_need_a_little_dropout() -> None:
    for cell in GATED:
        assert 0.04 <= fitted(900_000, cell=cell).dropout <= 0.12
        assert fitted(3_600_000, cell=cell).dropout == 0
    assert fitted(900_000).dropout == 0


def test_more_minutes_than_a_corpus_needs_are_not_used() -> None:
    enough, more = (fitted(15_000, minutes=minutes) for minutes in (60, 600))
    assert enough.epochs == more.epochs == 128
    assert fitted(2_340_000, minutes=5).epochs == FOREVER
    assert fitted(15_000, minutes=60, epochs=7).epochs == 7


def test_more_minutes_after_a_start_are_no_shorter_run() -> None:
    shares = LEAST_PASSES, 0.5, 1.0
    for symbols, share, cell in itertools.product((500, 3_000, 9_000), shares, ("tanh", *GATED)):
        found = []
        for minutes in MINUTES:
            asked = TrainConfig(cell=cell, minutes=minutes, hidden=48)
            one, alone = (fit_network(asked, symbols, part, 9.0) for part in (share, 1.0))
            if one["epochs"] == FOREVER:
                assert one["passes"] == alone["passes"], "both go on for all these minutes"
            found.append(one["passes"])
        assert found == sorted(found)


def test_what_a_larger_batch_costs_in_steps_is_made_up_for_by_the_rate() -> None:
    for cell in ("tanh", *GATED):
        assert fitted(9_000, cell=cell, batch=256).lr > 1.5 * fitted(9_000, cell=cell).lr
        for batch in (4, 8, 16, 64, 256):
            sizes = [250 * 1.03**n for n in range(300)]
            rates = [
                fit_network(TrainConfig(cell=cell, batch=batch), int(n), 1.0, 9.0)["lr"]
                for n in sizes
            ]
            assert all(0.7 < one / other < 1.4 for one, other in pairwise(rates)), "no jumps"


def test_windows_of_whole_examples_have_the_rate_of_their_length() -> None:
    whole, typed = (fitted(9_000, bptt=bptt) for bptt in (0, 9_000))
    assert whole == typed


def test_tanh_units_take_smaller_steps_in_small_batches() -> None:
    for symbols in (2_000, 9_000, 20_000):
        rates = [fitted(symbols, batch=batch).lr for batch in (1, 4, fitted(symbols).batch)]
        assert rates[0] < 0.6 * rates[1] < 0.5 * rates[2]
    assert fitted(9_000, cell="lstm", batch=1).lr == rule_of("lstm").lr


def test_inputs_are_left_whole_where_weights_are() -> None:
    assert fitted(9_000, cell="lstm").blank > 0
    assert fitted(9_000, cell="lstm", dropconnect=0.0).blank == 0


def test_tanh_units_that_learn_for_long_learn_slowly() -> None:
    for symbols in (1_000_000, 20_000_000):
        assert fitted(symbols, minutes=60).lr < fitted(symbols, minutes=1).lr


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
def test_a_run_of_few_large_steps_takes_larger_ones(cell: str) -> None:
    book = 3_600_000
    rates = [fitted(book, cell=cell, minutes=minutes).lr for minutes in MINUTES]
    assert all(longer <= shorter for shorter, longer in pairwise(rates))
    assert rates[0] > 0.015
    assert rates[-1] <= (0.006 if cell == "lstm" else 0.004)
    assert fitted(book, cell=cell, minutes=0.5, lr=0.004).lr == 0.004


def test_a_narrow_gated_network_takes_larger_steps() -> None:
    for cell in GATED:
        rates = [fitted(4_000, cell=cell, hidden=hidden).lr for hidden in (24, 48, 96)]
        assert rates == sorted(rates, reverse=True)
        assert 0.005 < fitted(4_000, cell=cell).lr < 0.015
        assert fitted(4_000, cell=cell, hidden=400).lr == {"gru": 0.004, "lstm": 0.006}[cell]
    for few in CORPORA[:5]:  # small steps of plain units diverge
        assert fitted(few).lr == 0.004


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
def test_minutes_that_cut_a_run_short_leave_less_dropout(cell: str) -> None:
    cut, longer = (fitted(18_000, cell=cell, minutes=minutes) for minutes in (0.03, 0.1))
    whole = fitted(18_000, cell=cell, epochs=5)
    assert cut.dropout < 0.5 * longer.dropout
    assert 0 < whole.dropout - longer.dropout < 0.2
    assert fitted(18_000, cell=cell, minutes=60).dropout == fitted(18_000, cell=cell).dropout


def test_the_time_of_small_steps_is_not_that_of_their_products() -> None:
    fast, slow = (fitted(18_000, cell="lstm", minutes=0.1, cores=n) for n in (64, 1))
    assert fast.hidden == fitted(18_000, cell="lstm").hidden
    assert fast.epochs == slow.epochs == FOREVER, "threads do not share the calls of a step"


@pytest.mark.parametrize("cell", GATED)
@pytest.mark.parametrize("symbols", CORPORA)
def test_gated_units_take_about_as_long_as_plain_ones(cell: str, symbols: int) -> None:
    plain, gated = fitted(symbols), fitted(symbols, cell=cell)
    assert products(gated, symbols) < 4 * products(plain, symbols)


def test_the_plan_of_a_gated_cell_is_its_own() -> None:
    assert fitted(200_000, cell="lstm").dropout > fitted(200_000).dropout
    output, plain = fitted(200_000, cell="output"), fitted(200_000, layers=1)
    assert (output.hidden, output.layers, output.dropout) == (plain.hidden, 1, plain.dropout)


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

"""What suits a corpus: sizes, passes and dropout that change smoothly with text, time and cell."""

import math
import tracemalloc
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.network.cells import CELLS
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.text.corpus import Corpus, Examples, corpus_of
from charrnn.text.vocabulary import END
from charrnn.training.automatic_settings import (
    FOREVER,
    fit_pace,
    fit_settings,
    usual_shards,
    weights_of,
)
from charrnn.training.loop import train
from charrnn.training.plan import memory_bytes
from charrnn.training.state import initial_state
from tests.program import WORDS

CORPORA = (300, 2_000, 5_900, 15_000, 50_000, 200_000, 700_000, 1_000_000, 5_000_000, 20_000_000)
MINUTES = (0.1, 0.5, 2, 5, 20, 60, 600)
DROPPED = ("dropout", "dropconnect", "blank")
GATED = ("gru", "lstm")
USUAL = corpus_of(["abcdefgh"], CorpusConfig())


def corpus_with(symbols: int, period: int | None = None) -> Corpus:
    """Return a corpus of a single text with so many symbols to train on.

    Without a period the held-out text is too short to tell how well counting predicts it.
    """
    held_out = np.full(900, 2, np.uint8)
    train = np.full(symbols, 2, np.uint8)
    if period is not None:
        letters = np.random.default_rng(0).integers(2, 9, symbols, np.uint8)
        held_out, train = (np.resize(letters[:period], size) for size in (symbols // 9, symbols))
    train[-1] = held_out[-1] = END
    shards = Examples(train), Examples(held_out)
    return Corpus(USUAL.vocabulary, *shards, "files", "", USUAL.held_out_codes)


def fitted(symbols: int, period: int | None = None, **given: Any) -> Fitted:
    return fit_settings(TrainConfig(**{"cores": 1, **given}), corpus_with(symbols, period))


def dropped_share(config: Fitted) -> float:
    return config.dropout + config.dropconnect


def weights(config: Fitted) -> int:
    return weights_of(config.hidden, config.layers, config.cell)


@pytest.mark.parametrize(
    ("symbols", "cell", "hidden", "epochs", "dropout", "lr"),
    [
        (15_025, "tanh", 160, 128, 0.3, 0.004),  # dinosaurs
        (205_000, "tanh", 256, 31, 0.06, 0.004),  # names.txt
        (1_003_854, "tanh", 392, 6, 0.0, 0.0035),  # tinyshakespeare.txt
        (205_000, "gru", 256, 22, 0.3, 0.006),
        (898_000, "gru", 376, 5, 0.07, 0.006),
        (1_003_854, "lstm", 312, 5, 0.04, 0.006),
    ],
)
def test_corpora_that_were_measured_keep_their_settings(
    symbols: int, cell: str, hidden: int, epochs: int, dropout: float, lr: float
) -> None:
    config = fitted(symbols, cell=cell)
    assert (config.hidden, config.layers, config.epochs) == (hidden, 2, epochs)
    assert (config.dropout, config.lr) == (dropout, lr)


def test_fault_2_nothing_is_larger_than_the_corpus_can_fill() -> None:
    for symbols in (2, 30, 300):
        config = fitted(symbols, batch=64, bptt=200)
        assert config.batch * config.bptt <= symbols


@pytest.mark.parametrize("minutes", [None, 0.5, 5, 20])
@pytest.mark.parametrize("cell", ["tanh", "lstm"])
def test_nearly_equal_corpora_get_nearly_equal_settings(cell: str, minutes: float | None) -> None:
    for symbols in (30_000, 120_000, 600_000, 2_000_000, 8_000_000):
        few, many = (fitted(round(s * symbols), cell=cell, minutes=minutes) for s in (0.99, 1.01))
        assert abs(many.hidden - few.hidden) <= max(16, 0.05 * few.hidden)
        assert many.lr == pytest.approx(few.lr, rel=0.1)
        for name in DROPPED:
            assert abs(getattr(many, name) - getattr(few, name)) <= 0.02


@pytest.mark.parametrize("cell", CELLS)
def test_more_text_and_more_minutes_have_larger_networks(cell: str) -> None:
    for minutes in (None, *MINUTES):
        sizes = [weights(fitted(n, cell=cell, minutes=minutes)) for n in CORPORA]
        # a gated cell that reads its text often had better be larger
        assert all(many >= (0.65 if cell in GATED else 1) * few for few, many in pairwise(sizes))
    for symbols in CORPORA:
        configs = [fitted(symbols, cell=cell, minutes=minutes) for minutes in MINUTES]
        for shorter, longer in pairwise(configs):
            assert weights(shorter) <= weights(longer)
            assert shorter.dropout <= longer.dropout  # weights read the text more often


@pytest.mark.parametrize("cell", ["tanh", "lstm"])
@pytest.mark.parametrize("sizes", [{"hidden": 256, "layers": 2}, {"hidden": 64, "layers": 1}])
def test_more_text_has_no_more_dropout(sizes: dict[str, int], cell: str) -> None:
    for minutes in (None, 2, 20):
        configs = [fitted(n, cell=cell, minutes=minutes, **sizes) for n in CORPORA[3:]]
        for smaller, larger in pairwise(configs):
            assert all(getattr(smaller, name) >= getattr(larger, name) for name in DROPPED)


@pytest.mark.parametrize("cell", ["tanh", "lstm"])
@pytest.mark.parametrize("symbols", CORPORA)
def test_given_sizes_and_epochs_change_what_is_dropped(symbols: int, cell: str) -> None:
    usual = fitted(symbols, cell=cell)
    smaller = fitted(symbols, cell=cell, hidden=usual.hidden // 4)
    shorter = fitted(symbols, cell=cell, epochs=max(1, usual.epochs // 4))
    for other in (smaller, shorter):
        assert all(getattr(other, name) <= getattr(usual, name) for name in DROPPED)
    if usual.dropout and symbols > 2_000:
        assert max(map(dropped_share, (smaller, shorter))) < dropped_share(usual)
    assert smaller.epochs == usual.epochs
    assert shorter.hidden == usual.hidden


@pytest.mark.parametrize("cell", GATED)
def test_gated_cells_that_read_a_long_text_often_need_dropconnect(cell: str) -> None:
    assert fitted(1_000_000, cell=cell).dropconnect == 0
    runs = [fitted(1_000_000, cell=cell, cores=2, minutes=minutes) for minutes in (10, 20, 40)]
    ten, twenty, forty = (run.dropconnect for run in runs)
    assert ten == 0 < twenty < forty < 0.2
    assert 0.14 <= fitted(90_000, cell=cell).dropconnect <= 0.22
    assert fitted(1_000_000, hidden=512, epochs=30).dropconnect == 0, "plain units need none"
    assert fitted(9_000, cell=cell).blank > 0
    assert fitted(9_000, cell=cell, dropconnect=0.0).blank == 0
    assert 0.04 <= fitted(900_000, cell=cell).dropout <= 0.12
    assert fitted(3_600_000, cell=cell).dropout == 0


@pytest.mark.parametrize("cell", ["tanh", *GATED])
def test_held_out_text_that_counting_predicts_leaves_less_dropout(cell: str) -> None:
    new, known = (fitted(20_000, period=period, cell=cell) for period in (None, 50))
    assert known.dropout == pytest.approx((0.5 if cell in GATED else 0.75) * new.dropout, abs=0.01)
    assert known.dropconnect < new.dropconnect
    for name in ("hidden", "layers", "epochs", "lr", "batch", "bptt"):
        assert getattr(known, name) == getattr(new, name), "nothing else follows from the text"
    assert fitted(20_000, period=50, cell=cell, dropout=0.4).dropout == 0.4


def test_minutes_end_a_run_that_would_take_longer() -> None:
    enough, more = (fitted(15_000, minutes=minutes) for minutes in (60, 600))
    assert enough.epochs == more.epochs == 128
    assert fitted(2_340_000, minutes=5).epochs == FOREVER
    assert fitted(15_000, minutes=60, epochs=7).epochs == 7
    assert fitted(2_340_000, minutes=5).dropout == 0
    assert fitted(2_340_000, epochs=200).dropout > 0.1
    for cell in ("tanh", *GATED):
        cut, longer = (fitted(18_000, cell=cell, minutes=minutes) for minutes in (0.03, 0.1))
        assert cut.dropout < 0.5 * longer.dropout
        assert fitted(18_000, cell=cell, minutes=60).dropout == fitted(18_000, cell=cell).dropout


def test_the_rate_suits_the_batch_the_windows_and_the_steps() -> None:
    assert fitted(9_000, bptt=0) == fitted(9_000, bptt=9_000)  # windows of whole examples
    for cell in ("tanh", *GATED):
        assert fitted(9_000, cell=cell, batch=256).lr > 1.5 * fitted(9_000, cell=cell).lr
        for batch in (4, 64, 256):
            sizes = [int(250 * 1.1**n) for n in range(90)]
            rates = [fitted(n, cell=cell, batch=batch).lr for n in sizes]
            assert all(0.6 < one / other < 1.6 for one, other in pairwise(rates)), "no jumps"
        few = [fitted(3_600_000, cell=cell, minutes=minutes).lr for minutes in MINUTES]
        assert few == sorted(few, reverse=True)  # few steps are large ones
        assert few[0] > 0.015
        assert few[-1] <= (0.006 if cell in GATED else 0.004)
        assert fitted(3_600_000, cell=cell, minutes=0.5, lr=0.004).lr == 0.004
    rates = [fitted(9_000, batch=batch).lr for batch in (1, 4, fitted(9_000).batch)]
    assert rates[0] < 0.6 * rates[1] < 0.5 * rates[2]


def test_weights_shrink_about_as_much_in_a_long_run() -> None:
    usual, long = fitted(200_000), fitted(200_000, epochs=300)
    steps = 300 * 200_000 / (long.batch * long.bptt)
    assert (usual.weight_decay, fitted(2_000).weight_decay) == (0.1, 0.1)
    assert long.weight_decay * long.lr * steps == pytest.approx(1.5, rel=0.05)
    assert fitted(200_000, optimizer="sgd").weight_decay == 0
    assert fitted(200_000, weight_decay=0).weight_decay == 0
    assert fitted(200_000, lr=1.0).weight_decay < 0.001


def test_gated_units_take_about_as_long_as_plain_ones() -> None:
    for cell, symbols in product(GATED, CORPORA):
        plain, gated = fitted(symbols), fitted(symbols, cell=cell)
        assert weights(gated) * gated.epochs < 4 * weights(plain) * plain.epochs
    output, plain = fitted(200_000, cell="output"), fitted(200_000, layers=1)
    assert (output.hidden, output.layers, output.dropout) == (plain.hidden, 1, plain.dropout)


def test_a_warm_up_and_check_ups_suit_the_run_that_the_clock_ends() -> None:
    corpus = corpus_of(["a line of some length"] * 2_000, CorpusConfig())
    asked = TrainConfig(minutes=0.5, hidden=4, layers=1, batch=10, bptt=10)
    guessed = fit_settings(asked, corpus)
    quick, slow = (
        fit_pace(guessed, asked, len(corpus.held_out.ids), rate) for rate in (1e6, 2000.0)
    )
    assert slow.warmup == int(2000 * 30 / 100) // 20 < quick.warmup == 200
    assert slow.check_every < quick.check_every
    asked = TrainConfig(**{**vars(asked), "warmup": 150, "check_every": 7})
    given = fit_pace(fit_settings(asked, corpus), asked, len(corpus.held_out.ids), 2000.0)
    assert (given.warmup, given.check_every) == (150, 7)


@pytest.mark.parametrize("cell", ["tanh", *GATED])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_plan_knows_the_memory_of_a_window(cell: str, layers: int) -> None:
    corpus = corpus_of(WORDS * 160, CorpusConfig())
    settings = charrnn.TrainConfig(cell=cell, hidden=64, layers=layers, dropout=0.1, cores=1)
    base = fit_settings(settings, corpus)
    planned, taken = [], []
    for config in (replace(base, batch=32, bptt=200), replace(base, batch=16, bptt=100)):
        planned.append(memory_bytes(config, corpus))
        tracemalloc.start()
        run = train(initial_state(corpus, config), corpus, config)
        next(run)
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert planned[0] - planned[1] == pytest.approx(taken[0] - taken[1], rel=0.15)
    assert math.isfinite(planned[0])


@pytest.mark.parametrize(
    ("products", "lanes", "cores", "shards"),
    [
        (2e7, 32, None, 2),
        (1e7, 48, 1, 1),
        (2e7, 8, 2, 2),
        (2e7, 4, 2, 1),
        (9, 32, 3, 3),
        (9, 20, 8, 2),
    ],
)
def test_parts_follow_from_work(
    products: float, lanes: int, cores: int | None, shards: int
) -> None:
    assert usual_shards(products, lanes, cores) == shards


def test_gates_and_layers_count_as_work() -> None:
    sizes = {"hidden": 64, "batch": 32, "bptt": 32}
    shapes = ("tanh", 1), ("tanh", 2), ("lstm", 1)
    shards = [fitted(15_000, cell=cell, layers=layers, **sizes).shards for cell, layers in shapes]
    assert shards == [1, 2, 2]


def test_the_rate_of_the_book_grows_with_the_text() -> None:
    rates = [fitted(symbols, book=True).lr for symbols in (300, 15_000, 120_000, 10**6, 10**7)]
    assert rates == [0.2, 0.2, 0.4, 0.8, 0.8]
    assert fitted(300, book=True, optimizer="adam").lr < 0.05

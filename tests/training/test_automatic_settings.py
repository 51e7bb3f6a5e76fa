"""What suits a corpus: sizes, passes and dropout that change smoothly with text, time and cell."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.network.cells import CELLS
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.text.corpus import Corpus, Examples, corpus_of
from charrnn.text.vocabulary import END
from charrnn.training.automatic_settings import FOREVER, fit_pace, fit_settings, weights_of
from charrnn.training.loop import Learner
from charrnn.training.plan import memory_bytes
from charrnn.training.state import initial_state
from tests.networks import peak_bytes
from tests.program import WORDS

CORPORA = (300, 2_000, 5_900, 15_000, 50_000, 200_000, 700_000, 1_000_000, 5_000_000, 20_000_000)
MINUTES = (0.1, 0.5, 2, 5, 20, 60, 600)
DROPPED = ("dropout", "dropconnect", "blank")
GATED = ("gru", "lstm")
USUAL = corpus_of(["abcdefgh"], CorpusConfig())


def corpus_with(symbols: int, period: int | None = None) -> Corpus:
    """Return a text of so many symbols; without a period too few to judge counting are held out."""
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


def weights(config: Fitted) -> int:
    return weights_of(config.hidden, config.layers, config.cell)


# symbols, cell, what else is typed; hidden, layers, epochs, batch, bptt, shards; lr and noise
USUAL_SETTINGS: list[tuple[int, str, dict[str, Any], Sequence[float], Sequence[float]]] = [
    (300, "tanh", {}, (64, 2, 443, 8, 16, 1), (0.004, 0.1, 0.3, 0.4, 0.02)),
    (4_000, "tanh", {}, (64, 2, 140, 8, 16, 1), (0.004, 0.086, 0.3, 0.35, 0.02)),
    (15_025, "tanh", {}, (160, 2, 128, 32, 16, 2), (0.004, 0.1, 0.3, 0.4, 0.02)),  # dinosaurs
    (205_000, "tanh", {}, (256, 2, 31, 64, 32, 2), (0.004, 0.1, 0.06, 0.0, 0.0)),  # names.txt
    (1_003_854, "tanh", {}, (392, 2, 6, 32, 64, 2), (0.0035, 0.1, 0.0, 0.0, 0.0)),  # plays.txt
    (9_000, "gru", {}, (88, 2, 52, 16, 16, 2), (0.006, 0.08, 0.3, 0.35, 0.02)),
    (90_000, "lstm", {}, (160, 2, 26, 16, 32, 2), (0.006, 0.087, 0.3, 0.18, 0.01)),
    (1_003_854, "lstm", {}, (312, 2, 5, 32, 64, 2), (0.006, 0.1, 0.04, 0.0, 0.0)),
    (3_600_000, "lstm", {}, (312, 2, 3, 64, 64, 2), (0.006, 0.1, 0.0, 0.0, 0.0)),
    (18_000, "tanh", {"minutes": 0.03}, (112, 2, FOREVER, 32, 16, 2), (0.015, 0.1, 0.02, 0.0, 0.0)),
    (900, "gru", {"minutes": 1e-3, "layers": 64}, (8, 64, FOREVER, 4, 16, 1), (0.02, 0.1, 0, 0, 0)),
    (2_340_000, "tanh", {"minutes": 4}, (368, 2, FOREVER, 64, 64, 2), (0.0043, 0.1, 0.0, 0.0, 0.0)),
    (10**6, "gru", {"minutes": 80}, (384, 2, 20, 32, 64, 2), (0.006, 0.026, 0.28, 0.05, 0.0)),
    (20_000, "tanh", {"period": 50}, (160, 2, 108, 32, 16, 2), (0.004, 0.089, 0.22, 0.26, 0.01)),
    (20_000, "lstm", {"period": 50}, (128, 2, 43, 16, 16, 2), (0.006, 0.086, 0.15, 0.18, 0.01)),
    (200_000, "tanh", {"epochs": 300}, (256, 2, 300, 64, 32, 2), (0.0014, 0.037, 0.27, 0.3, 0.01)),
    (200_000, "tanh", {"optimizer": "sgd"}, (256, 2, 31, 64, 32, 2), (0.004, 0.0, 0.06, 0.0, 0.0)),
    (9_000, "tanh", {"batch": 256}, (112, 2, 133, 256, 16, 2), (0.02, 0.1, 0.3, 0.39, 0.02)),
    (9_000, "gru", {"batch": 1}, (88, 2, 52, 1, 16, 1), (0.006, 0.0085, 0.3, 0.35, 0.02)),
    (200_000, "output", {}, (256, 1, 31, 64, 32, 2), (0.004, 0.1, 0.0, 0.0, 0.0)),
    (200_000, "tanh", {"batch": 8}, (256, 2, 31, 8, 32, 2), (0.0028, 0.022, 0.06, 0.0, 0.0)),
    (120_000, "tanh", {"book": True}, (208, 1, 40, 64, 32, 2), (0.4, 0.0, 0.0, 0.0, 0.0)),
    (10_000_000, "tanh", {"book": True}, (808, 1, 1, 64, 64, 2), (0.8, 0.0, 0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize(("symbols", "cell", "given", "size", "noise"), USUAL_SETTINGS)
def test_corpora_that_were_measured_and_others_keep_their_settings(
    symbols: int, cell: str, given: dict[str, Any], size: Sequence[float], noise: Sequence[float]
) -> None:
    c = fitted(symbols, cell=cell, **given)
    assert (c.hidden, c.layers, c.epochs, c.batch, c.bptt, c.shards) == size
    assert (c.lr, c.weight_decay, c.dropout, c.dropconnect, c.blank) == noise


def test_cores_that_are_typed_are_the_shards_as_far_as_lanes_reach() -> None:
    shards = [fitted(200_000, cores=cores, batch=64).shards for cores in (1, 2, 3, 4, 99)]
    assert shards[2:4] == [3, 4]
    assert shards[0] == shards[1] == 2
    assert 4 < shards[4] < 99


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


def test_the_rate_suits_the_batch_the_windows_and_the_steps() -> None:
    whole, long = (fitted(9_000, bptt=bptt, free_running=2) for bptt in (0, 9_000))
    assert whole == long  # windows of whole examples
    for cell in ("tanh", *GATED):
        for batch in (4, 64, 256):
            sizes = [int(250 * 1.1**n) for n in range(90)]
            rates = [fitted(n, cell=cell, batch=batch).lr for n in sizes]
            assert all(0.6 < one / other < 1.6 for one, other in pairwise(rates)), "no jumps"
        few = [fitted(3_600_000, cell=cell, minutes=minutes).lr for minutes in MINUTES]
        assert few == sorted(few, reverse=True)  # few steps are large ones


def test_a_warm_up_and_check_ups_suit_the_run_that_the_clock_ends() -> None:
    corpus = corpus_of(["a line of some length"] * 2_000, CorpusConfig())
    asked = TrainConfig(minutes=0.5, hidden=4, layers=1, batch=10, bptt=10)
    guessed, held_out = fit_settings(asked, corpus), len(corpus.held_out.ids)
    quick, slow = (fit_pace(guessed, asked, held_out, rate) for rate in (1e6, 2000.0))
    assert slow.warmup == int(2000 * 30 / 100) // 20 < quick.warmup == 200
    assert slow.check_every < quick.check_every
    asked = TrainConfig(**{**vars(asked), "warmup": 150, "check_every": 7})
    given = fit_pace(fit_settings(asked, corpus), asked, held_out, 2000.0)
    assert (given.warmup, given.check_every) == (150, 7)


@pytest.mark.parametrize("cell", ["tanh", *GATED])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_plan_knows_the_memory_of_a_window(cell: str, layers: int) -> None:
    corpus = corpus_of(WORDS * 160, CorpusConfig())
    settings = charrnn.TrainConfig(cell=cell, hidden=64, layers=layers, dropout=0.1, cores=1)
    base = fit_settings(settings, corpus)

    def first_step(config: Fitted) -> None:
        next(Learner(initial_state(corpus, config), corpus, config).events())

    configs = (replace(base, batch=32, bptt=200), replace(base, batch=16, bptt=100))
    large, small = (memory_bytes(config, corpus) for config in configs)
    most, least = (peak_bytes(partial(first_step, config)) for config in configs)
    assert large - small == pytest.approx(most - least, rel=0.15)

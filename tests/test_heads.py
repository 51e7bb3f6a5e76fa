"""A length that is drawn before the first character: what it is a model of, how it is drawn."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.network.architecture import Architecture
from charrnn.network.heads import PARTS, Lengths
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.predictor import Predictor
from charrnn.scorer import score_ids
from charrnn.vocabulary import END, Vocabulary
from tests.networks import score_texts
from tests.program import Program, seldom
from tests.test_unfolded import assert_gradient_is_right, counted, loss_of, masks, state, window

DINOSAURS = Path(__file__).parents[1] / "data" / "dinosaurs.txt"
LONGEST = 40  # of the lengths to start from


def network(symbols: int = 7, cell: str = "tanh", layers: int = 1) -> Parameters:
    """A small network in float64 whose every number matters."""
    rng = np.random.default_rng(0)
    size = Architecture(symbols, 5, layers, cell, "length")
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    Lengths.begin(p, rng.integers(0, LONGEST, 50))
    return p


def model(characters: str = "abcd", novelty: float = 0.01) -> LanguageModel:
    p = network(len(characters) + 2)
    p["tau.place"][...] = np.log(np.linspace(0.5, 5, len(p["tau.place"])))
    return LanguageModel(p, Vocabulary(characters, novelty))


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("dropout", [True, False])
def test_its_gradient_is_what_central_differences_say(
    cell: str, resets: bool, dropout: bool
) -> None:
    p = network(cell=cell, layers=2)
    w = counted(window(resets=resets, idle=True))
    assert_gradient_is_right(p, w, state(p), masks(p) if dropout else None)
    gradient = p.like()
    loss_of(p, w, state(p), None, gradient)
    assert not gradient["V"][END].any()  # which is never said


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30), st.integers(0, 100))
def test_lengths_of_any_corpus_add_up_to_1(lengths: list[int], seed: int) -> None:
    p = network()
    Lengths.begin(p, np.array(lengths))
    p["tau.share"][...] = np.random.default_rng(seed).standard_normal(PARTS)
    stop = 3000
    counted_up = np.exp(-Lengths.nats(p, np.arange(stop))).sum()
    beyond = math.exp(Lengths.log_at_least(p, np.array([float(stop)]))[0])
    assert counted_up + beyond == pytest.approx(1, rel=1e-9)


def test_the_end_costs_what_the_length_costs() -> None:
    one = model()
    for text in ("", "a", "abcab"):
        score = score_texts(one, [text])
        length = Lengths.nats(one.parameters, np.array([len(text)]))[0]
        assert score.nats_of_ends == pytest.approx(length, abs=1e-10)


@pytest.mark.parametrize("ends", [seldom("symbol"), "halt", "length"])
def test_the_drawn_lengths_match_the_corpus(ends: str) -> None:
    """Two samples of one distribution are farther apart than this once in a million times."""
    names = DINOSAURS.read_text(encoding="utf-8").split()
    nothing_hidden: dict[str, Any] = {"dropout": 0.0, "dropconnect": 0.0, "blank": 0.0}
    config = charrnn.TrainConfig(
        ends=ends, hidden=48, layers=1, epochs=16, lr=0.005, **nothing_hidden
    )
    drawn = charrnn.fit(names, config).sample(2000, seed=0)
    ours, theirs = (np.sort([len(text) for text in some]) for some in (drawn, names))
    every = np.arange(60)
    apart = np.abs(
        ours.searchsorted(every, "right") / len(ours)
        - theirs.searchsorted(every, "right") / len(theirs)
    ).max()
    assert apart < 2.7 * math.sqrt(1 / len(ours) + 1 / len(theirs))  # Kolmogorov and Smirnov


def test_it_learns_how_near_the_end_is() -> None:
    """Only what is left tells when the last letter comes."""
    rng = np.random.default_rng(0)
    texts = ["a" * int(rng.integers(0, 12)) + "z" for _ in range(300)]
    config = charrnn.TrainConfig(ends="length", hidden=12, layers=1, epochs=40, lr=0.02)
    found = charrnn.fit(texts, config)
    score = found.score(["aaaaz", "z", "aaaaaaaaaz"])
    assert score.without_end.nats_per_character < 0.1
    assert score.nats - score.without_end.nats == pytest.approx(3 * math.log(12), abs=0.8)


def test_the_rank_of_an_end_counts_likelier_lengths() -> None:
    one = model()
    costs = Lengths.nats(one.parameters, np.arange(50))
    _, ranks = score_ids(Predictor([one]), np.array([2, 3, 2, END, END], np.uint8), ranking=True)
    assert ranks is not None
    assert ranks[3] == 1 + np.count_nonzero(costs < costs[3])
    assert ranks[4] == 1 + np.count_nonzero(costs < costs[0])


def test_the_commands_take_it(program: Program) -> None:
    program.train("names.txt", "--ends", "length")
    program.run("train", "--resume", "--epochs", "3").says()
    assert "--ends length" in program.run("info").out
    prime = ("sample", "--prime", "an", "--seed", "1")
    drawn = program.run(*prime, "-n", "5", "--json", "--max-chars", "300")
    for row in map(json.loads, drawn.out.splitlines()):
        program.write("drawn.txt", row["text"] + "\n")
        if row["ended"] == "end":
            found = program.run("eval", "drawn.txt", "--json").json
            assert found["nats"] == pytest.approx(row["nats"], rel=1e-4)
    program.run("eval", "--held-out").says()
    program.run("eval", "names.txt", "--per-example").says()
    program.run("embed", "names.txt", "-o", "names.npy").says()
    program.run("reach", "names.txt").says()
    program.run("export", "slim.npz").says()
    alike = [program.run("sample", "--seed", "1", "-m", m).out for m in ("model.npz", "slim.npz")]
    assert alike[0] == alike[1]
    program.refuses("fill", "an__", what="length", hint="halt", status=2)

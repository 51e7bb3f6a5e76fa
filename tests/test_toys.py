"""A cell and a head of a test, each known by one line, go through all the ordinary code."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.network.architecture import Architecture
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS
from charrnn.network.parameters import LanguageModel, initial
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import Vocabulary
from tests.program import Program
from tests.test_gradients import assert_gradient_is_right, state, window
from tests.toys import CHANCE

NAMES = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna", "ida", "jo"] * 4
KINDS = [("leaky", "symbol"), ("tanh", "fixed"), ("leaky", "fixed")]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two lines that make them known."""
    monkeypatch.setitem(CELLS, "leaky", "tests.toys:LEAKY")
    monkeypatch.setitem(HEADS, "fixed", "tests.toys:FIXED")


@pytest.mark.parametrize(("cell", "head"), KINDS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("resets", [True, False], ids=["resets", "carried"])
def test_its_gradient_is_what_central_differences_say(
    cell: str, head: str, layers: int, resets: bool
) -> None:
    size = Architecture(7, 5, layers, cell, head)
    rng = np.random.default_rng(0)
    p = initial(size, np.log(np.full(7, 1 / 7)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    assert_gradient_is_right(p, window(resets=resets), state(p), None)


@pytest.mark.parametrize(("cell", "head"), KINDS)
def test_a_run_that_was_stopped_ends_in_the_bytes_of_one_that_was_not(
    tmp_path: Path, cell: str, head: str
) -> None:
    config = charrnn.TrainConfig(
        cell=cell, ends=head, hidden=6, layers=2, batch=3, bptt=5, epochs=3, check_every=7
    )
    whole = charrnn.train(NAMES, config)
    events = sum(1 for _ in whole)
    whole.save(tmp_path / "whole.npz")
    part = charrnn.train(NAMES, config)
    for stop in (1, events // 2, events):  # stopped and gone on with twice
        for _ in zip(range(stop), part, strict=False):
            pass
        part.save(tmp_path / "parts.npz")
        part = charrnn.resume(tmp_path / "parts.npz", NAMES)
    assert (tmp_path / "parts.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


@pytest.mark.parametrize(("cell", "head"), KINDS)
def test_the_ordinary_commands_train_show_sample_and_score_it(
    program: Program, cell: str, head: str
) -> None:
    small = ("--hidden", "6", "--layers", "2", "--epochs", "2", "-q")
    assert program.run("train", "names.txt", "--cell", cell, "--ends", head, *small).status == 0
    assert program.run("train", "--resume", "--epochs", "3", "-q").status == 0
    settings = program.run("info", "--json").json["settings"]
    assert (settings["cell"], settings["ends"]) == (cell, head)
    assert f"--cell {cell}" in program.run("info").out or cell == "tanh"
    assert f"--ends {head}" in program.run("info").out or head == "symbol"
    one = program.run("sample", "--seed", "5", "--json", "--max-chars", "30").json
    many = program.run("sample", "--seed", "5", "--json", "--max-chars", "30", "-n", "200").out
    first = json.loads(many.splitlines()[0])
    assert first == one
    assert first["ended"] == "end"
    program.write("drawn.txt", first["text"] + "\n")
    assert program.run("eval", "drawn.txt", "--json").json["nats"] == pytest.approx(first["nats"])
    held_out = program.run("info", "--json").json["corpus"]["held_out_examples"]
    assert program.run("eval", "--json").json["examples"] == held_out


def test_a_head_with_a_fixed_chance_ends_texts_as_often_as_it_says() -> None:
    vocabulary = Vocabulary("abc")
    size = Architecture(vocabulary.symbols, 4, 1, "leaky", "fixed")
    never_unknown = np.array([-1.0, -30.0, -1.0, -1.0, -1.0])
    p = initial(size, never_unknown, np.random.default_rng(0))
    model = LanguageModel(p, vocabulary)
    drawn = list(Sampler(model, SampleConfig(seed=1)).samples(range(2000)))
    ended = sum(len(sample.nats) for sample in drawn)
    assert len(drawn) / ended == pytest.approx(CHANCE, abs=0.02)
    nats, _ = NetworkScorer(model).read(np.array([2, 3, 0], np.uint8))
    assert nats[2] == pytest.approx(-math.log(CHANCE))

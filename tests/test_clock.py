"""The position in the example as an input: its gradient, and that it is the same for all."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.errors import SettingError
from charrnn.network.architecture import KNOWN, Architecture, read_before, seen, still_to_come
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.vocabulary import END, Vocabulary
from tests.networks import nats_of
from tests.program import Program
from tests.test_unfolded import assert_gradient_is_right, counted, masks, state, window


def network(cell: str = "tanh", head: str = "symbol", symbols: int = 7) -> Parameters:
    rng = np.random.default_rng(0)
    size = Architecture(symbols, 5, 2, cell, head, requested=("clock",))
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    return p


def model() -> LanguageModel:
    return LanguageModel(network(symbols=6), Vocabulary("abcd", 0.01))


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
@pytest.mark.parametrize("head", ["symbol", "halt", "length"])
@pytest.mark.parametrize("dropout", [True, False])
def test_its_gradient_is_what_central_differences_say(cell: str, head: str, dropout: bool) -> None:
    p = network(cell, head)
    assert "U1.clock" in p
    assert_gradient_is_right(p, counted(window()), state(p), masks(p) if dropout else None)


def test_characters_are_counted_from_the_end_before_and_to_the_end_after() -> None:
    ids = np.array([5, 4, END, END, 3, 2, 2, END, 6])
    assert read_before(ids).tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 0]
    assert still_to_come(ids).tolist() == [2, 1, 0, 0, 3, 2, 1, 0, 1]


@pytest.mark.parametrize("name", ["clock", "left"])
def test_what_is_seen_is_bounded_and_of_early_counts_never_the_same(name: str) -> None:
    rows = seen(name, np.arange(10 * KNOWN), np.float64)
    assert np.abs(rows).max() <= 1
    assert len(np.unique(rows[:400].round(6), axis=0)) == 400


def test_the_clock_goes_on_where_its_table_ends() -> None:
    late = KNOWN + np.arange(5)
    later = seen("clock", late + 480 * 10**6, np.float64)
    np.testing.assert_allclose(seen("clock", late, np.float64), later, atol=1e-8)


def test_a_step_at_a_time_is_what_a_window_at_once_is() -> None:
    for one in (model(),):
        ids = np.array([2, 3, END, END, 4, 5, 2, END, 3], np.uint8)
        trained = charrnn.fit(["ab", "abba"], charrnn.TrainConfig(clock=True, hidden=3, epochs=1))
        full = replace(trained, trained=replace(trained.trained, model=one))
        o = full.logits([END, *ids[:-1].tolist()])
        nats = np.log(np.exp(o).sum(1)) - o[np.arange(len(ids)), ids]
        novelty = -np.log1p(-one.vocabulary.novelty)
        np.testing.assert_allclose(nats_of(one, ids), nats + novelty, rtol=1e-9)


@pytest.mark.parametrize("clock", [True, False])
def test_what_depends_on_the_position_alone_is_learned_with_a_clock(clock: bool) -> None:
    """Any of eight letters anywhere, but at two places one of two: nothing that was read before
    tells that they have come, unless all is counted.
    """
    rng, marked = np.random.default_rng(0), [19, 30]

    def text() -> str:
        letters = rng.choice(list("abcdefgh"), 40)
        letters[marked] = rng.choice(list("ab"), 2)
        return "".join(letters)

    nothing_hidden: dict[str, Any] = {"dropout": 0.0, "dropconnect": 0.0, "blank": 0.0}
    size: dict[str, Any] = {"hidden": 16, "layers": 1, "bptt": 8, "batch": 8, "epochs": 8}
    config = charrnn.TrainConfig(clock=clock, lr=0.01, **size, **nothing_hidden)
    found = charrnn.fit([text() for _ in range(200)], config, holdout=0)
    nats = np.array([found.surprisal(text()).nats for _ in range(20)])[:, marked]
    assert (nats.mean() < 1.0) if clock else (nats.mean() > 1.6)  # log 2 is 0.69, log 8 is 2.08


def test_a_model_to_start_from_has_a_clock_or_has_none() -> None:
    names = ["anna", "bob", "clara"] * 4
    small: dict[str, Any] = {"hidden": 4, "layers": 1, "epochs": 1}
    with_clock = charrnn.fit(names, charrnn.TrainConfig(clock=True, **small))
    again = charrnn.fit(names, charrnn.TrainConfig(epochs=1), start_from=with_clock)
    assert again.config.clock
    without = charrnn.fit(names, charrnn.TrainConfig(**small))
    with pytest.raises(SettingError, match="clock"):
        charrnn.fit(names, charrnn.TrainConfig(clock=True, epochs=1), start_from=without)


def test_the_commands_take_it(program: Program) -> None:
    program.train("names.txt", "--clock")
    program.run("train", "--resume", "--epochs", "3").says()
    assert "--clock" in program.run("info").out
    assert program.run("info", "--json").json["settings"]["clock"] is True
    row = json.loads(program.run("sample", "--prime", "an", "--seed", "1", "--json").out)
    program.write("drawn.txt", row["text"] + "\n")
    found = program.run("eval", "drawn.txt", "--json").json
    assert found["nats"] == pytest.approx(row["nats"])
    program.run("embed", "names.txt", "-o", "names.npy").says()
    program.run("reach", "names.txt").says()
    program.run("fill", "an_").says()

"""Inputs besides symbols: how many characters were read, and how many are to come."""

from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.network.parameters import DISTINCT, count_features, read_before, still_to_come
from charrnn.text.vocabulary import END
from tests.program import Program


def test_characters_are_counted_from_the_end_before_and_to_the_end_after() -> None:
    ids = np.array([5, 4, END, END, 3, 2, 2, END, 6])
    assert read_before(ids).tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 0]
    assert still_to_come(ids).tolist() == [2, 1, 0, 0, 3, 2, 1, 0, 1]


@pytest.mark.parametrize("name", ["clock", "to_come"])
def test_features_are_bounded_and_of_early_counts_never_the_same(name: str) -> None:
    rows = count_features(name, np.arange(10 * DISTINCT), np.float64)
    assert np.abs(rows).max() <= 1
    assert len(np.unique(rows[:400].round(6), axis=0)) == 400


def test_the_clock_goes_on_where_its_table_ends() -> None:
    late = DISTINCT + np.arange(5)
    later = count_features("clock", late + 480 * 10**6, np.float64)
    np.testing.assert_allclose(count_features("clock", late, np.float64), later, atol=1e-8)


@pytest.mark.parametrize("clock", [True, False])
def test_what_depends_on_the_position_alone_is_learned_with_a_clock(clock: bool) -> None:
    """Any of eight letters stands anywhere, but at two places one of two.

    Nothing that was read before tells that these places have come, unless all is counted.
    """
    rng, marked = np.random.default_rng(0), [19, 30]

    def text() -> str:
        letters = rng.choice(list("abcdefgh"), 40)
        letters[marked] = rng.choice(list("ab"), 2)
        return "".join(letters)

    size: dict[str, Any] = {"hidden": 16, "layers": 1, "bptt": 8, "batch": 8, "epochs": 8}
    nothing_hidden: dict[str, Any] = {"dropout": 0.0, "dropconnect": 0.0, "blank": 0.0}
    config = charrnn.TrainConfig(clock=clock, lr=0.01, **size, **nothing_hidden)
    model = charrnn.fit([text() for _ in range(200)], config, holdout=0)
    nats = np.array([model.surprisal(text()).nats for _ in range(20)])[:, marked]
    assert (nats.mean() < 1.0) if clock else (nats.mean() > 1.6)  # log 2 is 0.69, log 8 is 2.08


@pytest.mark.parametrize("network", ["--clock", "--ends length", "--ends halt", "--cell output"])
def test_every_command_takes_every_network(program: Program, network: str) -> None:
    program.train("names.txt", *network.split()).says()
    program.run("train", "--resume", "--epochs", "3").says()
    assert network.split()[-1].strip("-") in program.run("info").out
    line = ("sample", "--prime", "an", "--seed", "1", "-n", "5", "--max-chars", "300", "--json")
    for row in program.run(*line).rows:
        program.write("drawn.txt", row["text"] + "\n")
        if row["ended"] == "end":
            scored = program.run("eval", "drawn.txt", "--json").json
            assert scored["nats"] == pytest.approx(row["nats"], rel=1e-4)
    for command in ("eval --held-out", "eval names.txt --per-example", "reach names.txt"):
        program.run(*command.split()).says()
    program.run("embed", "names.txt", "-o", "names.npy").says()
    program.run("export", "slim.npz").says()
    drawn = [program.run("sample", "--seed", "1", "-m", m).out for m in ("model.npz", "slim.npz")]
    assert drawn[0] == drawn[1] or network == "--cell output"
    if network == "--ends length":
        program.refuses("fill", "an__", what="length", hint="halt", status=2)
    else:
        program.run("fill", "an_").says()

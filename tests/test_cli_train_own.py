"""What is fed back, whose draws are read, how far windows lie apart: through the commands."""

from __future__ import annotations

import json

import pytest

import charrnn
from charrnn.errors import SettingError
from tests.program import Program
from tests.rows import seldom

TINY = ("--hidden", "6", "--batch", "3", "--bptt", "6", "--epochs", "1", "--cores", "1")
READING = {
    "the truth": (),
    "its own": ("--own-inputs", "0.5"),
    "stretches": ("--free-running", "3"),
    "both": ("--own-inputs", "1", "--free-running", "6"),
}
KINDS = [  # each pair of options comes at least once; test_combinations.py has every combination
    ("--cell", cell, "--ends", ends, *READING[reading], *more.split())
    for cell, ends, reading, more in (
        ("tanh", "symbol", "its own", ""),
        ("tanh", "halt", "stretches", ""),
        ("tanh", "symbol", "both", ""),
        ("tanh", "halt", "the truth", ""),
        ("gru", "halt", "its own", ""),
        ("gru", "symbol", "stretches", ""),
        ("gru", "halt", "both", ""),
        ("gru", "symbol", "the truth", ""),
        ("output", "symbol", "its own", ""),
        ("output", "halt", "stretches", ""),
        ("output", "symbol", "both", ""),
        ("output", "halt", "the truth", ""),
    )
]
KINDS += [("--cell", "output", "--clock", "--ends", "length", "--own-inputs", "0.5")]
KINDS += [("--cell", "output", "--teacher-forcing", "--ends", ends) for ends in ("symbol", "halt")]


@pytest.mark.parametrize(
    "kind", [*KINDS[::3], *map(seldom, KINDS[1::3]), *map(seldom, KINDS[2::3])], ids=" ".join
)
def test_what_goes_together_is_trained_resumed_sampled_and_scored(
    program: Program, kind: tuple[str, ...]
) -> None:
    program.run("train", "names.txt", *TINY, *kind, "-q").says()
    program.run("train", "--resume", "--epochs", "2", "-q").says()
    one = program.run("sample", "--seed", "5", "--json").json
    many = program.run("sample", "--seed", "5", "--json", "-n", "20").out
    assert json.loads(many.splitlines()[0]) == one
    program.write("drawn.txt", one["text"] + "\n")
    if one["ended"] == "end" and one["text"].strip():
        assert program.run("eval", "drawn.txt", "--json").json["nats"] == pytest.approx(
            one["nats"], abs=1e-4
        )


def test_what_was_chosen_stands_in_the_file_under_its_name(program: Program) -> None:
    line = ("--own-inputs", "0.25", "--free-running", "4", "--cell", "output")
    trained = program.run("train", "names.txt", *TINY, *line, "--json").json
    found = program.run("info", "--json").json
    settings = found["settings"]
    assert {name: settings[name] for name in ("own_inputs", "free_running")} == {
        "own_inputs": 0.25,
        "free_running": 4,
    }
    assert (settings["cell"], settings["teacher_forcing"], settings["layers"]) == (
        *("output", False),
        1,
    )
    assert found["parameters"] == trained["parameters"]
    told = program.run("info").out
    assert "--own-inputs 0.25" in told.replace("\xa0", " ")
    symbols, hidden = found["symbols"], 6
    assert found["parameters"] == 3 * symbols * hidden + hidden + symbols


@pytest.mark.parametrize("forced", [False, True])
def test_every_command_knows_a_network_that_feeds_back_outputs(
    program: Program, forced: bool
) -> None:
    kind = ("--cell", "output", *(("--teacher-forcing",) if forced else ()))
    plan = program.run("train", "names.txt", *TINY, *kind, "--dry-run", "--json").json
    trained = program.run("train", "names.txt", *TINY, *kind, "--json").json
    assert plan["parameters"] == trained["parameters"]
    assert len(program.run("embed", "names.txt").rows[0]["vector"]) == 6
    assert program.run("fill", "an_a", "--json").json["fillings"]
    reach = program.run("reach", "names.txt", "--json").json
    assert (reach["spectral_radius"] == 0) is forced
    program.run("export", "slim.npz").says()
    slim, whole = (
        program.run("eval", "--json", "-m", name).json["nats"] for name in ("slim.npz", "model.npz")
    )
    assert slim == pytest.approx(whole, rel=3e-3)
    program.run("train", "names.txt", "--from", "slim.npz", "-m", "new.npz", "-q").says()
    settings = program.run("info", "--json", "-m", "new.npz").json["settings"]
    assert (settings["cell"], settings["teacher_forcing"]) == ("output", forced)


def test_from_python_it_is_refused_at_once() -> None:
    with pytest.raises(SettingError, match="replaces outputs that are fed back"):
        charrnn.TrainConfig(teacher_forcing=True)


def test_a_run_keeps_what_it_reads(program: Program) -> None:
    program.run("train", "names.txt", *TINY, "--own-inputs", "0.5", "-q").says()
    program.refuses(
        *("train", "--resume", "--own-inputs", "0.25"),
        what="--own-inputs 0.25 contradicts model.npz, which has 0.5",
        hint="Leave it out",
    )

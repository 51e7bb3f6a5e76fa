"""Files outlive versions: one of every format there has been is sampled, scored and gone on with.

The files in tests/formats were written by the program of their time and are never written again.
What they are held to was said by that program, too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import charrnn
from charrnn.errors import DamagedModelError, NewerModelError
from charrnn.model_file import checkpoint, reader
from tests.faults import forging
from tests.program import Program

FORMATS = Path(__file__).parent / "formats"


class Said(NamedTuple):
    """What the program of that time said of the file."""

    samples: list[str]  # -n 5 --seed 1
    nats: float  # of names.txt
    resumed: float  # the best held-out loss after --resume --epochs 5


SAID: Mapping[int, Said] = {
    1: Said(
        ["rcrijsaepu", "oinjpaoiibgaa", "eiaaagrtnbaual", "nsölliinag", "aun"],
        246.12248259422034,
        4.117491795919049,
    ),
    2: Said(
        ["rcrjltafru", "oiolraojjdhaa", "eiaaahstodaual", "nsölmiinaha", "aun"],
        247.4503129626455,
        4.13880504607514,
    ),
}


@pytest.fixture
def program(program: Program) -> Program:
    """The program in a folder with a file of every format, and what they learned from."""
    for file in FORMATS.iterdir():
        shutil.copy(file, program.folder)
    return program


@pytest.mark.parametrize("version", SAID)
def test_a_file_of_an_earlier_format_draws_and_scores_as_it_did(
    program: Program, version: int
) -> None:
    model = ("-m", f"format-{version}.npz")
    drawn = program.run("sample", "-n", "5", "--seed", "1", "--json", *model).out.splitlines()
    assert [json.loads(line)["text"] for line in drawn] == SAID[version].samples
    nats = program.run("eval", "names.txt", "--json", *model).json["nats"]
    assert nats == pytest.approx(SAID[version].nats, rel=1e-6)
    assert program.run("info", *model).status == 0


@pytest.mark.parametrize("version", SAID)
def test_a_file_of_an_earlier_format_is_gone_on_with(program: Program, version: int) -> None:
    ran = program.run("train", "--resume", "--epochs", "5", "--json", "-m", f"format-{version}.npz")
    assert ran.json["best"]["nats_per_character"] == pytest.approx(SAID[version].resumed, rel=1e-3)
    again = checkpoint.load(f"format-{version}.npz")  # by now of today's format
    assert again.state.epoch == 5


def test_what_an_earlier_format_does_not_say_has_its_default(program: Program) -> None:
    config = charrnn.load("format-1.npz").config
    assert (config.cell, config.ends) == ("tanh", "symbol")
    config = charrnn.load("format-2.npz").config
    assert (config.cell, config.ends) == ("gru", "halt")
    assert config.clock is False
    assert (config.teacher_forcing, config.own_inputs, config.free_running) == (False, 0, 0)
    assert config.stride is None
    assert (config.counts, config.members) == (False, 1)


def test_a_file_of_today_that_lacks_a_field_is_damaged(program: Program) -> None:
    def forget(facts: dict[str, Any], _: object) -> None:
        del facts["settings"]["cell"]

    checkpoint.save("today.npz", checkpoint.load("format-1.npz"))
    forging.forge(Path("today.npz"), forget)
    with pytest.raises(DamagedModelError, match="fields are not those"):
        charrnn.load("today.npz")


def test_a_file_of_tomorrow_is_told_as_newer(program: Program) -> None:
    forging.forge(Path("format-1.npz"), lambda *_: None, reader.FORMAT + 1)
    with pytest.raises(NewerModelError, match="newer"):
        charrnn.load("format-1.npz")


def test_there_is_a_file_of_every_earlier_format() -> None:
    assert set(SAID) == set(range(1, reader.FORMAT))
    for version in SAID:
        assert (FORMATS / f"format-{version}.npz").is_file()

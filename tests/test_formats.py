"""Files outlive versions: one of every format there has been is sampled, scored and gone on with.

The files in tests/formats were written by the program of their time and are never written again.
What they are held to was said by that program, too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import charrnn
from charrnn.errors import DamagedModelError, NewerModelError
from charrnn.model_file import checkpoint, container, fields
from charrnn.settings.training import Fitted
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
    assert config.counts is False


def forge_today(change: Callable[[dict[str, Any]], None]) -> None:
    """Write a file of today's format to today.npz, and change its facts."""
    checkpoint.save("today.npz", checkpoint.load("format-1.npz"))
    forging.forge(Path("today.npz"), lambda facts, _: change(facts))


def test_a_field_that_is_missing_today_takes_its_default(program: Program) -> None:
    def change(facts: dict[str, Any]) -> None:
        for name in ("slim", "counted"):
            del facts[name]
        del facts["settings"]["cell"], facts["corpus"]["places"], facts["run"]["minutes"]

    before = charrnn.load("format-1.npz")
    forge_today(change)
    model = charrnn.load("today.npz")
    assert model.config == before.config
    assert model.sample(seed=1) == before.sample(seed=1)
    assert checkpoint.load("today.npz").state.minutes == 0


def test_a_new_setting_leaves_todays_files_readable(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Later(Fitted):
        sharpness: float = 0.25

    checkpoint.save("today.npz", checkpoint.load("format-1.npz"))
    today = Path("today.npz").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(fields, "Fitted", Later)
        run = checkpoint.load("today.npz")
        assert isinstance(run.config, Later)
        assert run.config.sharpness == 0.25
        checkpoint.save("later.npz", run)
        assert checkpoint.load("later.npz").config == run.config
    with pytest.raises(NewerModelError, match="newer charrnn: the field sharpness is unknown"):
        checkpoint.load("later.npz")
    checkpoint.save("today.npz", checkpoint.load("today.npz"))
    assert Path("today.npz").read_bytes() == today


@pytest.mark.parametrize(
    "place",
    [("more",), ("settings", "more"), ("corpus", "more"), ("vocabulary", "more"), ("run", "more")],
)
def test_an_unknown_field_makes_a_file_newer_and_not_damaged(
    program: Program, place: tuple[str, ...]
) -> None:
    forge_today(lambda facts: forging.put(facts, place, 1))
    refused = program.run("info", "-m", "today.npz")
    assert refused.status == 1
    assert "today.npz was written by a newer charrnn: the field more is unknown" in refused.err


def test_a_field_without_a_default_cannot_be_missing(program: Program) -> None:
    forge_today(lambda facts: facts["settings"].pop("hidden"))
    with pytest.raises(DamagedModelError, match="facts make no sense"):
        charrnn.load("today.npz")


def test_a_file_of_tomorrow_is_told_as_newer(program: Program) -> None:
    forging.forge(Path("format-1.npz"), lambda *_: None, container.FORMAT + 1)
    with pytest.raises(NewerModelError, match="newer"):
        charrnn.load("format-1.npz")


def test_there_is_a_file_of_every_earlier_format() -> None:
    assert set(SAID) == set(range(1, container.FORMAT))
    for version in SAID:
        assert (FORMATS / f"format-{version}.npz").is_file()

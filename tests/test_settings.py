"""A setting is written once: how it checks itself, and how it becomes an option."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any

import pytest

from charrnn.cli import app
from charrnn.cli.console import Console
from charrnn.cli.options import CommandOptions, File, group
from charrnn.errors import SettingError
from charrnn.settings import (
    NETWORK,
    CorpusConfig,
    Fitted,
    OneOf,
    Reading,
    Real,
    SampleConfig,
    TrainConfig,
    Values,
    Whole,
    setting,
    settings_of,
)
from tests.program import Program

CONFIGS = (TrainConfig, SampleConfig, CorpusConfig, Reading)
EVERY = [(config, name) for config in CONFIGS for name in settings_of(config)]
CELLS = ["tanh"]


@dataclass(frozen=True, kw_only=True)
class More(TrainConfig):
    """The settings of training, and two more."""

    leak: float = setting(Real(0, 0.5), "How much leaks away.", panel=NETWORK, default=0.25)
    cell: str = setting(OneOf(list(CELLS)), "Which cell.", panel=NETWORK, default="tanh")


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    learning: dict[str, Any] = group(More)


ARRIVED: list[Options] = []


def learn(options: Options, _console: Console) -> None:
    ARRIVED.append(options)


@pytest.fixture
def here(program: Program, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    module = ModuleType("tests.learning_more", "Learn more.")
    vars(module).update(Options=Options, run=learn)
    monkeypatch.setitem(sys.modules, "charrnn.cli.learn", module)
    monkeypatch.setitem(app.COMMANDS, "learn", "Learn more.")
    ARRIVED.clear()
    yield program
    CELLS[:] = ["tanh"]


def test_a_field_more_is_an_option_in_the_help(here: Program) -> None:
    page = here.run("learn", "--help").out
    assert "--leak NUMBER How much leaks away. [default: 0.25]" in " ".join(
        re.findall(r"[^\s│]+", page)
    )


def test_its_limit_is_obeyed_by_the_command_and_by_the_library(here: Program) -> None:
    ran = here.run("learn", "--leak", "0.6")
    assert ran.status == 2
    assert "'--leak': '0.6' is not a number from 0 to 0.5" in ran.err
    with pytest.raises(SettingError, match=r"leak cannot be 0\.6") as error:
        More(leak=0.6)
    assert error.value.hint == "It may be a number from 0 to 0.5."


def test_its_value_arrives_and_what_was_not_typed_is_left_out(here: Program) -> None:
    assert here.run("learn", "--leak", "0.5", "--cores", "2", "--clock").status == 0
    assert ARRIVED[0].learning == {"leak": 0.5, "cores": 2, "clock": True}
    assert More(**ARRIVED[0].learning).leak == 0.5
    assert More(**ARRIVED[0].learning).clip == TrainConfig().clip


@pytest.mark.parametrize(("config", "name"), EVERY)
def test_the_command_and_the_library_have_the_same_limits(config: type, name: str) -> None:
    one = settings_of(config)[name]
    needed = {"teacher_forcing": {"cell": "output"}}.get(name, {})
    for value in values_around(one.values):
        if is_one_of(one.values, value):
            assert getattr(config(**{name: value}, **needed), name) == value
        else:
            with pytest.raises(SettingError):
                config(**{name: value})


def is_one_of(values: Values, value: object) -> bool:
    try:
        values.plain(value)
    except (ValueError, TypeError):
        return False
    return True


def values_around(values: Values) -> list[Any]:
    if isinstance(values, Whole):
        return [values.least, values.most, values.least - 1, values.most + 1, 1.5, "x", math.nan]
    if isinstance(values, Real):
        ends = [values.least, values.most]
        return [*ends, values.least - 1, values.most * 2, math.inf, math.nan, "x"]
    if isinstance(values, OneOf):
        return [*values.choices, "nothing", "", 1]
    return ["utf-8"] if values.allowed == "a text" else [True, False, 1, "yes"]


@pytest.mark.parametrize(("config", "name"), EVERY)
def test_every_default_is_a_value_and_told(config: type, name: str) -> None:
    one = settings_of(config)[name]
    assert one.default is None or is_one_of(one.values, one.default)
    if one.names != ():
        assert one.about
        assert one.default_in_words or one.default is False


def test_none_is_for_what_may_be_left_open() -> None:
    assert TrainConfig(hidden=None).hidden is None
    with pytest.raises(SettingError, match="clip cannot be None"):
        TrainConfig(clip=None)  # type: ignore[arg-type]


def test_a_run_has_the_limits_of_what_it_was_made_of() -> None:
    assert settings_of(Fitted) == settings_of(TrainConfig)
    assert [one.name for one in fields(Fitted)] == [one.name for one in fields(TrainConfig)]


def test_the_library_speaks_of_the_setting_by_its_own_name() -> None:
    with pytest.raises(SettingError) as error:
        TrainConfig(cores=0)
    assert error.value.what == "cores cannot be 0"
    assert error.value.setting == "cores"
    with pytest.raises(SettingError, match="temperature cannot be -1"):
        SampleConfig(temperature=-1)


def test_a_share_to_hold_out_is_less_than_all() -> None:
    assert CorpusConfig(holdout=0).holdout == 0
    with pytest.raises(SettingError) as error:
        CorpusConfig(holdout=1)
    assert error.value.hint == "It may be a number from 0 to 1, but not 1."


def test_a_path_is_not_empty() -> None:
    with pytest.raises(ValueError, match="not allowed"):
        File().read("")

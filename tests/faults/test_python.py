"""Fault 28: settings from Python of nearly the right type, and files that could not be loaded."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn import model_file as checkpoint
from charrnn.errors import CharrnnError, SettingError
from charrnn.settings import (
    CorpusConfig,
    OneOf,
    Real,
    SampleConfig,
    TrainConfig,
    Whole,
    settings_of,
)

TEXTS = ["anna", "bob", "clara", "dora", "emil"] * 4
PLAIN = {int, float, bool, str, type(None)}


@pytest.mark.parametrize(
    ("setting", "given", "plain"),
    [
        ("hidden", np.int64(6), 6),
        ("hidden", np.uint8(6), 6),
        ("hidden", np.array(6), 6),
        ("seed", np.uint64(2**64 - 1), 2**64 - 1),
        ("lr", np.float32(0.5), 0.5),
        ("lr", np.float16(0.5), 0.5),
        ("lr", np.int8(1), 1.0),
        ("lr", 1, 1.0),
        ("lr", Fraction(1, 4), 0.25),
        ("clip", 0, 0.0),
        ("clock", np.True_, True),
        ("optimizer", np.str_("sgd"), "sgd"),
        ("cell", np.str_("gru"), "gru"),
    ],
)
def test_28_what_stands_for_a_value_is_that_value(setting: str, given: Any, plain: Any) -> None:
    held = getattr(TrainConfig(**{setting: given}), setting)
    assert (held, type(held)) == (plain, type(plain))


@pytest.mark.parametrize(
    ("setting", "given"),
    [
        ("epochs", 2.0),
        ("epochs", np.float64(2)),
        ("epochs", np.array([2])),
        ("epochs", "2"),
        pytest.param("epochs", 10**5000, id="endless"),
        ("seed", True),
        ("seed", np.True_),
        ("seed", 1.5),
        ("lr", True),
        ("lr", np.False_),
        ("lr", "0.1"),
        ("lr", 1j),
        ("lr", Decimal("0.1")),
        ("lr", np.array([0.1])),
        pytest.param("lr", 10**400, id="beyond"),
        ("clock", None),
        ("clock", 1),
        ("clock", "yes"),
        ("optimizer", None),
        ("optimizer", b"sgd"),
        ("optimizer", ["sgd"]),
        ("optimizer", np.array(["sgd"])),
        ("cores", np.True_),
    ],
)
def test_28_what_does_not_is_refused_by_the_name_of_the_setting(setting: str, given: Any) -> None:
    with pytest.raises(SettingError) as error:
        TrainConfig(**{setting: given})
    assert error.value.setting == setting
    assert error.value.what.startswith(f"{setting} cannot be ")
    assert len(error.value.what) < 100


def test_28_how_many_and_how_much_are_checked_as_settings_are() -> None:
    model = charrnn.fit(TEXTS, TrainConfig(hidden=3, layers=1, epochs=1))
    assert len(model.sample(np.int64(2))) == 2  # type: ignore[arg-type]
    for count in (True, 1.0, -1, "2"):
        with pytest.raises(SettingError, match="count cannot be"):
            model.sample(count)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="holdout cannot be True"):
        charrnn.train(TEXTS, holdout=True)
    with pytest.raises(SettingError, match=r"seed cannot be 1\.5"):
        charrnn.train(TEXTS, seed=1.5)


KINDS: list[Any] = [
    *(int, float, bool, str, complex, bytes, Fraction, np.array, np.int8, np.int64, np.uint64),
    *(np.float16, np.float32, np.float64, np.longdouble, np.bool_, np.str_, lambda x: [x]),
]
ODD = [None, (), [], {}, "", b"", "adam", "utf-8", float("nan"), float("inf"), 10**400, object()]


def cast(value: Any, kind: Any) -> Any:
    """The value as one of another kind, if it can be that."""
    try:
        with np.errstate(all="ignore"):
            return kind(value)
    except (TypeError, ValueError, OverflowError):
        return value


def nearly(values: Any) -> st.SearchStrategy[Any]:
    """What is such a value, or nearly, but no network so large that it would take long."""
    near: st.SearchStrategy[Any] = st.sampled_from(["utf-8", "latin-1", True, False])
    if isinstance(values, Whole):
        near = st.integers(values.least - 1, min(values.most, 7))
    elif isinstance(values, Real):
        near = st.floats(values.least - 1, min(values.most, 2) + 0.5)
    elif isinstance(values, OneOf):
        near = st.sampled_from(values.choices)
    odd = st.one_of(st.booleans(), st.sampled_from(ODD), st.integers(-2, 3))
    usual = st.builds(cast, near, st.sampled_from(KINDS))
    return st.one_of(near, usual, usual, odd)


def chosen(config: type, **fixed: Any) -> st.SearchStrategy[dict[str, Any]]:
    every = {name: nearly(one.values) for name, one in settings_of(config).items()}
    few = st.lists(st.sampled_from(sorted(every)), max_size=4, unique=True)
    return few.flatmap(lambda names: st.fixed_dictionaries({n: every[n] for n in names}))


def is_about(names: set[str], error: SettingError) -> None:
    assert error.setting in names


@given(chosen(TrainConfig), chosen(CorpusConfig))
def test_28_any_settings_are_refused_or_saved_and_loaded(
    learning: dict[str, Any], cutting: dict[str, Any]
) -> None:
    small = {"hidden": 3, "layers": 1, "epochs": 1, "bptt": 4, "batch": 3}
    asked = {name: cutting[name] for name in cutting if name in ("holdout", "seed")}
    try:
        run = charrnn.train(TEXTS, TrainConfig(**small | learning), **asked)
    except SettingError as error:
        is_about({*learning, *cutting, "nothing held out"}, error)
        return
    for value in asdict(run.checkpoint.config).values():
        assert type(value) in PLAIN
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        for steps in (0, 2):
            try:
                for _ in zip(range(steps), run, strict=False):
                    pass
            except CharrnnError:  # it may well diverge
                return
            run.save(path)
            again = checkpoint.load(path)
            assert again.config == run.checkpoint.config
            assert again.corpus == run.checkpoint.corpus
            assert again.state.history == run.checkpoint.state.history
            assert again.state.parameters.flat.tobytes() == (
                run.checkpoint.state.parameters.flat.tobytes()
            )


@given(chosen(SampleConfig))
def test_28_any_way_to_draw_is_refused_or_drawn(drawing: dict[str, Any]) -> None:
    try:
        config = SampleConfig(**drawing)
    except SettingError as error:
        is_about({*drawing}, error)
        return
    for name, value in asdict(config).items():
        assert type(value) in PLAIN
        if name in drawing and isinstance(value, int | float):
            assert value == drawing[name] or float(drawing[name]) == value

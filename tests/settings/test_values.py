"""A setting is written once: its limits and its default."""

import math
import tempfile
from dataclasses import asdict, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.errors import CharrnnError, SettingError
from charrnn.files import model_file
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.drawing import SampleConfig
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.settings.values import File, OneOf, Real, Values, Whole, settings_of

CONFIGS = (TrainConfig, SampleConfig, CorpusConfig, Reading)
EVERY = [(config, name) for config in CONFIGS for name in settings_of(config)]


@pytest.mark.parametrize(("config", "name"), EVERY)
def test_each_setting_takes_its_values_alone_and_tells_its_default(config: type, name: str) -> None:
    one = settings_of(config)[name]
    needed = {"teacher_forcing": {"cell": "output"}}.get(name, {})
    for value in values_around(one.values):
        if is_one_of(one.values, value):
            assert getattr(config(**{name: value}, **needed), name) == value
        else:
            with pytest.raises(SettingError):
                config(**{name: value})
    assert one.default is None or is_one_of(one.values, one.default)
    if one.names != ():
        assert one.about
        assert one.default_in_words or one.default is False


def is_one_of(values: Values, value: object) -> bool:
    try:
        values.checked(value)
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


def test_a_run_has_the_limits_of_what_it_was_made_of() -> None:
    assert settings_of(Fitted) == settings_of(TrainConfig)
    assert [one.name for one in fields(Fitted)] == [one.name for one in fields(TrainConfig)]


def test_a_path_is_not_empty() -> None:
    with pytest.raises(ValueError, match="not allowed"):
        File().read("")
    assert File("FILE.npy", ".npy").checked(Path("A.NPY")) == Path("A.NPY")


TEXTS = ["anna", "bob", "clara", "dora", "emil"] * 4
PLAIN = {int, float, bool, str, type(None)}


@pytest.mark.parametrize(
    ("setting", "given", "plain"),
    [
        *(("hidden", np.int64(6), 6), ("hidden", np.array(6), 6), ("lr", 1, 1.0), ("clip", 0, 0.0)),
        *(("lr", np.float32(0.5), 0.5), ("lr", Fraction(1, 4), 0.25), ("clock", np.True_, True)),
        *(("seed", np.uint64(2**64 - 1), 2**64 - 1), ("optimizer", np.str_("sgd"), "sgd")),
    ],
)
def test_fault_17_what_stands_for_a_value_is_it(setting: str, given: Any, plain: Any) -> None:
    held = getattr(TrainConfig(**{setting: given}), setting)
    assert (held, type(held)) == (plain, type(plain))


@pytest.mark.parametrize(
    ("setting", "given"),
    [
        *(("epochs", 2.0), ("epochs", np.array([2])), ("epochs", "2"), ("seed", True)),
        *(("lr", True), ("lr", "0.1"), ("lr", 1j), ("lr", Decimal("0.1")), ("lr", np.array([0.1]))),
        *(("clock", 1), ("seed", np.True_), ("ends", None), ("optimizer", b"sgd")),
        ("optimizer", ["sgd"]),
        pytest.param("epochs", 10**5000, id="endless"),
        pytest.param("lr", 10**400, id="beyond"),
    ],
)
def test_fault_17_another_value_is_refused_by_its_name(setting: str, given: Any) -> None:
    with pytest.raises(SettingError) as error:
        TrainConfig(**{setting: given})
    assert error.value.setting == setting
    assert error.value.what.startswith(f"{setting} cannot be ")
    assert len(error.value.what) < 100


def test_fault_17_how_many_and_how_much_are_checked_as_settings_are() -> None:
    model = charrnn.fit(TEXTS, TrainConfig(hidden=3, layers=1, epochs=1))
    assert len(model.sample(np.int64(2))) == 2  # type: ignore[arg-type]
    for count in (True, 1.0, -1, "2"):
        with pytest.raises(SettingError, match="count cannot be"):
            model.sample(count)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="holdout cannot be True"):
        charrnn.train(TEXTS, holdout=True)


ODD: list[Any] = [
    *(None, (), [], {}, "", b"", "adam", "utf-8", math.nan, math.inf, 10**400, object(), [2], 2.0),
    *(True, np.True_, np.int8(3), np.int64(2), np.uint64(2), np.array(2), np.array([2]), 1 + 0j),
    *(np.float16(0.5), np.float64(0.5), np.longdouble(1), Fraction(1, 2), np.str_("gru"), b"sgd"),
]


def nearly(values: Any) -> st.SearchStrategy[Any]:
    """What is such a value, or nearly, but no network so large that it would take long."""
    near: st.SearchStrategy[Any] = st.sampled_from(["utf-8", "latin-1", True, False])
    if isinstance(values, Whole):
        near = st.integers(values.least - 1, min(values.most, 7))
    elif isinstance(values, Real):
        near = st.floats(values.least - 1, min(values.most, 2) + 0.5)
    elif isinstance(values, OneOf):
        near = st.sampled_from(values.choices)
    return st.one_of(near, near, st.sampled_from(ODD), st.integers(-2, 3))


def chosen(config: type) -> st.SearchStrategy[dict[str, Any]]:
    every = {name: nearly(one.values) for name, one in settings_of(config).items()}
    few = st.lists(st.sampled_from(sorted(every)), max_size=4, unique=True)
    return few.flatmap(lambda names: st.fixed_dictionaries({n: every[n] for n in names}))


def assert_about(names: set[str], error: SettingError) -> None:
    assert error.setting in names


@given(chosen(TrainConfig), chosen(CorpusConfig))
def test_fault_17_any_settings_are_refused_or_kept(
    learning: dict[str, Any], cutting: dict[str, Any]
) -> None:
    small = {"hidden": 3, "layers": 1, "epochs": 1, "bptt": 4, "batch": 3}
    asked = {name: cutting[name] for name in cutting if name in ("holdout", "seed")}
    try:
        run = charrnn.train(TEXTS, TrainConfig(**small | learning), **asked)
    except SettingError as error:
        assert_about({*learning, *cutting, "nothing held out"}, error)
        return
    for value in asdict(run.checkpoint.config).values():
        assert type(value) in PLAIN
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        for steps in (0, 2):
            try:
                list(zip(range(steps), run, strict=False))
            except CharrnnError:  # it may well diverge
                return
            run.save(path)
            again = model_file.load(path)
            assert again.config == replace(run.checkpoint.config, cores=None)
            assert again.corpus == run.checkpoint.corpus
            assert again.state.history == run.checkpoint.state.history
            p, q = (one.state.parameters.flat for one in (again, run.checkpoint))
            assert p.tobytes() == q.tobytes()


@given(chosen(SampleConfig))
def test_fault_17_any_way_to_draw_is_refused_or_drawn(drawing: dict[str, Any]) -> None:
    try:
        config = SampleConfig(**drawing)
    except SettingError as error:
        assert_about({*drawing}, error)
        return
    for name, value in asdict(config).items():
        assert type(value) in PLAIN
        if name in drawing and isinstance(value, int | float):
            assert value == drawing[name] or float(drawing[name]) == value

"""Settings as fields of a dataclass: the values each may have, its help and its default.

    dropout: float | None = setting(Real(0, 0.95), "Fraction of units ...", panel="Network")

A Checked dataclass checks itself by these fields, and the command line makes its options of them.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from charrnn.errors import CharrnnError, ResumeError, SettingError

LONGEST = 60  # characters of a value in a message


class Values(Protocol):
    """The values that a setting may have: ``metavar`` names one in help, ``allowed`` lists them."""

    kind: ClassVar[type[Any]] = str  # of typed text

    @property
    def metavar(self) -> str: ...
    @property
    def allowed(self) -> str: ...

    def plain(self, value: Any) -> Any:
        """Return the plain Python value; ValueError if it is not allowed."""

    def read(self, typed: Any) -> Any:
        """Return the value of typed text, or ValueError; a value stays as it is."""
        return self.kind(typed)


@dataclass(frozen=True)
class Whole(Values):
    """Whole numbers in a range."""

    kind = int
    least: int
    most: int
    metavar: str = "N"

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"

    def plain(self, value: Any) -> int:
        ensure(not is_flag(value))
        try:
            whole = index(value)
        except TypeError as error:
            raise ValueError("not a whole number") from error
        ensure(self.least <= whole <= self.most)
        return whole


@dataclass(frozen=True)
class Real(Values):
    """Finite numbers in a range; ``above`` and ``below`` leave out its ends."""

    kind = float
    least: float
    most: float = math.inf
    above: bool = False
    below: bool = False
    metavar: str = "NUMBER"

    @property
    def allowed(self) -> str:
        start = f"{'more than' if self.above else 'at least'} {self.least:g}"
        if self.most == math.inf:
            return f"a number of {start}"
        most = f"{self.most:,.0f}" if self.most >= 1e6 else f"{self.most:g}"
        if not self.above and not self.below:
            return f"a number from {self.least:g} to {most}"
        return f"a number of {start} and {'less than' if self.below else 'at most'} {most}"

    def plain(self, value: Any) -> float:
        ensure(isinstance(value, numbers.Real) and not is_flag(value))
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        is_end = (number == self.least and self.above) or (number == self.most and self.below)
        ensure(math.isfinite(number) and self.least <= number <= self.most and not is_end)
        return number


@dataclass(frozen=True)
class OneOf(Values):
    """One of a few names."""

    choices: Sequence[str]

    @property
    def metavar(self) -> str:
        return "|".join(self.choices)

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def plain(self, value: Any) -> str:
        ensure(isinstance(value, str))
        return self.choices[self.choices.index(value)]

    def complete(self, incomplete: str) -> list[str]:
        return [name for name in self.choices if name.startswith(incomplete)]


@dataclass(frozen=True)
class Text(Values):
    metavar: str = "TEXT"
    allowed: str = "a text"

    def plain(self, value: Any) -> str:
        ensure(isinstance(value, str))
        return str.__str__(value)


@dataclass(frozen=True)
class File(Values):
    metavar: str = "PATH"
    allowed: str = "a path"

    def plain(self, value: Any) -> Any:
        ensure(isinstance(value, Path))
        return value

    def read(self, typed: Any) -> Path:
        ensure(bool(str(typed)))
        return Path(typed)


@dataclass(frozen=True)
class Flag(Values):
    kind = bool
    metavar: str = ""
    allowed: str = "True or False"

    def plain(self, value: Any) -> bool:
        ensure(is_flag(value))
        return bool(value)


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting."""

    values: Values
    about: str = ""  # its help
    panel: str = ""  # of help
    default: Any = None
    default_in_words: str = ""
    names: tuple[str, ...] | None = None  # typed for it; (): not an option; None: as its field
    repeated: bool = False
    variable: str = ""  # of the environment

    def options(self, field_name: str) -> tuple[str, ...]:
        """Return the names that are typed for it. A name without a dash is that of an argument."""
        return (option_of(field_name),) if self.names is None else self.names


def setting(values: Values, about: str = "", *, default: Any = None, **details: Any) -> Any:
    """Return a field of a dataclass that is a Setting; a default of MISSING makes it required."""
    default = () if default is None and details.get("repeated") else default
    if default is not False and isinstance(default, (int, float, str, Path)):
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        details.setdefault("default_in_words", shown)
    one = Setting(values, about, default=default, **details)
    return field(default=default, metadata={"setting": one})


def settings_of(config: type) -> dict[str, Setting]:
    """Return the settings of a dataclass by field name, where a subclass narrows a field, too."""
    return {
        name: one.metadata["setting"]
        for kind in reversed(config.__mro__)
        for name, one in getattr(kind, "__dataclass_fields__", {}).items()
        if "setting" in one.metadata
    }


def option_of(name: str) -> str:
    """Return the option for a field whose setting has no other name."""
    return "--" + name.replace("_", "-")


def check(name: str, value: object, values: Values) -> Any:
    """Return the plain value, which a file can hold; SettingError if it is not allowed."""
    try:
        return values.plain(value)
    except ValueError:
        try:
            shown = repr(value) if isinstance(value, str) else str(value)
        except ValueError:  # Python does not print numbers of thousands of digits
            shown = f"that {type(value).__name__}"
        shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
        hint = f"It may be {values.allowed}."
        raise SettingError(f"{name} cannot be {shown}", hint, name) from None


def is_flag(value: object) -> bool:
    """Return whether the value is True or False, of Python or of NumPy, which may be absent."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def ensure(is_allowed: bool) -> None:
    """Raise ValueError unless a value is allowed."""
    if not is_allowed:
        raise ValueError("not allowed")


class Checked:
    """A configuration that checks its settings; None is allowed only where it is the default."""

    def __post_init__(self) -> None:
        for name, setting in settings_of(type(self)).items():
            value = getattr(self, name)
            if value is not None or setting.default is not None:
                object.__setattr__(self, name, check(name, value, setting.values))


Config = TypeVar("Config", bound=Checked)

# Panels of help
PANELS = "Corpus", "Network", "Learning", "Drawing", "Filling"
CORPUS, NETWORK, LEARNING, DRAWING, FILLING = PANELS
of_corpus, of_network, of_learning, of_drawing, of_filling = (
    partial(setting, panel=panel) for panel in PANELS
)
fitted_network, fitted_learning = (
    partial(declare, default_in_words="chosen for the corpus")
    for declare in (of_network, of_learning)
)

LARGEST = 1 << 20  # units, lanes, steps: more is a typing error
SIZE, STEPS = Whole(1, LARGEST), Whole(0, LARGEST)
COUNT = Whole(1, 1 << 40)
MANY = Whole(1, 1 << 62)
SHARE = Real(0, 0.95)
SEED = Whole(0, (1 << 64) - 1)


def in_words(name: str, value: object) -> str:
    """Return a setting and its value as Python users read them: "epochs 5", "clock", "no clock"."""
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name} {value_in_words(value)}"


def value_in_words(value: object) -> str:
    """Return a value as messages show it; None is the absence of a setting."""
    return "none" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def check_agreement(
    holder: object,
    had: Mapping[str, Any],
    wanted: Mapping[str, Any],
    hint: str,
    *,
    may_rise: Collection[str] = (),  # None is the highest
    show: Callable[[str, object], str] = in_words,
    error: type[CharrnnError] = ResumeError,
) -> None:
    """Raise an error that names both values if a wanted setting is not what the holder has."""
    for name, value in wanted.items():
        before = had[name]
        if value == before:
            continue
        if name in may_rise:
            if before is not None and value > before:
                continue
            hint = f"{show(name, value).rpartition(' ')[0]} may be raised, not lowered."
        has = show(name, before) if isinstance(before, bool) else value_in_words(before)
        has = "no limit" if name in may_rise and before is None else has
        raise error(f"{show(name, value)} contradicts {holder}, which has {has}", hint, name)


def make_config(kind: type[Config], given: Mapping[str, Any], *besides: str) -> Config:
    """Return a configuration of settings given by name; TypeError lists those that exist."""
    known = [*besides, *settings_of(kind)]
    for name in given:
        if name not in known:
            typed = {"n": "count", "p": "prime"} | {
                option.strip("-").replace("-", "_"): field
                for field, setting in settings_of(kind).items()
                for option in setting.options(field)
            }
            near = [typed[name]] if name in typed else get_close_matches(name, known, 1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise TypeError(f"there is no {name!r} here{meant}; there are {', '.join(known)}")
    return kind(**given)

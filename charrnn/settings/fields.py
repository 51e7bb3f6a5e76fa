"""Settings as fields of a dataclass: the values each may have, its help and its default.

    dropout: float | None = setting(Real(0, 0.95), "Fraction of units ...", panel="Network")

A Checked dataclass checks itself by these fields, and the command line makes its options of them.
So a setting is added in one place.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from charrnn.errors import CharrnnError, ResumeError, SettingError

LONGEST = 60  # characters of a value in a message


class Values(Protocol):
    """The values that a setting may have."""

    @property
    def metavar(self) -> str:
        """The name of a value in help."""

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""

    def plain(self, value: Any) -> Any:
        """Return the plain Python value; ValueError if it is not allowed."""

    def read(self, typed: Any) -> Any:
        """Return the value of typed text, or ValueError; a value stays as it is."""
        return str(typed)


@dataclass(frozen=True)
class Whole(Values):
    """Whole numbers in a range."""

    least: int
    most: int
    metavar: str = "N"

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def plain(self, value: Any) -> int:
        if is_flag(value) or not hasattr(value, "__index__"):
            raise ValueError("not a whole number")
        try:
            whole = index(value)
        except TypeError as error:  # arrays have __index__, and only some of them support it
            raise ValueError("not a whole number") from error
        return whole if self.least <= whole <= self.most else _out_of_range()

    def read(self, typed: Any) -> int:
        return int(typed)


@dataclass(frozen=True)
class Real(Values):
    """Finite numbers in a range; ``above`` and ``below`` leave out its ends."""

    least: float
    most: float = math.inf
    above: bool = False
    below: bool = False
    metavar: str = "NUMBER"

    @property
    def allowed(self) -> str:
        start = f"{'above' if self.above else 'from'} {self.least:g}"
        if self.most == math.inf:
            return f"a number {start}"
        end = "below" if self.below else "up to" if self.above else "to"
        return f"a number {start} {end} {self.most:g}"

    def plain(self, value: Any) -> float:
        if is_flag(value) or not isinstance(value, numbers.Real):
            raise ValueError("not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        is_end = (number == self.least and self.above) or (number == self.most and self.below)
        is_within = math.isfinite(number) and self.least <= number <= self.most and not is_end
        return number if is_within else _out_of_range()

    def read(self, typed: Any) -> float:
        return float(typed)


@dataclass(frozen=True)
class Several(Values):
    """One number or more, with commas between them."""

    each: Real

    @property
    def metavar(self) -> str:
        return f"{self.each.metavar}[,{self.each.metavar}...]"

    @property
    def allowed(self) -> str:
        return f"{self.each.allowed}, or several with commas"

    def plain(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, tuple) or not value:
            raise ValueError("not several numbers")
        return tuple(self.each.plain(one) for one in value)

    def read(self, typed: Any) -> tuple[float, ...]:
        return tuple(self.each.read(one) for one in str(typed).split(","))


@dataclass(frozen=True)
class OneOf(Values):
    """One of a few names; a function where plug-ins may add names."""

    names: Sequence[str] | Callable[[], Sequence[str]]

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the names at this moment."""
        return tuple(self.names() if callable(self.names) else self.names)

    @property
    def metavar(self) -> str:
        return "|".join(self.choices)

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def plain(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("not a name")
        return self.choices[self.choices.index(value)]


@dataclass(frozen=True)
class Text(Values):
    """Any text."""

    metavar: str = "TEXT"
    allowed: str = "a text"

    def plain(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("not a text")
        return str.__str__(value)


@dataclass(frozen=True)
class Character(Text):
    """One character."""

    metavar: str = "CHAR"
    allowed: str = "one character"

    def plain(self, value: Any) -> str:
        text = super().plain(value)
        return text if len(text) == 1 else _out_of_range()


@dataclass(frozen=True)
class File(Values):
    """A path to anything."""

    metavar: str = "PATH"
    allowed: str = "a path"

    def plain(self, value: Any) -> Path:
        if not isinstance(value, Path):
            raise ValueError("not a path")
        return value

    def read(self, typed: Any) -> Path:
        if not str(typed):
            raise ValueError("a path is not empty")
        return Path(typed)


@dataclass(frozen=True)
class Flag(Values):
    """Yes or no."""

    metavar: str = ""
    allowed: str = "True or False"

    def plain(self, value: Any) -> bool:
        if not is_flag(value):
            raise ValueError("neither yes nor no")
        return bool(value)

    def read(self, typed: Any) -> bool:
        return bool(typed)


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

    @property
    def is_required(self) -> bool:
        """Return whether the option must be given."""
        return self.default is MISSING

    def options(self, field_name: str) -> tuple[str, ...]:
        """Return the names that are typed for it. A name without a dash is that of an argument."""
        return (option_of(field_name),) if self.names is None else self.names


def setting(values: Values, about: str = "", *, default: Any = None, **details: Any) -> Any:
    """Return a field of a dataclass that is a Setting; a default of MISSING makes it required."""
    if default is not False and isinstance(default, (int, float, str, Path)):
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        details.setdefault("default_in_words", shown)
    declared = Setting(values, about, default=default, **details)
    return field(default=default, metadata={"setting": declared})


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
        what = f"{name} cannot be {_shown(value)}"
        raise SettingError(what, f"It may be {values.allowed}.", name) from None


def is_flag(value: object) -> bool:
    """Return whether the value is True or False, of Python or of NumPy, which may be absent."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def _shown(value: object) -> str:
    """Return a value for a message, cut if it is long."""
    try:
        shown = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # Python does not print numbers of thousands of digits
        shown = f"that {type(value).__name__}"
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."


def _out_of_range() -> NoReturn:
    raise ValueError("out of range")


class Checked:
    """A configuration that checks its settings; None is allowed only where it is the default.

    Values that stand for a plain one, such as NumPy's numbers, become the plain one.
    """

    def __post_init__(self) -> None:
        for name, one in settings_of(type(self)).items():
            value = getattr(self, name)
            if value is not None or one.default is not None:
                object.__setattr__(self, name, check(name, value, one.values))


Config = TypeVar("Config", bound=Checked)

# Panels of help
CORPUS, NETWORK, LEARNING, DRAWING = "Corpus", "Network", "Learning", "Drawing"
FILLING = "Filling"
of_corpus, of_network, of_learning, of_drawing, of_filling = (
    partial(setting, panel=panel) for panel in (CORPUS, NETWORK, LEARNING, DRAWING, FILLING)
)
fitted_network, fitted_learning = (
    partial(declare, default_in_words="fits the corpus") for declare in (of_network, of_learning)
)

LARGEST = 1 << 20  # units, lanes, steps: more is a typing error
SIZE = Whole(1, LARGEST)
COUNT = Whole(1, 1 << 40)
MANY = Whole(1, 1 << 62)
SHARE = Real(0, 0.95)
SEED = Whole(0, (1 << 64) - 1)
DYNAMIC_RATE = Real(0, 1e6, above=True)


def in_words(name: str, value: object) -> str:
    """Return a setting and its value as Python users read them: "epochs 5", "clock", "no clock"."""
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name} {value_in_words(value)}"


def value_in_words(value: object) -> str:
    """Return a value as messages show it; None is the absence of a setting."""
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def check_agreement(
    holder: object,
    had: Mapping[str, Any],
    wanted: Mapping[str, Any],
    hint: str,
    *,
    may_rise: Collection[str] = (),
    show: Callable[[str, object], str] = in_words,
    error: type[CharrnnError] = ResumeError,
) -> None:
    """Raise an error that names both values if a wanted setting is not what the holder has.

    Limits that may rise can be higher than before; a limit of None is the highest. ``show``
    returns a setting and its value as the user writes them.
    """
    for name, value in wanted.items():
        before = had[name]
        if value == before:
            continue
        if name in may_rise:
            if before is not None and value > before:
                continue
            option = show(name, value).rpartition(" ")[0]
            hint = f"{option} may be raised, not lowered."
        has = show(name, before) if isinstance(before, bool) else value_in_words(before)
        if name in may_rise and before is None:
            has = "no limit"
        raise error(
            f"{show(name, value)} contradicts {holder}, which has {has}", hint, setting=name
        )


def make_config(kind: type[Config], given: Mapping[str, Any], *besides: str) -> Config:
    """Return a configuration of settings given by name; TypeError lists those that exist."""
    known = [*besides, *settings_of(kind)]
    for name in given:
        if name not in known:
            raise TypeError(f"there is no {name!r} here; there are {', '.join(known)}")
    return kind(**given)

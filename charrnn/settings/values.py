"""Settings, each declared once: the values it may have, its help and its default.

    clock: bool = network(Flag(), default=False, short="Feed the network the position")

A Checked dataclass checks itself by these fields, and the command line makes its options of them.
"""

import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from operator import index
from pathlib import Path
from typing import Any, Final, Self, TypeVar, get_args

from charrnn.errors import SettingError
from charrnn.system.visible import did_you_mean, either

LONGEST_SHOWN: Final = 60  # characters of a value in a message
LARGEST: Final = 1 << 20  # units, lanes, steps: more is a typing error


class Values:
    """The values that a setting may have: any text, unless a subclass says which."""

    kind: type[Any] = str

    def __init__(
        self, metavar: str = "TEXT", allowed: str = "a text", names: Sequence[str] = ()
    ) -> None:
        self.metavar, self.allowed = metavar, allowed  # for help and for errors
        self.names = names  # that the shell completes

    def checked(self, value: Any) -> Any:
        """Return the plain Python value; ValueError or TypeError if it is not allowed."""
        return str.__str__(value)

    def read(self, typed: Any) -> Any:
        """Return the value of typed text, or ValueError; a value stays as it is."""
        return self.kind(typed)


Text = Values


class Whole(Values):
    """Whole numbers in a range."""

    kind = int

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most
        super().__init__("N", f"a whole number from {least:,} to {most:,}")

    def checked(self, value: Any) -> int:
        ensure(not is_flag(value))
        whole = index(value)
        ensure(self.least <= whole <= self.most)
        return whole


class Real(Values):
    """Numbers in a range, perhaps without one of its ends."""

    kind = float

    def __init__(self, least: float, most: float, without: float | None = None) -> None:
        self.least, self.most, self.without = least, most, without
        but = "" if without is None else f", but not {without:g}"
        super().__init__("NUMBER", f"a number from {least:g} to {most:,.15g}{but}")

    def checked(self, value: Any) -> float:
        ensure(isinstance(value, numbers.Real) and not is_flag(value))
        number = float(value)
        ensure(self.least <= number <= self.most and number != self.without)
        return number


class OneOf(Values):
    """One of a few names, or of those of a Literal."""

    def __init__(self, choices: Any) -> None:
        self.choices: Sequence[str] = get_args(choices) or choices  # of a Literal
        super().__init__("|".join(self.choices), f"one of {', '.join(self.choices)}", self.choices)

    def checked(self, value: Any) -> str:
        return self.choices[self.choices.index(str.__str__(value))]


class File(Values):
    """Paths, with one of these suffixes, if any; "-" is none. ``checked`` checks what was read."""

    kind = Path

    def __init__(self, metavar: str = "PATH", *suffixes: str, names: Sequence[str] = ()) -> None:
        self.suffixes = suffixes
        allowed = f"a file name that ends in {either(suffixes)}" if suffixes else "a path"
        super().__init__(metavar, allowed, names)

    def checked(self, value: Any) -> Path:
        ensure(not self.suffixes or value.suffix.lower() in self.suffixes)
        return Path(value)

    def read(self, typed: Any) -> Path:
        ensure(str(typed) not in ("", "-"))
        return Path(typed)


class Flag(Values):
    """True or False."""

    kind = bool

    def __init__(self) -> None:
        super().__init__("", "True or False")

    def checked(self, value: Any) -> bool:
        ensure(is_flag(value))
        return bool(value)


def is_flag(value: object) -> bool:
    """Return whether the value is True or False, of Python or of NumPy, which may be absent."""
    return type(value).__name__ in ("bool", "bool_")


def ensure(is_allowed: bool) -> None:
    """Raise ValueError unless a value is allowed."""
    if not is_allowed:
        raise ValueError("not allowed")


SIZE, COUNT, CORES = Whole(1, LARGEST), Whole(1, 1 << 40), Whole(1, 1 << 10)
SEED = Whole(0, (1 << 64) - 1)


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting."""

    values: Values
    about: str = ""  # its help
    short: str = ""  # in at most 32 characters, without a full stop
    panel: str = ""  # of help
    default: Any = None
    default_in_words: str = ""
    names: tuple[str, ...] | None = None  # typed for it; (): not an option; None: as its field
    repeated: bool = False
    variable: str = ""  # of the environment

    def options(self, field_name: str) -> tuple[str, ...]:
        """Return the names that are typed for it. A name without a dash is that of an argument."""
        return ("--" + field_name.replace("_", "-"),) if self.names is None else self.names


def setting(values: Values, about: str = "", default: Any = None, **details: Any) -> Any:
    """Return a field of a dataclass that is a Setting; a default of MISSING makes it required.

    The part of the help before a bar is the short help. Where ``short`` says all, it is the whole.
    """
    first, bar, rest = about.partition("|")
    details = {"short": first if bar else "", **details}
    about = first + rest or (f"{details['short']}." if details["short"] else "")
    if default is None and details.get("repeated"):
        default = ()
    if default is None and isinstance(values, Flag):
        default = False
    if isinstance(default, (int, float, str, Path)):
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        details["default_in_words"] = "" if default is False else shown
    declared = Setting(values, about, default=default, **details)
    return field(default=default, metadata={"setting": declared})


def settings_of(config: type) -> dict[str, Setting]:
    """Return the settings of a dataclass by field name, where a subclass narrows a field, too."""
    return {
        name: field.metadata["setting"]
        for kind in reversed(config.__mro__)
        for name, field in getattr(kind, "__dataclass_fields__", {}).items()
        if "setting" in field.metadata
    }


def check(name: str, value: object, values: Values) -> Any:
    """Return the plain value, which a file can hold; SettingError if it is not allowed."""
    try:
        return values.checked(value)
    except (ValueError, TypeError, OverflowError):
        try:
            shown = repr(value) if isinstance(value, str) else str(value)
        except ValueError:  # Python does not print numbers of thousands of digits
            shown = f"that {type(value).__name__}"
        shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}..."
        hint = f"It may be {values.allowed}."
        raise SettingError(f"{name} cannot be {shown}", hint, name) from None


Config = TypeVar("Config", bound="Checked")


def with_settings(config: Config, settings: Mapping[str, Any], owner: Callable[..., Any]) -> Config:
    """Return the configuration with these settings, which were given to its owner by name."""
    known = [*settings_of(type(config)), *signature(owner).parameters]
    check_names(settings, known, owner.__qualname__)
    return replace(config, **settings)  # type: ignore[type-var]


def check_names(given: Iterable[str], known: Collection[str], owner: str) -> None:
    """Raise SettingError for a setting that its owner does not know."""
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"See help(charrnn.{owner})."
            raise SettingError(f"there is no setting {name}", hint)


class Checked:
    """A configuration that checks its settings; None is allowed only where it is the default."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        check_names(given, cls.__dataclass_fields__, cls.__name__)  # type: ignore[attr-defined]
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, setting in settings_of(type(self)).items():
            value = getattr(self, name)
            if value is not None or setting.default is not None:
                object.__setattr__(self, name, check(name, value, setting.values))

"""How to draw: what makes a text bolder or longer, and where random numbers start.

How to fill in what is missing of a text: what stands for it, and how much is tried.

One of several parts of a text, for whoever shares the work out without an engine: 2/8.

What a sweep can try, and its seeds, as they are typed.

What may be said of an exported file beside its name, in one small value."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, TypedDict

from charrnn.errors import SettingError
from charrnn.settings.fields import (
    DRAWING,
    FILLING,
    MANY,
    SEED,
    Character,
    Checked,
    Real,
    Text,
    Whole,
    setting,
    settings_of,
)
from charrnn.settings.training import TrainConfig

TEMPERATURE = Real(0, 1e6)


@dataclass(frozen=True, kw_only=True)
class SampleConfig(Checked):
    """How to draw."""

    temperature: float = setting(
        TEMPERATURE,
        "Below 1 is more careful, above 1 bolder; 0 always takes the most likely character.",
        panel=DRAWING,
        default=1.0,
        names=("-t", "--temp"),
    )
    top_k: int | None = setting(
        MANY,
        "Draw among so many of the most likely characters.",
        panel=DRAWING,
        default_in_words="all",
    )
    top_p: float | None = setting(
        Real(0, 1, above=True),
        "Draw among the fewest characters that have this much of the chance.",
        panel=DRAWING,
        default_in_words="all",
    )
    max_characters: int = setting(
        MANY,
        "Cut a sample off after so many characters, the prime not counted.",
        panel=DRAWING,
        default=2000,
        names=("--max-chars",),
    )
    seed: int | None = setting(
        SEED,
        "Where random numbers start: same seed, same text, whatever -n is.",
        panel=DRAWING,
        default_in_words="another one each time",
    )


@dataclass(frozen=True, kw_only=True)
class FillConfig(Checked):
    """How to fill in what is missing of a text."""

    count: int = setting(
        Whole(1, 1 << 12),
        "How many fillings of each text, likeliest first.",
        panel=FILLING,
        default=5,
        names=("-n", "--count"),
    )
    blank: str = setting(
        Character(), "What stands for one missing character.", panel=FILLING, default="_"
    )
    gap: str = setting(
        Character(), "What stands for any number of them.", panel=FILLING, default="*"
    )
    max_gap: int = setting(
        Whole(0, 1 << 10), "The most that may be missing in a gap.", panel=FILLING, default=8
    )
    particles: int = setting(
        Whole(1, 1 << 20),
        "How many texts are drawn where there are too many to go through.",
        panel=FILLING,
        default=4096,
    )
    seed: int | None = setting(
        SEED,
        "Where random numbers start: same seed, same particles.",
        panel=FILLING,
        default_in_words="another one each time",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blank == self.gap:
            raise SettingError(
                f"gap cannot be {self.gap}, which is the blank", "Take another character.", "gap"
            )


MOST_PARTS: Final = 1 << 20


class Part(NamedTuple):
    """The second of eight parts is 2 of 8."""

    number: int
    of: int


@dataclass(frozen=True)
class Parts:
    """Such a part, as it is typed."""

    metavar: str = "I/N"
    allowed: str = f"a part such as 2/8, of at most {MOST_PARTS:,}"

    def plain(self, value: Any) -> Part:
        if not isinstance(value, Part) or not 1 <= value.number <= value.of <= MOST_PARTS:
            raise ValueError("no such part")
        return value

    def read(self, typed: Any) -> Part:
        if isinstance(typed, Part):
            return typed
        number, _, of = str(typed).partition("/")
        return Part(int(number), int(of))


MOST_SEEDS = 1 << 16  # seeds
FIXED = ("seed", "workers")  # settings of a run that a sweep decides


def words_to_try() -> dict[str, str]:
    """The settings that can be tried, by what is typed for them."""
    return {
        one.options(name)[-1].partition("/")[0].lstrip("-"): name
        for name, one in settings_of(TrainConfig).items()
        if name not in FIXED
    }


@dataclass(frozen=True)
class Seeds:
    """Seeds, and ranges of them, with commas between."""

    metavar: str = "N-N"
    allowed: str = (
        f"seeds such as 0-4 or 1,5,7: each of them once, from low to high, {MOST_SEEDS:,} at most"
    )

    def plain(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, tuple) or not value:
            raise ValueError("no seeds")
        return tuple(SEED.plain(one) for one in value)

    def read(self, typed: Any) -> tuple[int, ...]:
        found: list[int] = []
        for piece in str(typed).split(","):
            first, dash, last = piece.partition("-")
            low, high = int(first), int(last if dash else first)
            if not 0 <= high - low < MOST_SEEDS - len(found):
                raise ValueError("no seeds, or too many")
            found += range(low, high + 1)
        if len(set(found)) < len(found):
            raise ValueError("a seed is there twice")
        return tuple(found)


FILE = "File"  # a panel of help
BITS = (32, 16, 8)
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_FOR_ALL = {"name", "model"}


class Exporting(TypedDict, total=False):
    """What somebody may say of it: the first fields of ExportOptions."""

    bits: int
    title: str | None
    prefix: str | None


@dataclass(frozen=True)
class ExportOptions(Checked):
    """Each is for some kinds; whoever gives it to another is told so."""

    bits: int = setting(
        Whole(BITS[-1], BITS[0], "|".join(map(str, BITS))),
        "Bits a number, for html, js and c: with 16 or 8 the file is smaller, and a sample now and"
        " then another.",
        panel=FILE,
        default=32,
    )
    title: str | None = setting(
        Text(), "The title of a page.", panel=FILE, default_in_words="the name of FILE"
    )
    prefix: str | None = setting(
        Text("NAME"),
        "What names in C begin with.",
        panel=FILE,
        default_in_words="the name of FILE",
    )
    novel: tuple[str, ...] = ()  # texts that a page is not to say
    name: str = "charrnn"  # of the file that is written, without folder and suffix
    model: str = "MODEL"  # the name of the model's file, without its folder, where there is one

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits not in BITS:
            raise SettingError(f"bits cannot be {self.bits}", "It may be 32, 16 or 8.", "bits")
        if self.prefix is not None and not _IDENTIFIER.fullmatch(self.prefix):
            raise SettingError(
                f"prefix cannot be {self.prefix!r}",
                "It may have letters, digits and _, and begins with no digit.",
                "prefix",
            )

    def check_for(self, kind: str, takes: Collection[str]) -> None:
        """Raise SettingError where something was said that this kind has no use for."""
        said = (one.name for one in fields(self) if getattr(self, one.name) != one.default)
        for name in said:
            if name not in takes and name not in _FOR_ALL:
                raise SettingError(f"{name} is not for {kind}", "Leave it out.", name)

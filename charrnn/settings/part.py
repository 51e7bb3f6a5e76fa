"""One of several parts of a text, for whoever shares the work out without an engine: 2/8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

MOST: Final = 1 << 20


class Part(NamedTuple):
    """The second of eight parts is 2 of 8."""

    number: int
    of: int


@dataclass(frozen=True)
class Parts:
    """Such a part, as it is typed."""

    metavar: str = "I/N"
    allowed: str = f"a part such as 2/8, of at most {MOST:,}"

    def plain(self, value: Any) -> Part:
        if not isinstance(value, Part) or not 1 <= value.number <= value.of <= MOST:
            raise ValueError("no such part")
        return value

    def read(self, typed: Any) -> Part:
        if isinstance(typed, Part):
            return typed
        number, _, of = str(typed).partition("/")
        return Part(int(number), int(of))

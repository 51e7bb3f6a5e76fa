"""What may be typed for a value, and what is said when it is something else.

Typer has limits of its own; they let ``inf`` through, and what they say differs from version to
version.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import typer


class Kind(NamedTuple):
    """A kind of value: how to read it, what help calls it, and the names it is limited to."""

    parse: Callable[[Any], Any]  # takes the default as well, which has its type already
    metavar: str
    names: tuple[str, ...] = ()


def real(
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: bool = False,
    below: bool = False,
) -> Kind:
    """A finite number from low to high; above and below leave out the end itself."""
    allowed = "a number" + _range(low, high, above, below)

    def parse(text: str | float) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        inside = low < value < high or (value == low and not above) or (value == high and not below)
        if math.isfinite(value) and inside:
            return value
        raise typer.BadParameter(f"{_shown(text)} is not {allowed}")

    return Kind(parse, "NUMBER")


def _range(low: float, high: float, above: bool, below: bool) -> str:
    start = "" if low == -math.inf else f" above {low:g}" if above else f" from {low:g}"
    if high == math.inf:
        return start
    if below:
        return f"{start} below {high:g}"
    return f"{start} to {high:g}" if start and not above else f"{start} up to {high:g}"


def whole(low: int, high: int) -> Kind:
    """A whole number from low to high."""

    def parse(text: str | int) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if low <= value <= high:
            return value
        raise typer.BadParameter(f"{_shown(text)} is not a whole number from {low} to {high}")

    return Kind(parse, "N")


def one_of(*names: str) -> Kind:
    """One of a few names."""

    def parse(text: str) -> str:
        if text in names:
            return text
        raise typer.BadParameter(f"{_shown(text)} is not one of {', '.join(names)}")

    return Kind(parse, "|".join(names), names)


def path() -> Kind:
    """A path, whatever is at the end of it."""

    def parse(text: str | Path) -> Path:
        if not str(text):
            raise typer.BadParameter("a path is needed")
        return Path(text)

    return Kind(parse, "PATH")


def text(metavar: str = "TEXT") -> Kind:
    """Any text."""
    return Kind(str, metavar)


def _shown(typed: object) -> str:
    shown = repr(typed)
    return shown if len(shown) <= 50 else f"{shown[:46]}...'"

"""Results as text: entries of a name and a text, a table of losses, durations, counts, sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from charrnn.cli.console import BOLD, CYAN, Output, wrap
from charrnn.text import Visible, joined, visible_line

if TYPE_CHECKING:
    from charrnn.score import Difference, Mean


def clock(seconds: float) -> str:
    """Return a duration as text: 1.2 s, 12 s, 3:05 min, 2:03 h, 5 days."""
    if not math.isfinite(seconds):
        return "?"
    whole = round(seconds)
    if whole < 60:
        if seconds < 0.995:  # two digits, to agree with a rate that stands beside it
            return f"{max(seconds, 0.001):.2g} s"
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 60:
        return f"{minutes}:{whole % 60:02} min"
    return f"{hours}:{minutes % 60:02} h" if days < 3 else f"{days} days"


def counted(number: float) -> str:
    """Return a rate or a size to three digits: 950, 58.2k, 1.25M."""
    unit = ""
    for unit in ("", "k", "M"):
        if number < 999.5 or unit == "M":
            break
        number /= 1000
    digits = 0 if not unit or number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:.{digits}f}{unit}"


def bytes_in_words(number: float) -> str:
    for unit, size in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if number < size << 10:
            amount = max(number / size, 0.1)
            return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:,.0f} {unit}"
    return f"{number / (1 << 30):,.1f} GiB"


def count(number: float, what: str, are: str = "") -> str:
    """Return a number with its noun: 1 layer, 2,000 layers; with ``are="lines"``, 2 lines."""
    word = are.removesuffix("s") if are not in ("", "mixed") else what
    shown = f"{number:g}" if isinstance(number, float) else f"{number:,}"
    return f"{shown} {word}{'' if number == 1 else 's'}"


def bits(nats: float) -> float:
    return nats / math.log(2)


def of_bits(nats: float) -> str:
    return f"{nats:.3f} nats or {bits(nats):.3f} bits"


INDENT = 11
Entry = tuple[str, str]


def entries(given: Iterable[Entry], output: Output) -> Iterator[Visible]:
    """Yield the lines of entries. An entry without a name continues the one before."""
    # In a narrow window each name has its own line.
    indent = INDENT if output.width >= 3 * INDENT else 2
    for name, text in given:
        lead = Visible(" " * indent)
        if name and indent < INDENT:
            yield output.paint(visible_line(name), CYAN)
        elif name:
            lead = output.paint(visible_line(f"{name:{INDENT}}"), CYAN)
        for line in wrap(text, output.width - indent):
            yield joined([lead, line])
            lead = Visible(" " * indent)


class Line(NamedTuple):
    """A line of the table: a mean, and the difference of the model's mean from it."""

    name: str
    mean: Mean
    apart: Difference | None = None


def lines_of(table: list[Line], output: Output) -> Iterator[Visible]:
    """Yield the table of bits per character, in columns; the names are cut to fit."""
    from charrnn.score import BITS

    has_apart = any(line.apart is not None for line in table)
    room = output.width - (50 if has_apart else 24) if output.is_terminal else 200
    names = [visible_line(line.name) for line in table]
    width = max(len(name) for name in names)
    width = max(12, min(width, room))
    titles = f"{'':{width}}  {'bits/char':>9}  {'perplexity':>11}"
    titles += f"  {'difference':>10}  std error" if has_apart else ""
    yield output.paint(Visible(titles), CYAN)
    for name, line in zip(names, table, strict=True):
        shown = name if len(name) <= width else f"..{name[2 - width :]}"
        mean = line.mean
        text = f"{shown:{width}}  {mean.bits_per_character:9.3f}  {mean.perplexity:11,.4g}"
        if line.apart is not None:
            d, error = line.apart
            mark = " (=)" if line.apart.may_be_chance else ""
            text += f"  {BITS * d:+10.3f}  {BITS * error:9.3f}{mark}"
        yield output.paint(Visible(text), BOLD) if not name.startswith(" ") else Visible(text)

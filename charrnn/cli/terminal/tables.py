"""Results as text: reports of facts, entries of a name and a text, and tables of columns.

A report is shown as entries to people or as JSON to programs. A narrow window wraps text and leaves
out the least important columns. The functions here also write durations, counts, sizes and losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from charrnn.cli.console import BOLD, CYAN, Console, Output, wrap
from charrnn.text import Visible, joined, visible_line

if TYPE_CHECKING:
    from charrnn.model_file import CorpusRecord
    from charrnn.score import Difference, Mean

FEW_SYMBOLS = 200  # held out: a check-up that is the best on fewer may be so by chance


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


def epochs_in_words(done: int) -> str:
    return count(done, "epoch") if done else "less than 1 epoch"


def bits(nats: float) -> float:
    return nats / math.log(2)


def of_bits(nats: float) -> str:
    return f"{nats:.3f} nats or {bits(nats):.3f} bits"


def of_held_out(nats: float, step: int | None) -> str:
    perplexity = f"perplexity {math.exp(min(nats, 700)):,.2f}"
    where = f"at step {step or 0:,}"
    return f"{of_bits(nats)} per held-out character, {perplexity}, {where}"


def few_held_out(corpus: CorpusRecord) -> str:
    """Return a warning if the best check-up was chosen on very little text, or ""."""
    symbols = corpus.held_out_characters + corpus.held_out_examples
    if not 0 < symbols < FEW_SYMBOLS:
        return ""
    return f"chosen on only {symbols} held-out symbols, so on other text the loss may be higher"


def pieces_in_words(learned: float, scored: float, text: str) -> str:
    """Return which shares of a large corpus and of a text were used; nothing for all of both."""
    if learned >= 1 and scored >= 1:
        return ""
    shares = f"counted on {learned:.1%} of the training text, scored on {scored:.1%} of {text}"
    return f"{shares}: evenly spaced pieces"


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


class Fact(NamedTuple):
    """A result: a key and a value for JSON, a label and a text for people; either may be empty."""

    key: str = ""
    value: object = None
    label: str = ""  # without one, the text continues the fact above
    text: str = ""


class Report(list[Fact]):
    """The facts that a command reports, in the order of the JSON keys."""

    def __init__(self, *facts: Fact) -> None:
        super().__init__(facts)

    def show(
        self, schema: str, console: Console, *, as_json: bool, below: Iterable[Visible] = ()
    ) -> None:
        """Write the facts to stdout: one JSON object, or a list with these lines below it."""
        if as_json:
            console.json(schema, {fact.key: fact.value for fact in self if fact.key})
            return
        shown = ((fact.label, fact.text) for fact in self if fact.text)
        console.out.write_lines(entries(shown, console.out))
        console.out.write_lines(below)


class Column(NamedTuple):
    name: str
    width: int
    rank: int = 0  # a narrow window leaves out the highest ranks, never rank 0
    is_left: bool = False


class Table:
    """A table of the columns that fit; in a file or a pipe, of all columns."""

    def __init__(self, columns: Sequence[Column], room: float, output: Output) -> None:
        self._output = output
        kept = set()
        room = room if output.is_terminal else math.inf  # a file or a pipe gets all columns
        for column in sorted(columns, key=lambda one: one.rank):
            if column.width <= room or not column.rank:
                kept.add(column)
                room -= column.width
        cut = int(min(room, 0))  # from names, if no other column can be left out
        shown = [column for column in columns if column in kept]
        self.columns = [one._replace(width=max(4, one.width + cut * one.is_left)) for one in shown]
        self.width = sum(column.width for column in self.columns)

    def head(self) -> Visible:
        return self._output.paint(self.row({one.name: one.name for one in self.columns}), CYAN)

    def row(self, cells: Mapping[str, str], styles: Mapping[str, str] | None = None) -> Visible:
        """Return a row, each cell in its style; a missing cell stays empty."""
        shown, styles = [], styles or {}
        for name, width, _, is_left in self.columns:
            cell = cells.get(name, "")
            cell = fitted(cell, width) if is_left else visible_line(cell)
            text = Visible(f"{cell:{'<' if is_left else '>'}{width}}")
            shown.append(self._output.paint(text, styles[name]) if name in styles else text)
        return Visible(joined(shown).rstrip())


FIRST = 21  # columns for a name
COLUMNS = (
    Column("", FIRST, is_left=True),
    Column("nats", 8),
    Column("bits", 8, 1),
    Column("perplexity", 12, 2),
)


def cells(mean: Mean) -> dict[str, str]:
    return {
        "nats": figure(mean.nats_per_character),
        "bits": figure(mean.bits_per_character),
        "perplexity": shown(mean.perplexity),
    }


def difference_cells(difference: Difference | None) -> dict[str, str]:
    """Return the cells of a difference, empty if it is not known."""
    if difference is None:
        return {}
    d, error = difference
    return {"difference": f"{d:+.3f}", "std error": figure(error)}


def figure(number: float) -> str:
    """Return a number with three decimals; "-" for NaN."""
    return "-" if math.isnan(number) else f"{number:.3f}"


def fitted(name: str, room: int = FIRST) -> str:
    """Return the name, shortened at its beginning to fit."""
    name = visible_line(name)
    return name if len(name) < room else f"..{name[3 - room :]}"


def shown(perplexity: float) -> str:
    """Return a perplexity as text; "-" for NaN."""
    if math.isnan(perplexity):
        return "-"
    return f"{perplexity:.2f}" if perplexity < 1e6 else f"{perplexity:.2e}"


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

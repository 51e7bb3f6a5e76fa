"""The loss in the order of merit, beside what counts and packs; and what is drawn, beside what is
held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from charrnn.analysis.drawn_texts import NAME
from charrnn.cli.console import BOLD, CYAN, Output
from charrnn.cli.formatting import count, pieces_in_words
from charrnn.cli.loss_cells import COLUMNS, FIRST, cells, fitted
from charrnn.cli.table import Entry, Table, entries
from charrnn.escaping import Visible, visible_line
from charrnn.scoring.compressors import PACKERS
from charrnn.scoring.score import Mean

if TYPE_CHECKING:
    from charrnn.cli.score_summary import Summary

OF_ONE = "held out, "  # and the name of a model


def compared(summaries: Sequence[Summary], output: Output) -> Iterator[Visible]:
    """All of them in the order of merit, if they are to be compared with others."""
    baselines = summaries[0].baselines
    if not baselines:
        return
    table = Table(COLUMNS, output.width, output)
    yield Visible("")
    yield output.paint(Visible("compared"), CYAN)
    means = {one.name: Mean(one.nats_per_character, 1) for one in baselines}
    models = {summary.model: summary.score.overall for summary in summaries}
    means |= models
    for name in sorted(means, key=lambda name: -means[name].nats_per_character):
        row = table.row({"": fitted(name), **cells(means[name])})
        yield output.paint(row, BOLD) if name in models else row
    yield from entries(parts_in_words(summaries[0]), output)


def parts_in_words(summary: Summary) -> Iterator[Entry]:
    """Which part of the corpus and of the text others know, where that is not all."""
    parts = {one.name in PACKERS: summary.part_of(one) for one in summary.baselines}
    if words := pieces_in_words(*parts[False], "the text"):
        yield "", words
    learned, scored = parts.get(True, (1.0, 1.0))
    if learned < 1 or scored < 1:
        first, last = f"the first {scored:.1%} of the text", f"the last {learned:.1%}"
        yield "", f"packed: {first}, after {last} of what is learned from"


def of_drawn_texts(summaries: Sequence[Summary], output: Output) -> Iterator[Visible]:
    """What a Markov model makes of what is held out of each corpus, and of what was drawn by those
    who have learned from it.
    """
    found = [(summary, summary.drawn) for summary in summaries if summary.drawn is not None]
    if not found:
        return
    table = Table(COLUMNS, output.width, output)
    texts = found[0][1].texts
    yield Visible("")
    yield output.paint(visible_line(f"{NAME}, of {count(texts, 'text')} drawn"), CYAN)
    held_out = {drawn.held_out: summary.model for summary, drawn in reversed(found)}
    for nats in dict.fromkeys(drawn.held_out for _, drawn in found):
        name = "what is held out"
        if len(held_out) > 1:  # of several corpora: each by the first model that learned from it
            name = OF_ONE + fitted(held_out[nats], FIRST - len(OF_ONE))
        yield table.row({"": name, **cells(Mean(nats, 1))})
        for summary, drawn in found:
            if drawn.held_out == nats:
                name = fitted(summary.model) if len(found) > 1 else "what was drawn"
                row = table.row({"": name, **cells(Mean(drawn.nats_per_character, 1))})
                yield output.paint(row, BOLD)

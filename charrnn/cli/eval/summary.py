"""The sums over a text, and what to think of them: a short table, or one object for programs.

The loss in the order of merit, beside what counts and packs; and what is drawn, beside what is
held out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from charrnn.analysis.drawn_texts import NAME, DrawnTexts
from charrnn.cli.console import BOLD, CYAN, Console, Output
from charrnn.cli.terminal.tables import (
    COLUMNS,
    FIRST,
    Column,
    Entry,
    Table,
    cells,
    clock,
    count,
    counted,
    entries,
    figure,
    fitted,
    pieces_in_words,
    shown,
)
from charrnn.corpus.corpus import Corpus
from charrnn.counts.baselines import Baseline
from charrnn.scoring.baselines import PACKERS, Heard, comparisons
from charrnn.scoring.pieces import Piece
from charrnn.scoring.score import Mean, Score
from charrnn.text import Visible, visible_line

TOGETHER = "together"  # what the mean of several models is called


class Summary:
    """Adds up what it hears."""

    def __init__(
        self, name: str, examples_are: str, model: str, rate: float | None, ends: str = "symbol"
    ) -> None:
        self.name = name
        self.examples_are = examples_are
        self.model = model
        self.rate = rate
        self.ends_apart = ends != "symbol"  # whether what ENDs cost is told apart
        self.score = Score()
        self.parts: dict[str, Score] = {}  # the same as each part of the model has it
        self.baselines: list[Baseline] = []
        self.learned_from = 0  # symbols, by those
        self.drawn: DrawnTexts | None = None
        self._began = time.monotonic()
        self.seconds = 0.0

    def hear(self, piece: Piece) -> None:
        """Add a piece."""
        self.score += piece.score()
        for name in piece.parts:
            self.parts[name] = self.parts.get(name, Score()) + piece.of(name).score()

    def finish(self) -> None:
        """Stop the clock."""
        self.seconds = time.monotonic() - self._began

    def compare(self, corpus: Corpus, heard: Heard) -> None:
        """Find out what others make of the same text."""
        self.baselines = list(comparisons(corpus, heard))
        self.learned_from = len(corpus.train.ids)

    def part_of(self, one: Baseline) -> tuple[float, float]:
        """How much it knows of what was learned from, and of the text: 1 where that is all."""
        return (
            one.train_symbols / max(1, self.learned_from),
            one.held_out_symbols / max(1, self.score.overall.count),
        )

    @property
    def characters_per_second(self) -> float:
        """Ends counted."""
        return self.score.overall.count / max(self.seconds, 1e-9)

    def sums(self) -> Mapping[str, str]:
        """What is worth a place above the text in colours."""
        overall = self.score.overall
        sums = {
            "bits per character": f"{overall.bits_per_character:.3f}",
            "perplexity": shown(overall.perplexity),
            "characters": f"{self.score.characters:,}",
            "examples": f"{self.score.ends:,}",
            "never seen before": f"{self.score.unknown:,}",
            "model": self.model,
        }
        return sums if self.rate is None else sums | {"learning at": f"{self.rate:g}"}

    def in_words(self) -> list[Entry]:
        """What was scored, and by what."""
        score = self.score
        text = f"{count(score.ends, 'example', are=self.nature)}, {score.characters:,} characters"
        learning = "" if self.rate is None else f", learning at {self.rate:g} while it reads"
        speed = f"{counted(self.characters_per_second)} characters a second"
        unseen = count(score.unknown, "character")
        return [
            ("text", self.name),
            ("", f"{text}, {score.bytes:,} bytes"),
            ("model", self.model + learning),
            *([("unseen", f"{unseen} never seen in training")] if score.unknown else []),
            ("time", f"{clock(self.seconds)}, {speed}"),
        ]

    @property
    def nature(self) -> str:
        """What examples are called: nothing, where that was found out on the way."""
        return "" if self.examples_are == "auto" else self.examples_are

    def in_a_line(self) -> str:
        """The loss, where there is no room for more."""
        overall = self.score.overall
        learning = "" if self.rate is None else f", learning at {self.rate:g}"
        return (
            f"{overall.nats_per_character:.4f} nats or {overall.bits_per_character:.4f} bits per"
            f" character, over {count(self.score.characters, 'character')} and"
            f" {count(self.score.ends, 'end')}{learning}"
        )

    def figures(self) -> dict[str, object]:
        """The sums for programs."""
        ending = self.score.ending
        apart = {"nats": ending.nats, "nats_per_example": ending.nats_per_character}
        return self.score.figures() | ({"ending": apart} if self.ends_apart else {})

    def as_json(self) -> dict[str, object]:
        """All of it for programs."""
        return {
            "text": self.name,
            "examples": self.score.ends,
            **self.figures(),
            **self.parts_json(),
            "baselines": {one.name: self.compared_json(one) for one in self.baselines},
            "model": self.model,
            "drawn": self.drawn_as_json(),
            "dynamic": self.rate,
            "seconds": self.seconds,
            "characters_per_second": self.characters_per_second,
        }

    def compared_json(self, one: Baseline) -> dict[str, float]:
        """What one of the others makes of it, and which part of both texts it knows."""
        learned, scored = self.part_of(one)
        mean = Mean(one.nats_per_character, 1).per_character()
        return {**mean, "part_learned": learned, "part_scored": scored}

    def drawn_as_json(self) -> dict[str, object] | None:
        """What a Markov model makes of texts that were drawn, if any were."""
        if self.drawn is None:
            return None
        both = {"drawn": self.drawn.nats_per_character, "held_out": self.drawn.held_out}
        means = {name: Mean(nats, 1).per_character() for name, nats in both.items()}
        return {"texts": self.drawn.texts, "characters": self.drawn.characters, NAME: means}

    def parts_json(self) -> dict[str, object]:
        """What each part makes of it, where the model has several."""
        if not self.parts:
            return {}
        parts = {name: score.overall for name, score in self.parts.items()}
        return {
            "parts": {
                name: {**mean.per_character(), "perplexity": mean.perplexity}
                for name, mean in parts.items()
            }
        }


def show(
    summaries: Sequence[Summary],
    console: Console,
    more: Mapping[str, object],
    *,
    as_json: bool,
    is_aside: bool,
) -> None:
    """Show what the models make of a text on stdout, unless that has rows on it; and, to programs,
    what more there is to say.
    """
    first = summaries[0]
    if is_aside:
        for summary in summaries:
            whose = f"{summary.model}: " if len(summaries) > 1 else ""
            console.note(f"{whose}{summary.in_a_line()}")
    elif as_json:
        several = {
            summary.model: {
                **summary.figures(),
                **summary.parts_json(),
                "drawn": summary.drawn_as_json(),
            }
            for summary in summaries
            if summary.model not in ("", TOGETHER)
        }
        beside = {"models": several} if len(summaries) > 1 else {}
        console.json("eval", {**first.as_json(), **more, **beside})
    else:
        console.out.write_lines(entries(in_words(summaries), console.out))
        console.out.write_lines(tables(summaries, console.out))


def in_words(summaries: Sequence[Summary]) -> list[Entry]:
    """What was scored, and by what."""
    first, *others = summaries
    if not others:
        return first.in_words()
    shared = [entry for entry in first.in_words() if entry[0] in ("text", "")]
    return [*shared, ("time", clock(first.seconds))]


def tables(summaries: Sequence[Summary], output: Output) -> Iterator[Visible]:
    """The loss in all its forms, a group of columns for each model; and in the order of merit, if
    it is to be compared.
    """
    yield Visible("")
    yield from beside_each_other(summaries, output)
    for summary in summaries:
        if summary.parts:
            yield from of_parts(summary, output, is_alone=len(summaries) == 1)
    yield from compared(summaries, output)
    yield from of_drawn_texts(summaries, output)


def of_parts(summary: Summary, output: Output, *, is_alone: bool) -> Iterator[Visible]:
    """What each part of a model makes of the text by itself, and all of them together."""
    table = Table(COLUMNS, output.width, output)
    yield Visible("")
    whose = "each by itself" if is_alone else f"{fitted(summary.model)}, each by itself"
    yield output.paint(visible_line(whose), CYAN)
    for name, score in summary.parts.items():
        row = table.row({"": name, **cells(score.overall)})
        yield output.paint(row, BOLD) if score == summary.score else row


def beside_each_other(summaries: Sequence[Summary], output: Output) -> Iterator[Visible]:
    """The forms of the loss, a row each."""
    groups = [
        [one._replace(name=f"{one.name} {i}") for one in columns_for(len(summaries), output)]
        for i in range(len(summaries))
    ]
    table = Table([COLUMNS[0], *chain.from_iterable(groups)], output.width, output)
    if len(summaries) > 1:
        width = sum(column.width for column in groups[0])
        names = [fitted(summary.model, width).rjust(width) for summary in summaries]
        yield output.paint(visible_line(" " * FIRST + "".join(names)), CYAN)
    heads = {column.name: column.name.rpartition(" ")[0] for column in table.columns[1:]}
    yield output.paint(table.row(heads), CYAN)
    scores = [summary.score for summary in summaries]
    forms = {
        "per character": [cells(score.overall) for score in scores],
        "ends not counted": [cells(score.without_end) for score in scores],
        "unseen not counted": [cells(score.without_unknown) for score in scores],
        "the end, per example": [cells(score.ending) for score in scores],
        "per byte": [{"bits": figure(score.bits_per_byte)} for score in scores],
    }
    if not any(score.unknown for score in scores):
        del forms["unseen not counted"]
    if not any(summary.ends_apart for summary in summaries):
        del forms["the end, per example"]
    for name, each in forms.items():
        if not any(key in heads.values() for key in each[0]):
            continue
        row = {f"{key} {i}": cell for i, some in enumerate(each) for key, cell in some.items()}
        line = table.row({"": name, **row})
        yield output.paint(line, BOLD) if name == "per character" else line


def columns_for(models: int, output: Output) -> Sequence[Column]:
    """As many for each model as there is room for: one has all that a window takes."""
    columns = Table(COLUMNS, output.width, output).columns[1:]
    while len(columns) > 1 and FIRST + models * sum(map(width_of, columns)) > output.width:
        columns.pop()
    return columns


def width_of(column: Column) -> int:
    """How wide it is."""
    return column.width


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

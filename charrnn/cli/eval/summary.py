"""The result of ``charrnn eval``: the loss in several forms, beside baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from charrnn.cli.console import BOLD, CYAN, Console, Output
from charrnn.cli.eval.options import Options
from charrnn.cli.terminal import tables
from charrnn.cli.terminal.tables import Entry, Fact, Report, Table, cells, count, entries, fitted
from charrnn.counts import Baseline
from charrnn.scoring.pieces import ScoredBlock
from charrnn.scoring.score import UNCLEAR, Difference, Mean, Pairing, Score, json_of
from charrnn.text import Visible, visible_line

TOGETHER = "together"  # the name of the mean of several models
COLUMNS = tables.Column("difference", 12, 3), tables.Column("std error", 11, 4)
NONE: Mapping[str, Difference | None] = {}


@dataclass
class Summary:
    """The sums over a text as one model predicts it."""

    name: str
    examples_are: str
    model: str
    ends_apart: bool = False  # the cost of the ends is a row of its own
    score: Score = field(default_factory=Score)
    parts: dict[str, Score] = field(default_factory=dict)  # network, counts, both; or empty
    # from the first model of several under "", and from each other part
    pairings: dict[str, Pairing] = field(default_factory=lambda: defaultdict(Pairing))
    baselines: Sequence[tuple[Baseline, Difference | None]] = ()
    trained_on: int = 0  # symbols of the corpus that baselines learned from
    seconds: float = 0.0

    def add(self, block: ScoredBlock) -> None:
        self.score += block.score()
        for name in block.parts:
            self.parts[name] = self.parts.get(name, Score()) + block.of_part(name).score()
            self.pairings[name].add(block.ids, block.nats - block.parts[name])

    def pair(self, block: ScoredBlock, first: ScoredBlock) -> None:
        """Add a block as this model and the first of several models have scored it."""
        self.pairings[""].add(block.ids, block.nats - first.nats)

    def difference(self, part: str = "") -> Difference | None:
        """Return the difference from a part of this model, or from the first of several models."""
        if part not in self.pairings or self.parts.get(part) == self.score:
            return None
        return self.pairings[part].difference

    def shares(self, baseline: Baseline) -> tuple[float, float]:
        """Return the fractions of the corpus and of the text that a baseline has read."""
        return (
            baseline.train_symbols / max(1, self.trained_on),
            baseline.held_out_symbols / max(1, self.score.overall.count),
        )

    def figures(self) -> dict[str, object]:
        figures, ending = self.score.figures() | json_of(self.difference()), self.score.ending
        if self.ends_apart:
            figures["ending"] = {"nats": ending.nats, "nats_per_example": ending.nats_per_character}
        if self.parts:
            figures["parts"] = {
                name: {**score.overall.loss(), **json_of(self.difference(name))}
                for name, score in self.parts.items()
            }
        return figures

    def baselines_json(self) -> dict[str, object]:
        """Return the losses of the baselines, and the fractions of both texts that they read."""
        losses: dict[str, object] = {}
        for baseline, difference in self.baselines:
            mean = Mean(baseline.nats_per_character, 1).per_character()
            shares = zip(("part_learned", "part_scored"), self.shares(baseline), strict=True)
            losses[baseline.name] = {**mean, **dict(shares), **json_of(difference)}
        return losses


def show(
    summaries: Sequence[Summary], options: Options, console: Console, more: Mapping[str, object]
) -> None:
    """Write the result to stdout; as lines on stderr if stdout has rows. ``more`` is for JSON."""
    if options.shows_rows:
        for summary in summaries:
            model = f"{summary.model}: " if len(summaries) > 1 else ""
            score = summary.score
            loss = score.overall
            console.note(
                f"{model}{loss.nats_per_character:.4f} nats or {loss.bits_per_character:.4f} bits"
                f" per character, over {count(score.characters, 'character')} and"
                f" {count(score.ends, 'end')}"
            )
        return
    report, first = report_on(summaries, more), summaries[0]
    below = loss_tables(summaries, console.out) if first.score.overall.count else ()
    report.show("eval", console, as_json=options.as_json, below=below)


def report_on(summaries: Sequence[Summary], more: Mapping[str, object]) -> Report:
    """Return the facts about the text and the models; ``more`` holds further values for JSON."""
    first, is_alone = summaries[0], len(summaries) == 1
    score = first.score
    speed = score.overall.count / max(first.seconds, 1e-9)  # each end counts as a character
    are = "" if first.examples_are == "auto" else first.examples_are
    size = f"{count(score.ends, 'example', are=are)}, {score.characters:,} characters"
    unknown = f"{count(score.unknown, 'character')} not in the vocabulary"
    per_second = f", {tables.counted(speed)} characters a second" if is_alone else ""
    report = Report(
        Fact("text", first.name, "text", first.name),
        Fact("examples", score.ends, "", f"{size}, {score.bytes:,} bytes"),
        *(Fact(name, value) for name, value in first.figures().items()),
        Fact(label="unknown", text=unknown if is_alone and score.unknown else ""),
        Fact("baselines", first.baselines_json()),
        Fact("model", first.model, "model", first.model if is_alone else ""),
        Fact("seconds", first.seconds),
        Fact("characters_per_second", speed, "time", tables.clock(first.seconds) + per_second),
        *(Fact(name, value) for name, value in more.items()),
    )
    if not is_alone:
        models = {one.model: one.figures() for one in summaries if one.model not in ("", TOGETHER)}
        report.append(Fact("models", models))
    return report


def loss_tables(summaries: Sequence[Summary], output: Output) -> Iterator[Visible]:
    yield from forms_of_loss(summaries, output)
    for summary in summaries:
        if summary.parts:
            whose = "the models together" if summary.model == TOGETHER else summary.model
            title = "parts" if len(summaries) == 1 else f"parts of {whose}"
            bold = [name for name, score in summary.parts.items() if score == summary.score]
            means = {name: score.overall for name, score in summary.parts.items()}
            apart = {name: summary.difference(name) for name in means}
            yield from losses(title, means.items(), bold, output, apart)
            if (from_counts := apart.get("counts")) is not None and from_counts.is_worse:
                way_out = "--use counts, or train the network for longer"
                yield from entries([("", f"worse than the counts alone: {way_out}")], output)
    if summaries[0].baselines:
        yield from with_baselines(summaries, output)


def losses(
    title: str,
    means: Iterable[tuple[str, Mean]],
    bold: Container[str],
    output: Output,
    differences: Mapping[str, Difference | None] = NONE,
) -> Iterator[Visible]:
    """Yield a table with a row for each mean; rows with a name in ``bold`` stand out.

    ``differences`` are those of the model's loss from that of each row.
    """
    known = {name: one for name, one in differences.items() if one is not None}
    rows = dict(means)
    width = max((len(visible_line(name)) for name in rows), default=0) + 2
    if output.is_terminal:  # where the other columns leave room
        width = min(width, output.width - sum(column.width for column in tables.COLUMNS[1:]))
    first = tables.COLUMNS[0]._replace(width=max(tables.FIRST, width))
    table = Table([first, *tables.COLUMNS[1:], *(COLUMNS if known else ())], output.width, output)
    yield Visible("")
    yield output.paint(visible_line(title), CYAN)
    if known:
        yield table.head()
    for name, mean in rows.items():
        apart = tables.difference_cells(known.get(name))
        row = table.row({"": fitted(name, first.width), **cells(mean), **apart})
        yield output.paint(row, BOLD) if name in bold else row
    yield from entries(notes_on(known, "the loss of the model less that of the row"), output)


def notes_on(differences: Mapping[str, Difference], meaning: str) -> Iterator[Entry]:
    """Yield the meaning of differences and the names of those that may be due to chance."""
    if differences:
        yield "", f"difference: {meaning}, in nats; its standard error is over examples"
    unclear = [name for name, one in differences.items() if one.may_be_chance]
    if unclear:
        names = ", ".join(map(fitted, unclear))
        yield "", f"{UNCLEAR}: {names}"


def forms_of_loss(summaries: Sequence[Summary], output: Output) -> Iterator[Visible]:
    """Yield a table with a row for each form of the loss and a group of columns for each model, or
    a table for each model if the names of the models do not fit beside each other.
    """
    several, names = len(summaries) > 1, [visible_line(summary.model) for summary in summaries]
    columns = Table(tables.COLUMNS, output.width, output).columns[1:]
    if output.is_terminal:
        room = (output.width - tables.FIRST) // len(summaries)
        if several and 2 + max(map(len, names)) > room:
            for summary in summaries:
                yield from (Visible(""), output.paint(visible_line(summary.model), CYAN))
                yield from forms_of_loss([summary], output)
            return
        while len(columns) > 1 and sum(column.width for column in columns) > room:
            columns.pop()
    if several:  # the first column of a group is as wide as the name above it needs
        others = sum(column.width for column in columns[1:])
        widest = max(columns[0].width, 2 + max(map(len, names)) - others)
        columns[0] = columns[0]._replace(width=widest)
    width = sum(column.width for column in columns)
    numbered = [
        column._replace(name=f"{column.name} {number}")
        for number in range(len(summaries))
        for column in columns
    ]
    table = Table([tables.COLUMNS[0], *numbered], output.width, output)
    yield Visible("")
    if several:
        above = "".join(name.rjust(width) for name in names)
        yield output.paint(visible_line(" " * tables.FIRST + above), CYAN)
    heads = {column.name: column.name.rpartition(" ")[0] for column in table.columns[1:]}
    yield output.paint(table.row(heads), CYAN)
    scores = [summary.score for summary in summaries]
    forms = {
        "per character": [cells(score.overall) for score in scores],
        "without ends": [cells(score.without_end) for score in scores],
    }
    if any(score.unknown for score in scores):
        forms["without unknown"] = [cells(score.without_unknown) for score in scores]
    if len(summaries) > 1:
        apart = [tables.difference_cells(summary.difference()) for summary in summaries]
        for name in ("difference", "std error"):
            forms[name] = [{"nats": each.get(name, "")} for each in apart]
    if any(summary.ends_apart for summary in summaries):
        forms["end, per example"] = [cells(score.ending) for score in scores]
    if "bits" in heads.values():
        forms["per byte"] = [{"bits": tables.figure(score.bits_per_byte)} for score in scores]
    for name, groups in forms.items():
        row = {f"{key} {i}": cell for i, group in enumerate(groups) for key, cell in group.items()}
        line = table.row({"": name, **row})
        yield output.paint(line, BOLD) if name == "per character" else line
    named = {one.model: one.difference() for one in summaries if one.model}
    known = {name: one for name, one in named.items() if one is not None}
    first = next((name for name in named if name not in (*known, TOGETHER)), "")
    yield from entries(notes_on(known, f"the loss less that of {first}"), output)


def with_baselines(summaries: Sequence[Summary], output: Output) -> Iterator[Visible]:
    """Yield the losses of models and baselines from worst to best, and what the baselines read."""
    first = summaries[0]
    models = {summary.model: summary.score.overall for summary in summaries}
    apart = {one.name: difference for one, difference in first.baselines}
    means = {one.name: Mean(one.nats_per_character, 1) for one, _ in first.baselines} | models
    ranked = sorted(means.items(), key=lambda item: -item[1].nats_per_character)
    yield from losses("baselines", ranked, models, output, apart)
    shares = [first.shares(one) for one, _ in first.baselines]
    notes = [("", tables.pieces_in_words(*shares[0], "the text"))]
    if first.score.unknown:
        notes.append(("", f"with the cost of {count(first.score.unknown, 'unseen character')}"))
    yield from entries((note for note in notes if note[1]), output)

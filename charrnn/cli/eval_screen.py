"""What charrnn eval shows: a row for each example or character, as it is scored; or the figures of
each model, by use, beside counting, and of labels.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import numpy as np
from rich.cells import cell_len, set_cell_size

from charrnn.cli.console import Console, Output, json_line
from charrnn.files.model_corpus import Example
from charrnn.prediction import losses, scoring
from charrnn.prediction.losses import BITS, Score, in_bits
from charrnn.prediction.scoring import ScoredTexts
from charrnn.system.visible import Visible, count, visible, visible_line
from charrnn.text.corpus import Corpus, Examples
from charrnn.text.counts import baselines

MOST_CONFUSIONS = 10  # on the screen
GROUNDS = ("#55585f", "#75672f", "#a3690f", "#cc4a1a", "#d3123f", "#c400a0")
BAND_STYLES = ("", *(f"#ffffff on {ground}" for ground in GROUNDS))  # of the bands of surprisal
Record = dict[str, Any]  # the figures of a model, as JSON has them
Row = tuple[float, Visible]  # the nats per character of an example, and its line


@dataclass(eq=False)
class Rows:
    """A row for each character, or for each example above the limit: as it comes, or the oddest."""

    output: Output
    kind: Literal["characters", "examples", ""]  # "": neither
    as_json: bool
    files: Sequence[str]  # that are scored
    labels: Iterable[str]  # one of which each row shows, if any
    oddest: float | None  # in nats per character
    limit: float = -math.inf  # in nats per character
    top: int | None = None
    count: int = 0
    top_rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        heads = ("label", *map(visible_line, self.labels)) if self.labels else ()
        self.label_width = min(20, max(map(cell_len, heads), default=0))
        names = max(map(cell_len, map(visible_line, self.files))) if len(self.files) > 1 else 0
        self.place_width = 8 + min(16, names)  # columns for a line, and for its file if several

    def write_head(self) -> None:
        if self.kind == "examples" and self.output.is_terminal and not self.as_json:
            label = f"{'label':{self.label_width}}  prob.  " if self.label_width else ""
            head = f"{'line':>{self.place_width}}  bits/char  x oddest  {label}text"
            self.output.write_lines([self.output.paint(Visible(head), "cyan")])

    def add(self, examples: list[Example], scored: ScoredTexts) -> None:
        """Write the characters, or count the examples above the limit and write or keep them."""
        if self.kind == "characters":
            write_characters(scored, self.as_json, self.output)
        elif self.kind:
            rows = list(self._rows(examples, scored))
            self.count += len(rows)
            if self.top:
                self.top_rows = nlargest(self.top, self.top_rows + rows, itemgetter(0))
            else:
                self.output.write_lines(line for _, line in rows)

    def _rows(self, examples: list[Example], scored: ScoredTexts) -> Iterator[Row]:
        by_use = {use: scored.totals(nats).tolist() for use, nats in scored.nats_by_use.items()}
        scores = map(Score, *scored.columns())
        for i, (example, score) in enumerate(zip(examples, scores, strict=True)):
            loss = score.nats_per_character
            if loss <= self.limit:
                continue
            if not self.as_json:
                yield loss, self._line(example, loss, scored, i)
                continue
            file = {"file": example.file} if len(self.files) > 1 else {}
            row: dict[str, Any] = {"number": example.number, "text": example.text, **file}
            row |= {"characters": score.characters, "unknown": score.unknown}
            row |= {"nats": score.nats, **score.per_character()}
            row["x_oddest"] = loss / self.oddest if self.oddest else None
            if scored.likeliest:
                row["label"], row["label_probability"] = scored.likeliest[i]
            row["by_use"] = {use: {"nats": nats[i]} for use, nats in by_use.items()}
            yield loss, json_line("eval.example", row)

    def _line(self, example: Example, loss: float, scored: ScoredTexts, i: int) -> Visible:
        width, size, label = self.place_width, self.label_width, ""
        place = f"{example.file}:{example.number}" if width > 8 else f"{example.number}"
        if scored.likeliest:
            name, chance = scored.likeliest[i]
            label = f"{set_cell_size(visible_line(name), size)}  {chance:5.2f}  "
        times = f"{loss / self.oddest:.2f}" if self.oddest else "-"
        place = set_cell_size(visible_line(place)[::-1], width)[::-1]  # its end, at the right
        lead = f"{place}  {in_bits(loss):>9}  {times:>8}  {label}"
        text = example.text.replace("\n", "\\n")
        if self.output.is_terminal:
            room = self.output.window - 1 - cell_len(lead)
            text = excerpt(example.text, scored.nats[scored.of_text(i)], room)
        return Visible(lead + text)


def records_of(
    whole: dict[str, ScoredTexts], first: str, corpus: Corpus | None, learned: Mapping[str, int]
) -> list[Record]:
    """Return the figures of each predictor, and how it differs from the first model, and from
    counting if there is a corpus. ``learned`` are the examples of each label in training.
    """
    reference, records = whole[first], list[Record]()
    ids, labels, counting = reference.ids, reference.labels, []
    if corpus is not None:
        label_ids = None if labels is None else corpus.vocabulary.label_ids(labels)
        labelled = Examples(ids, label_ids).labelled
        # Counted with labels, a text is never seen to begin without one.
        train = corpus.train.ids if labels is None else corpus.train.labelled
        counting = baselines(train, labelled, corpus.vocabulary)
    for name, scored in whole.items():
        nats = scored.nats
        record = {"model": name, "examples": len(scored.texts), **scored.total.figures()}
        if scored.labels is not None and scored.likeliest:
            answers = [label for label, _ in scored.likeliest]
            record["labels"] = scoring.accuracy_of(scored.labels, answers, learned)
        if scored is not reference:
            record |= losses.difference_of(ids, nats, reference.nats).figures()
        record["by_use"] = {
            use: losses.tally(ids, costs).loss() | losses.difference_of(ids, nats, costs).figures()
            for use, costs in scored.nats_by_use.items()
        }
        if counting:
            record["baselines"] = {
                baseline.name: losses.Mean(baseline.nats_per_character, 1).per_character()
                | losses.difference_from(baseline, ids, nats).figures()
                for baseline in counting
            }
        records.append(record)
    return records


def rows_of(records: list[Record]) -> list[tuple[str, Record]]:
    first, rows = records[0], [(record["model"], record) for record in records]
    if len(records) == 1:
        rows += [("without ends", first["without_end"])]
        rows += [("per byte", {"bits_per_character": first["bits_per_byte"]})]
        by_use = first["by_use"] if len(first["by_use"]) > 1 else {}
        rows += [(f"  {use}", figures) for use, figures in by_use.items()]
    for name, figures in first.get("baselines", {}).items():
        hidden = {} if len(records) == 1 else {"difference": None}  # it is not from the first model
        rows.append((f"  {name}", figures | hidden))
    return rows


def label_lines(record: Record, name: str) -> Iterator[Visible]:
    """Yield how often the likeliest label is right, and the commonest confusions."""
    facts = record["labels"]
    share, error = 100 * facts["accuracy"], 100 * facts["standard_error"]
    always = f"always {facts['commonest']}: {100 * facts['accuracy_of_commonest']:.1f}%"
    yield visible_line(f"{name}right label {share:.1f}% ± {error:.1f} ({always})")
    rows = facts["confusions"].items()
    wrong = [(n, label, told) for label, row in rows for told, n in row.items() if told != label]
    for n, label, answer in nlargest(MOST_CONFUSIONS, wrong, key=itemgetter(0)):
        yield visible_line(f"{n:9,} {label} taken for {answer}")


def show_records(records: list[Record], console: Console, *, as_json: bool) -> None:
    """Show the bits per character of each model, or of one model by use; or JSON."""
    if as_json:
        for record in records:
            console.json("eval", record)
        return
    first, rows, out = records[0], rows_of(records), console.out
    is_compared = any("difference" in figures for _, figures in rows)
    width = max(cell_len(visible_line(name)) for name, _ in rows)
    unknown = f", {first['unknown']:,} of them not in the vocabulary" if first["unknown"] else ""
    size = f"{count(first['examples'], 'example')}, {count(first['characters'], 'character')}"
    head = f"{'':{width}} bits/char perplexity{' difference std error' if is_compared else ''}"
    lines = [Visible(f"{size}{unknown}\n"), out.paint(Visible(head), "cyan")]
    for name, figures in rows:
        bits, difference = figures["bits_per_character"], figures.get("difference")
        lead = set_cell_size(visible_line(name), width)
        line = f"{lead} {bits:9.3f} {2 ** min(bits, 1000):#10,.4g}"
        if difference:
            apart = losses.Difference(difference, figures["standard_error"])
            line += f" {BITS * difference:+10.3f}"
            if not math.isnan(apart.standard_error):  # unknown for a single text
                line += f" {BITS * apart.standard_error:9.3f}"
                line += " (=)" if apart.may_be_chance else ""
        lines.append(Visible(line) if name.startswith(" ") else out.paint(Visible(line), "bold"))
    for record in records:
        name = f"{record['model']}: " if len(records) > 1 else ""
        lines += label_lines(record, name) if "labels" in record else []
    out.write_lines(lines)
    if is_compared:
        names = ("the row", records[1]["model"]) if len(records) > 1 else ("the model", "the row")
        what = "difference: bits per character of {} less those of {}".format(*names)
        console.note(f"{what}; (=) is below two standard errors")


def excerpt(text: str, nats: Any, room: int) -> Visible:
    """Return a text on one line; a long one is cut to its most surprising part."""
    if cell_len(visible_line(text)) <= room:
        return visible_line(text)
    widest = max(map(cell_len, ["-", *map(visible_line, set(text))]))  # a Chinese letter takes two
    size = max(4, (room - len("......")) // widest)
    sums = np.convolve(nats[:-1], np.ones(size), "valid")
    begin = min(int(sums.argmax()), max(0, len(text) - size))
    shown = ("..." if begin else "") + visible_line(text[begin:])
    return Visible(shown if cell_len(shown) <= room else set_cell_size(shown, room - 3) + "...")


def write_characters(scored: ScoredTexts, as_json: bool, output: Output) -> None:
    """Write coloured text, or a row for each character with its nats and rank."""
    characters = [character for text in scored.texts for character in (*text, None)]  # None: END
    nats = scored.nats.tolist()
    if output.takes_colour and not as_json:
        write_coloured(characters, nats, output)
        return
    assert scored.ranks is not None
    lines: list[Visible] = []
    for character, cost, rank in zip(characters, nats, scored.ranks.tolist(), strict=True):
        row = {"character": character, "nats": cost, "rank": rank}
        line = Visible(f"{visible_line(character or 'END')}\t{cost:.3f}\t{rank}")
        lines.append(json_line("eval.character", row) if as_json else line)
    output.write_lines(lines)


def write_coloured(characters: Sequence[str | None], nats: list[float], output: Output) -> None:
    """Write characters in the colours of their surprisal; None is an end."""
    from rich.text import Text

    from charrnn.export.html import band_of

    text = Text()
    for band, stretch in groupby(zip(map(band_of, nats), characters, strict=True), itemgetter(0)):
        shown = ["$\n" if character is None else visible(character) for _, character in stretch]
        text.append("".join(shown), BAND_STYLES[band])
    output.rich.print(text, end="", soft_wrap=True)

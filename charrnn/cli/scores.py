"""What charrnn eval shows: figures of each model, by use, beside counting, and of labels; and text
by how surprising it is: its oddest part, or each character in a colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from charrnn.cli.console import Console, Output, count, json_line
from charrnn.system.visible import Visible, visible, visible_line

if TYPE_CHECKING:
    from rich.text import Text as RichText

    from charrnn.prediction.scoring import ScoredTexts
    from charrnn.text.corpus import Corpus

MOST_CONFUSIONS = 10  # on the screen
GROUNDS = ("#55585f", "#75672f", "#a3690f", "#cc4a1a", "#d3123f", "#c400a0")
BAND_STYLES = ("", *(f"#ffffff on {ground}" for ground in GROUNDS))  # of the bands of surprisal
Record = dict[str, Any]  # the figures of a model, as JSON has them


def records_of(
    whole: dict[str, ScoredTexts], first: str, corpus: Corpus | None, learned: Mapping[str, int]
) -> list[Record]:
    """Return the figures of each predictor, and how it differs from the first model, and from
    counting if there is a corpus. ``learned`` are the examples of each label in training.
    """
    from charrnn.prediction import losses
    from charrnn.prediction.scoring import accuracy_of
    from charrnn.text.corpus import Examples
    from charrnn.text.counts import baselines

    reference, records = whole[first], list[Record]()
    ids, labels, counting = reference.ids, reference.labels, []
    if corpus is not None:
        label_ids = None if labels is None else corpus.vocabulary.label_ids(labels)
        labelled = Examples(ids, label_ids).labelled
        counting = baselines(corpus.train.labelled, labelled, corpus.vocabulary)
    for name, scored in whole.items():
        nats = scored.nats
        record = {"model": name, "examples": len(scored.texts), **scored.total.figures()}
        if scored.labels is not None and scored.likeliest:
            answers = [label for label, _ in scored.likeliest]
            record["labels"] = accuracy_of(scored.labels, answers, learned)
        if scored is not reference:
            record |= losses.difference_of(ids, nats, reference.nats).figures()
        if len(scored.nats_by_use) > 1:
            record["by_use"] = {
                use: losses.tally(ids, costs).loss()
                | losses.difference_of(ids, nats, costs).figures()
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
    """Return the names and figures of the rows of a table."""
    first, rows = records[0], [(record["model"], record) for record in records]
    if len(records) == 1:
        rows += [("without ends", first["without_end"])]
        rows += [("per byte", {"bits_per_character": first["bits_per_byte"]})]
        rows += [(f"  {use}", figures) for use, figures in first.get("by_use", {}).items()]
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
    pairs = [(n, label, answer) for label, row in rows for answer, n in row.items()]
    wrong = [pair for pair in pairs if pair[1] != pair[2]]
    for n, label, answer in nlargest(MOST_CONFUSIONS, wrong, key=itemgetter(0)):
        yield visible_line(f"{n:9,} {label} taken for {answer}")


def show_records(records: list[Record], console: Console, *, as_json: bool) -> None:
    """Show the bits per character of each model, or of one model by use; or JSON."""
    from charrnn.prediction.losses import BITS, Difference

    if as_json:
        for record in records:
            console.json("eval", record)
        return
    first, rows, out = records[0], rows_of(records), console.out
    is_compared = any("difference" in figures for _, figures in rows)
    width = max(len(visible_line(name)) for name, _ in rows)
    unknown = f", {first['unknown']:,} of them not in the vocabulary" if first["unknown"] else ""
    size = f"{count(first['examples'], 'example')}, {count(first['characters'], 'character')}"
    head = f"{'':{width}} bits/char perplexity{' difference std error' if is_compared else ''}"
    lines = [Visible(f"{size}{unknown}\n"), out.paint(Visible(head), "cyan")]
    for name, figures in rows:
        bits, difference = figures["bits_per_character"], figures.get("difference")
        line = f"{visible_line(name):{width}} {bits:9.3f} {2 ** min(bits, 1000):#10,.4g}"
        if difference:
            apart = Difference(difference, figures["standard_error"])
            line += f" {BITS * difference:+10.3f} {BITS * apart.standard_error:9.3f}"
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
    import numpy as np

    if len(visible_line(text)) <= room:
        return visible_line(text)
    size = max(4, room - len("......"))
    sums = np.convolve(nats[:-1], np.ones(size), "valid")
    begin = min(int(sums.argmax()), max(0, len(text) - size))
    lead, shown = "..." if begin else "", visible_line(text[begin:])
    tail = "..." if len(lead + shown) > room else ""
    return Visible(lead + shown[: room - len(lead + tail)] + tail)


def write_characters(scored: ScoredTexts, as_json: bool, output: Output) -> None:
    """Write coloured text, or a row for each character with its nats and rank."""
    characters = [character for text in scored.texts for character in (*text, None)]  # None: END
    nats = scored.nats.tolist()
    if output.takes_colour and not as_json:
        output.rich.print(coloured(characters, nats), end="", soft_wrap=True)
        return
    assert scored.ranks is not None
    lines: list[Visible] = []
    for character, cost, rank in zip(characters, nats, scored.ranks.tolist(), strict=True):
        row = {"character": character, "nats": cost, "rank": rank}
        line = Visible(f"{visible_line(character or 'END')}\t{cost:.3f}\t{rank}")
        lines.append(json_line("eval.character", row) if as_json else line)
    output.write_lines(lines)


def coloured(characters: Sequence[str | None], nats: list[float]) -> RichText:
    """Return characters in the colours of their surprisal; None is an end."""
    from rich.text import Text

    from charrnn.export.html import band_of

    text = Text()
    pairs = zip(map(band_of, nats), characters, strict=True)
    for band, stretch in groupby(pairs, itemgetter(0)):
        shown = ["$\n" if character is None else visible(character) for _, character in stretch]
        text.append("".join(shown), BAND_STYLES[band])
    return text

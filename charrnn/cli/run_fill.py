"""``charrnn fill``: fill in the blanks of texts and show the likeliest fillings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from charrnn.cli.console import BOLD, CYAN, Console
from charrnn.cli.sample.run import as_read, note_prime
from charrnn.corpus.decoding import Reading, blocks
from charrnn.errors import CorpusError
from charrnn.filling.filler import FillConfig, Filled, Filler
from charrnn.runs import load
from charrnn.text import Raw, Visible, encodable, joined, visible_line

if TYPE_CHECKING:
    from charrnn.cli.fill import Options


def run(options: Options, workers: int, console: Console) -> None:
    """Fill in the texts one after the other and show the fillings of each."""
    config = FillConfig(**options.filling)
    model = load(options.model)
    console.note_if_waiting(options.texts)
    filler = Filler(model.predictor(), config, workers)
    reading = replace(model.reading, **options.reading)
    number = 0
    for number, text in enumerate(texts_of(options.texts, reading), 1):
        given = "".join(sorted(set(text) - {config.blank, config.gap}, key=text.index))
        note_prime(given, model.vocabulary, console)
        filled = filler.fill(text)
        if options.as_json:
            console.json("fill", as_json(filled))
        else:
            show(filled, number, config, console)
    if not number:
        raise CorpusError("standard input has no text", "Write one text a line.")


def texts_of(typed: Sequence[str], reading: Reading) -> Iterator[str]:
    """Yield the texts that were typed; for "-", each line of standard input as soon as it comes."""
    for text in typed:
        if text != "-":
            yield as_read(text, reading)
            continue
        rest = ""
        for block in blocks("-", reading):
            *whole, rest = (rest + block).split("\n")
            yield from (line.removesuffix("\r") for line in whole)
        if rest:
            yield rest


def as_json(filled: Filled) -> dict[str, object]:
    """Return the fillings of a text for JSON."""
    fillings = [
        {"text": encodable(one.text), "probability": one.probability} for one in filled.fillings
    ]
    return {
        "text": encodable(filled.text),
        "fillings": fillings,
        "method": filled.method,
        "left_out": filled.left_out,
    }


def show(filled: Filled, number: int, config: FillConfig, console: Console) -> None:
    """Write the fillings with their probabilities, likeliest first."""
    output = console.out
    if number > 1:
        output.write(Visible("\n"))
    if output.is_terminal:
        output.write_lines([output.paint(visible_line(filled.text), CYAN)])
    for place, filling in enumerate(filled.fillings):
        figure = Visible(f"{filling.probability:<8.2g}")
        if output.is_terminal:
            text = visible_line(filling.text)
            text = output.paint(text, BOLD) if place == 0 else text
            output.write_lines([joined([figure, text])])
        else:
            output.write(Raw(figure + filling.text.replace("\n", "\\n") + "\n"))
    if filled.method == "particles":
        console.note(f"too many fillings to try all: estimated with {config.particles:,} texts")

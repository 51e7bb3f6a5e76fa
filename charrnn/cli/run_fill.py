"""What ``charrnn fill`` does: take one text after the other, fill it in, show what it may be."""

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
    """Do all of it."""
    config = FillConfig(**options.filling)
    model = load(options.model)
    console.note_if_waiting(options.texts)
    filler = Filler(model.predictor(), config, workers)
    reading = replace(model.reading, **options.reading)
    number = 0
    for text in texts_of(options.texts, reading):
        number += 1
        given = "".join(one for one in dict.fromkeys(text) if one not in (config.blank, config.gap))
        note_prime(given, model.vocabulary, console)
        filled = filler.fill(text)
        if options.as_json:
            console.json("fill", described(filled))
        else:
            show(filled, number, config, console)
    if not number:
        raise CorpusError("there is no text in what was read", "Write a text a line.")


def texts_of(typed: Sequence[str], reading: Reading) -> Iterator[str]:
    """The texts, each as a corpus would be read."""
    for text in typed:
        if text == "-":
            yield from lines(reading)
        else:
            yield as_read(text, reading)


def lines(reading: Reading) -> Iterator[str]:
    """The lines of standard input, each as soon as it is there."""
    rest = ""
    for block in blocks("-", reading):
        *whole, rest = (rest + block).split("\n")
        yield from (line.removesuffix("\r") for line in whole)
    if rest:
        yield rest


def show(filled: Filled, number: int, config: FillConfig, console: Console) -> None:
    """The fillings, a line each, the likeliest first, below the text where there are several."""
    if number > 1:
        console.out.write(Visible("\n"))
    if console.out.is_terminal:
        console.out.write_lines([console.out.paint(visible_line(filled.text), CYAN)])
    for place, filling in enumerate(filled.fillings):
        figure = Visible(f"{filling.probability:<8.2g}")
        if not console.out.is_terminal:
            console.out.write(Raw(figure + filling.text.replace("\n", "\\n") + "\n"))
            continue
        text = visible_line(filling.text)
        text = console.out.paint(text, BOLD) if place == 0 else text
        console.out.write_lines([joined([figure, text])])
    if filled.method == "particles":
        console.note(f"too many fillings to go through: estimated with {config.particles:,} texts")


def described(filled: Filled) -> dict[str, object]:
    """All of it for programs."""
    return {
        "text": encodable(filled.text),
        "fillings": [
            {"text": encodable(one.text), "probability": one.probability} for one in filled.fillings
        ],
        "method": filled.method,
        "left_out": filled.left_out,
    }

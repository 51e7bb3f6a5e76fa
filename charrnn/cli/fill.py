"""``charrnn fill``: the characters that are missing in the middle of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import BOLD, CYAN, Console
from charrnn.cli.options import CommandOptions, group
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import Reading
from charrnn.settings.fields import FILLING, Text, setting
from charrnn.settings.using import FillConfig
from charrnn.text import Raw, Visible, encodable, joined, visible_line

if TYPE_CHECKING:
    from charrnn.filling.filler import Filled

HELP = """
Fill in what is missing of a text.

In TEXT, _ is one missing character and * any number of them, up to --max-gap. Shown are the
likeliest fillings and their probabilities: that of the whole text, what comes after and the end
included, among all texts that the blanks could stand for. Only characters that the model knows
are put in.

Where it can be, the answer is exact: all beginnings that matter are gone through, and less
than a thousandth of the probability is left out. Else the probabilities are estimated with
texts that are drawn, particles, and there may be likelier fillings that none of them has found.
"""
EXAMPLES = """
# which letters are missing? quotes keep the shell from taking * for files
charrnn fill "Tyr_nnosa_rus"
charrnn fill "*raptor" -n 10

# an underscore that belongs to the text
charrnn fill "snake_c%se" --blank %

# many at once, for another program
charrnn fill - --json < damaged.txt | jq -r '.fillings[0].text'
"""


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """The options of charrnn fill."""

    texts: tuple[str, ...] = setting(
        Text(),
        "A text in which something is missing; - for standard input, a text a line.",
        panel=FILLING,
        default=MISSING,
        names=("TEXT",),
        repeated=True,
    )
    filling: dict[str, Any] = group(FillConfig)
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    model: Path = options.model()
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()
    workers: int | None = options.threads()

    def check(self) -> None:
        """Raise SettingError where the options contradict each other."""
        FillConfig(**self.filling)
        Reading(**self.reading)
        of_bytes = [name for name in ("encoding", "errors") if name in self.reading]
        if of_bytes and "-" not in self.texts:
            raise SettingError(
                f"--{of_bytes[0]} is for standard input, and no TEXT is -",
                "What is typed is read as the terminal has it.",
            )
        if self.texts.count("-") > 1:
            raise SettingError("standard input can be read only once", "Name one - at most.")


def run(options: Options, threads: int, console: Console) -> None:
    """Fill in one text after the other."""
    from charrnn.cli.sample.run import note_prime
    from charrnn.filling.filler import Filler
    from charrnn.runs import load

    config = FillConfig(**options.filling)
    model = load(options.model)
    console.note_if_waiting(options.texts)
    filler = Filler(model.predictor(), config, threads)
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
    from charrnn.cli.sample.run import as_read

    for text in typed:
        if text == "-":
            yield from lines(reading)
        else:
            yield as_read(text, reading)


def lines(reading: Reading) -> Iterator[str]:
    """The lines of standard input, each as soon as it is there."""
    from charrnn.corpus.decoding import blocks

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

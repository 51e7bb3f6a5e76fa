"""Fill in missing characters of a text.

In TEXT, _ stands for one missing character and * for any number up to --max-gap. The output is
the likeliest fillings (-n) with their probabilities: the probability of the whole text, relative
to all texts that match the pattern. Only characters of the vocabulary are filled in.

The result is exact if the search is small enough: every likely beginning is tried, and less than a
thousandth of the probability is left out. Otherwise the probabilities are estimated by sequential
Monte Carlo (--particles), and a likelier filling may be missed.

# which letters are missing? quotes keep the shell from expanding *
charrnn fill "Tyr_nnosa_rus"
charrnn fill "*raptor" -n 10

# a text that contains an underscore
charrnn fill "snake_c%se" --blank %

# many at once, for another program
charrnn fill - --json < damaged.txt | jq -r '.fillings[0].text'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import BOLD, CYAN, Console
from charrnn.cli.options import CommandOptions, group
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import Reading
from charrnn.settings.fields import FILLING, Text, setting
from charrnn.settings.sampling import FillConfig
from charrnn.text import Raw, Visible, encodable, joined, visible_line

if TYPE_CHECKING:
    from charrnn.filling.filler import Filled


LEAST = 1e-6  # of the probability: less is not worth a note


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    texts: tuple[str, ...] = setting(
        Text(),
        "A text with missing characters; - reads standard input, one text a line.",
        panel=FILLING,
        default=MISSING,
        names=("TEXT",),
        repeated=True,
    )
    filling: dict[str, Any] = group(FillConfig)
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    model: Path = options.model()
    cores: int | None = options.cores()

    def check(self) -> None:
        FillConfig(**self.filling)
        Reading(**self.reading)
        of_files = [name for name in self.reading if name not in ("newlines", "normalize")]
        if of_files and "-" not in self.texts:
            what = f"--{of_files[0]} is for standard input, and no TEXT is -"
            raise SettingError(what, "A TEXT that is typed is filled in as it is.")
        if self.texts.count("-") > 1:
            raise SettingError("standard input can be read only once", "Name one - at most.")


def run(options: Options, threads: int, console: Console) -> None:
    from charrnn.cli.sample.run import note_prime
    from charrnn.filling.filler import Filler
    from charrnn.runs import load

    config = FillConfig(**options.filling)
    model = load(options.model)
    console.note_if_waiting(options.texts)
    filler = Filler(model.predictor(), config, threads)
    reading = model.corpus.reading_of("-", options.reading)
    number = 0
    for number, text in enumerate(texts_of(options.texts, reading), 1):
        given = "".join(sorted(set(text) - {config.blank, config.gap}, key=text.index))
        note_prime(given, model.vocabulary, console)
        if "-" not in options.texts and not {config.blank, config.gap} & set(text):
            console.note(f"there is no {config.blank} or {config.gap} to fill in: {text}")
        filled = filler.fill(text)
        if options.as_json:
            console.json("fill", as_json(filled))
        else:
            show(filled, number, config, console)
    if not number:
        raise CorpusError("standard input has no text", "Write one text a line.")


def texts_of(typed: Sequence[str], reading: Reading) -> Iterator[str]:
    """Yield the texts that were typed; for "-", each line of standard input as soon as it comes."""
    from charrnn.cli.sample.run import as_read
    from charrnn.corpus.columns import whole_lines
    from charrnn.corpus.files import blocks

    for text in typed:
        if text != "-":
            yield as_read(text, reading)
            continue
        for block in whole_lines(blocks("-", reading)):
            *whole, rest = block.split("\n")
            yield from (line.removesuffix("\r") for line in whole)
            yield from [rest] if rest else []


def as_json(filled: Filled) -> dict[str, object]:
    found = filled.fillings
    return {
        "text": encodable(filled.text),
        "fillings": [
            {"text": encodable(one.text), "probability": one.probability} for one in found
        ],
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
    if (filled.left_out or 0) >= LEAST:
        share = f"{100 * (filled.left_out or 0):.2g}%"
        console.note(f"not tried: fillings with at most {share} of the probability")
    if filled.method == "particles":
        console.note(f"too many fillings to try all: estimated with {config.particles:,} texts")

"""In TEXT, _ stands for one missing character and * for any number up to --max-gap. The output is
the likeliest fillings (-n) with their probabilities: the probability of the whole text, relative
to the matching texts that were tried. Only characters of the vocabulary are filled in.

Likely beginnings are tried, at most --beam of each length. A note says how much of the probability
was not tried, at most.

# which letters are missing? quotes keep the shell from expanding *
charrnn fill "Tyr_nnosa_rus"
charrnn fill "*raptor" -n 10

# many at once, for another program
charrnn fill - --json < damaged.txt | jq -r '.fillings[0].text'
"""

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import charrnn
from charrnn.cli import shared_options as shared
from charrnn.cli.console import Console
from charrnn.cli.sample import as_read
from charrnn.errors import CorpusError, EncodingError
from charrnn.settings.corpus import Reading
from charrnn.settings.drawing import FillConfig
from charrnn.settings.values import Text
from charrnn.system.visible import Visible, visible_line
from charrnn.text.reading import Warn, lines_of_input

LEAST = 1e-6  # of the probability: less is not worth a note


@dataclass(frozen=True, kw_only=True)
class Options(shared.CommandOptions):
    texts: tuple[str, ...] = shared.repeatable(
        Text(),
        "A text with missing characters; - reads standard input, one text a line.",
        default=MISSING,
        names=("TEXT",),
        short="Fill in this text",
    )
    filling: dict[str, Any] = shared.nested(FillConfig)
    label: str | None = shared.label_option("Fill in texts with this label.")
    model: Path = shared.model_option()


def run(options: Options, console: Console) -> None:
    from charrnn.prediction.filling import BLANK, GAP, figures_of, fill

    console.note_if_waiting(options.texts)
    model, out, number = charrnn.load(options.model), console.out, 0
    predictor, config = model.predictor(), FillConfig(**options.filling)
    reading = Reading(model.corpus.reading.encoding, errors="replace")
    for number, line in enumerate(lines_of(options.texts, reading, console.warn), 1):
        text = as_read(line, model, console, but=BLANK + GAP)
        if "-" not in options.texts and not {BLANK, GAP} & set(text):
            console.note(f"there is no {BLANK} or {GAP} to fill in: {text}")
        filled = fill(predictor, text, config, options.label)
        if options.as_json:
            console.json("fill", figures_of(filled))
            continue
        rows = [Visible("")] if number > 1 else []
        rows += [out.paint(visible_line(filled.text), "cyan")] if out.is_terminal else []
        for place, filling in enumerate(filled.fillings):
            plain = Visible(filling.text.replace("\n", "\\n"))
            shown = visible_line(filling.text) if out.is_terminal else plain
            shown = out.paint(shown, "bold") if place == 0 else shown
            rows.append(Visible(f"{filling.probability:<8.2g}{shown}"))
        out.write_lines(rows)
        if filled.left_out >= LEAST:
            share = f"{100 * filled.left_out:.3g}%"
            console.note(f"not tried: fillings with at most {share} of the probability (--beam)")
    if not number:
        raise CorpusError("standard input has no text", "Write one text a line.")


def lines_of(texts: Sequence[str], reading: Reading, warn: Warn) -> Iterator[str]:
    """Yield the texts; for "-", each line of standard input as soon as it comes."""
    for text in texts:
        groups = lines_of_input(reading, warn) if text == "-" else [[(1, text)]]
        try:
            yield from (line for lines in groups for _, line in lines)
        except EncodingError as error:
            raise CorpusError(error.what, f"Save it as {reading.encoding}.") from None

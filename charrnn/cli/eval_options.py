"""The options of ``eval``; those that it shares with others are in options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from charrnn.cli import values
from charrnn.cli.options import OUTPUT_PANEL, flag, option, sources

SCORING_PANEL = "Scoring"
SORTS = ("surprise", "nats", "input")

Text = Annotated[
    list[str] | None,
    sources(
        "TEXT",
        "What to score: files, or - for standard input. Without any, the part of the corpus that"
        " was held out in training.",
    ),
]
PerExample = Annotated[
    bool,
    flag("--per-example", about="A row for each example, odd ones out first.", panel=OUTPUT_PANEL),
]
Sort = Annotated[
    str | None,
    option(
        "--sort",
        kind=values.one_of(*SORTS),
        about="Rows by nats per character, by nats, or in the order of the input: then each comes"
        " as soon as it is read, and blank lines have theirs.",
        default="surprise",
        panel=OUTPUT_PANEL,
    ),
]
PerChar = Annotated[
    bool,
    flag(
        "--per-char",
        about="The text coloured by surprisal; where there are no colours, a row for each"
        " character: it, its nats, its rank.",
        panel=OUTPUT_PANEL,
    ),
]
Html = Annotated[
    Path | None,
    option(
        "--html",
        kind=values.path(),
        about="Write the coloured text as a web page too.",
        panel=OUTPUT_PANEL,
    ),
]
Baselines = Annotated[
    bool,
    flag(
        "--baselines",
        about="Set the loss beside that of models that count, of xz and of bzip2.",
        panel=SCORING_PANEL,
    ),
]
Dynamic = Annotated[
    float | None,
    option(
        "--dynamic",
        kind=values.real(0, 1e6, above=True),
        about="Keep learning while reading, at this rate: 0.0002, say. The model file stays as it"
        " is.",
        panel=SCORING_PANEL,
    ),
]

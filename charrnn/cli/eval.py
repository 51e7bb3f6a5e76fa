"""``charrnn eval``: how well a model predicts a text."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import options, threads
from charrnn.cli.console import Console
from charrnn.cli.options import (
    OUTPUT,
    check_exclusive,
    check_read_once,
    flag,
    group,
    like,
    would_replace,
)
from charrnn.errors import SettingError
from charrnn.settings import DYNAMIC_RATE, CorpusConfig, Reading
from charrnn.values import File, OneOf, setting

SCORING = "Scoring"  # a panel of help
SORTS = ("surprise", "nats", "input")

EXAMPLES = """
# how good is it, on what it was not trained on? and is that good?
charrnn eval --baselines

# which names do not belong?
charrnn eval names.txt --per-example | head
sort -R lines.txt | charrnn eval - --per-example --sort input --json

# where did the text surprise it?
charrnn eval letter.txt --per-char
charrnn eval letter.txt --html letter.html

# let it get used to the text
charrnn eval play.txt --dynamic 0.0002
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    sources: tuple[str, ...] = options.sources(
        "TEXT",
        "What to score: files, or - for standard input. Without any, the part of the corpus that"
        " was held out in training.",
    )
    examples: str | None = like(CorpusConfig, "examples", default_in_words="as in training")
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    baselines: bool = flag(
        "Set the loss beside that of models that count, of xz and of bzip2.", panel=SCORING
    )
    dynamic: float | None = setting(
        DYNAMIC_RATE,
        "Keep learning while reading, at this rate: 0.0002, say. The model file stays as it is.",
        panel=SCORING,
    )
    per_example: bool = flag("A row for each example, odd ones out first.")
    sort: str | None = setting(
        OneOf(SORTS),
        "Rows by nats per character, by nats, or in the order of the input: then each comes as"
        " soon as it is read, and blank lines have theirs.",
        panel=OUTPUT,
        default_in_words=SORTS[0],
    )
    per_char: bool = flag(
        "The text coloured by surprisal; where there are no colours, a row for each character: it,"
        " its nats, its rank."
    )
    html: Path | None = setting(File(), "Write the coloured text as a web page too.", panel=OUTPUT)
    model: Path = options.model()
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()
    workers: int | None = options.threads()

    @property
    def shows_rows(self) -> bool:
        """Whether stdout is taken by more than the sums."""
        return self.per_example or self.per_char

    def check(self) -> None:
        """Raise SettingError where the options contradict each other, or lead nowhere."""
        check_exclusive(
            per_example=self.per_example, per_char=self.per_char, baselines=self.baselines
        )
        if self.sort is not None and not self.per_example:
            raise SettingError("--sort is for the rows of --per-example", "Add --per-example.")
        given = [*(["examples"] if self.examples else []), *self.reading]
        if given and not self.sources:
            raise SettingError(
                f"--{given[0]} is for a TEXT, and there is none",
                "What was held out is read as it was in training.",
            )
        check_read_once(self.sources)
        self.check_page(os.path.join(os.curdir, self.model), *self.sources)  # no shipped corpus

    def check_page(self, *sources: str) -> None:
        """Raise SettingError where the page would take the place of one of these."""
        if self.html is not None and any(would_replace(self.html, source) for source in sources):
            raise SettingError(f"--html would write over {self.html}", "Name a file of its own.")


def evaluate(options: Options) -> None:
    """Measure how well a model predicts a text.

    Each example costs the nats of its characters and of its end, and the mean over both is the
    loss. A character that the model has never seen costs what naming it among all of Unicode
    costs, so no text is impossible. The result does not depend on threads or on how the text
    arrives.

    With --json there is one object; with --per-example or --per-char one a line, and there the
    character of an end is null. A rank of 1 means that nothing was more likely.
    """
    options.check()
    useful = threads.prepare(options.workers)

    from charrnn.cli.run_scoring import run  # numpy comes with it, and must find the threads set

    run(options, useful, Console(options.quiet))

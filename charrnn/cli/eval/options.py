"""Measure how well a model predicts a text.

The loss is the mean negative log-likelihood per character, ends of examples included, in nats (or
bits). All characters of Unicode that are not in the vocabulary share one probability, so the loss
is always finite. The result is exact: it does not depend on cores or how the text is read in.

With --json the output is one object; with --per-example or --per-char, each row is an object on
one line. The number of an example is the line of its file on which it begins (not counting lines
that --errors skip leaves out), or its position in the held-out text. The character of an end is
null, and so are undefined values. Rank 1 is the likeliest symbol. A difference is the loss of the
model less the other: a baseline, a part of the model, or the first of several models.

# the loss on held-out text, beside simple baselines
charrnn eval --baselines

# the least likely names, or lines of a log
charrnn eval names.txt --per-example | head
cat *.log | charrnn eval --top 10

# report unlikely lines as they arrive; the exit status is 3 if there are any
tail -f server.log | charrnn eval - --per-example --above 4

# colour the characters by surprisal
charrnn eval letter.txt --per-char

# compare two models
charrnn eval play.txt -m small.npz -m large.npz
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from charrnn.cli import options
from charrnn.cli.options import TextOptions, excludes, flag
from charrnn.settings import fields
from charrnn.settings.fields import COUNT, Values, setting

SCORING, ROWS = PANELS = "Scoring", "Rows and colours"  # of help
of_scoring, of_rows = (partial(setting, panel=panel) for panel in PANELS)


class Threshold(NamedTuple):
    """A surprisal per character, in the unit in which it was typed."""

    number: float
    unit: str = "bits"

    @property
    def bits(self) -> float:
        return self.number if self.unit == "bits" else self.number / math.log(2)

    def __str__(self) -> str:
        nats = self.bits * math.log(2)
        other = f"{nats:.4g} nats" if self.unit == "bits" else f"{self.bits:.4g} bits"
        return f"{self.number:g} {self.unit} ({other})"


@dataclass(frozen=True)
class Thresholds(Values):
    """A threshold as it is typed: 6, 6bits or 4nats."""

    metavar: str = "BITS"
    allowed: str = "a number of at least 0, of bits, or with a unit: 6bits or 4nats"

    def plain(self, value: Any) -> Any:
        fields.ensure(isinstance(value, Threshold) and 0 <= value.number < math.inf)
        return value

    def read(self, typed: Any) -> Threshold:
        if isinstance(typed, Threshold):
            return typed
        unit = "nats" if str(typed).endswith("nats") else "bits"
        return Threshold(float(str(typed).removesuffix(unit)), unit)


@dataclass(frozen=True, kw_only=True)
class Options(TextOptions):
    FIRST = (
        *("sources", "held_out", "per_example", "top", "above", "per_char", "baselines", "use"),
        "models",
    )
    RULES = (
        *options.TEXT_OR_HELD_OUT,
        excludes("per_example", "per_char", "baselines"),
        excludes("top", "per_char", "baselines"),
        excludes("per_char", "baselines"),
    )

    baselines: bool = flag("Compare with n-gram models.", panel=SCORING)
    use: str | None = options.use(SCORING)
    above: Threshold | None = of_scoring(
        Thresholds(),
        "Exit with status 3 if an example has more bits per character than this, or more nats:"
        " 4nats. Show only rows of such examples, in that unit. With --per-char, test single"
        " characters, and show only rows of such characters.",
    )
    per_example: bool = flag("Show a row for each example, as it is scored.", panel=ROWS)
    top: int | None = of_rows(
        COUNT,
        "Show the N most surprising examples, the most surprising first.",
    )
    per_char: bool = flag(
        "Show the text coloured by surprisal; without colours, a row for each character with its"
        " nats and rank.",
        panel=ROWS,
    )
    models: tuple[Path, ...] = options.models(
        "Several are compared with each other and with the mean of their probabilities. Repeatable."
    )
    cores: int | None = options.cores()

    @property
    def shows_examples(self) -> bool:
        return self.per_example or self.top is not None

    @property
    def keeps_order(self) -> bool:
        """Return True if rows have the order of the input."""
        return self.per_example and self.top is None

    @property
    def shows_rows(self) -> bool:
        return self.shows_examples or self.per_char

    @property
    def needs_one_distribution(self) -> str:
        """Return an option given that shows the figures of a single distribution, if any."""
        for name in ("per_example", "top", "per_char", "above"):
            given = getattr(self, name)
            if given is not None and given is not False:  # 0.0 is given
                return fields.option_of(name)
        return ""

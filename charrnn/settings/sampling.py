"""Settings of sampling and of filling blanks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from charrnn.settings import fields
from charrnn.settings.fields import MANY, SEED, Checked, Real, Whole

TEMPERATURE = Real(0, 1e6)
NEW_EACH_TIME: Final = "new each time"


@dataclass(frozen=True, kw_only=True)
class SampleConfig(Checked):
    """How texts are drawn."""

    temperature: float = fields.of_drawing(
        TEMPERATURE,
        "Draw with this temperature: below 1 for likelier characters, above 1 for more variety; 0"
        " always takes the likeliest character.",
        default=1.0,
        names=("-t", "--temp"),
    )
    top_k: int | None = fields.of_drawing(
        MANY, "Draw only among the K likeliest characters.", default_in_words="all"
    )
    top_p: float | None = fields.of_drawing(
        Real(0, 1, above=True),
        "Draw only among the likeliest characters that together have this probability.",
        default_in_words="all",
    )
    max_characters: int = fields.of_drawing(
        MANY,
        "Cut a sample off after this many characters, the prime not counted.",
        default=2000,
        names=("--max-chars",),
    )
    seed: int | None = fields.of_drawing(
        SEED,
        "Set the seed of random numbers. The same seed gives the same samples, however"
        " many there are.",
        default_in_words=NEW_EACH_TIME,
    )


@dataclass(frozen=True, kw_only=True)
class FillConfig(Checked):
    """How the missing characters of a text are filled in."""

    count: int = fields.of_filling(
        Whole(1, 1 << 12),
        "Show this many fillings of each text.",
        default=5,
        names=("-n", "--count"),
    )
    max_gap: int = fields.of_filling(
        Whole(0, 1 << 10), "Fill at most this many characters into a gap.", default=8
    )
    beam: int = fields.of_filling(
        Whole(1, 1 << 20), "Try at most this many beginnings of each length.", default=4096
    )

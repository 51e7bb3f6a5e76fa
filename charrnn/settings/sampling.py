"""Settings of sampling and of filling blanks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from charrnn.errors import SettingError
from charrnn.settings import fields
from charrnn.settings.fields import MANY, SEED, Character, Checked, OneOf, Real, Whole
from charrnn.text import SCRIPTS

TEMPERATURE = Real(0, 1e6)
NEW_EACH_TIME: Final = "new each time"


@dataclass(frozen=True)
class Script(OneOf):
    metavar: str = "SCRIPT"


@fields.documented()
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
    script: str | None = fields.of_drawing(
        Script(SCRIPTS),
        "Draw only characters of this script, such as latin or greek, and those that scripts share,"
        " such as spaces.",
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
    blank: str = fields.of_filling(
        Character(), "Read this character as one missing character.", default="_"
    )
    gap: str = fields.of_filling(
        Character(), "Read this character as any number of missing characters.", default="*"
    )
    max_gap: int = fields.of_filling(
        Whole(0, 1 << 10), "Fill at most this many characters into a gap.", default=8
    )
    particles: int = fields.of_filling(
        Whole(1, 1 << 20),
        "Draw this many texts to estimate probabilities where there are too many to try all.",
        default=4096,
    )
    seed: int | None = fields.of_filling(
        SEED,
        "Set the seed of random numbers. The same seed gives the same estimate.",
        default_in_words=NEW_EACH_TIME,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blank == self.gap:
            what = f"gap and blank cannot both be {self.gap}"
            raise SettingError(what, "Choose another character.", "gap")

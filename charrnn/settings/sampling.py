"""How to draw: what makes a text bolder or longer, and where random numbers start."""

from __future__ import annotations

from dataclasses import dataclass

from charrnn.settings.common import DRAWING, MANY, SEED
from charrnn.settings.fields import Checked, Real, setting

TEMPERATURE = Real(0, 1e6)


@dataclass(frozen=True, kw_only=True)
class SampleConfig(Checked):
    """How to draw."""

    temperature: float = setting(
        TEMPERATURE,
        "Below 1 is more careful, above 1 bolder; 0 always takes the most likely character.",
        panel=DRAWING,
        default=1.0,
        names=("-t", "--temp"),
    )
    top_k: int | None = setting(
        MANY,
        "Draw among so many of the most likely characters.",
        panel=DRAWING,
        default_in_words="all",
    )
    top_p: float | None = setting(
        Real(0, 1, above=True),
        "Draw among the fewest characters that have this much of the chance.",
        panel=DRAWING,
        default_in_words="all",
    )
    max_characters: int = setting(
        MANY,
        "Cut a sample off after so many characters, the prime not counted.",
        panel=DRAWING,
        default=2000,
        names=("--max-chars",),
    )
    seed: int | None = setting(
        SEED,
        "Where random numbers start: same seed, same text, whatever -n is.",
        panel=DRAWING,
        default_in_words="another one each time",
    )

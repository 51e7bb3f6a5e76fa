"""Settings of drawing texts and of filling gaps."""

from dataclasses import dataclass
from functools import partial
from typing import TypedDict

from charrnn.settings.values import SEED, Checked, Real, Whole, setting

MANY_CHARACTERS = Whole(1, 1 << 62)
DRAWING, FILLING = "Drawing", "Filling"
drawing, filling = (partial(setting, panel=panel) for panel in (DRAWING, FILLING))


@dataclass(frozen=True, kw_only=True)
class SampleConfig(Checked):
    """How texts are drawn."""

    temperature: float = drawing(
        Real(0, 1e6),
        "Draw with this temperature: below 1 for likelier characters, above 1 for more variety, 0"
        " for the likeliest alone.",
        1.0,
        names=("-t", "--temp"),
        short="Set the temperature",
    )
    top_k: int | None = drawing(
        MANY_CHARACTERS,
        "Draw only among the K likeliest characters.",
        default_in_words="all",
        short="Draw among the K likeliest",
    )
    top_p: float | None = drawing(
        Real(0, 1, without=0),
        "Draw only among the likeliest characters that have this probability together.",
        default_in_words="all",
        short="Draw among the likeliest share",
    )
    max_characters: int = drawing(
        MANY_CHARACTERS,
        "Cut a sample off after this many characters, the prime not counted.",
        2000,
        names=("--max-chars",),
        short="Cut samples off at this length",
    )
    seed: int | None = drawing(
        SEED,
        "Set the seed of random numbers|. Sample k is the same for any count, except the best.",
        default_in_words="new each time",
    )


class Drawing(TypedDict, total=False):
    """Settings of SampleConfig."""

    temperature: float
    top_k: int | None
    top_p: float | None
    max_characters: int
    seed: int | None


@dataclass(frozen=True, kw_only=True)
class FillConfig(Checked):
    """How the missing characters of a text are filled in."""

    count: int = filling(
        Whole(1, 1 << 12), "Show this many fillings| of each text.", 5, names=("-n", "--count")
    )
    max_gap: int = filling(
        Whole(0, 1 << 10),
        "Fill in at most this many characters for each *.",
        8,
        short="Limit what a * stands for",
    )
    beam: int = filling(
        Whole(1, 1 << 20),
        "Try at most this many beginnings of each length.",
        4096,
        short="Limit the beginnings to try",
    )

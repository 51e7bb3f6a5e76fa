"""How to fill in what is missing of a text: what stands for it, and how much is tried."""

from __future__ import annotations

from dataclasses import dataclass

from charrnn.errors import SettingError
from charrnn.settings.common import FILLING, SEED
from charrnn.settings.fields import Character, Checked, Whole, setting


@dataclass(frozen=True, kw_only=True)
class FillConfig(Checked):
    """How to fill in what is missing of a text."""

    count: int = setting(
        Whole(1, 1 << 12),
        "How many fillings of each text, likeliest first.",
        panel=FILLING,
        default=5,
        names=("-n", "--count"),
    )
    blank: str = setting(
        Character(), "What stands for one missing character.", panel=FILLING, default="_"
    )
    gap: str = setting(
        Character(), "What stands for any number of them.", panel=FILLING, default="*"
    )
    max_gap: int = setting(
        Whole(0, 1 << 10), "The most that may be missing in a gap.", panel=FILLING, default=8
    )
    particles: int = setting(
        Whole(1, 1 << 20),
        "How many texts are drawn where there are too many to go through.",
        panel=FILLING,
        default=4096,
    )
    seed: int | None = setting(
        SEED,
        "Where random numbers start: same seed, same particles.",
        panel=FILLING,
        default_in_words="another one each time",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blank == self.gap:
            raise SettingError(
                f"gap cannot be {self.gap}, which is the blank", "Take another character.", "gap"
            )

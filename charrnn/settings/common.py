"""What the settings of several commands share: ranges, the panels of help, and how a call from
Python that names none of them is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from charrnn.settings.fields import Checked, Real, Whole, settings_of

Config = TypeVar("Config", bound=Checked)

CORPUS, NETWORK, LEARNING, DRAWING = "Corpus", "Network", "Learning", "Drawing"
FILLING = "Filling"

LARGEST = 1 << 20  # units, lanes, steps: more is a slip of the keyboard
SIZE = Whole(1, LARGEST)
COUNT = Whole(1, 1 << 40)
MANY = Whole(1, 1 << 62)
SHARE = Real(0, 0.95)
SEED = Whole(0, (1 << 64) - 1)
DYNAMIC_RATE = Real(0, 1e6, above=True)


def had_in_words(had: object) -> str:
    """What a model has that contradicts what is wanted of it, after its name and "which"."""
    if isinstance(had, bool):
        return "was trained with it" if had else "was trained without it"
    return f"has {'none' if had is None else had}"


def configured(kind: type[Config], given: Mapping[str, Any], *besides: str) -> Config:
    """A configuration of what was given by name; TypeError names what there is where it has no such
    setting. What may be given ``besides`` is named as well.
    """
    known = [*besides, *settings_of(kind)]
    for name in given:
        if name not in known:
            raise TypeError(f"there is no {name!r} here; there are {', '.join(known)}")
    return kind(**given)

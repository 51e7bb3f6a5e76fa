"""Surprisal as heat: seven bands, from what was as good as known to what nobody could expect.

    bits    0 ... 1 ... 2 ... 3 ... 5 ... 7 ... 10 ...
    band      0     1     2     3     4     5      6

A bit is a halving: a character of 3 bits was one of eight that would have been as likely. Each step
of the colours is a step in chroma as well as in hue, so that the order can be seen on a dark
ground, on a light one, and without telling red from green.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BOUNDS: Final = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)  # in bits: where the next band begins
BANDS: Final = len(BOUNDS) + 1
BITS: Final = 1 / math.log(2)  # in a nat


def band_of(nats: float) -> int:
    """The band of one surprisal."""
    return bisect_right(BOUNDS, nats * BITS)


def bands_of(nats: NDArray[np.floating]) -> NDArray[np.intp]:
    """The bands of many."""
    import numpy as np

    return np.searchsorted(BOUNDS, nats * BITS, side="right")


def names() -> list[str]:
    """What to call each band in a legend, in bits."""
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(BOUNDS)]
    return [f"<{BOUNDS[0]:g}", *inner, f">{BOUNDS[-1]:g}"]

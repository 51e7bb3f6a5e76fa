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
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from charrnn import graphemes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from charrnn.vocabulary import Codes

BOUNDS: Final = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)  # in bits: where the next band begins
BANDS: Final = len(BOUNDS) + 1
BITS: Final = 1 / math.log(2)  # in a nat
SPACE: Final = ord(" ")
LAST: Final = 0x10FFFF  # beyond it are no characters but what stands for the end of an example


def band_of(nats: float) -> int:
    """The band of one surprisal."""
    return bisect_right(BOUNDS, nats * BITS)


def bands_of(nats: NDArray[np.floating]) -> NDArray[np.intp]:
    """The bands of many."""
    import numpy as np

    return np.searchsorted(BOUNDS, nats * BITS, side="right")


def bands_of_text(codes: Codes, nats: NDArray[np.floating]) -> NDArray[np.intp]:
    """The band of each character. What a reader takes for one has that of its first."""
    import numpy as np

    letters = np.maximum.accumulate(np.where(_go_on(codes), 0, np.arange(len(codes))))
    return bands_of(nats)[letters]


def _go_on(codes: Codes) -> NDArray[np.bool_]:
    """Which characters belong to what stands before them: graphemes.goes_on, of all at once."""
    import numpy as np

    found, places = np.unique(codes, return_inverse=True)
    known = [chr(code) if code <= LAST else "" for code in found.tolist()]
    on = np.array([graphemes.joins(character) for character in known], np.bool_)[places]
    on[1:] |= (codes[:-1] == ord(graphemes.JOINER)) & (codes[1:] >= ord(graphemes.FIRST_MARK))
    half = np.array([graphemes.is_half_a_flag(character) for character in known], np.bool_)[places]
    here = np.arange(len(codes))
    on |= half & ((here - np.maximum.accumulate(np.where(half, -1, here))) % 2 == 0)
    on[:1] = False
    on[1:] &= (codes[:-1] >= SPACE) & (codes[:-1] <= LAST)
    return on


def runs(bands: NDArray[np.intp], alone: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """From where to where there is one band; those that stand alone are a run each."""
    import numpy as np

    begins = np.ones(len(bands), np.bool_)
    begins[1:] = (bands[1:] != bands[:-1]) | alone[1:] | alone[:-1]
    return pairwise([*np.flatnonzero(begins).tolist(), len(bands)])


def names() -> list[str]:
    """What to call each band in a legend, in bits."""
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(BOUNDS)]
    return [f"<{BOUNDS[0]:g}", *inner, f">{BOUNDS[-1]:g}"]

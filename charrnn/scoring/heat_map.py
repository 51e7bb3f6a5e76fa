"""Texts coloured by surprisal: the bands of colour, and HTML for a notebook cell.

The colours differ in chroma as well as in hue, so their order is visible on dark and light
backgrounds and to colour-blind readers. The HTML has all text escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.reading import END_CODE, NEWLINE
from charrnn.scoring.score import BITS, Mean
from charrnn.scoring.streams import text_of
from charrnn.text import FIRST_MARK, JOINER, is_half_a_flag, joins, visible_in_html
from charrnn.vocabulary import Codes, codes_of

BOUNDS: Final = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)  # in bits: where the next band begins

SPACE: Final = ord(" ")
LAST: Final = 0x10FFFF  # the last code point; END_CODE comes after it


def bands_of_text(codes: Codes, nats: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the band of each code point; a grapheme has the band of its first code point."""
    firsts = np.maximum.accumulate(np.where(_continues(codes), 0, np.arange(len(codes))))
    return np.searchsorted(BOUNDS, nats * BITS, side="right")[firsts]


def _continues(codes: Codes) -> NDArray[np.bool_]:
    """Return which code points continue a grapheme: ``text.goes_on`` for all at once."""
    distinct, places = np.unique(codes, return_inverse=True)
    characters = [chr(code) if code <= LAST else "" for code in distinct.tolist()]
    on = np.array([joins(character) for character in characters], np.bool_)[places]
    on[1:] |= (codes[:-1] == ord(JOINER)) & (codes[1:] >= ord(FIRST_MARK))
    half = np.array([is_half_a_flag(character) for character in characters], np.bool_)[places]
    here = np.arange(len(codes))
    on |= half & ((here - np.maximum.accumulate(np.where(half, -1, here))) % 2 == 0)
    on[:1] = False
    on[1:] &= (codes[:-1] >= SPACE) & (codes[:-1] <= LAST)
    return on


def band_runs(bands: NDArray[np.intp], alone: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of each run in one band; places marked ``alone`` are runs of one."""
    begins = np.ones(len(bands), np.bool_)
    begins[1:] = (bands[1:] != bands[:-1]) | alone[1:] | alone[:-1]
    return pairwise([*np.flatnonzero(begins).tolist(), len(bands)])


def band_names() -> list[str]:
    """Return the legend of each band, in bits."""
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(BOUNDS)]
    return [f"<{BOUNDS[0]:g}", *inner, f">{BOUNDS[-1]:g}"]


# The ink and the background of each band but the lowest, which is plain.
LIGHT: Final = (
    "var(--ink) #fbf0cf",
    "var(--ink) #fbe09a",
    "var(--ink) #fbc265",
    "#1c1206 #f4914e",
    "#ffffff #d33c3a",
    "#ffffff #8d1170",
)
DARK: Final = (
    "var(--ink) #34332c",
    "var(--ink) #534619",
    "#fff4dc #7d570e",
    "#ffffff #ad4f12",
    "#ffffff #d92f3c",
    "#2a0020 #ff8fe0",
)
NAMES: Final = "abcdefg"  # the CSS class of each band
LONGEST: Final = 20_000  # characters shown in a notebook, whose file stores them
INK: Final = "#23262b"  # in a notebook


def colours_in_css() -> dict[str, str]:
    """Return the colours of the bands by light and by dark, and the rules that use them."""
    light, dark = (
        " ".join(
            f"--{name}-ink: {ink}; --{name}: {ground};"
            for name, (ink, ground) in zip(NAMES[1:], map(str.split, colours), strict=True)
        )
        for colours in (LIGHT, DARK)
    )
    bands = "\n".join(
        f".{name} {{ color: var(--{name}-ink); background: var(--{name}); }}" for name in NAMES[1:]
    )
    return {"light": light, "dark": dark, "bands": bands}


def body(codes: Codes, nats: NDArray[np.floating]) -> str:
    """Return the HTML of some text for a notebook."""
    bands = bands_of_text(codes, nats)
    breaks = (codes == NEWLINE) | (codes == END_CODE)
    bits = nats * BITS
    parts = []
    for start, stop in band_runs(bands, breaks):
        if breaks[start]:
            mark = "■" if codes[start] == END_CODE else "↵"
            shown, after = f'<span style="opacity:.45">{mark}</span>', "\n"
        else:
            shown, after = escape(visible_in_html(text_of(codes[start:stop])), quote=False), ""
        if bands[start]:
            tip = '"' + " ".join([f"{b:.1f}" for b in bits[start:stop].tolist()]) + '"'
            ink, ground = LIGHT[bands[start] - 1].replace("var(--ink)", INK).split()
            style = f"color:{ink};background-color:{ground}"
            shown = f'<span style="{style}" title={tip}>{shown}</span>'
        parts.append(shown + after)
    return "".join(parts)


def heat_map(text: str, nats: Sequence[float]) -> str:
    """Return the coloured text and its sums for a notebook; the last of the nats is END's."""
    codes = np.append(codes_of(text), np.uint32(END_CODE))
    costs = np.asarray(nats, np.float64)
    shown = slice(0, None if len(text) <= LONGEST else LONGEST)
    mean = Mean(float(costs.sum()), len(costs))
    cut = f" The first {LONGEST:,} are shown." if len(text) > LONGEST else ""
    bits, each = mean.nats / np.log(2), mean.bits_per_character
    sums = f"{len(text):,} characters and the end: {bits:,.1f} bits, {each:.2f} for each.{cut}"
    html = body(codes[shown], costs[shown])
    style = "white-space:pre-wrap;overflow-wrap:anywhere"
    return f'<pre style="{style}">{html}</pre><p>{escape(sums)}</p>'

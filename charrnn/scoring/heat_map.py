"""Surprisal as heat: seven bands, from what was as good as known to what nobody could expect.

    bits    0 ... 1 ... 2 ... 3 ... 5 ... 7 ... 10 ...
    band      0     1     2     3     4     5      6

A bit is a halving: a character of 3 bits was one of eight that would have been as likely. Each step
of the colours is a step in chroma as well as in hue, so that the order can be seen on a dark
ground, on a light one, and without telling red from green.

One HTML file, with nothing to load: a text coloured by surprisal, in the light and in the dark.

Neighbours of one colour share an element, and its tooltip says what each of them cost; what cost
next to nothing is plain text. What is only known at the end, the sums, stands at the end of the
file, and is shown at the top.

HTML to stand in a cell of a notebook: a table, and a text coloured by surprisal.

Every style stands in its element, the ink as well as the ground, for a notebook has a sheet of its
own, and may be dark. There is nothing in it that runs, and all text is escaped."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn import text
from charrnn.corpus.segmentation import END_CODE, NEWLINE
from charrnn.scoring.pieces import Piece, text_of
from charrnn.scoring.score import Mean
from charrnn.text import STEERING
from charrnn.vocabulary import Codes, codes_of

if TYPE_CHECKING:
    import numpy as np


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
    on = np.array([text.joins(character) for character in known], np.bool_)[places]
    on[1:] |= (codes[:-1] == ord(text.JOINER)) & (codes[1:] >= ord(text.FIRST_MARK))
    half = np.array([text.is_half_a_flag(character) for character in known], np.bool_)[places]
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


# The ink and the ground of each band but the lowest, which is plain.
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
NAMES: Final = "abcdefg"  # a class for each band

_STEERING: Final = re.compile(f"[{STEERING}]")
SHEET: Final = 4000  # characters: a browser lays out only those sheets that are on the screen

BEGINNING: Final = '<!doctype html>\n<html lang="und">\n<head>\n<meta charset="utf-8">\n'
GENERATOR: Final = '<meta name="generator" content="charrnn">\n'
VIEWPORT: Final = '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
STYLE: Final = """
:root { color-scheme: light dark; --ink: #23262b; --faint: #767b84; --ground: #fdfdfc;
  --line: #e4e4e0; %(light)s }
@media (prefers-color-scheme: dark) { :root { --ink: #d9dce1; --faint: #868c96; --ground: #15171b;
  --line: #2c3036; %(dark)s } }
body { display: flex; flex-direction: column; max-width: 62rem; margin: 0 auto;
  padding: 1.5rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { order: -3; margin: 0; font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere; }
dl { order: -2; display: flex; flex-wrap: wrap; gap: .25rem 1.75rem; margin: .75rem 0 1rem; }
dt { color: var(--faint); font-size: .8125rem; }
dd { margin: 0; font-size: 1.125rem; font-variant-numeric: tabular-nums; }
nav { order: -1; position: sticky; top: 0; display: flex; flex-wrap: wrap; align-items: baseline;
  gap: .25rem .375rem; padding: .5rem 0; margin-bottom: 1rem; background: var(--ground);
  border-bottom: 1px solid var(--line); font-size: .8125rem; color: var(--faint); }
nav i { padding: .0625rem .5rem; }
nav i.a { color: var(--ink); outline: 1px solid var(--line); outline-offset: -1px; }
pre { content-visibility: auto; contain-intrinsic-size: auto 150rem;
  margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext;
  font: .9375rem/1.65 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
i { font-style: normal; border-radius: .1875rem; }
s { text-decoration: none; opacity: .45; user-select: none; }
%(bands)s
"""


def page(
    title: str, pieces: Iterable[Piece], sums: Callable[[], Mapping[str, str]], gap: str = ""
) -> Iterator[bytes]:
    """The file, bit by bit. The sums are asked for when all pieces have been."""
    yield _head(title).encode()
    for piece in pieces:
        yield body(piece.codes, piece.nats, gap).encode()
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(visible(value))}</dd></div>"
        for name, value in sums().items()
    )
    yield f"</pre>\n<dl>{facts}</dl>\n</body>\n</html>\n".encode()


def _head(title: str) -> str:
    legend = "".join(
        f"<i class={NAMES[band]}>{escape(name)}</i>" for band, name in enumerate(names())
    )
    return (
        f"{BEGINNING}{GENERATOR}{VIEWPORT}<title>{escape(visible(title))}</title>\n<style>{_style()}</style>\n</head>\n<body>\n"
        f"<h1>{escape(visible(title))}</h1>\n"
        f"<nav>Surprisal in bits {legend} <span><s>↵</s> newline, <s>■</s> end of an example;"
        " point at a colour for more digits</span></nav>\n<pre>"
    )


def is_page(head: bytes) -> bool:
    """Whether a file that begins so is such a page; the first ones did not name their maker."""
    text = head.decode("utf-8", "replace")
    if text.startswith(BEGINNING + GENERATOR):
        return True
    begun, _, rest = text.partition("</title>\n")
    first_rule = STYLE.partition("{")[0]
    return begun.startswith(f"{BEGINNING}{VIEWPORT}<title>") and rest.startswith(
        f"<style>{first_rule}"
    )


def _style() -> str:
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
    return STYLE % {"light": light, "dark": dark, "bands": bands}


class Markup(NamedTuple):
    """How what stands out is told in HTML."""

    coloured: Callable[[int, str, str], str]  # from the band, the tip as it is quoted, and HTML
    faint: Callable[[str], str]
    next_sheet: str


BY_CLASS: Final = Markup(
    lambda band, tip, html: f"<i class={NAMES[band]} title={tip}>{html}</i>",
    lambda sign: f"<s>{sign}</s>",
    "</pre>\n<pre>",
)


def body(codes: Codes, nats: NDArray[np.floating], gap: str = "", markup: Markup = BY_CLASS) -> str:
    """The HTML of some text; the gap stands between examples."""
    bands = bands_of_text(codes, nats)
    breaks = (codes == NEWLINE) | (codes == END_CODE)
    bits = nats * BITS
    parts = []
    sheet = 0
    for start, stop in runs(bands, breaks):
        if breaks[start]:
            is_end = codes[start] == END_CODE
            shown = markup.faint("■" if is_end else "↵")
            after = "\n" + (gap if is_end else "")
            if stop - sheet > SHEET:
                after, sheet = after + markup.next_sheet, stop
        else:
            shown, after = escape(visible(text_of(codes[start:stop])), quote=False), ""
        if bands[start]:
            tip = " ".join([f"{b:.1f}" for b in bits[start:stop].tolist()])
            tip = f'"{tip}"' if stop > start + 1 else tip
            shown = markup.coloured(int(bands[start]), tip, shown)
        parts.append(shown + after)
    return "".join(parts)


def visible(text: str) -> str:
    """The text with what would steer a page shown instead."""
    return _STEERING.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)  # a picture of it
    return "␡" if code == 0x7F else f"\\u{code:04x}"


INK: Final = "#23262b"
LONGEST: Final = 20_000  # characters that are shown: a notebook keeps them for ever
PRE: Final = '<pre style="white-space:pre-wrap;overflow-wrap:anywhere">'


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table; what begins a row is its name."""
    lines = ["".join(f"<th>{shown(name)}</th>" for name in head)] if head else []
    for name, *cells in rows:
        columns = "".join(f"<td>{shown(cell)}</td>" for cell in cells)
        lines.append(f'<th style="text-align:left">{shown(name)}</th>{columns}')
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def heat_map(text: str, nats: Sequence[float]) -> str:
    """The text, a colour for each surprisal, and what it sums up to; END comes last."""
    codes = np.append(codes_of(text), np.uint32(END_CODE))
    costs = np.asarray(nats, np.float64)
    some = slice(0, None if len(text) <= LONGEST else LONGEST)
    mean = Mean(float(costs.sum()), len(costs))
    left = f" The first {LONGEST:,} are shown." if len(text) > LONGEST else ""
    bits, each = mean.nats / np.log(2), mean.bits_per_character
    sums = f"{len(text):,} characters and the end: {bits:,.1f} bits, {each:.2f} for each.{left}"
    return f"{PRE}{body(codes[some], costs[some], markup=INLINE)}</pre><p>{escape(sums)}</p>"


def shown(text: str) -> str:
    """The text, which opens no element and steers nothing."""
    return escape(visible(text))


def coloured(band: int, tip: str, html: str) -> str:
    """A stretch of one band."""
    ink, ground = LIGHT[band - 1].replace("var(--ink)", INK).split()
    return f'<span style="color:{ink};background-color:{ground}" title={tip}>{html}</span>'


INLINE: Final = Markup(coloured, lambda sign: f'<span style="opacity:.45">{sign}</span>', "")

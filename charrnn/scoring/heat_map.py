"""Texts coloured by surprisal: the bands of colour, an HTML page, and HTML for a notebook cell.

The colours differ in chroma as well as in hue, so their order is visible on dark and light
backgrounds and to colour-blind readers. The HTML runs no script, loads nothing, and has all text
escaped. The sums of a page are known last, so CSS shows the end of the file at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import END_CODE, NEWLINE, text_of
from charrnn.scoring.pieces import ScoredBlock
from charrnn.scoring.score import BITS, Mean
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
SHEET: Final = 4000  # characters in an element: browsers lay out only those on the screen

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
    title: str, blocks: Iterable[ScoredBlock], sums: Callable[[], Mapping[str, str]], gap: str = ""
) -> Iterator[bytes]:
    """Yield the file in parts. ``sums`` is called after the last block."""
    style = STYLE % colours_in_css()
    legend = "".join(
        f"<i class={css_class}>{escape(name)}</i>"
        for css_class, name in zip(NAMES, band_names(), strict=True)
    )
    shown = escape(visible_in_html(title))
    yield (
        f"{BEGINNING}{GENERATOR}{VIEWPORT}<title>{shown}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n<h1>{shown}</h1>\n"
        f"<nav>Surprisal in bits {legend} <span><s>↵</s> newline, <s>■</s> end of an example;"
        " point at a colour for more digits</span></nav>\n<pre>"
    ).encode()
    for block in blocks:
        yield body(block.codes, block.nats, gap).encode()
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(visible_in_html(value))}</dd></div>"
        for name, value in sums().items()
    )
    yield f"</pre>\n<dl>{facts}</dl>\n</body>\n</html>\n".encode()


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


def is_page(head: bytes) -> bool:
    """Return whether a file that begins like this is such a page, old or new."""
    text = head.decode("utf-8", "replace")
    if text.startswith(BEGINNING + GENERATOR):
        return True
    before, _, after = text.partition("</title>\n")  # the first pages did not name their maker
    return before.startswith(f"{BEGINNING}{VIEWPORT}<title>") and after.startswith(
        f"<style>{STYLE.partition('{')[0]}"
    )


def body(codes: Codes, nats: NDArray[np.floating], gap: str = "", inline: bool = False) -> str:
    """Return the HTML of some text; ``inline`` for a notebook, which has a style sheet already."""
    faint = '<span style="opacity:.45">{}</span>' if inline else "<s>{}</s>"
    bands = bands_of_text(codes, nats)
    breaks = (codes == NEWLINE) | (codes == END_CODE)
    bits = nats * BITS
    parts = []
    sheet = 0
    for start, stop in band_runs(bands, breaks):
        if breaks[start]:
            is_end = codes[start] == END_CODE
            shown = faint.format("■" if is_end else "↵")
            after = "\n" + (gap if is_end else "")
            if stop - sheet > SHEET and not inline:
                after, sheet = after + "</pre>\n<pre>", stop
        else:
            shown = escape(visible_in_html(text_of(codes[start:stop])), quote=False)
            after = ""
        if bands[start]:
            tip = " ".join([f"{b:.1f}" for b in bits[start:stop].tolist()])
            tip = f'"{tip}"' if stop > start + 1 else tip
            if inline:
                ink, ground = LIGHT[bands[start] - 1].replace("var(--ink)", INK).split()
                style = f"color:{ink};background-color:{ground}"
                shown = f'<span style="{style}" title={tip}>{shown}</span>'
            else:
                shown = f"<i class={NAMES[bands[start]]} title={tip}>{shown}</i>"
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
    html = body(codes[shown], costs[shown], inline=True)
    style = "white-space:pre-wrap;overflow-wrap:anywhere"
    return f'<pre style="{style}">{html}</pre><p>{escape(sums)}</p>'

"""One HTML file, with nothing to load: a text coloured by surprisal, in the light and in the dark.

Neighbours of one colour share an element, and its tooltip says what each of them cost; what cost
next to nothing is plain text. What is only known at the end, the sums, stands at the end of the
file, and is shown at the top.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import END_CODE, NEWLINE
from charrnn.escaping import STEERING
from charrnn.scoring import surprisal_bands
from charrnn.scoring.pieces import Piece, text_of
from charrnn.vocabulary import Codes

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
        f"<i class={NAMES[band]}>{escape(name)}</i>"
        for band, name in enumerate(surprisal_bands.names())
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
    bands = surprisal_bands.bands_of_text(codes, nats)
    breaks = (codes == NEWLINE) | (codes == END_CODE)
    bits = nats * surprisal_bands.BITS
    parts = []
    sheet = 0
    for start, stop in surprisal_bands.runs(bands, breaks):
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

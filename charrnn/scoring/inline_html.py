"""HTML to stand in a cell of a notebook: a table, and a text coloured by surprisal.

Every style stands in its element, the ink as well as the ground, for a notebook has a sheet of its
own, and may be dark. There is nothing in it that runs, and all text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

import numpy as np

from charrnn.corpus.segmentation import END_CODE
from charrnn.scoring.html_page import LIGHT, Markup, body, visible
from charrnn.scoring.score import Mean
from charrnn.vocabulary import codes_of

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

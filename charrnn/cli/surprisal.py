"""Text shown by how surprising it is: its oddest part, or each character in a colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from charrnn.cli.console import Output, json_line
from charrnn.system.visible import Visible, visible, visible_line

if TYPE_CHECKING:
    from rich.text import Text as RichText

    from charrnn.prediction.scoring import ScoredTexts

GROUNDS = ("#55585f", "#75672f", "#a3690f", "#cc4a1a", "#d3123f", "#c400a0")
BAND_STYLES = ("", *(f"#ffffff on {ground}" for ground in GROUNDS))  # of the bands of surprisal


def excerpt(text: str, nats: Any, room: int) -> Visible:
    """Return a text on one line; a long one is cut to its most surprising part."""
    import numpy as np

    if len(visible_line(text)) <= room:
        return visible_line(text)
    size = max(4, room - len("......"))
    sums = np.convolve(nats[:-1], np.ones(size), "valid")
    begin = min(int(sums.argmax()), max(0, len(text) - size))
    lead, shown = "..." if begin else "", visible_line(text[begin:])
    tail = "..." if len(lead + shown) > room else ""
    return Visible(lead + shown[: room - len(lead + tail)] + tail)


def write_characters(scored: ScoredTexts, as_json: bool, output: Output) -> None:
    """Write coloured text, or a row for each character with its nats and rank."""
    characters = [character for text in scored.texts for character in (*text, None)]  # None: END
    nats = scored.nats.tolist()
    if output.takes_colour and not as_json:
        output.rich.print(coloured(characters, nats), end="", soft_wrap=True)
        return
    assert scored.ranks is not None
    lines: list[Visible] = []
    for character, cost, rank in zip(characters, nats, scored.ranks.tolist(), strict=True):
        row = {"character": character, "nats": cost, "rank": rank}
        line = Visible(f"{visible_line(character or 'END')}\t{cost:.3f}\t{rank}")
        lines.append(json_line("eval.character", row) if as_json else line)
    output.write_lines(lines)


def coloured(characters: Sequence[str | None], nats: list[float]) -> RichText:
    """Return characters in the colours of their surprisal; None is an end."""
    from rich.text import Text

    from charrnn.export.html import band_of

    text = Text()
    pairs = zip(map(band_of, nats), characters, strict=True)
    for band, stretch in groupby(pairs, itemgetter(0)):
        shown = ["$\n" if character is None else visible(character) for _, character in stretch]
        text.append("".join(shown), BAND_STYLES[band])
    return text

"""What a notebook shows: coloured text and a progress bar."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from charrnn.files.model_contents import Checkpoint
from charrnn.prediction.losses import BITS, Mean, in_bits
from charrnn.system.visible import visible
from charrnn.training.state import share_done

if TYPE_CHECKING:
    from charrnn.training.loop import Event

NOTEBOOK_LIMIT: Final = 20_000  # characters shown in a notebook, whose file stores them
INK: Final = "#23262b"  # in a notebook


@dataclass(frozen=True, repr=False)
class Surprisal:
    """The loss of each character of a text in nats, and of its END."""

    text: str
    nats: list[float]
    ranks: list[int]  # 1: the likeliest symbol

    def __repr__(self) -> str:
        return f"<charrnn.Surprisal: {len(self.text):,} characters, {sum(self.nats):.1f} nats>"

    def _repr_html_(self) -> str:
        return heat_map(self.text, self.nats)


def heat_map(text: str, nats: Sequence[float]) -> str:
    """Return the coloured text and its sums for a notebook; the last of the nats is END's."""
    from charrnn.export.html import LIGHT, band_of

    beginning = zip(text[:NOTEBOOK_LIMIT], nats, strict=False)
    shown = [(character.replace("\n", "↵\n"), cost) for character, cost in beginning]
    cut = f" The first {NOTEBOOK_LIMIT:,} are shown."
    if len(text) <= NOTEBOOK_LIMIT:
        shown, cut = [*shown, ("■\n", nats[-1])], ""
    parts = []
    for band, group in groupby(shown, lambda pair: band_of(pair[1])):
        run = list(group)
        words = escape(visible("".join(character for character, _ in run)), quote=False)
        if band:
            ink, ground = LIGHT[band - 1].replace("var(--ink)", INK).split()
            bits = " ".join(f"{cost * BITS:.1f}" for _, cost in run)
            style = f"color:{ink};background-color:{ground}"
            words = f'<span style="{style}" title="{bits}">{words}</span>'
        parts.append(words)
    mean = Mean(math.fsum(nats), len(nats))
    bits, rate = f"{mean.nats * BITS:,.1f}", in_bits(mean.nats_per_character)
    sums = f"{len(text):,} characters and the end: {bits} bits, {rate} for each.{cut}"
    style = "white-space:pre-wrap;overflow-wrap:anywhere"
    return f'<pre style="{style}">{"".join(parts)}</pre><p>{sums}</p>'


def show_progress(run: Checkpoint, events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events while a bar shows how far the run is."""
    from charrnn.training.loop import Checkup  # it loads what only a training needs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about packages that a notebook lacks
        from tqdm.auto import tqdm

    length = run.corpus.characters + run.corpus.examples
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    in_notebook = shell is not None and "IPKernelApp" in shell.config
    disable = False if in_notebook else None  # None: disabled unless stderr is a terminal
    layout = "{percentage:3.0f}% |{bar}| {elapsed}<{remaining}{postfix}"
    with tqdm(total=1.0, bar_format=layout, disable=disable) as bar:
        for event in events:
            if isinstance(event, Checkup):
                words = f"{event.train_nats_per_character:.3f} nats in training"
                if event.score is not None:
                    words = f"{event.score.nats_per_character:.3f} nats held out"
                bar.set_postfix_str(words, refresh=False)
            bar.update(share_done(run.state, run.config, length) - bar.n)
            yield event

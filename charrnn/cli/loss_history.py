"""What a run and its corpus say about the loss: the curve, and the best there is by counting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from charrnn.cli import charset, curve, layout


def best_of(losses: Mapping[str, float]) -> str:
    """The name of the best of these baselines."""
    return min(losses, key=lambda name: losses[name])


def picture(
    history: Sequence[Mapping[str, float]], baselines: Mapping[str, float], stream: TextIO
) -> list[str]:
    """The learning curve as it suits this stream, below an empty line; nothing without a curve."""
    lines = curve.picture(
        history,
        (best_of(baselines), min(baselines.values())) if baselines else None,
        layout.width(stream),
        lambda text, style: layout.paint(text, style, stream),
        plain=charset.are_plain(stream),
    )
    return ["", *lines] if lines else []

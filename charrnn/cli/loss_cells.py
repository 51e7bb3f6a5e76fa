"""The columns of a table of losses, and what stands in them."""

from __future__ import annotations

import math

from charrnn.cli.table import Column
from charrnn.escaping import visible_line
from charrnn.scoring.score import Mean

FIRST = 21  # columns for a name
COLUMNS = (
    Column("", FIRST, is_left=True),
    Column("nats", 8),
    Column("bits", 8, 1),
    Column("perplexity", 12, 2),
)


def cells(mean: Mean) -> dict[str, str]:
    """What stands in a row of the table."""
    return {
        "nats": figure(mean.nats_per_character),
        "bits": figure(mean.bits_per_character),
        "perplexity": shown(mean.perplexity),
    }


def figure(number: float) -> str:
    """A number, if there is one."""
    return "-" if math.isnan(number) else f"{number:.3f}"


def fitted(name: str, room: int = FIRST) -> str:
    """The name, or the end of it."""
    name = visible_line(name)
    return name if len(name) < room else f"..{name[3 - room :]}"


def shown(perplexity: float) -> str:
    """A perplexity of any size, if there is one."""
    if math.isnan(perplexity):
        return "-"
    return f"{perplexity:.2f}" if perplexity < 1e6 else f"{perplexity:.2e}"

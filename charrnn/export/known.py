"""Which networks a kind of file can hold: what it cannot is refused here, by its name."""

from __future__ import annotations

from collections.abc import Collection

from charrnn.errors import ExportError
from charrnn.network.architecture import Architecture


def check_known(
    architecture: Architecture, kind: str, cells: Collection[str], heads: Collection[str]
) -> None:
    """Raise ExportError where such a file would compute something else than this network does."""
    cell, head = architecture.cell_name, architecture.head_name
    if cell not in cells:
        raise ExportError(f"{kind} cannot hold the cell {cell}", f"It can hold {names(cells)}.")
    if head not in heads:
        raise ExportError(
            f"{kind} cannot end texts by {head}", f"It can end them by {names(heads)}."
        )
    size = architecture.symbols, architecture.hidden, architecture.layers
    known = Architecture(*size, cell, head)
    if architecture.shapes != known.shapes:
        inputs = [name for name in architecture.inputs if name not in known.inputs]
        others = [name for name in architecture.shapes if name not in known.shapes]
        what = f"that reads more than characters: {', '.join(inputs)}"
        if not inputs:
            what = f"with {', '.join(others) or 'arrays of other shapes'}"
        raise ExportError(f"{kind} cannot hold a network {what}", "Train one without that.")


def names(known: Collection[str]) -> str:
    """All of them, the last after an "or"."""
    *others, last = known
    return f"{', '.join(others)} or {last}" if others else last

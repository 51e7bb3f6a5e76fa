"""The text that is counted: all of it, or evenly spaced pieces of a long one, one after the other.

    ids of symbols, END after each example; BREAK where a piece begins within an example

What stands before a break is not what comes before it in the text, so no context reaches across.
The text itself begins as after an END.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.vocabulary import END

Ids = NDArray[np.unsignedinteger[Any]]

PIECES = 64  # evenly spaced, for a corpus may be sorted


def break_of(symbols: int) -> int:
    """The number that stands for a break among so many symbols: the one after the last."""
    return symbols


def parts_of(ids: Ids, symbols: int, most: int, pieces: int = PIECES) -> list[Ids]:
    """The text itself, or about so many symbols of it in pieces, whole examples where there are
    any: views of the ids, one after the other, and breaks between them.
    """
    if ids.size <= most:
        return [ids]
    parts: list[Ids] = []
    for i in range(pieces):
        start = i * ids.size // pieces
        cut = ids[start : start + most // pieces]
        ends = np.flatnonzero(cut == END)
        whole = cut[ends[0] + 1 : ends[-1] + 1] if ends.size > 1 else cut
        if not whole.size:
            continue
        if parts and parts[-1][-1] != END:
            parts.append(np.array([break_of(symbols)], np.min_scalar_type(break_of(symbols))))
        parts.append(whole)
    return parts


def sequence_of(ids: Ids, symbols: int, most: int, pieces: int = PIECES) -> Ids:
    """The parts as one, of a type that has room for a break."""
    dtype = np.min_scalar_type(break_of(symbols))
    parts = parts_of(ids, symbols, most, pieces)
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate([np.zeros(0, dtype), *parts], dtype=dtype)


def is_counted(sequence: Ids, symbols: int) -> NDArray[np.bool_]:
    """Which of these are symbols: all but the breaks."""
    return np.asarray(sequence != break_of(symbols))

"""The counted text in as few bits as its symbols take, for a file: 7 for each of up to 127 symbols.

symbol     a      b      ..
bits       0101101 0101110 ..           one after the other, the last byte filled up with zeros
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.sequence import Ids, break_of

Bytes = NDArray[np.uint8]

BLOCK = 1 << 16  # symbols at a time; so many fill whole bytes


def bits_for(symbols: int) -> int:
    """What one symbol takes, a break among them."""
    return break_of(symbols).bit_length()


def packed_size(count: int, symbols: int) -> int:
    """The bytes of so many."""
    return -(-count * bits_for(symbols) // 8)


def pack(sequence: Ids, symbols: int) -> Bytes:
    """The bytes, (packed_size,)."""
    bits = bits_for(symbols)
    parts = [np.zeros(0, np.uint8)]
    for at in range(0, len(sequence), BLOCK):
        wide = sequence[at : at + BLOCK].astype(">u4").view(np.uint8).reshape(-1, 4)
        parts.append(np.packbits(np.unpackbits(wide, axis=1)[:, -bits:]))
    return np.concatenate(parts)


def unpack(packed: Bytes, count: int, symbols: int) -> Ids:
    """The symbols again; ValueError where these are not the bytes of so many symbols."""
    bits = bits_for(symbols)
    if len(packed) != packed_size(count, symbols):
        raise ValueError("not as many bytes as the symbols take")
    sequence: Ids = np.empty(count, np.min_scalar_type(break_of(symbols)))
    for at in range(0, count, BLOCK):
        some = sequence[at : at + BLOCK]
        taken = packed[at * bits // 8 :][: packed_size(len(some), symbols)]
        wide = np.zeros((len(some), 32), np.uint8)
        wide[:, -bits:] = np.unpackbits(taken)[: len(some) * bits].reshape(-1, bits)
        some[...] = np.packbits(wide, axis=1).view(">u4")[:, 0]
    if count and int(sequence.max()) > break_of(symbols):
        raise ValueError("a symbol that there is not")
    if not np.array_equal(pack(sequence[-(count % BLOCK or BLOCK) :], symbols)[-1:], packed[-1:]):
        raise ValueError("bits beyond the last symbol")
    return sequence

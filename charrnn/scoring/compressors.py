"""What programs that pack files make of a text, once they have seen the corpus.

    bits = 8 (size of corpus and text, packed together  -  size of the corpus, packed alone)

xz looks back as far as there is anything, bzip2 no more than 900 kB. An example ends in a newline,
a paragraph in a blank line, so that a packer has to foresee the ends too.

bzip2 packs a whole block with a few tables, and a few bytes more may make it choose others: its
size goes up or down by some dozens of bytes for a text of any length. A figure that is not much
larger than that says nothing of the text, and may be negative: so short texts have none of bzip2.
"""

from __future__ import annotations

import bz2
import lzma
import math
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import numpy as np

from charrnn.corpus.segmentation import END_CODE
from charrnn.network.thread_pool import Threads
from charrnn.scoring.pieces import text_of
from charrnn.vocabulary import Codes

NATS_IN_A_BYTE: Final = 8 * math.log(2)
FARTHEST: Final = 1 << 26  # bytes that xz looks back upon at most: memory is twelve times that


class Packer(Protocol):
    """What the packers of the standard library have in common."""

    def compress(self, data: bytes, /) -> bytes:
        """Take some, give some."""

    def flush(self) -> bytes:
        """Give the rest."""


def xz(size: int) -> Packer:
    """xz at its best, without the frame that makes a file of it."""
    reach = max(1 << 16, min(size, FARTHEST))
    chain = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": reach}]
    return lzma.LZMACompressor(lzma.FORMAT_RAW, filters=chain)


NOISE: Final = {"xz": 0, "bzip2": 256}  # bytes: what a text must add at least, to say anything
PACKERS: Final[dict[str, Callable[[int], Packer]]] = {
    "xz": xz,
    "bzip2": lambda size: bz2.BZ2Compressor(9),
}


def nats_of(corpus: bytes, text: bytes) -> Iterator[tuple[str, float]]:
    """What each packer needs for the text once it has seen the corpus, where that can be told."""
    jobs = [(name, data) for name in PACKERS for data in (corpus, corpus + text)]
    pool = Threads(2)  # they let go of Python's lock while they work
    sizes = [one.result() for one in [pool.submit(packed_size, *job) for job in jobs]]
    for name, alone, together in zip(PACKERS, sizes[::2], sizes[1::2], strict=True):
        added = max(0, together - alone)
        if added >= NOISE[name]:
            yield name, NATS_IN_A_BYTE * added


def packed_size(name: str, data: bytes) -> int:
    """How many bytes are left of these."""
    packer = PACKERS[name](len(data))
    return len(packer.compress(data)) + len(packer.flush())


def written(codes: Codes, newlines: int) -> bytes:
    """Examples as a file would hold them, each ended by so many newlines."""
    return text_of(codes.repeat(np.where(codes == END_CODE, newlines, 1))).encode(
        "utf-8", "replace"
    )

"""What a loss should be compared with: models that only count, and programs that pack files.

All of them have seen the same corpus as the network, and are asked for the same text, its ENDs and
the characters that nobody has seen included.

What programs that pack files make of a text, once they have seen the corpus.

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
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.corpus.segmentation import END_CODE
from charrnn.counts.baselines import Baseline, baselines
from charrnn.network.threads import Threads
from charrnn.scoring.pieces import Piece, text_of
from charrnn.scoring.texts import codes_of_ids
from charrnn.vocabulary import UNKNOWN, Codes, Ids

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


CORPUS: Final = 1 << 23  # symbols of the corpus that are packed, its last; more would take minutes
TEXT: Final = 1 << 20  # symbols of the text that are packed, its first


class Heard:
    """A text as it streams by: its ids, and as much of the text itself as will be packed."""

    def __init__(self) -> None:
        self._ids: list[Ids] = []
        self._codes: list[Codes] = []
        self._left = TEXT

    def hear(self, piece: Piece) -> None:
        """Remember one more piece."""
        self._ids.append(piece.ids)
        if self._left:
            self._codes.append(piece.codes[: self._left])
            self._left -= len(self._codes[-1])

    def finish(self) -> None:
        """That was all."""

    @property
    def ids(self) -> Ids:
        """All of them."""
        return np.concatenate(self._ids) if self._ids else np.zeros(0, np.uint8)

    @property
    def codes(self) -> Codes:
        """The first of them, as code points."""
        return np.concatenate(self._codes) if self._codes else np.zeros(0, np.uint32)


def comparisons(corpus: Corpus, heard: Heard) -> Iterator[Baseline]:
    """Uniform, unigram, markov-1 to markov-6, xz and bzip2 on this text, one by one."""
    ids = heard.ids
    if not len(ids):
        return
    yield from by_counting(corpus, ids)
    codes = heard.codes
    newlines = 2 if corpus.examples_are == "paragraphs" else 1
    known = np.concatenate([*codes_of_ids(corpus.train.ids[-CORPUS:], corpus.vocabulary)])
    for name, nats in nats_of(written(known, newlines), written(codes, newlines)):
        yield Baseline(name, nats / len(codes), "none", len(known), len(codes))


def by_counting(corpus: Corpus, ids: Ids) -> Iterator[Baseline]:
    """Uniform, unigram and Markov models of what is learned from, asked for this text."""
    unknown = int(np.count_nonzero(ids == UNKNOWN))
    naming = unknown * corpus.vocabulary.unseen_nats / max(1, len(ids))
    for found in baselines(corpus.train.ids, ids, corpus.vocabulary.symbols):
        yield replace(found, nats_per_character=found.nats_per_character + naming)

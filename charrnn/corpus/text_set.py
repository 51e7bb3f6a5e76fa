"""A set of texts that keeps 64 bits of each: is this sample a copy of a line of the corpus?

Against a million texts, a new text is taken for one of them with a probability of 10^-13.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import texts_in, whole_examples
from charrnn.vocabulary import Codes, codes_of

BATCH: Final = 1 << 20  # hashes collected before duplicates are removed


def hash_of(text: str) -> int:
    """Return 64 bits that stand for the text."""
    return int.from_bytes(blake2b(codes_of(text).tobytes(), digest_size=8).digest(), "little")


class TextSet:
    """A set of texts, filled from a stream of examples and by ``add``."""

    def __init__(self, stream: Iterable[Codes] = (), *, ignoring_case: bool = False) -> None:
        """Read a stream of ``cut``. With case, ignore spaces at either end of a text too."""
        self._ignoring_case = ignoring_case
        self._read: NDArray[np.uint64] = np.empty(0, np.uint64)  # sorted
        self._added: set[int] = set()
        texts = (text for codes in whole_examples(stream) for text in texts_in(codes))
        hashes = map(self._hash, texts)
        while batch := array("Q", islice(hashes, max(BATCH, len(self._read)))):
            self._read = np.union1d(self._read, np.frombuffer(batch, np.uint64))

    def __len__(self) -> int:
        return len(self._read) + len(self._added)

    def __contains__(self, text: str) -> bool:
        return self.has_hash(self._hash(text))

    def add(self, text: str) -> None:
        if text not in self:
            self._added.add(self._hash(text))

    def has_hash(self, number: int) -> bool:
        """Return whether a text with this hash is in the set."""
        at = int(self._read.searchsorted(np.uint64(number)))
        is_read = at < len(self._read) and bool(self._read[at] == number)
        return is_read or number in self._added

    def _hash(self, text: str) -> int:
        return hash_of(text.strip().casefold() if self._ignoring_case else text)

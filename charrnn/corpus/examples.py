"""Encoded examples, end to end, and how text becomes that once the vocabulary is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from charrnn.corpus.builder import Draft, Starts, blocks_of
from charrnn.vocabulary import END, UNKNOWN, Ids, Vocabulary


@dataclass(frozen=True, eq=False)
class Examples:
    ids: Ids  # (S,)  each example followed by END
    starts: Starts  # (n + 1,)  example i is ids[starts[i] : starts[i + 1]], its END last

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def characters(self) -> int:
        """How many characters there are, ENDs not counted."""
        return len(self.ids) - len(self)

    def nth(self, i: int) -> Ids:
        """One example, its END last."""
        return self.ids[self.starts[i] : self.starts[i + 1]]


def encode_draft(draft: Draft, vocabulary: Vocabulary) -> Examples:
    """The examples of a draft, at its cost."""
    starts = draft.starts()
    return Examples(renumbered(draft.join(), draft, vocabulary), starts)


def renumbered(ids: Ids, draft: Draft, vocabulary: Vocabulary) -> Ids:
    """A draft's numbers turned into the vocabulary's: in place, where both have the same size."""
    numbers = np.array([END, UNKNOWN], vocabulary.dtype)
    codes = np.array(draft.characters, np.uint32)
    numbers = np.concatenate((numbers, vocabulary.encode_codes(codes)))
    encoded = ids if ids.dtype == numbers.dtype else np.empty(len(ids), numbers.dtype)
    for source, target in zip(blocks_of(ids), blocks_of(encoded), strict=True):
        target[:] = numbers[source]
    return encoded

"""Encoded examples, end to end, and how text becomes that once the vocabulary is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from charrnn.corpus.cutting import END_CODE, Cut, cut
from charrnn.corpus.drafting import Draft, Kind, Starts, blocks_of, draft_of, starts_type
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


def encode_examples(
    blocks: Iterable[str], vocabulary: Vocabulary, kind: Kind, keep_blank: bool = False
) -> Examples:
    """The examples of one text that comes in blocks. keep_blank: every line is one, also ""."""
    draft, _ = draft_of([blocks], kind, keep_blank)
    return encode_draft(draft, vocabulary)


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


def example_batches(
    blocks: Iterable[str],
    vocabulary: Vocabulary,
    kind: Kind,
    symbols: int,
    keep_blank: bool = False,
) -> Iterator[Examples]:
    """The examples of one text in batches of up to so many symbols, or of one that is longer.

    Memory is bounded by the batch, a block of text and the longest example. A stream is not read
    twice, so auto looks at the first block only.
    """
    if kind == "auto":
        stream = iter(blocks)
        first = next(stream, "")
        blocks = chain([first], stream)
        kind = _cut_of(first)
    waiting: list[Ids] = []  # the beginning of an example, or examples fewer than a batch holds
    size = 0
    for codes in cut(blocks, kind, keep_blank):
        ids = vocabulary.encode_codes(codes)
        ids[codes == END_CODE] = END
        waiting.append(ids)
        size += len(ids)
        if size < symbols or END not in ids:
            continue
        joined = np.concatenate(waiting)
        ends = np.flatnonzero(joined == END) + 1
        done = 0
        while done < ends[-1] and len(joined) - done >= symbols:
            fits, next_one = np.searchsorted(ends, [done + symbols, done], "right")
            last = max(fits - 1, next_one)  # one at least, however long it is
            yield _examples_of(joined[done : ends[last]].copy())
            done = int(ends[last])
        waiting = [joined[done:]]
        size = len(waiting[0])
    if size:
        yield _examples_of(np.concatenate(waiting))


def _cut_of(text: str) -> Cut:
    ends = sum(int(np.count_nonzero(codes == END_CODE)) for codes in cut([text], "paragraphs"))
    return "paragraphs" if ends > 1 else "lines"


def _examples_of(ids: Ids) -> Examples:
    ends = np.flatnonzero(ids == END) + 1
    return Examples(ids, np.concatenate(([0], ends)).astype(starts_type(len(ids))))

"""What a loss should be compared with: models that only count, and programs that pack files.

All of them have seen the same corpus as the network, and are asked for the same text, its ENDs and
the characters that nobody has seen included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.counts.markov import Baseline, baselines
from charrnn.scoring.compressors import nats_of, written
from charrnn.scoring.pieces import Piece
from charrnn.scoring.texts import codes_of_ids
from charrnn.vocabulary import UNKNOWN, Codes, Ids

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

"""Baselines for a loss: models that only count, and compressors.

A compressor needs for a text the size of corpus and text together, less that of the corpus alone.
xz looks back over everything, bzip2 over 900 kB at most. The size of bzip2 varies by some dozens of
bytes, so short texts get no figure. Examples end in newlines, so compressors predict the ends too.
"""

from __future__ import annotations

import bz2
import lzma
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus
from charrnn.corpus.segmentation import END_CODE, codes_of_ids, text_of
from charrnn.counts.markov import BUDGET, Baseline, baselines
from charrnn.counts.ngrams import pieces_of
from charrnn.network.threads import Threads
from charrnn.scoring.pieces import Floats, ScoredBlock
from charrnn.scoring.score import Difference, difference_of
from charrnn.vocabulary import UNKNOWN, Codes, Ids, codes_of

NATS_IN_A_BYTE: Final = 8 * math.log(2)
FARTHEST: Final = 1 << 26  # bytes that xz looks back; it takes twelve times that in memory
CORPUS: Final = 1 << 23  # symbols at the end of the corpus to compress; more would take minutes
TEXT: Final = 1 << 20  # symbols at the beginning of the text to compress
SLICE: Final = 1 << 16  # bytes to compress between two looks at a flag


COMPRESSORS: Final = {"xz": 0, "bzip2": 256}  # bytes that a text must add to get a figure


def compressed_nats(corpus: bytes, text: bytes) -> Iterator[tuple[str, float]]:
    """Yield each compressor and the nats it needs for the text after the corpus, if meaningful."""
    jobs = [(name, data) for name in COMPRESSORS for data in (corpus, corpus + text)]
    threads = Threads(2)  # compressors release Python's lock while they work
    is_over = Event()
    try:
        futures = [threads.submit(compressed_size, *job, is_over) for job in jobs]
        sizes = [future.result() for future in futures]
    finally:
        is_over.set()  # Python waits for all threads when it ends
    for name, alone, both in zip(COMPRESSORS, sizes[::2], sizes[1::2], strict=True):
        added = max(0, both - alone)
        if added >= COMPRESSORS[name]:
            yield name, NATS_IN_A_BYTE * added


def compressed_size(name: str, data: bytes, is_over: Event | None = None) -> int:
    """Return the number of bytes after compression. Give up once ``is_over`` is set."""
    reach = max(1 << 16, min(len(data), FARTHEST))
    chain = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": reach}]
    packer: lzma.LZMACompressor | bz2.BZ2Compressor
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=chain)
    if name == "bzip2":
        packer = bz2.BZ2Compressor()
    size = 0
    for start in range(0, len(data), SLICE):
        if is_over is not None and is_over.is_set():
            break
        size += len(packer.compress(data[start : start + SLICE]))
    return size + len(packer.flush())


def file_content(codes: Codes, newlines: int) -> bytes:
    text = text_of(codes.repeat(np.where(codes == END_CODE, newlines, 1)))
    return text.encode("utf-8", "replace")


class TextCollector:
    """The ids and nats of a text that streams by, and the first TEXT of its code points."""

    def __init__(self) -> None:
        self.ids: list[Ids] = [np.zeros(0, np.uint8)]
        self.nats: list[NDArray[np.float32]] = []
        self.codes: list[Codes] = [np.zeros(0, np.uint32)]
        self._left = TEXT

    def add(self, block: ScoredBlock) -> None:
        self.ids.append(block.ids)
        self.nats.append(block.nats.astype(np.float32))
        if self._left:
            self.codes.append(block.codes[: self._left])
            self._left -= len(self.codes[-1])


def comparisons(
    corpus: Corpus, text: TextCollector
) -> Iterator[tuple[Baseline, Difference | None]]:
    """Yield uniform, unigram, markov-1 to markov-6, xz and bzip2 on this text, one by one.

    Each comes with the difference of the model's loss, if the cost of each symbol is known.
    """
    ids = np.concatenate(text.ids)
    if not len(ids):
        return
    nats = np.concatenate(text.nats).astype(np.float64)
    for baseline in counting_baselines(corpus, ids):
        yield baseline, differences(baseline, ids, {"": nats}).get("")
    codes = np.concatenate(text.codes)
    newlines = 2 if corpus.examples_are == "paragraphs" else 1
    characters = codes_of(corpus.vocabulary.characters)
    known = np.concatenate([*codes_of_ids(corpus.train.ids[-CORPUS:], characters)])
    contents = file_content(known, newlines), file_content(codes, newlines)
    for name, total in compressed_nats(*contents):
        yield Baseline(name, total / len(codes), len(known), len(codes)), None


def counting_baselines(corpus: Corpus, ids: Ids) -> Iterator[Baseline]:
    """Yield uniform, unigram and Markov models of the training text, scored on these ids."""
    unknown = int(np.count_nonzero(ids == UNKNOWN))
    unseen = corpus.vocabulary.unseen_nats
    naming = unknown * unseen / max(1, len(ids))
    naming_each = np.where(ids[places(ids)] == UNKNOWN, unseen, 0.0)
    for baseline in baselines(corpus.train.ids, ids, corpus.vocabulary.symbols, BUDGET):
        nats = baseline.nats_per_character + naming
        costs = None if baseline.nats is None else baseline.nats + naming_each
        yield replace(baseline, nats_per_character=nats, nats=costs)


def places(ids: Ids) -> NDArray[np.int64]:
    """Return the places of the symbols that baselines score: all, or pieces of a long text."""
    parts = [np.arange(*part) for part in pieces_of(ids, BUDGET.held_out, BUDGET.pieces)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def differences(baseline: Baseline, ids: Ids, costs: Mapping[str, Floats]) -> dict[str, Difference]:
    """Return how the losses of some predictors of a text differ from a baseline's."""
    if baseline.nats is None:  # a compressor
        return {}
    at, nats = places(ids), baseline.nats
    return {name: difference_of(ids[at], cost[at], nats) for name, cost in costs.items()}

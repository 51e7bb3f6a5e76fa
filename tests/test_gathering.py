"""Whole examples of pieces: a long one is kept as text and sums alone."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from charrnn.corpus.segmentation import END_CODE
from charrnn.scoring import pieces
from charrnn.scoring.pieces import Gatherer, Rows, ScoredBlock
from charrnn.vocabulary import END, UNKNOWN, codes_of


def piece(text: str) -> ScoredBlock:
    """A piece in which each character costs its code point, X is unknown and ■ is END."""
    codes = codes_of(text)
    ids = np.where(codes == ord("X"), UNKNOWN, 2).astype(np.uint8)
    ids[codes == ord("■")] = END
    return ScoredBlock(np.where(ids == END, END_CODE, codes), ids, codes / 10, None)


def gathered(*texts: str) -> list[Rows]:
    gatherer = Gatherer()
    return [rows for text in texts if (rows := gatherer.add(piece(text))) is not None]


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_an_example_that_comes_in_many_pieces_is_whole(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(pieces, "AT_ONCE", at_once)
    found = gathered("ab", "cXe", "f■gh■i", "j", "kX■", "■l■")
    texts = [rows.text(i) for rows in found for i in range(len(rows))]
    assert texts == ["abcXef", "gh", "ijkX", "", "l"]
    nats = [float(n) for rows in found for n in rows.nats]
    expected = [math.fsum(codes_of(text + "■") / 10) for text in texts]
    assert nats == pytest.approx(expected, rel=1e-12)
    assert [int(n) for rows in found for n in rows.unknown] == [1, 0, 1, 0, 0]
    assert [int(n) for rows in found for n in rows.characters] == [6, 2, 4, 0, 1]


def test_a_line_of_many_megabytes_takes_a_few_times_its_size() -> None:
    size, parts = 1 << 20, 16

    def pieces() -> Iterator[ScoredBlock]:
        for _ in range(parts):
            yield piece("a" * size)
        yield piece("■")

    gatherer = Gatherer()
    tracemalloc.start()
    found = [rows for part in pieces() if (rows := gatherer.add(part)) is not None]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found[0].text(0)) == parts * size
    assert most < 6 * parts * size

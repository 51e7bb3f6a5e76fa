"""Packing and counting as yardsticks: what is known costs little, what is noise costs all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from charrnn.corpus.corpus import Corpus, from_texts
from charrnn.corpus.segmentation import cut
from charrnn.scoring.baselines import (
    COMPRESSORS,
    NATS_IN_A_BYTE,
    TextCollector,
    comparisons,
    compressed_nats,
    compressed_size,
    file_content,
)
from charrnn.scoring.pieces import ScoredBlock
from charrnn.settings.corpus import CorpusConfig
from charrnn.vocabulary import END, SCALARS

NAMES = ["uniform", "unigram", *(f"markov-{order}" for order in range(1, 7)), "xz", "bzip2"]


def noise(size: int, seed: int) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8).tobytes()


def test_noise_cannot_be_foretold() -> None:
    for _, nats in compressed_nats(noise(20_000, 1), noise(20_000, 2)):
        assert nats / 20_000 == pytest.approx(NATS_IN_A_BYTE, rel=0.02)


def test_what_was_seen_before_costs_next_to_nothing() -> None:
    found = dict(compressed_nats(noise(20_000, 1), noise(20_000, 1)))
    assert found["xz"] < 0.02 * 20_000 * NATS_IN_A_BYTE


@pytest.mark.parametrize("name", COMPRESSORS)
def test_nothing_can_be_packed(name: str) -> None:
    assert compressed_size(name, b"") < 40
    assert dict(compressed_nats(b"", b"")).get(name, 0) == 0


def test_no_text_costs_a_packer_less_than_nothing() -> None:
    words = [b"%d\n" % (i * i) for i in range(3000)]
    for at in range(0, 3000, 150):
        corpus, text = b"".join(words[:at] + words[at + 2 :]), b"".join(words[at : at + 2])
        assert all(nats >= 0 for _, nats in compressed_nats(corpus, text))


def test_bzip2_says_nothing_of_a_text_that_its_tables_outweigh() -> None:
    words = b"".join(b"%d\n" % (i * i) for i in range(3000))
    assert [name for name, _ in compressed_nats(words, b"a word\n")] == ["xz"]
    assert [name for name, _ in compressed_nats(words, noise(1000, 1))] == ["xz", "bzip2"]


def test_a_text_is_written_as_a_file_would_have_it() -> None:
    lines = np.concatenate([*cut(["ab\n\ncЖ"], "lines")])
    assert file_content(lines, 1) == "ab\ncЖ\n".encode()
    paragraphs = np.concatenate([*cut(["a\nb\n\n\nc"], "paragraphs")])
    assert file_content(paragraphs, 2) == b"a\nb\n\nc\n\n"


def hear(corpus: Corpus, text: str) -> TextCollector:
    heard = TextCollector()
    for codes in cut([text], "lines"):
        ids = corpus.vocabulary.encode_codes(codes)
        ids[codes == 0x110000] = END
        heard.add(ScoredBlock(codes, ids, np.zeros(len(ids)), None))
    return heard


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 6)) for _ in range(40)]
    return from_texts([str(word) for word in rng.choice(words, 3000)], CorpusConfig(holdout=0.0))


def test_all_yardsticks_are_there_by_name(corpus: Corpus) -> None:
    found = [one for one, _ in comparisons(corpus, hear(corpus, "abc\nhgf\n"))]
    assert [one.name for one in found] == NAMES[:-1]  # so short a text says nothing of bzip2
    assert found[0].nats_per_character == pytest.approx(math.log(10))
    assert all(one.held_out_symbols == 8 for one in found)


def test_longer_memories_foretell_words_better(corpus: Corpus) -> None:
    text = "".join(corpus.vocabulary.decode(corpus.train.nth(i)) + "\n" for i in range(200))
    nats = {one.name: one.nats_per_character for one, _ in comparisons(corpus, hear(corpus, text))}
    assert nats["uniform"] > nats["unigram"] > nats["markov-2"] > nats["markov-3"]
    assert nats["xz"] < 0.7 * nats["unigram"]


def test_an_unseen_character_has_its_price_for_all(corpus: Corpus) -> None:
    known, unknown = (
        {one.name: one.nats_per_character for one, _ in comparisons(corpus, hear(corpus, text))}
        for text in ("abcdefgh\n", "abcdЖfgh\n")
    )
    naming = math.log(SCALARS - 8) / 9
    assert unknown["uniform"] - known["uniform"] == pytest.approx(naming)
    assert unknown["markov-3"] > known["markov-3"] + naming / 2


def test_there_is_nothing_to_compare_where_there_is_no_text(corpus: Corpus) -> None:
    assert [*comparisons(corpus, TextCollector())] == []

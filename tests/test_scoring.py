"""What a text costs: against the same sum written out, whatever the cut; and against known sums."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus import Examples, from_texts
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.network.rounding import UNIT
from charrnn.reading import END_CODE, NEWLINE, join
from charrnn.scoring.pieces import Floats, Gatherer, score_blocks
from charrnn.scoring.score import Score, bytes_of
from charrnn.scoring.scorer import NetworkScorer
from charrnn.settings.corpus import CorpusConfig
from charrnn.vocabulary import END, SCALARS, UNKNOWN, Ids, Vocabulary, codes_of
from tests.rows import seldom
from tests.scoring import nats_of, score_examples, score_texts

ABC = Vocabulary("abc", novelty=0.01)
DINOSAURS = Path(__file__).parent.parent / "data" / "dinosaurs.txt"


def network(size: Architecture, seed: int = 0, gain: float = 0.7) -> Parameters:
    """One with random weights; with a gain below 1 it forgets, above it may not."""
    p = initial(size, np.full(size.symbols, -1.0), np.random.default_rng(seed))
    for name in p:
        if name.startswith("W"):
            p[name][...] *= gain
    p["V"][...] *= 10
    return p


def written_out(p: Parameters, v: Vocabulary, ids: Ids, carry: bool = False) -> Floats:
    """The same as one would write it down: symbol by symbol, in float64, with settling."""
    q = {name: p[name].astype(np.float64) for name in p}
    layers = range(1, p.architecture.layers + 1)
    h = [np.zeros(p.architecture.hidden) for _ in layers]
    nats = np.zeros(len(ids))
    before, index = END, 0
    for t, y in enumerate(ids.tolist()):
        if before == END and not carry:
            index = 0
            h = [np.zeros(p.architecture.hidden) for _ in layers]
        for i in layers:
            below = q["U1"][before] if i == 1 else q[f"U{i}"] @ h[i - 2]
            h[i - 1] = np.tanh(q[f"b{i}"] + q[f"W{i}"] @ h[i - 1] + below)
            if index % 64 == 63:
                h[i - 1] = np.rint(h[i - 1] * 2**14) / 2**14
        index += 1
        o = q["c"] + q["V"] @ h[-1]
        nats[t] = np.log(np.exp(o - o.max()).sum()) + o.max() - o[y]
        before = y
    known = nats - math.log(1 - v.novelty)
    unseen = -np.log((1 - v.novelty) * np.exp(-nats) + v.novelty) + v.unseen_nats
    return np.where(ids == UNKNOWN, unseen, known)


def encode(texts: list[str]) -> Examples:
    ids = np.concatenate([np.append(ABC.encode(text), END) for text in texts]).astype(ABC.dtype)
    return Examples(ids, np.cumsum([0, *(len(text) + 1 for text in texts)]).astype(np.uint32))


def sums(nats: Floats, of: Examples) -> Floats:
    return np.add.reduceat(nats, of.starts[:-1].astype(np.int64))


texts = st.lists(st.text("abcd", max_size=40), min_size=1, max_size=60)  # d is unknown


@given(texts, st.integers(1, 3), st.integers(1, 2), st.integers(0, 99))
def test_an_example_costs_what_it_costs_alone(
    texts: list[str], threads: int, layers: int, seed: int
) -> None:
    p = network(Architecture(5, 24, layers), seed)
    together = encode(texts)
    nats = nats_of(NetworkScorer(LanguageModel(p, ABC), threads), together)
    expected = written_out(p, ABC, together.ids, False)
    np.testing.assert_allclose(nats, expected, rtol=2e-6)
    alone = [nats_of(NetworkScorer(LanguageModel(p, ABC)), encode([text])).sum() for text in texts]
    np.testing.assert_allclose(sums(nats, together), alone, rtol=1e-6)


@given(st.lists(st.integers(0, 9000), max_size=6), st.integers(0, 99))
def test_a_text_may_be_read_in_pieces_cut_anywhere(cuts: list[int], seed: int) -> None:
    p = network(Architecture(5, 16, 1), seed)
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 5, 9000).astype(np.uint8)
    ids[rng.integers(0, 9000, 4000)] = 3  # so that examples are of very different lengths
    whole, _ = NetworkScorer(LanguageModel(p, ABC)).read(ids)
    scorer = NetworkScorer(LanguageModel(p, ABC))
    bounds = [0, *sorted(cuts), 9000]
    parts = [scorer.read(ids[start:stop])[0] for start, stop in pairwise(bounds)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-6, atol=1e-6)
    assert np.concatenate(parts).sum() == pytest.approx(whole.sum(), rel=1e-7)


def latch() -> Parameters:
    """A network that remembers for ever which of a and b came last, and expects it."""
    p = Parameters.zeros(Architecture(5, 1, 1))
    a, b, _ = ABC.encode("abc")
    p["W1"][...] = 2
    p["U1"][a], p["U1"][b] = 5, -5
    p["V"][a], p["V"][b] = 3, -3
    return p


@pytest.mark.parametrize("times", [1, seldom(2), 3])
def test_what_a_network_remembers_for_ever_is_not_lost_where_stretches_meet(times: int) -> None:
    spelt = ("a" + "c" * 4000 + "b" + "c" * 9000) * times
    ids = encode([spelt]).ids
    nats = nats_of(NetworkScorer(LanguageModel(latch(), ABC)), encode([spelt]))
    np.testing.assert_allclose(nats, written_out(latch(), ABC, ids), rtol=1e-5)


def test_one_long_example_costs_the_same_whoever_reads_it() -> None:
    p = network(Architecture(5, 32, 2), gain=1.0)
    spelt = "".join(np.random.default_rng(1).choice(list("abc"), 6000))
    nats = nats_of(NetworkScorer(LanguageModel(p, ABC)), encode([spelt]))
    expected = written_out(p, ABC, encode([spelt]).ids)
    assert nats.sum() == pytest.approx(expected.sum(), rel=1e-7)
    np.testing.assert_allclose(nats, expected, rtol=1e-4)


def test_a_check_up_comes_close() -> None:
    p = network(Architecture(5, 32, 1))
    spelt = "".join(np.random.default_rng(1).choice(list("abc"), 6000))
    scorer = NetworkScorer(LanguageModel(p, ABC))
    close = scorer.read_in_chunks(encode([spelt])).sum()
    assert close == pytest.approx(nats_of(scorer, encode([spelt])).sum(), rel=1e-5)


def test_a_network_that_knows_nothing_is_unsure_among_all_symbols() -> None:
    p = Parameters.zeros(Architecture(5, 3, 1))
    score = score_examples(
        NetworkScorer(LanguageModel(p, Vocabulary("abc"))), encode(["abba", "c"])
    )
    assert score.nats_per_character == pytest.approx(math.log(5), rel=1e-7)
    assert score.perplexity == pytest.approx(5)


def bigrams(ids: Ids, symbols: int) -> Parameters:
    """A network whose state is the last symbol, and whose outputs are the logs of bigram counts."""
    counts = np.zeros((symbols, symbols))
    np.add.at(counts, (np.append(END, ids[:-1]), ids), 1)
    p = Parameters.zeros(Architecture(symbols, symbols, 1))
    p["U1"][...] = 20 * np.eye(symbols)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(counts / counts.sum(axis=1, keepdims=True))
    p["V"][...] = np.nan_to_num(logs, nan=0.0, neginf=-60).T
    return p


def test_bigram_frequencies_score_their_own_entropy() -> None:
    names = DINOSAURS.read_text("utf-8").splitlines()
    corpus = from_texts(names, CorpusConfig(holdout=0.0))
    pairs = Counter(pair for name in names for pair in pairwise(f"\n{name}\n"))
    firsts = Counter(first for first, _ in pairs.elements())
    entropy = -sum(n * math.log(n / firsts[pair[0]]) for pair, n in pairs.items())
    p = bigrams(corpus.train.ids, corpus.vocabulary.symbols)
    score = score_examples(
        NetworkScorer(LanguageModel(p, Vocabulary(corpus.vocabulary.characters))), corpus.train
    )
    assert score.characters + score.ends == pairs.total()
    assert score.nats == pytest.approx(entropy, rel=1e-6)


def test_the_probabilities_of_all_texts_are_1() -> None:
    """Of those of up to three characters, and of all that go on from there."""
    v = Vocabulary("ab", novelty=0.03)
    p = network(Architecture(4, 6, 1), seed=3)
    unseen = SCALARS - 2  # each costs the same, so one of them stands for all
    total = 0.0
    for length in range(4):
        for text in map("".join, product("abЖ", repeat=length)):
            ids = np.append(v.encode(text), END).astype(np.uint8)
            nats, _ = NetworkScorer(LanguageModel(p, v)).read(ids)
            ways = math.log(unseen) * text.count("Ж")
            total += math.exp(ways - nats.sum())
            if length == 3:  # what begins like this and does not end here
                total += math.exp(ways - nats[:-1].sum()) * -math.expm1(-nats[-1])
    assert total == pytest.approx(1, rel=1e-6)


def test_room_for_the_unseen_costs_little_where_all_was_seen_twice() -> None:
    corpus = from_texts(["abab", "baba"] * 50, CorpusConfig(holdout=0.0))
    p = network(Architecture(corpus.vocabulary.symbols, 8, 1))
    with_room = score_examples(NetworkScorer(LanguageModel(p, corpus.vocabulary)), corpus.train)
    without = score_examples(
        NetworkScorer(LanguageModel(p, Vocabulary(corpus.vocabulary.characters))), corpus.train
    )
    assert 0 < with_room.nats_per_character - without.nats_per_character < 0.001


def test_an_unseen_character_is_dear_and_never_impossible() -> None:
    for novelty in (0.0, 0.01):
        p = network(Architecture(5, 8, 1))
        score = score_texts(
            NetworkScorer(LanguageModel(p, Vocabulary("abc", novelty))), ["aЖb", "\ud800", "𝒳"]
        )
        assert score.unknown == 3
        assert math.log(SCALARS - 3) < score.units_of_unknown * UNIT / 3 < 60
        assert score.without_unknown.count == 5


def test_the_likeliest_symbol_has_rank_1() -> None:
    p = network(Architecture(5, 8, 1))
    ids = encode(["abcabcaabbcd"]).ids
    nats, ranks = NetworkScorer(LanguageModel(p, ABC), ranking=True).read(ids)
    assert ranks is not None
    assert ranks[-2] == 5  # d, never seen, is behind END, a, b, c
    for t in np.flatnonzero(ids != UNKNOWN):
        others = [np.append(ids[:t], k).astype(np.uint8) for k in (END, 2, 3, 4)]
        likelier = [
            NetworkScorer(LanguageModel(p, ABC)).read(other)[0][-1] < nats[t] - 1e-5
            for other in others
        ]
        assert ranks[t] == 1 + sum(likelier)


@pytest.mark.parametrize("texts", [[], [""], ["Ж"], ["\ud800"]])
def test_every_figure_that_exists_is_a_number(texts: list[str]) -> None:
    score = score_texts(NetworkScorer(LanguageModel(network(Architecture(5, 4, 1)), ABC)), texts)
    for mean in (score.overall, score.without_end, score.without_unknown):
        exists = mean.count > 0
        assert math.isfinite(mean.nats_per_character) == exists
        assert math.isfinite(mean.perplexity) == exists
    assert math.isfinite(score.bits_per_byte) == (score.bytes > 0)


def test_the_perplexity_of_what_cannot_be_is_the_largest_float_and_not_infinite() -> None:
    assert math.isfinite(Score(characters=1, units=round(1e6 / UNIT)).perplexity)


@given(st.text())
def test_bytes_are_those_of_utf_8(text: str) -> None:
    assert bytes_of(codes_of(text)) == len(text.encode("utf-8", "surrogatepass"))


def test_scores_add_up() -> None:
    p, texts = network(Architecture(5, 8, 1)), ["abc", "d", "", "caЖ"]
    scorer = NetworkScorer(LanguageModel(p, ABC))
    apart = sum((score_texts(scorer, [text]) for text in texts), Score())
    together = score_texts(scorer, texts)
    assert together.nats == pytest.approx(apart.nats, rel=1e-9)
    assert (together.characters, together.ends, together.unknown, together.bytes) == (7, 4, 2, 8)
    assert together.bits_per_byte == pytest.approx(together.nats / math.log(2) / 8)
    assert together.without_end.count == 7


@given(st.lists(st.text("abcd\n", max_size=30), max_size=20), st.integers(1, 60))
def test_rows_hold_every_example_once_in_order(blocks: list[str], symbols: int) -> None:
    lines = "".join(blocks).split("\n")
    lines = lines if lines[-1] else lines[:-1]
    scorer = NetworkScorer(LanguageModel(network(Architecture(5, 8, 1)), ABC))
    codes = [join(lines)]
    gatherer = Gatherer()
    found = [gatherer.add(piece) for piece in score_blocks(scorer, codes, symbols)]
    rows = [batch for batch in found if batch is not None]
    assert [batch.text(i) for batch in rows for i in range(len(batch))] == lines
    nats = [float(n) for batch in rows for n in batch.nats]
    expected = [score_texts(scorer, [line]).nats for line in lines]
    np.testing.assert_allclose(nats, expected, rtol=1e-6)
    assert [int(u) for b in rows for u in b.unknown] == [line.count("d") for line in lines]


def test_a_long_stream_of_rows_needs_no_more_memory_than_a_short_one() -> None:
    scorer = NetworkScorer(LanguageModel(network(Architecture(5, 8, 1)), ABC))

    def peak(count: int) -> int:
        blocks = (codes_of("abc\n" * 1000) for _ in range(count))
        codes = (np.where(block == NEWLINE, END_CODE, block) for block in blocks)
        gatherer = Gatherer()
        tracemalloc.start()
        found = map(gatherer.add, score_blocks(scorer, codes, 4000))
        assert sum(len(rows) for rows in found if rows is not None) == count * 1000
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(4)  # buffers are made once
    assert peak(40) < 1.2 * peak(4)


def test_symbols_that_do_not_count_are_read_all_the_same() -> None:
    ids = np.random.default_rng(0).integers(1, 5, 400).astype(np.uint8)
    scorer = NetworkScorer(LanguageModel(network(Architecture(5, 8, 1)), ABC), fast=True)
    text, counted = Examples(ids, np.array([0, 400], np.uint32)), np.arange(400) >= 300
    found = scorer.score_in_chunks(text, counted)
    assert found.characters + found.ends == 100
    assert found.nats == pytest.approx(scorer.read_in_chunks(text)[300:].sum())

"""Counts as a model: a proper distribution, the same wherever it is asked; and packed in a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.counts import kneser_ney, ngrams
from charrnn.counts.kneser_ney import NONE, Counts, Floats, trie_of
from charrnn.counts.markov import HIGHEST, surprisals
from charrnn.counts.ngrams import bits_for, break_of, pack, packed_size, sequence_of, unpack
from charrnn.plan import counting_bytes
from charrnn.vocabulary import END, Ids
from tests.child import answer

SYMBOLS = 5
texts = st.lists(st.integers(0, SYMBOLS - 1), max_size=60).map(lambda ids: np.array(ids, np.uint8))


def ended(ids: Ids) -> Ids:
    """The same and an END."""
    return np.append(ids, np.uint8(END))


def read(counts: Counts, ids: Ids) -> Floats:
    """P(. | all before) of each symbol, (S, K)."""
    contexts, _ = counts.contexts_of(ids, counts.after_end())
    return counts.probabilities(contexts)


@given(texts, texts, st.integers(2, 9))
def test_after_any_text_all_that_may_come_sums_to_one(learned: Ids, text: Ids, order: int) -> None:
    p = read(Counts(learned, SYMBOLS, order), ended(text))
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


@given(texts, texts, st.sampled_from([0, 40, 1 << 22]))
def test_it_is_the_kneser_ney_of_the_baselines(learned: Ids, text: Ids, ready: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kneser_ney, "READY", ready)  # rows made beforehand change nothing
        p = read(Counts(learned, SYMBOLS, HIGHEST), text)
    *_, highest = surprisals(learned, text, SYMBOLS)
    own = -np.log(p[np.arange(len(text)), text])
    np.testing.assert_allclose(own, highest.kneser_ney, rtol=1e-12, atol=1e-12)


@given(texts, texts)
def test_step_by_step_and_in_one_go_are_the_same_to_the_last_bit(learned: Ids, text: Ids) -> None:
    counts = Counts(learned, SYMBOLS)
    whole = read(counts, text)
    contexts = counts.after_end()
    for place, symbol in enumerate(text):
        np.testing.assert_array_equal(counts.probabilities(contexts)[0], whole[place])
        counts.read(np.array([symbol], np.intp), contexts)


@given(texts, st.integers(1, 7), st.sampled_from([3, 1 << 18]), st.sampled_from([6, 64]))
def test_the_trie_has_each_n_gram_as_often_as_it_occurs(
    learned: Ids, highest: int, block: int, word: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kneser_ney, "BLOCK", block)  # nor does it matter how
        patch.setattr(ngrams, "BLOCK", block)
        patch.setattr(ngrams, "WORD", word)
        trie = trie_of(learned, SYMBOLS, highest)
    line = [END, *learned.tolist()]
    found: dict[tuple[int, ...], int] = {}
    for stop in range(2, len(line) + 1):
        for size in range(1, highest + 1):
            start = stop - size
            gram = tuple(line[start:stop]) if start >= 0 else ()
            if gram and END not in gram[1:-1]:
                found[gram] = found.get(gram, 0) + 1
    for gram, times in found.items():
        node = np.zeros(1, np.int64)
        for symbol in gram:
            node = trie.children(node, np.array([symbol]))
        assert node[0] != NONE
        assert trie.occurrences[node[0] - 1] == times
    assert np.count_nonzero(trie.occurrences) == len(found)


PEAK = """
import json, re, sys, sysconfig
from pathlib import Path
import numpy as np
from charrnn.counts.kneser_ney import Counts

def peak():
    return 1024 * int(re.search("VmHWM:(.*) kB", Path("/proc/self/status").read_text())[1])

sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
text = b"".join(source.read_bytes() for source in sources)[:int(sys.argv[1])]
used, ids = np.unique(np.frombuffer(text, np.uint8), return_inverse=True)
ids = ids.astype(np.uint8)
before = peak()
Counts(ids, len(used))
print(json.dumps([peak() - before, len(ids), len(used)]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("size", [50_000, 2_000_000])
def test_counts_take_about_the_memory_that_a_plan_says(size: int) -> None:
    taken, learned, symbols = json.loads(answer(PEAK, str(size)))
    assert learned == size
    assert taken < counting_bytes(size, symbols) < 2 * taken


def test_no_context_reaches_across_a_break() -> None:
    a, b, c = 2, 3, 4
    torn = np.array([a, b, break_of(SYMBOLS), c, a], np.uint8)
    trie = trie_of(torn, SYMBOLS, 3)
    pairs = trie.keys[trie.nodes_of(2)]
    assert [divmod(int(key), SYMBOLS) for key in pairs] == [(END + 1, a), (a + 1, b), (c + 1, a)]


@pytest.mark.parametrize("symbols", [2, 3, 127, 128, 600, 70_000])
@pytest.mark.parametrize("count", [0, 1, 7, 65_536, 65_537])
def test_what_is_packed_comes_back(symbols: int, count: int) -> None:
    rng = np.random.default_rng(count)
    dtype = np.min_scalar_type(symbols)
    ids = rng.integers(0, symbols + 1, count).astype(dtype)
    packed = pack(ids, symbols)
    assert len(packed) == packed_size(count, symbols) <= count * bits_for(symbols) // 8 + 1
    np.testing.assert_array_equal(unpack(packed, count, symbols), ids)


def test_what_cannot_have_been_packed_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes"):
        unpack(np.zeros(3, np.uint8), 4, SYMBOLS)
    with pytest.raises(ValueError, match="symbol"):
        unpack(np.array([0xFF], np.uint8), 2, SYMBOLS)
    with pytest.raises(ValueError, match="beyond"):
        unpack(np.array([0b00100101], np.uint8), 2, SYMBOLS)


def test_of_a_long_text_whole_examples_are_kept() -> None:
    lines = np.tile(np.array([2, 3, 4, END], np.uint8), 1000)
    kept = sequence_of(lines, SYMBOLS, 400, 8)
    assert 300 < len(kept) <= 400
    np.testing.assert_array_equal(kept, np.tile(lines[:4], len(kept) // 4))


def test_of_one_long_example_pieces_are_kept_with_breaks_between() -> None:
    kept = sequence_of(np.full(1000, 2, np.uint8), SYMBOLS, 40, 4)
    assert kept.tolist() == [*[2] * 10, break_of(SYMBOLS)] * 3 + [2] * 10

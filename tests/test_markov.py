"""The n-gram models against the same models written out in dictionaries, and against hand sums."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import exp, log
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from charrnn.counts import markov, ngrams
from charrnn.counts.kneser_ney import Counts, CountsReader
from charrnn.counts.markov import Baseline, Budget, baselines, surprisals
from charrnn.counts.ngrams import break_of, sequence_of

Example = tuple[int, ...]  # without its END
Smoothing = Literal["kneser-ney", "witten-bell"]
Row = dict[int, float]  # what each next symbol keeps, or frees

END, UNKNOWN, A, B, C = range(5)
SYMBOLS = 6  # one more than the texts below ever use


def encode(examples: Sequence[Example]) -> NDArray[np.uint8]:
    return np.array([symbol for example in examples for symbol in (*example, END)], np.uint8)


class Dictionaries:
    """An n-gram model as one would write it down without a thought for speed."""

    def __init__(self, train: Sequence[Example], symbols: int, order: int, how: Smoothing) -> None:
        self.symbols, self.order = symbols, order
        self.kept: dict[Example, Row] = defaultdict(dict)
        self.freed: dict[Example, Row] = defaultdict(dict)
        occurrences: Counter[Example] = Counter()
        for example in train:
            line = (END, *example, END)
            for last in range(1, len(line)):
                for n in range(1, min(order, last + 1) + 1):
                    occurrences[line[last - n + 1 : last + 1]] += 1
        before = Counter(gram[1:] for gram in occurrences if len(gram) > 1)
        for n in range(1, order + 1):
            grams = {gram: count for gram, count in occurrences.items() if len(gram) == n}
            if how == "kneser-ney" and n < order:
                grams = {gram: before.get(gram, count) for gram, count in grams.items()}
            lost = discounts(Counter(grams.values())) if how == "kneser-ney" else (0.0, 0.0, 0.0)
            for gram, count in grams.items():
                kind = min(count, 3) - 1
                self.kept[gram[:-1]][gram[-1]] = count - lost[kind]
                self.freed[gram[:-1]][gram[-1]] = lost[kind] if how == "kneser-ney" else 1.0

    def probability(self, context: Example, symbol: int) -> float:
        below = self.probability(context[1:], symbol) if context else 1 / self.symbols
        if context not in self.kept:
            return below
        kept, freed = sum(self.kept[context].values()), sum(self.freed[context].values())
        return (self.kept[context].get(symbol, 0.0) + freed * below) / (kept + freed)

    def nats(self, examples: Sequence[Example]) -> list[float]:
        nats = []
        for example in examples:
            line = (END, *example, END)
            for last in range(1, len(line)):
                context = line[max(0, last - self.order + 1) : last]
                nats.append(-log(self.probability(context, line[last])))
        return nats


def discounts(n: Counter[int]) -> tuple[float, ...]:
    def discount(j: int) -> float:
        if not (n[1] and n[2] and n[j] and n[j + 1]):
            return j / 2
        own = j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[j + 1] / n[j]
        return own if own > 0 else j / 2

    return tuple(discount(j) for j in (1, 2, 3))


@contextmanager
def counted_in_small_shares() -> Iterator[None]:
    """As a text is of which there are many: windows in blocks, shares, and several words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markov, "SHARE", 16)
        patch.setattr(markov, "MOST", 5)
        patch.setattr(ngrams, "BLOCK", 3)
        patch.setattr(ngrams, "WORD", 9)
        yield


def assert_agrees(train: Sequence[Example], text: Sequence[Example], symbols: int) -> None:
    ladder = list(surprisals(encode(train), encode(text), symbols))
    assert [level.order for level in ladder] == [1, 2, 3, 4, 5, 6, 7]
    for order, kneser_ney, witten_bell in ladder:
        slow = Dictionaries(train, symbols, order, "kneser-ney").nats(text)
        np.testing.assert_allclose(kneser_ney, slow, rtol=1e-9, atol=1e-9)
        slow = Dictionaries(train, symbols, order, "witten-bell").nats(text)
        np.testing.assert_allclose(witten_bell, slow, rtol=1e-9, atol=1e-9)


def examples_of(*symbols: int, most: int = 8) -> st.SearchStrategy[list[Example]]:
    return st.lists(st.lists(st.sampled_from(symbols), max_size=9).map(tuple), max_size=most)


def a_text_with_habits(seed: int, lines: int, length: int) -> list[Example]:
    """Lines in which a symbol depends on the two before it, four times out of five."""
    rng = np.random.default_rng(seed)
    text = []
    for _ in range(lines):
        line = [A, B]
        while len(line) < length:
            follows = 2 + (line[-1] * 3 + line[-2]) % 9
            line.append(follows if rng.random() < 0.8 else int(rng.integers(2, 11)))
        text.append(tuple(line[: int(rng.integers(0, length + 1))]))
    return text


@given(examples_of(A, B, C), examples_of(UNKNOWN, A, B, C))
def test_every_order_agrees_with_dictionaries(train: list[Example], text: list[Example]) -> None:
    assert_agrees(train, text, SYMBOLS)


@given(examples_of(A, B, C, most=20), examples_of(UNKNOWN, A, B, C))
def test_it_makes_no_difference_in_how_many_shares_a_text_is_counted(
    train: list[Example], text: list[Example]
) -> None:
    with counted_in_small_shares():
        assert_agrees(train, text, SYMBOLS)


@pytest.mark.parametrize("length", [4, 15, 400])
def test_it_agrees_too_where_the_discounts_come_from_the_text(length: int) -> None:
    text = a_text_with_habits(seed=length, lines=2400 // length, length=length)
    assert_agrees(text[: -len(text) // 5], text[-len(text) // 5 :], symbols=12)


@pytest.mark.parametrize(("symbols", "most"), [(511, 900), (512, 225), (1_112_066, 100)])
def test_fewer_are_counted_where_a_window_takes_more_words(symbols: int, most: int) -> None:
    assert Budget(train=900).to_count(symbols) == most


def test_of_a_torn_text_it_knows_what_a_table_of_all_n_grams_knows() -> None:
    whole = encode([sum(a_text_with_habits(seed=5, lines=60, length=30), ())])
    text = encode([sum(a_text_with_habits(seed=6, lines=9, length=30), ())])
    torn = sequence_of(whole, 12, 400, 4)
    assert np.count_nonzero(torn == break_of(12)) == 3
    table = Counts(torn, 12, 7)
    p = CountsReader(table).read(text)[np.arange(len(text)), text]
    budget = Budget(train=400, pieces=4)
    found = [list(surprisals(whole, text, 12, budget=budget))[-1].kneser_ney]
    with counted_in_small_shares():  # with four words a window, of which fewer are counted
        budget = Budget(train=400 * 16, pieces=4)
        found += [list(surprisals(whole, text, 12, budget=budget))[-1].kneser_ney]
    for nats in found:
        np.testing.assert_allclose(nats, -np.log(p), rtol=1e-9)


@given(examples_of(A, B, C), st.lists(st.sampled_from([UNKNOWN, A, B, C]), max_size=8).map(tuple))
def test_the_probabilities_of_what_comes_next_sum_to_one(
    train: list[Example], context: Example
) -> None:
    continued = [(*context, symbol) for symbol in range(1, SYMBOLS)]
    text = encode([context, *continued])  # the first goes on with END
    ends = np.cumsum([len(context) + 1, *(len(context) + 2 for _ in continued)])
    places = ends - np.array([1, *(2 for _ in continued)])
    for _, kneser_ney, witten_bell in surprisals(encode(train), text, SYMBOLS):
        assert np.exp(-kneser_ney[places]).sum() == pytest.approx(1, abs=1e-12)
        assert np.exp(-witten_bell[places]).sum() == pytest.approx(1, abs=1e-12)


def test_witten_bell_by_hand() -> None:
    # Trained on ab: the unigrams a, b, END, once each, keep 3 and free 3, so P(b) = (1 + 3/4) / 6.
    # After a came b alone: P(b | a) = (1 + P(b)) / 2.
    one, two = surprisals(encode([(A, B)]), encode([(A, B)]), symbols=4, highest=2)
    p = 1.75 / 6
    np.testing.assert_allclose(np.exp(-one.witten_bell), [p, p, p])
    np.testing.assert_allclose(np.exp(-two.witten_bell), [(1 + p) / 2] * 3)


def test_kneser_ney_by_hand() -> None:
    # Trained on aab, aab. As the highest order, unigrams occur 4 (a), 2 (b) and 2 (END) times.
    # Below it the symbols before them count: END and a before a; a before b; b before END.
    # In a text so small counts of 1, 2 and more lose 1/2, 1 and 3/2.
    train, text = encode([(A, A, B)] * 2), encode([(A, B)])
    one, two = surprisals(train, text, symbols=4, highest=2)
    freed = 1.5 + 1 + 1
    a, b = (4 - 1.5 + freed / 4) / 8, (2 - 1 + freed / 4) / 8
    np.testing.assert_allclose(np.exp(-one.kneser_ney), [a, b, b])
    a, b = (2 - 1 + 2 / 4) / 4, (1 - 0.5 + 2 / 4) / 4  # 1 + 1/2 + 1/2 are freed
    after_start = (2 - 1 + 1 * a) / 2  # a both times
    b_after_a = (2 - 1 + 2 * b) / 4  # a twice, b twice
    end_after_b = (2 - 1 + 1 * b) / 2  # END both times
    np.testing.assert_allclose(np.exp(-two.kneser_ney), [after_start, b_after_a, end_after_b])


def test_an_example_costs_the_same_in_any_company() -> None:
    train = a_text_with_habits(seed=1, lines=60, length=12)
    text = a_text_with_habits(seed=2, lines=12, length=12)
    alone = [list(surprisals(encode(train), encode([example]), 12)) for example in text]
    together = list(surprisals(encode(train[::-1]), encode(text), 12))
    for order in range(7):
        for field in (1, 2):
            apart = np.concatenate([ladder[order][field] for ladder in alone])
            np.testing.assert_allclose(together[order][field], apart, rtol=1e-12)


def test_a_context_stops_at_the_start_of_its_example() -> None:
    # After b comes a; but the b that ends one example is not what the next one starts with.
    train = encode([(A, B)] * 20 + [(B, A)] * 20)
    text = encode([(A, B), (A, B)])
    for _, *smoothed in surprisals(train, text, SYMBOLS):
        for nats in smoothed:
            np.testing.assert_array_equal(nats[:3], nats[3:])


def test_what_always_repeats_is_soon_free() -> None:
    loop = encode([(A, B, C) * 2000])
    nats = {b.name: b.nats_per_character for b in baselines(loop, loop, SYMBOLS)}
    assert nats["uniform"] == pytest.approx(log(SYMBOLS))
    assert nats["unigram"] == pytest.approx(log(3), abs=0.01)
    assert nats["markov-2"] < 0.01


def test_each_baseline_has_the_better_smoothing() -> None:
    train = encode(a_text_with_habits(seed=3, lines=200, length=20))
    text = encode(a_text_with_habits(seed=4, lines=50, length=20))
    rows = list(baselines(train, text, 12))
    assert [row.name for row in rows] == [
        "uniform",
        "unigram",
        *(f"markov-{n}" for n in range(1, 7)),
    ]
    assert rows[0] == Baseline("uniform", log(12), train.size, text.size)
    for row, (_, kneser_ney, witten_bell) in zip(
        rows[1:], surprisals(train, text, 12), strict=True
    ):
        means = kneser_ney.mean(), witten_bell.mean()
        assert row.nats_per_character == min(means)


def test_of_a_long_text_it_reads_evenly_spaced_whole_examples() -> None:
    lines = [(A,) * 9, (B,) * 9, (C,) * 9]
    train = encode([line for line in lines for _ in range(1000)])  # sorted: first A, then B, then C
    text = encode([(B,) * 9] * 3000)
    rows = list(baselines(train, text, SYMBOLS, budget=Budget(train=3000, held_out=900, pieces=6)))
    for row in rows:  # a piece of 500 or 150 symbols gives up part of an example at either end
        assert 3000 - 6 * 20 <= row.train_symbols <= 3000
        assert 900 - 6 * 20 <= row.held_out_symbols <= 900
        assert row.train_symbols % 10 == row.held_out_symbols % 10 == 0
    assert rows[1].nats_per_character == pytest.approx(0.9 * log(30 / 9) + 0.1 * log(10), abs=0.01)
    assert rows[2].nats_per_character < 0.5


def test_of_one_long_example_it_reads_pieces() -> None:
    stream = encode([(A, B, C) * 2000])
    rows = list(baselines(stream, stream, SYMBOLS, budget=Budget(600, 300, pieces=3)))
    assert {(row.train_symbols, row.held_out_symbols) for row in rows} == {(600, 300)}
    assert rows[-1].nats_per_character < 0.1
    whole = list(baselines(stream, stream, SYMBOLS, budget=Budget(6001, 6001, pieces=3)))
    assert whole[0].train_symbols == whole[0].held_out_symbols == stream.size


@pytest.mark.parametrize("train", [[], [()], [(), (), ()], [(A,)], [(A,) * 300]])
@pytest.mark.parametrize("text", [[()], [(A,)], [(UNKNOWN, B)], [(B, A, A, A, A, A, A, A, A)]])
def test_the_smallest_texts_have_finite_figures(train: list[Example], text: list[Example]) -> None:
    rows = list(baselines(encode(train), encode(text), SYMBOLS))
    assert len(rows) == 8
    assert np.isfinite([row.nats_per_character for row in rows]).all()
    if not train:
        assert all(row.nats_per_character == pytest.approx(log(SYMBOLS)) for row in rows)


def test_without_a_held_out_text_there_is_nothing_to_say() -> None:
    assert list(baselines(encode([(A, B)]), encode([]), SYMBOLS)) == []


def test_an_alphabet_may_be_large() -> None:
    symbols = 1_112_066
    ids = np.random.default_rng(0).integers(2, symbols, 5000, dtype=np.uint32)
    ids[99::100] = END
    rows = list(baselines(ids, ids[:500], symbols))
    assert rows[0].nats_per_character == pytest.approx(log(symbols))
    assert rows[-1].nats_per_character < 1  # it has seen all of it
    assert exp(-rows[1].nats_per_character) < 1e-3

"""Counts against the same model written out in dictionaries, and the baselines made of them."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from charrnn.text.corpus import read_files
from charrnn.text.counts import Ngrams, baselines, discounts, sample_of
from charrnn.text.examples import excerpt_of
from charrnn.text.vocabulary import END, UNKNOWN, Vocabulary

Example = tuple[int, ...]  # without its END
SYMBOLS = 6  # one more than the texts below use
texts = st.lists(st.lists(st.integers(2, 4), max_size=6).map(tuple), min_size=1, max_size=50)


def encode(examples: Sequence[Example]) -> NDArray[np.uint8]:
    return np.array([symbol for example in examples for symbol in (*example, END)], np.uint8)


class Dictionaries:
    """Interpolated modified Kneser-Ney as one would write it down without a thought for speed."""

    def __init__(self, train: Sequence[Example], order: int, symbols: int = SYMBOLS) -> None:
        self.order, self.symbols = order, symbols
        self.share: dict[Example, dict[int, float]] = defaultdict(dict)
        self.freed: dict[Example, float] = defaultdict(float)
        self.total: dict[Example, float] = defaultdict(float)
        occurrences: Counter[Example] = Counter()
        for example in train:
            line = (END, *example, END)
            for last in range(1, len(line)):
                for n in range(1, min(order, last + 1) + 1):
                    occurrences[line[last - n + 1 : last + 1]] += 1
        before = Counter(gram[1:] for gram in occurrences if len(gram) > 1)
        for n in range(1, order + 1):
            grams = {gram: c for gram, c in occurrences.items() if len(gram) == n}
            if n < order:
                grams = {gram: before.get(gram, c) for gram, c in grams.items()}
            lost = discounts(np.array(list(grams.values()), np.uint32))
            for gram, c in grams.items():
                self.share[gram[:-1]][gram[-1]] = c - lost[min(c, 3)]
                self.freed[gram[:-1]] += lost[min(c, 3)]
                self.total[gram[:-1]] += c

    def probability(self, context: Example, symbol: int) -> float:
        below = self.probability(context[1:], symbol) if context else 1 / self.symbols
        if context not in self.share:
            return below
        share = self.share[context].get(symbol, 0.0)
        return (share + self.freed[context] * below) / self.total[context]


@given(train=texts, text=texts, order=st.integers(2, 5))
def test_every_order_is_the_formula(train: list[Example], text: list[Example], order: int) -> None:
    nats = Ngrams(encode(train), SYMBOLS, order).nats_by_order(encode(text))
    for highest in range(1, order + 1):
        formula = Dictionaries(train, highest)
        expected = []
        for example in text:
            line = (END, *example, END)
            for last in range(1, len(line)):
                context = line[max(0, last - highest + 1) : last]
                expected.append(-math.log(formula.probability(context, line[last])))
        np.testing.assert_allclose(nats[highest - 1], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["given-names", "verses"])
def test_rows_of_a_corpus_sum_to_one_and_score_as_the_whole(name: str) -> None:
    corpus = read_files([name])
    ngrams, text = Ngrams(corpus.train.ids, corpus.vocabulary.symbols), corpus.held_out.ids[:200]
    state, before, nats = ngrams.empty_contexts(1), END, []
    for symbol in text:
        ngrams.read(np.array([before]), state)
        row = ngrams.probabilities(state)[0]
        assert abs(row.sum() - 1) < 1e-12
        nats.append(-math.log(row[symbol]))
        before = symbol
    np.testing.assert_allclose(ngrams.nats_by_order(text)[-1], nats, rtol=0, atol=1e-10)


def test_baselines_are_uniform_unigram_and_six_orders() -> None:
    vocabulary = Vocabulary("abc", novelty=0.1)
    train = encode([(2, 3), (2, 4), (2, 3, 4)] * 9)
    made = baselines(train, encode([(2, 3), (UNKNOWN,)]), vocabulary)
    names = ["uniform", "unigram", *(f"markov-{n}" for n in range(1, 7))]
    assert [one.name for one in made] == names
    uniform = math.log(vocabulary.symbols) + vocabulary.unseen_nats / 5
    assert made[0].nats_per_character == pytest.approx(uniform)
    assert made[2].nats_per_character < made[1].nats_per_character
    assert baselines(train, train[:0], vocabulary) == []


def test_a_long_text_is_counted_in_pieces() -> None:
    text = encode([(2 + number % 3,) * (number % 5) for number in range(9000)])
    places, is_counted = excerpt_of(text, 6400)
    sample = sample_of(text, SYMBOLS, 6400)
    np.testing.assert_array_equal(sample, text[places])
    assert len(Ngrams(sample, SYMBOLS).starts) == 11
    # Labels take the places of ENDs, and the pieces stay: a difference is over the same symbols.
    vocabulary = Vocabulary("abc", labels={"x": 4000, "y": 5000})
    labelled = text.copy()
    labelled[text == END] = vocabulary.symbols + np.arange(9000) % 2
    sample = sample_of(labelled, vocabulary.symbols, 6400)
    np.testing.assert_array_equal(sample, labelled[places])
    made = baselines(labelled, labelled, vocabulary, scored=6400)
    assert [len(one.nats) for one in made] == [np.count_nonzero(is_counted)] * 8

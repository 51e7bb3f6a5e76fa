"""Where a text ends: a unit that halts, and a length that is drawn before the first character."""

import math
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import charrnn
from charrnn.network.heads import Lengths
from charrnn.network.parameters import Architecture
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import score_ids
from charrnn.system.packaged import path_of
from charrnn.text.vocabulary import END
from tests.networks import drawing_lengths, parameters_of
from tests.plain import length_cost


@example([*range(40, 0, -1)])
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_lengths_of_any_corpus_have_their_probabilities(lengths: list[int]) -> None:
    p = parameters_of(Architecture(7, 5, 1, head_name="length"))
    Lengths.initialize(p, np.array(lengths))
    assert (np.diff(p["tau.place"]) > -1e-5).all()  # from the shortest to the longest
    costs = [length_cost(p, tau) for tau in lengths]
    np.testing.assert_allclose(Lengths.nats(p, np.array(lengths)), costs, rtol=1e-6, atol=1e-9)


def test_the_rank_of_an_end_counts_likelier_lengths() -> None:
    model = drawing_lengths()
    costs = Lengths.nats(model.parameters, np.arange(50))
    _, ranks = score_ids(Predictor([model]), np.array([2, 3, 2, END, END], np.uint8), ranking=True)
    assert ranks is not None
    assert ranks[3] == 1 + np.count_nonzero(costs < costs[3])
    assert ranks[4] == 1 + np.count_nonzero(costs < costs[0])


def test_the_drawn_lengths_match_the_corpus() -> None:
    """Two samples of one distribution are farther apart than this once in a million times."""
    names = Path(path_of("dinosaurs")).read_text().split()
    drawn = charrnn.fit(names, ends="length", hidden=4, layers=1, epochs=2).sample(2000, seed=0)
    ours, theirs = (np.sort([len(text) for text in texts]) for texts in (drawn, names))
    shares = (a.searchsorted(np.arange(60), "right") / len(a) for a in (ours, theirs))
    apart = np.abs(np.subtract(*shares)).max()
    assert apart < 2.7 * math.sqrt(1 / len(ours) + 1 / len(theirs))  # Kolmogorov and Smirnov

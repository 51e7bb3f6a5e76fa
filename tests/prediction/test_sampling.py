"""What is drawn is distributed as the model says, and is the same however it is drawn."""

import math
import weakref
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from charrnn.model import load
from charrnn.network.heads import Lengths
from charrnn.network.parameters import LanguageModel
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.sampling import LengthChoice, Sample, Sampler, keys, uniform
from charrnn.prediction.scoring import Group, score_texts
from charrnn.settings.drawing import SampleConfig
from tests.networks import END, MANY, babbler, drawing_lengths, independent, model_of, peak_bytes


def drawn(
    model: LanguageModel | Predictor, count: int, prime: str = "", empty: bool = True, **how: Any
) -> list[Sample]:
    sampler = Sampler(model, SampleConfig(**{"seed": 1} | how), prime, may_be_empty=empty)
    return list(sampler.samples(range(count)))


def texts(*args: Any, **how: Any) -> list[str]:
    prime = args[2] if len(args) > 2 else ""
    return [sample.text.removeprefix(prime) for sample in drawn(*args, **how)]


@pytest.mark.parametrize("kind", ["babble", "halt", "length", "counts", "two"])
def test_a_sample_is_the_same_alone_among_ten_and_among_hundreds(kind: str) -> None:
    model: Any = babbler(hidden=70)
    if kind == "halt":
        model = model_of(cell="gru", ends="halt", layers=2, hidden=24).language_model
    elif kind == "length":
        model = drawing_lengths()
    elif kind == "two":
        model = Predictor([babbler(), babbler(seed=1)])
    elif kind == "counts":
        model = load("dinosaurs").predictor()
    prime, how = "ab" if kind == "length" else "", {"max_characters": 60, "temperature": 0.9}
    hundreds = texts(model, 700, prime, **how)
    assert texts(model, 10, prime, **how) == hundreds[:10]
    config: Any = SampleConfig(seed=1, max_characters=60, temperature=0.9)
    sampler = Sampler(model, config, prime, may_be_empty=True)
    for number in (0, 9, 300, 699):
        assert "".join(sampler.stream(number)) == hundreds[number]
    assert len(set(hundreds)) > 30


def test_what_has_no_weight_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros: Any = lambda streams, _, steps: np.zeros((steps, len(streams)))  # noqa: E731
    monkeypatch.setattr("charrnn.prediction.sampling.uniform", zeros)
    for text in texts(babbler(), 3, empty=False, max_characters=5):
        assert text.isalpha()


def test_no_sample_is_empty_unless_it_may_be() -> None:
    for model in (independent({"a": 0.1, END: 0.9}), drawing_lengths()):
        assert "" not in texts(model, 300, empty=False)
        assert "" in texts(model, 300)
        assert "" in texts(model, 300, "a", empty=False)


@pytest.mark.parametrize("temperature", [0, 1e-300, 0.01, 1e6])
def test_no_temperature_is_too_cold_or_too_hot(temperature: float) -> None:
    model = babbler()
    model.parameters.flat[...] *= 1e30
    for sample in drawn(model, 3, temperature=temperature, max_characters=20):
        assert math.isfinite(sample.nats)


def test_a_prime_says_how_long_its_text_may_be() -> None:
    """By Bayes, against the scores of all texts that begin so."""
    model = drawing_lengths("ab", 0.0)
    sizes = range(2, 7)
    begun = [["ba" + "".join(rest) for rest in product("ab?", repeat=n - 2)] for n in sizes]
    totals = []
    for same_length in begun:
        scored = score_texts(Predictor([model]), Group(same_length))
        ways = np.array([text.count("?") * model.vocabulary.unseen_nats for text in same_length])
        totals.append(float(np.exp(ways - scored.totals(scored.nats)).sum()))
    prime_ids = np.append(0, model.vocabulary.encode("ba")).astype(np.intp)
    choice = LengthChoice(Predictor([model]), prime_ids, 1.0, 2)
    chances = (np.arange(8000) + 0.5) / 8000
    found, (_, lane, nats) = choice.draw(chances), choice.draw_states(chances)
    share = np.bincount(found[found < 7] - 2, minlength=5)
    firsts = [np.flatnonzero(found == size)[0] for size in sizes]
    np.testing.assert_allclose(np.exp(-nats[firsts]), share / 8000, atol=2e-3)
    assert (np.unique(found)[lane] == found).all()
    np.testing.assert_allclose(share / share.sum(), np.array(totals) / sum(totals), atol=2e-3)


def test_long_lengths_are_drawn_as_likely_as_they_are() -> None:
    model = drawing_lengths()
    model.parameters["tau.place"][...] += math.log(300)
    shares = np.exp(-Lengths.nats(model.parameters, np.arange(99_999)))
    choice = LengthChoice(Predictor([model]), np.zeros(1, np.intp), 1.0, 0)
    bounds = [0, 100, 300, 600, 1000, 2000, 99_999]
    found = np.histogram(choice.draw((np.arange(8000) + 0.5) / 8000), bounds)[0] / 8000
    np.testing.assert_allclose(found, np.add.reduceat(shares, bounds[:-1]), atol=1e-3)


def test_the_coldest_length_is_the_likeliest_and_a_limit_cuts_only_longer_texts() -> None:
    model = drawing_lengths()
    likeliest = int(np.argmin(Lengths.nats(model.parameters, np.arange(100))))
    assert {len(text) for text in texts(model, 5, temperature=0)} == {likeliest}
    for sample, whole in zip(drawn(model, 40, max_characters=2), texts(model, 40), strict=True):
        assert sample.text == whole[:2]
        assert sample.ended == ("end" if len(whole) <= 2 else "limit")


SAMPLES, STEPS = 400, 500
Numbers = NDArray[np.float64]


def table(seed: int = 0, attempt: int = 0) -> Numbers:
    return uniform(keys(seed, range(SAMPLES), [attempt]), 0, STEPS)


def test_networks_go_with_their_sampler() -> None:
    sampler = Sampler(babbler(), SampleConfig(max_characters=3))
    assert len(list(sampler.samples(range(2)))) == 2
    networks = weakref.ref(sampler.predictor)
    del sampler
    assert networks() is None


def test_numbers_look_as_if_they_were_drawn() -> None:
    numbers = table()
    others = [np.roll(numbers, 1, axis=0), np.roll(numbers, 1, axis=1), numbers.T]
    for other in (*others, table(attempt=1), table(seed=1), table(seed=2**63)):
        pairs = np.histogram2d(numbers.ravel(), other.ravel(), bins=16, range=[[0, 1], [0, 1]])[0]
        expected = numbers.size / pairs.size
        off = float(((pairs - expected) ** 2 / expected).sum())  # chi-square
        assert abs(off - pairs.size + 1) < 3.5 * math.sqrt(2 * pairs.size - 2)


def test_a_stream_is_the_same_however_it_is_looked_up_and_for_ever() -> None:
    numbers = table()
    np.testing.assert_array_equal(uniform(keys(0, [7, 3]), 100, 5), numbers[100:105, [7, 3]])
    assert 0 <= numbers.min() < numbers.max() < 1
    assert uniform(keys(1, [2], [3]), 4, 1).item() == 0.6011138578855397


def test_fault_40_the_likeliest_of_many_characters_needs_no_matrix_of_them() -> None:
    model = babbler(MANY, hidden=4, layers=1)
    sampler = Sampler(model, SampleConfig(temperature=0, max_characters=3, seed=1))
    assert peak_bytes(lambda: list(sampler.samples(range(2)))) < 50 * 8 * len(MANY)

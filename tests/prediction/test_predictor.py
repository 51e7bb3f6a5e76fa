"""Networks and counts mixed: by hand, in any order, and what cannot be mixed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from charrnn.errors import ModelFileError, SettingError
from charrnn.network.parameters import Architecture, LanguageModel, initial
from charrnn.prediction.predictor import EVEN, Predictor, Use, combine, fit_mixture
from charrnn.prediction.sampling import Sampler
from charrnn.prediction.scoring import Group, join_groups, score_ids, score_texts
from charrnn.settings.drawing import SampleConfig
from charrnn.text.corpus import Examples
from charrnn.text.counts import Ngrams
from charrnn.text.vocabulary import END, UNKNOWN, Ids, Vocabulary
from tests.networks import vocabulary_of

LETTERS = "ab"
K = len(LETTERS) + 2


def network(seed: int, head: str = "symbol", vocabulary: Vocabulary | None = None) -> LanguageModel:
    vocabulary = vocabulary or vocabulary_of(LETTERS)
    symbols, labels = vocabulary.symbols, len(vocabulary.labels)
    architecture = Architecture(symbols, 5, 1, head_name=head, labels=labels)
    rng = np.random.default_rng(seed)
    p = initial(architecture, np.full(symbols, -1.0, np.float32), rng)
    p["V"][...] = rng.standard_normal(p["V"].shape)
    return LanguageModel(p, vocabulary)


def text(seed: int, size: int) -> Ids:
    ids = np.random.default_rng(seed).integers(0, K, size).astype(np.uint8)
    ids[ids == UNKNOWN] = 2
    return ids


def predictor(head: str = "symbol", mixture: tuple[float, ...] = EVEN) -> Predictor:
    return Predictor([network(0, head)], Ngrams(text(1, 80), K), "both", mixture)


def powers(a: float, b: float) -> tuple[float, ...]:
    """Return the weights of exponents that are the same in all contexts."""
    return a, 0.0, 0.0, b, 0.0, 0.0


def test_exponents_are_fitted_to_how_well_a_context_is_known() -> None:
    """The text is drawn from counts where a long context is known, else from a network."""
    source = Predictor([network(1)], Ngrams(text(1, 3000), K), mixture=(1, -1, 0, 0, 1, 0))
    samples = Sampler(source, SampleConfig(seed=1, max_characters=60)).samples(range(1500))
    scored = score_texts(source, Group([sample.text for sample in samples]))
    mixed = partial(Predictor, source.models, source.counts, "both")
    fitted = mixed(fit_mixture(source, Examples(scored.ids)))
    assert fit_mixture(source, Examples(scored.ids[:999])) == EVEN
    group = Group(scored.texts, split=len(scored.ids) // 2)
    nats = score_texts(fitted, group).nats_by_use
    constant = [score_texts(mixed(powers(a, 1 - a)), group) for a in np.linspace(0, 1, 11)]
    assert fitted.weights[0, 1] < 0 < fitted.weights[1, 1]  # by the length of the context
    assert nats["both"].mean() < min(score.nats.mean() for score in constant) - 0.003


def test_each_half_is_read_with_its_own_labels() -> None:
    vocabulary = replace(vocabulary_of(LETTERS), labels={"x": 1, "y": 1})
    ids = np.tile(np.array([2, 3, 2, END], np.uint8), 300)
    labels = np.repeat(np.array([K, K + 1], np.uint8), 150)
    counts = Ngrams(Examples(ids, labels).labelled, K, labels=2)
    source = Predictor([network(1, vocabulary=vocabulary)], counts)
    found, of_x = (fit_mixture(source, Examples(ids, kinds)) for kinds in (labels, 0 * labels + K))
    assert found[:6] == of_x[:6]
    assert found[6:] != of_x[6:]


def test_each_half_has_the_exponents_of_the_other_in_any_groups() -> None:
    of_halves = powers(0.2, 0.7), powers(0.4, 0.9)
    both, texts = predictor(mixture=of_halves[0] + of_halves[1]), ["ab" * i for i in range(30)]
    first, second = (predictor(mixture=half) for half in of_halves[::-1])
    whole = score_texts(both, Group(texts, split=400))
    sizes = [len(text) + 1 for text in texts]
    groups = [Group([text], split=400 - sum(sizes[:i])) for i, text in enumerate(texts)]
    alone = [score_texts(both, group) for group in groups]
    np.testing.assert_allclose(join_groups(alone).nats, whole.nats, rtol=1e-9)
    for half, place in ((first, slice(0, 400)), (second, slice(400, None))):
        np.testing.assert_allclose(whole.nats[place], score_texts(half, Group(texts)).nats[place])


@pytest.mark.parametrize("use", ["network", "counts", "both"])
def test_in_any_order_models_are_mixed_with_the_counts_of_the_longest_text(use: Use) -> None:
    repeated = np.tile(np.array([2, 3, END], np.uint8), 100)
    shorter = Predictor([network(1)], Ngrams(text(1, 60), K), use)
    longer = Predictor([network(2)], Ngrams(repeated, K), use, powers(0.2, 0.7))
    models = [Predictor([network(3)]), shorter, longer]
    orders = combine(models), combine(models[::-1])
    for order in orders:
        assert (order.use, order.counts) == (use, longer.counts)
        assert (order.halves == longer.halves).all()
    first, second = (score_ids(order, text(7, 200))[0][use] for order in orders)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


def test_a_mean_has_the_mean_novelty_and_the_labels_of_all_examples() -> None:
    learned = (0.1, {"x": 1, "y": 2}), (0.3, {"x": 5, "y": 2})
    vocabularies = [Vocabulary(LETTERS, novelty, labels) for novelty, labels in learned]
    models = [Predictor([network(i, vocabulary=v)]) for i, v in enumerate(vocabularies)]
    assert combine(models).vocabulary.novelty == pytest.approx(0.2)
    assert combine(models).vocabulary.labels == {"x": 6, "y": 4}


def test_models_that_cannot_be_mixed_are_refused() -> None:
    kinds = [replace(vocabulary_of(LETTERS), labels={"x": 1, name: 1}) for name in "yz"]
    with pytest.raises(ModelFileError, match="different labels"):
        combine([Predictor([network(1, vocabulary=vocabulary)]) for vocabulary in kinds])
    assert Predictor([network(1, "length")]).use == "network"
    with pytest.raises(SettingError, match="ends length cannot be mixed"):
        predictor(head="length")
    with pytest.raises(SettingError, match="ends length cannot be mixed"):
        Predictor([network(1, "length"), network(2, "length")])


def test_where_the_network_is_sure_counts_still_have_a_say() -> None:
    sure = network(1)
    sure.parameters["c"][...] = [-5000, -5000, 5000, -5000]
    both = Predictor([sure], Ngrams(text(1, 80), K))
    assert np.isfinite(score_ids(both, text(2, 50))[0]["both"]).all()

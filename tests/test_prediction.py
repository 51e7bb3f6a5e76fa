"""Networks and counts mixed: one distribution, whoever asks for it, and however."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.counts import Ngrams
from charrnn.errors import ModelFileError, SettingError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.network.rounding import UNIT, Array64
from charrnn.scoring import predictor as prediction
from charrnn.scoring.predictor import MixedScorer, Predictor, Use, combine
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import END, UNKNOWN, Ids, Vocabulary
from tests.speaking import vocabulary_of

LETTERS = "ab"
K = len(LETTERS) + 2
USES: tuple[Use, ...] = ("network", "counts", "both")


def network(seed: int, head: str = "symbol", vocabulary: Vocabulary | None = None) -> LanguageModel:
    """One with numbers of its own."""
    vocabulary = vocabulary or vocabulary_of(LETTERS)
    architecture = Architecture(vocabulary.symbols, 5, 1, head_name=head)
    rng = np.random.default_rng(seed)
    p = initial(architecture, np.full(vocabulary.symbols, -1.0, np.float32), rng)
    p["V"][...] = rng.standard_normal(p["V"].shape)
    return LanguageModel(p, vocabulary)


def text(seed: int, size: int, symbols: int = K) -> Ids:
    """So many symbols, END now and then."""
    ids = np.random.default_rng(seed).integers(0, symbols, size).astype(np.uint8)
    ids[ids == UNKNOWN] = 2
    return ids


def predictor(networks: int = 1, head: str = "symbol", use: Use = "both") -> Predictor:
    return Predictor(
        tuple(network(seed, head) for seed in range(networks)), Ngrams(text(1, 80), K), use
    )


def logits_after(asked: Predictor, ids: Ids) -> Array64:
    """What it says comes after END and these symbols, (K,)."""
    steps = asked.stepper(1)
    state = steps.zeros(1)
    line = [END, *ids.tolist()]
    for index, symbol in enumerate(line[:-1]):
        steps.read(np.array([symbol]), state, index)
    return np.array(steps.step(np.array([line[-1]]), state, len(line) - 1)[0])


def softmax(logits: Array64) -> Array64:
    p = np.exp(logits - logits.max())
    return np.asarray(p / p.sum())


@given(
    st.lists(st.integers(1, K - 1), max_size=12),
    st.integers(1, 3),
    st.sampled_from(["symbol", "halt"]),
    st.sampled_from([0, 500]),
)
def test_what_it_says_is_half_of_each_by_hand(
    ids: list[int], networks: int, head: str, roots: int
) -> None:
    mix = predictor(networks, head)
    line = np.array(ids, np.uint8)
    each = [softmax(logits_after(Predictor((one,)), line)) for one in mix.networks]
    mean = np.mean(each, axis=0)
    counted = softmax(logits_after(replace(mix, use="counts"), line))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prediction, "MOST_ROOTS", roots)
        both = softmax(logits_after(mix, line))
    wanted = np.sqrt(mean * counted) if roots else mean + counted
    np.testing.assert_allclose(both, wanted / wanted.sum(), rtol=1e-9)
    np.testing.assert_allclose(
        softmax(logits_after(replace(mix, use="network"), line)), mean, rtol=1e-9
    )


@pytest.mark.parametrize("head", ["symbol", "halt"])
@pytest.mark.parametrize("use", USES)
def test_over_all_texts_of_a_tiny_alphabet_the_chances_sum_to_one(use: Use, head: str) -> None:
    # Every text of up to 3 symbols that ends, and every beginning of 4 that has not ended yet.
    # UNKNOWN stands for all characters that were never seen: a nat for it, and one for its name.
    mix = predictor(2, head, use)
    scorer = MixedScorer(mix)
    total = 0.0
    unseen = math.log(1_112_064 - len(LETTERS))
    for size in range(5):
        for middle in itertools.product(range(1, K), repeat=size):
            ids = np.array([*middle, *([] if size == 4 else [END])], np.uint8)
            scorer.begin()
            nats = float(scorer.read(ids)[0].sum()) - unseen * middle.count(UNKNOWN)
            total += math.exp(-nats)
    assert total == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("use", USES)
def test_scores_are_the_same_however_the_text_arrives(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix, ids = predictor(2, use=use), text(5, 700)
    whole, ranks = MixedScorer(mix, ranking=True).read(ids)
    for name, size in {"FEWEST": 7, "MOST": 7, "CACHED": 13}.items():
        monkeypatch.setattr(prediction, name, size)
    scorer = MixedScorer(mix, 2, ranking=True)
    parts = [scorer.read(part) for part in np.split(ids, [1, 2, 64, 65, 300])]
    np.testing.assert_array_equal(np.concatenate([nats for nats, _ in parts]), whole)
    assert ranks is not None
    np.testing.assert_array_equal(np.concatenate([r for _, r in parts if r is not None]), ranks)


def test_the_parts_are_what_each_says_alone() -> None:
    mix, ids = predictor(), text(6, 400)
    scorer = MixedScorer(mix)
    scorer.read(ids)
    assert list(scorer.parts) == ["network", "counts", "both"]
    np.testing.assert_array_equal(
        scorer.parts["network"], NetworkScorer(mix.networks[0]).read(ids)[0]
    )
    for use in USES:
        np.testing.assert_array_equal(
            scorer.parts[use], MixedScorer(replace(mix, use=use)).read(ids)[0]
        )


def test_the_order_of_models_changes_nothing() -> None:
    one, two, three = (Predictor((network(seed),)) for seed in range(3))
    ids = text(7, 200)
    costs = [
        MixedScorer(combine(order)).read(ids)[0].tolist()
        for order in itertools.permutations([one, two, three])
    ]
    assert all(cost == costs[0] for cost in costs)


def test_nor_does_it_where_one_of_them_has_counts() -> None:
    plain, ids = Predictor((network(3),)), text(7, 200)
    for use in USES:
        counting = predictor(use=use)
        orders = (combine([plain, counting]), combine([counting, plain]))
        assert [order.use for order in orders] == [use, use]
        one, other = (MixedScorer(order).read(ids)[0] for order in orders)
        np.testing.assert_array_equal(one, other)
    assert replace(combine([plain, counting]), use="both").uses_counts


def test_a_model_with_itself_is_itself_but_for_rounding() -> None:
    one, ids = Predictor((network(1),)), text(8, 200)
    twice = MixedScorer(combine([one, one])).read(ids)[0]
    np.testing.assert_allclose(twice, NetworkScorer(one.networks[0]).read(ids)[0], atol=2 * UNIT)


def test_counts_are_included_once() -> None:
    counted = predictor()
    both = combine([counted, counted])
    assert both.counts is counted.counts
    assert len(both.networks) == 2


def test_of_several_counts_those_of_the_longest_text_are_used() -> None:
    """A short text may have more distinct pairs than a long one that repeats itself."""
    short, long = text(1, 60), np.tile(np.array([2, 3, END], np.uint8), 100)
    models = [Predictor((network(1),), Ngrams(each, K)) for each in (short, long)]
    pairs = [one.counts.starts[3] for one in models if one.counts is not None]
    assert pairs[0] > pairs[1]
    for order in (models, models[::-1]):
        assert combine(order).counts is models[1].counts


def test_each_model_keeps_its_own_novelty_in_the_mean() -> None:
    ids = np.append(text(7, 60), [UNKNOWN, 2, UNKNOWN]).astype(np.uint8)
    networks = [
        network(seed, vocabulary=replace(vocabulary_of(LETTERS), novelty=novelty))
        for seed, novelty in enumerate((1e-4, 0.3, 0.7))
    ]
    alone = [np.exp(-NetworkScorer(one).read(ids)[0]) for one in networks]
    expected = -np.log(np.mean(alone, 0))
    for order in itertools.permutations([Predictor((one,)) for one in networks]):
        mixed = combine(order)
        np.testing.assert_allclose(MixedScorer(mixed).read(ids)[0], expected, atol=1e-6)


def test_models_of_other_vocabularies_are_not_mixed() -> None:
    other = network(2, vocabulary=vocabulary_of("xy"))
    with pytest.raises(ModelFileError, match="different vocabularies"):
        combine([Predictor((network(1),)), Predictor((other,))])


def test_what_has_no_chance_of_the_end_beside_those_of_characters_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prediction, "MIXABLE_HEADS", ("symbol",))
    assert Predictor((network(1, "halt"),)).single_network is not None  # alone it need not be mixed
    with pytest.raises(SettingError, match="ends halt cannot be mixed"):
        predictor(head="halt")
    with pytest.raises(SettingError, match="ends halt cannot be mixed"):
        Predictor((network(1, "halt"), network(2, "halt")))


def test_where_the_network_is_sure_counts_still_have_a_say() -> None:
    sure = network(1)
    p = Parameters(sure.architecture, sure.parameters.flat.copy())
    p["c"][...] = [-5000, -5000, 5000, -5000]
    mix = Predictor((replace(sure, parameters=p),), Ngrams(text(1, 80), K))
    nats, _ = MixedScorer(mix).read(text(2, 50))
    assert np.isfinite(nats).all()

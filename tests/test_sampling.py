"""What is drawn is distributed as the network says, and is the same however it is drawn."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np
import pytest

from charrnn.corpus.corpus import Examples
from charrnn.errors import SettingError
from charrnn.network.parameters import LanguageModel
from charrnn.sampling import sampler as drawing
from charrnn.sampling.sampler import Fragment, Sample, SampleConfig, Sampler
from charrnn.scoring.scorer import NetworkScorer
from tests.scoring import nats_of, score_texts
from tests.speaking import END, UNKNOWN, babbler, independent, markov, speller

DRAWS = 20_000


def samples(
    speaker: LanguageModel, count: int, config: SampleConfig | None = None, prime: str = ""
) -> list[Sample]:
    sampler = Sampler(speaker, config or SampleConfig(seed=1), prime)
    return list(sampler.samples(range(count)))


def texts(
    speaker: LanguageModel, count: int, config: SampleConfig | None = None, prime: str = ""
) -> list[str]:
    return [sample.text for sample in samples(speaker, count, config, prime)]


def surprise_at(counts: Counter[str], chances: dict[str, float]) -> float:
    """Chi-square of the counts, in standard deviations; what has no chance of its own is a rest."""
    draws = counts.total()
    rest = draws - sum(counts[text] for text in chances)
    pairs = [(counts[text], chance) for text, chance in chances.items()]
    pairs.append((rest, 1 - sum(chances.values())))
    pairs = [(count, chance) for count, chance in pairs if chance > 1e-9 or count]
    off = sum((count - draws * chance) ** 2 / (draws * chance) for count, chance in pairs)
    freedom = len(pairs) - 1
    return (off - freedom) / math.sqrt(2 * freedom)


def surprisals(speaker: LanguageModel, text: str) -> list[float]:
    """What scoring says of a text, symbol by symbol, END the last."""
    vocabulary = speaker.vocabulary
    ids = np.append(vocabulary.encode(text), 0).astype(vocabulary.dtype)
    examples = Examples(ids, np.array([0, len(ids)], np.uint32))
    return [float(nats) for nats in nats_of(NetworkScorer(speaker), examples)]


def test_a_network_that_spells_abc_stops_after_c() -> None:
    for temperature in (0.0, 1.0):
        config = SampleConfig(temperature=temperature, seed=1)
        assert texts(speller("abc"), 3, config) == ["abc", "abc", "abc"]


def test_whole_strings_come_as_often_as_the_product_of_their_symbols() -> None:
    odds = {"a": 0.3, "b": 0.2, END: 0.4, UNKNOWN: 0.1}
    known = {key: chance / 0.9 for key, chance in odds.items() if key != UNKNOWN}
    chances = {
        text: math.prod(known[c] for c in text) * known[END]
        for text in ["", "a", "b", "aa", "ab", "ba", "bb", "aaa", "aab", "aba", "baa", "bbb"]
    }
    assert abs(surprise_at(Counter(texts(independent(odds), DRAWS)), chances)) < 3


def test_what_follows_depends_on_what_was_drawn() -> None:
    after = {
        END: {"a": 0.7, "b": 0.3},
        "a": {"a": 0.1, "b": 0.6, END: 0.3},
        "b": {"a": 0.5, END: 0.5},
    }
    chances = {}
    for text in ["a", "b", "ab", "ba", "aa", "aba", "bab", "aab", "baa", "abab", "bb", "abb"]:
        steps = pairwise(["", *text, ""])
        chances[text] = math.prod(after[here].get(there, 0.0) for here, there in steps)
    assert abs(surprise_at(Counter(texts(markov(after), DRAWS)), chances)) < 3


def test_lengths_are_geometric_where_each_step_may_be_the_last() -> None:
    q = 0.2
    lengths = Counter(str(len(text)) for text in texts(independent({"a": 0.8, END: q}), DRAWS))
    chances = {str(length): q * (1 - q) ** length for length in range(25)}
    assert abs(surprise_at(lengths, chances)) < 3


def test_a_temperature_changes_strings_as_it_changes_symbols() -> None:
    odds = {"a": 0.6, "b": 0.1, END: 0.3}
    root = {key: math.sqrt(chance) for key, chance in odds.items()}
    hot = {key: chance / sum(root.values()) for key, chance in root.items()}
    chances = {
        text: math.prod(hot[c] for c in text) * hot[END] for text in ["", "a", "b", "ab", "ba"]
    }
    drawn = texts(independent(odds), DRAWS, SampleConfig(temperature=2, seed=1))
    assert abs(surprise_at(Counter(drawn), chances)) < 3


def test_the_unknown_is_never_drawn() -> None:
    speaker = independent({"a": 0.001, END: 0.001, UNKNOWN: 0.998})
    for config in (
        SampleConfig(seed=1),
        SampleConfig(seed=1, temperature=0),
        SampleConfig(seed=1, temperature=0.01),
        SampleConfig(seed=1, top_k=1),
        SampleConfig(seed=1, top_p=0.01),
    ):
        assert set("".join(texts(speaker, 300, config))) <= {"a"}


def test_filters_narrow_what_is_drawn() -> None:
    speaker = independent({"a": 0.4, "b": 0.3, "c": 0.1, END: 0.2})
    for config in (SampleConfig(seed=1, top_k=3), SampleConfig(seed=1, top_p=0.85)):
        assert set("".join(texts(speaker, 300, config))) == {"a", "b"}


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_a_sample_is_the_same_among_a_thousand_as_alone(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = SampleConfig(seed=3, temperature=temperature, max_characters=100)
    speaker = babbler(hidden=70)
    thousand = samples(speaker, 1000, config)
    assert samples(speaker, 7, config) == thousand[:7]
    sampler = Sampler(speaker, config)
    for number in (0, 1, 500, 999):
        assert list(sampler.samples([number])) == [thousand[number]]
    monkeypatch.setattr(drawing, "LANES", 37)
    assert samples(speaker, 1000, config) == thousand


def test_text_and_nats_of_the_pieces_are_those_of_the_sample() -> None:
    speaker, config = babbler(), SampleConfig(seed=3, max_characters=40)
    pieces = list(Sampler(speaker, config).fragments(range(20)))
    assert [piece.number for piece in pieces] == sorted(piece.number for piece in pieces)
    for sample in samples(speaker, 20, config):
        own = [piece for piece in pieces if piece.number == sample.number]
        assert "".join(piece.text for piece in own) == sample.text
        assert [nats for piece in own for nats in piece.nats] == sample.nats
        assert [piece.ended for piece in own] == [None] * (len(own) - 1) + [sample.ended]


def test_another_seed_draws_another_text() -> None:
    every = {tuple(texts(babbler(), 3, SampleConfig(seed=seed))) for seed in range(20)}
    every |= {tuple(texts(babbler(), 3, SampleConfig())) for _ in range(20)}
    assert len(every) == 40


def test_another_attempt_is_another_draw() -> None:
    sampler = Sampler(babbler(), SampleConfig(seed=1, max_characters=50))
    for attempt in range(1, 5):
        (again,) = sampler.samples([3], attempt)
        (first,) = sampler.samples([3])
        assert again.text != first.text
        assert list(sampler.samples(range(5), attempt))[3] == again


@pytest.mark.parametrize("prime", ["", "ab", "ab?d", "h" * 500])
@pytest.mark.parametrize("options", [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.5}])
def test_nats_are_what_scoring_says_of_the_text(prime: str, options: dict[str, float]) -> None:
    speaker = babbler(dtype=np.float64)
    config = SampleConfig(seed=1, max_characters=100, **options)  # type: ignore[arg-type]
    for sample in samples(speaker, 4, config, prime):
        expected = surprisals(speaker, prime + sample.text)[len(prime) :]
        if sample.ended == "limit":
            expected = expected[:-1]
        assert len(sample.nats) == len(sample.text) + (sample.ended == "end")
        assert sample.nats == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_a_prime_is_read_first() -> None:
    after = {END: {"a": 1.0}, "a": {END: 1.0}, "x": {"y": 1.0}, "y": {END: 1.0}}
    assert texts(markov(after), 2, prime="x") == ["y", "y"]
    assert texts(markov(after), 2, prime="ax") == ["y", "y"]
    assert texts(markov(after), 2, prime="xa") == ["", ""]
    assert texts(markov(after), 2, prime="") == ["a", "a"]


def test_what_was_never_seen_is_read_as_unknown() -> None:
    speaker = markov({END: {"a": 1.0}, "a": {END: 1.0}, UNKNOWN: {"a": 1.0}})
    p = speaker.parameters
    assert speaker.vocabulary.characters == "?a"  # a question mark of its own, beside UNKNOWN
    p["V"][:, 1], p["V"][:, 2] = p["V"][:, 2].copy(), 0
    assert texts(speaker, 2, prime="Ж") == ["a", "a"]
    assert texts(speaker, 2, prime="\udcff") == ["a", "a"]


@pytest.mark.long  # test_cli_sample.py has a shorter one
def test_a_prime_of_a_million_characters_is_read_from_where_it_matters() -> None:
    speaker, config = babbler(), SampleConfig(seed=1, max_characters=30)
    long, longer = "abcdefgh" * 20_000, "abcdefgh" * 130_000
    assert texts(speaker, 1, config, longer) == texts(speaker, 1, config, long)


def test_a_sample_that_does_not_end_is_cut_at_the_limit() -> None:
    speaker = independent({"a": 1.0})
    for limit in (1, 2, 63, 64, 65, 300):
        for count in (1, 3):
            for sample in samples(speaker, count, SampleConfig(seed=1, max_characters=limit)):
                assert sample.text == "a" * limit
                assert sample.ended == "limit"
                assert len(sample.nats) == limit


def test_the_limit_does_not_change_what_is_drawn() -> None:
    whole = texts(babbler(), 5, SampleConfig(seed=1, max_characters=600))
    for limit in (1, 5, 200, 300):
        cut = texts(babbler(), 5, SampleConfig(seed=1, max_characters=limit))
        assert cut == [text[:limit] for text in whole]


def test_a_text_without_an_end_comes_as_it_is_drawn() -> None:
    sampler = Sampler(independent({"a": 1.0}), SampleConfig(seed=1, max_characters=1 << 60))
    assert [piece.text for piece in islice(sampler.stream(), 1000)] == ["a"] * 1000
    side_by_side = islice(sampler.fragments(range(100)), 1000)
    assert [(piece.number, piece.text) for piece in side_by_side] == [(0, "a")] * 1000


def test_what_the_others_said_meanwhile_comes_when_it_is_their_turn() -> None:
    sampler = Sampler(babbler(), SampleConfig(seed=1, max_characters=5))
    pieces = list(sampler.fragments(range(3)))
    assert [len(piece.text) for piece in pieces if piece.number == 0] == [1] * 5
    assert [len(piece.text) for piece in pieces if piece.number == 2] == [5]


def test_two_streams_of_one_sampler_do_not_disturb_each_other() -> None:
    sampler = Sampler(babbler(), SampleConfig(seed=1, max_characters=50))
    whole = list(sampler.samples(range(8)))

    def text(number: int) -> Iterator[Fragment]:
        return sampler.stream(number)

    pairs = list(zip(text(3), text(5), sampler.fragments([3, 7]), strict=False))
    assert "".join(piece.text for piece, _, _ in pairs) == whole[3].text[: len(pairs)]
    assert "".join(piece.text for _, piece, _ in pairs) == whole[5].text[: len(pairs)]
    assert "".join(piece.text for _, _, piece in pairs)[:50] == whole[3].text


def test_a_large_alphabet_takes_fewer_lanes_and_says_the_same() -> None:
    characters = "".join(map(chr, range(0x4E00, 0x4E00 + 20_000)))
    speaker = babbler(characters, hidden=8, layers=1)
    config = SampleConfig(seed=1, max_characters=4)
    sampler = Sampler(speaker, config)
    assert sampler.group < 200
    several = list(sampler.samples(range(sampler.group + 20)))
    assert [next(sampler.samples([number])) for number in (0, 3, 110)] == [
        several[number] for number in (0, 3, 110)
    ]


def test_long_texts_are_drawn_in_smaller_groups() -> None:
    assert Sampler(babbler(), SampleConfig(max_characters=2000)).group == 1024
    assert Sampler(babbler(), SampleConfig(max_characters=1_000_000)).group < 50


@pytest.mark.parametrize(
    ("options", "range_is"),
    [
        ({"temperature": -1}, "from 0 to 1,000,000"),
        ({"temperature": math.nan}, "from 0 to 1,000,000"),
        ({"temperature": math.inf}, "from 0 to 1,000,000"),
        ({"temperature": 1e300}, "from 0 to 1,000,000"),
        ({"top_k": 0}, "whole number from 1 to"),
        ({"top_k": 11}, "1 to 10"),
        ({"top_p": 0}, "more than 0 and at most 1"),
        ({"top_p": 1.5}, "more than 0 and at most 1"),
        ({"top_p": math.nan}, "more than 0 and at most 1"),
        ({"max_characters": 0}, "whole number from 1 to"),
        ({"max_characters": -1}, "whole number from 1 to"),
        ({"seed": -1}, "0 to 18,446,744,073,709,551,615"),
        ({"seed": 1 << 64}, "0 to 18,446,744,073,709,551,615"),
    ],
)
def test_what_is_out_of_range_is_refused_with_the_range(
    options: dict[str, float], range_is: str
) -> None:
    with pytest.raises(SettingError) as caught:
        Sampler(babbler(), SampleConfig(**options))  # type: ignore[arg-type]
    assert range_is in caught.value.hint


@pytest.mark.parametrize("temperature", [0, 1e-300, 1e-12, 0.01, 1e6])
def test_no_temperature_is_too_cold_or_too_hot(temperature: float) -> None:
    speaker = babbler()
    speaker.parameters.flat[...] *= 1e30  # and no network too loud
    config = SampleConfig(seed=1, temperature=temperature, max_characters=20)
    for sample in samples(speaker, 3, config):
        assert all(math.isfinite(nats) and nats >= 0 for nats in sample.nats)


def test_a_sample_scores_the_same_as_a_line_of_a_text() -> None:
    speaker = babbler(dtype=np.float64)
    drawn = [s for s in samples(speaker, 60) if s.ended == "end" and s.text]
    total = score_texts(NetworkScorer(speaker), (s.text for s in drawn))
    assert total.nats == pytest.approx(sum(sum(s.nats) for s in drawn), rel=1e-4)
    assert total.ends == len(drawn)

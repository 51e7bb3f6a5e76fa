"""Fillings: what brute force over all strings finds, and what comes after counts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from charrnn.corpus.segmentation import stream_of
from charrnn.errors import SettingError
from charrnn.filling import filler as exactly
from charrnn.filling.filler import Filler, Fillings, NextSymbols, by_particles, exact
from charrnn.filling.pattern import Automaton, Pattern
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.scoring.pieces import score_examples
from charrnn.scoring.scorer import NetworkScorer
from charrnn.settings.sampling import FillConfig
from charrnn.vocabulary import Vocabulary
from tests.speaking import babbler, independent, markov, vocabulary_of

GAP = 3  # characters, at most
PATTERNS = [
    *("_", "a_", "_b", "a_c", "a__b", "_b_", "*", "a*", "*c", "a*b", "a*_b", "_*", "*_*", "**"),
    *("*a*", "a*b*c", "*ab", "_a*", "abc", "", "aЖ_", "Ж*я", "*Ж*", "ЖЖ_я"),
]


def spellings(text: str, characters: str) -> Iterator[str]:
    """All strings that a text with blanks stands for, by brute force."""
    gaps = "".join(
        {"_": f"[{characters}]", "*": f"[{characters}]{{0,{GAP}}}"}.get(c, c) for c in text
    )
    known = sorted({*characters, *text} - {"_", "*"})
    longest = sum({"*": GAP}.get(c, 1) for c in text)
    for length in range(longest + 1):
        for string in product(known, repeat=length):
            if re.fullmatch(gaps, "".join(string)):
                yield "".join(string)


def posterior(model: LanguageModel, text: str) -> dict[str, float]:
    """The probability of each of them, by their scores."""
    every = list(spellings(text, model.vocabulary.characters))
    nats = np.array([one.nats for one in score_examples(NetworkScorer(model), stream_of(every))])
    weights = np.exp(nats.min() - nats)
    return dict(zip(every, (weights / weights.sum()).tolist(), strict=True))


def halting() -> LanguageModel:
    vocabulary = vocabulary_of("abc")
    p = Parameters.zeros(Architecture(vocabulary.symbols, 5, 1, "lstm", "halt"))
    p.flat[...] = np.random.default_rng(0).standard_normal(p.flat.shape)
    return LanguageModel(p, vocabulary)


def filled(model: LanguageModel, text: str, **how: object) -> dict[str, float]:
    config = FillConfig(**{"count": 4000, "max_gap": GAP, "seed": 1} | how)  # type: ignore[arg-type]
    found = Filler(model, config).fill(text)
    assert found.method == "exact"
    return {one.text: one.probability for one in found.fillings}


@pytest.mark.parametrize("text", PATTERNS)
def test_fillings_are_those_of_brute_force(text: str) -> None:
    model = babbler("abc", hidden=6)
    found, expected = filled(model, text), posterior(model, text)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("text", ["a*b_", "_Ж"])
def test_gated_cells_and_a_unit_that_halts_fill_in_too(text: str) -> None:
    model = halting()
    assert filled(model, text) == pytest.approx(posterior(model, text), rel=1e-7)


def test_only_so_many_are_shown_and_the_likeliest_of_them() -> None:
    model = babbler("abc", hidden=6)
    every = filled(model, "_*b")
    assert filled(model, "_*b", count=3) == pytest.approx(dict([*every.items()][:3]))


def test_other_characters_can_stand_for_what_is_missing() -> None:
    vocabulary = vocabulary_of("_*ab")
    p = babbler("_*ab", hidden=6).parameters
    model = LanguageModel(p, vocabulary)
    found = filled(model, "_?*", blank="?", gap="#")
    assert sorted(found) == ["_**", "__*", "_a*", "_b*"]
    with pytest.raises(SettingError, match="gap and blank cannot both be \\?"):
        FillConfig(blank="?", gap="?")


@pytest.mark.parametrize("blank", ["", "ab"])
def test_a_blank_is_one_character(blank: str) -> None:
    with pytest.raises(SettingError, match="blank cannot be"):
        FillConfig(blank=blank)


def test_what_comes_after_counts_and_greed_does_not_see_it() -> None:
    """After the first character, b is likelier than a; but c comes after a alone."""
    model = markov(
        {
            "": {"x": 1.0},
            "x": {"a": 0.3, "b": 0.7},
            "a": {"c": 0.9, "": 0.1},
            "b": {"c": 0.01, "": 0.99},
            "c": {"": 1.0},
        }
    )
    greedy = Filler(model, FillConfig(count=1)).fill("x_").fillings[0].text
    assert greedy == "xb"
    found = filled(model, "x_c")
    assert max(found, key=lambda text: found[text]) == "xac"
    assert found["xac"] == pytest.approx(0.27 / (0.27 + 0.007), rel=1e-6)


def test_the_end_counts_too() -> None:
    model = markov({"": {"a": 0.5, "b": 0.5}, "a": {"": 0.9, "a": 0.1}, "b": {"": 0.1, "a": 0.9}})
    assert filled(model, "_")["a"] == pytest.approx(0.9, rel=1e-6)


# What is left out


Widths = Callable[..., None]


@pytest.fixture
def widths(monkeypatch: pytest.MonkeyPatch) -> Widths:
    """Choose the widths that are tried, one after the other."""
    return lambda *tried: monkeypatch.setattr(exactly, "WIDTHS", tried)


def test_what_is_left_out_is_no_more_than_is_said(widths: Widths) -> None:
    model = babbler("abcdefgh", hidden=6, seed=3)
    pattern = Pattern("___h", model.vocabulary, FillConfig(max_gap=GAP))
    reader = NextSymbols(model)
    whole = exact(pattern, reader, 10)
    assert whole.is_exact
    assert whole.left_out == 0.0
    for width in (3, 20, 100):
        widths(width)
        part = exact(pattern, reader, 10)
        missing = 1 - math.exp(part.log_total - whole.log_total)
        assert 0 < missing <= part.left_out + 1e-9
        assert not part.is_exact or part.texts == whole.texts


def test_a_wider_try_begins_where_a_narrow_one_has_left_off(
    widths: Widths,
) -> None:
    model = babbler("abcdefgh", hidden=6, seed=3)
    pattern = Pattern("___h", model.vocabulary, FillConfig(max_gap=GAP))
    whole = exact(pattern, NextSymbols(model), 10)
    widths(20, 600)
    again = exact(pattern, NextSymbols(model), 10)
    assert again.is_exact
    assert again.texts == whole.texts
    assert again.log_total == pytest.approx(whole.log_total, abs=1e-6)


# Particles


def estimated(model: LanguageModel, text: str, count: int, seed: int) -> Fillings:
    pattern = Pattern(text, model.vocabulary, FillConfig(max_gap=GAP))
    return by_particles(pattern, NextSymbols(model), Fillings(), 5, count, seed)


@pytest.mark.parametrize("text", ["a*b", "*a*b*", "_b_", "c__*a", "aЖ*b", "abc"])
def test_particles_agree_with_what_is_exact_within_their_error(text: str) -> None:
    model = babbler("abc", hidden=6)
    pattern = Pattern(text, model.vocabulary, FillConfig(max_gap=GAP))
    right = exact(pattern, NextSymbols(model), 5).log_total
    ratios = [math.exp(estimated(model, text, 300, seed).log_total - right) for seed in range(24)]
    error = float(np.std(ratios)) / math.sqrt(len(ratios))
    assert abs(float(np.mean(ratios)) - 1) < 4 * error + 0.02
    assert error < 0.1


def test_particles_find_what_is_likely() -> None:
    model = babbler("abc", hidden=6)
    expected = list(filled(model, "a_b_c", count=3))
    found = estimated(model, "a_b_c", 2000, seed=5)
    pattern = Pattern("a_b_c", model.vocabulary, FillConfig(max_gap=GAP))
    assert [pattern.text_of(text) for text in found.texts[:3]] == expected


def test_particles_are_those_of_their_seed() -> None:
    model = babbler("abc", hidden=6)
    one, same, other = (estimated(model, "*a*", 50, seed) for seed in (1, 1, 2))
    assert (one.texts, one.log_total) == (same.texts, same.log_total)
    assert one.log_total != other.log_total


def test_where_there_is_too_much_to_go_through_particles_help(
    widths: Widths,
) -> None:
    model = babbler("abc", hidden=6)
    expected = filled(model, "a*b*c", count=5)
    widths(2)
    found = Filler(model, FillConfig(max_gap=GAP, seed=1)).fill("a*b*c")
    assert (found.method, found.left_out) == ("particles", None)
    shown = {one.text: one.probability for one in found.fillings}
    assert max(shown, key=lambda text: shown[text]) == next(iter(expected))
    assert shown == pytest.approx({text: expected[text] for text in shown}, rel=0.3)
    assert sum(shown.values()) <= 1 + 1e-9


def test_a_text_gets_the_same_fillings_whatever_came_before(
    widths: Widths,
) -> None:
    widths(2)
    filler = Filler(babbler("abc", hidden=6), FillConfig(max_gap=GAP, seed=1, particles=100))
    first = filler.fill("a*b*c")
    filler.fill("_a_")
    assert filler.fill("a*b*c") == first


# Patterns


def test_blanks_and_gaps_that_touch_are_one_run() -> None:
    one, other = (
        Pattern(text, Vocabulary("ab"), FillConfig(max_gap=2)) for text in ("a_*_b", "a*__b")
    )
    assert one.pieces == other.pieces
    assert len(one.pieces) == 3


@pytest.mark.parametrize("text", PATTERNS)
def test_the_automaton_takes_the_texts_that_the_pattern_stands_for(text: str) -> None:
    vocabulary = vocabulary_of("abc")
    pattern = Pattern(text, vocabulary, FillConfig(max_gap=GAP))
    automaton = Automaton(pattern)
    fitting = set(spellings(text, "abc"))
    characters = [*vocabulary.characters, *pattern.unseen]
    for length in range(6):
        for string in product(range(2, pattern.symbols), repeat=length):
            state = automaton.first
            for symbol in string:
                state = int(automaton.after(np.array([state]))[0, automaton.class_of[symbol]])
                if state < 0:
                    break
            is_taken = state >= 0 and bool(automaton.may_end(np.array([state]))[0])
            spelt = "".join(characters[symbol - 2] for symbol in string)
            assert is_taken == (spelt in fitting)
            assert (pattern.ways(list(string)) > 0) == is_taken


def test_ways_are_counted() -> None:
    pattern = Pattern("*a*", Vocabulary("ab"), FillConfig(max_gap=3))
    assert pattern.ways([2, 2, 2]) == 3
    assert pattern.ways([3, 2]) == 1
    assert pattern.ways([3, 3]) == 0


def test_a_long_text_around_a_blank_is_read_in_one_lane() -> None:
    model = independent({"": 0.1, "a": 0.6, "b": 0.3})
    found = filled(model, "ab" * 300 + "_" + "ba" * 300)
    assert [*found.values()] == pytest.approx([2 / 3, 1 / 3], rel=1e-6)

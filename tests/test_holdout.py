"""What is kept from training: by lot, or the tail of a single example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus import corpus
from charrnn.corpus.corpus import Draft, Examples, draw, read_draft, split
from charrnn.corpus.segmentation import stream_of


def drafted(texts: list[str]) -> Draft:
    draft = Draft()
    for codes in stream_of(texts):
        draft.add(codes)
    return draft


def numbers(examples: Examples) -> list[tuple[int, ...]]:
    assert examples.starts[0] == 0
    assert examples.starts[-1] == len(examples.ids)
    return [tuple(examples.nth(i).tolist()) for i in range(len(examples))]


@given(
    st.lists(st.text("abcdef", max_size=20), min_size=2, max_size=20),
    st.floats(0, 0.99),
    st.integers(1, 9),
)
def test_no_example_is_lost_or_changed_and_training_keeps_its_order(
    texts: list[str], share: float, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "BLOCK", block)
        patch.setattr(corpus, "STRATUM", 4)
        train, held_out = split(drafted(texts), share)
        trains = draw(len(texts), share)
        whole = drafted(texts)
        all_starts = whole.starts()
        everything = numbers(Examples(whole.join(), all_starts))
    assert numbers(train) == [everything[i] for i in np.flatnonzero(trains)]
    assert numbers(held_out) == [everything[i] for i in np.flatnonzero(~trains)]


@given(st.integers(2, 300_000), st.floats(0, 0.999))
def test_the_share_is_rounded_but_neither_side_is_ever_empty(count: int, share: float) -> None:
    held = count - np.count_nonzero(draw(count, share))
    expected = min(max(round(count * share), 1), count - 1) if share else 0
    assert held == expected


@pytest.mark.parametrize(
    ("characters", "share", "train"),
    [
        (10, 0.1, 9),
        (14, 0.1, 12),
        (2, 0.1, 1),
        (2, 0.9, 1),
        (100, 0.25, 75),
        (1_115_394, 0.1, 1_003_854),
    ],
)
def test_of_a_single_example_the_tail_is_held_out(
    characters: int, share: float, train: int
) -> None:
    draft, _ = read_draft([["a" * train, "b" * (characters - train)]], ["files"])
    trained, held_out = split(draft, share)
    assert (len(trained), len(held_out)) == (1, 1)
    assert set(trained.ids[:-1].tolist()) == {2}
    assert set(held_out.ids[:-1].tolist()) == {3}
    assert (trained.characters, held_out.characters) == (train, characters - train)
    assert trained.ids[-1] == held_out.ids[-1] == 0


@pytest.mark.parametrize("texts", [["a"], ["abcdefghij"]])
def test_with_nothing_held_out_all_trains(texts: list[str]) -> None:
    train, held_out = split(drafted(texts), 0.0)
    assert (train.characters, held_out.characters, len(held_out)) == (len(texts[0]), 0, 0)


def test_a_single_character_trains() -> None:
    train, held_out = split(drafted(["a"]), 0.5)
    assert (train.characters, len(held_out), len(held_out.ids)) == (1, 0, 0)

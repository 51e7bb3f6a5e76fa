"""The learning curve is where the numbers are, in dots and in ASCII, and never too wide."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.cli.console import Output
from charrnn.cli.terminal.curve import HEIGHT, LABEL, learning_curve, picture
from charrnn.corpus import from_texts
from charrnn.display import Curve
from charrnn.model_file import record_of
from charrnn.settings.corpus import CorpusConfig
from charrnn.text import Visible

LOSSES = st.floats(0.01, 20)


def rows(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    """A history of training and held-out losses, ten steps apart."""
    return [
        {"step": 10 * number, "train": train, "held_out": held_out}
        for number, (train, held_out) in enumerate(pairs, 1)
    ]


def plainly(text: Visible, style: str) -> Visible:
    """No colour."""
    return text


def framed(text: Visible, style: str) -> Visible:
    """What is coloured, between brackets."""
    return Visible(f"<{text}>")


def curve(history: list[dict[str, float]], baseline: float | None = None) -> Curve:
    return Curve(
        [row["step"] for row in history],
        [row["train"] for row in history],
        [row["held_out"] for row in history if "held_out" in row],
        None,
        None if baseline is None else ("markov-3", baseline),
    )


def drawn(
    history: list[dict[str, float]], baseline: float | None = None, width: int = 40
) -> list[Visible]:
    """The picture in ASCII."""
    return picture(curve(history, baseline), width, plainly, plain=True)


def test_a_falling_loss_falls_from_the_left_top_to_the_right_bottom() -> None:
    lines = drawn(rows((9, 3), (9, 2), (9, 1), (1, 1)))
    assert lines[0][LABEL + 1] == "*"
    assert lines[HEIGHT - 1].endswith("*")
    assert lines[0].startswith(" 3.10 |")
    assert "40 steps" in lines[HEIGHT + 1]


def test_the_baseline_is_a_line_with_its_name_and_value() -> None:
    lines = drawn(rows((3, 3), (2, 2.5)), baseline=1.5)
    (line,) = (line for line in lines if line.startswith(" 1.50"))
    assert line.count("-") > 10
    assert "markov-3" in lines[-1]


def test_it_begins_at_step_0_with_what_a_network_knows_before_it_learns() -> None:
    corpus = from_texts(["ab", "ba"], CorpusConfig(holdout=0))
    record = record_of(corpus, CorpusConfig(), {"unigram": 3.0, "markov-3": 1.5})
    lines = learning_curve(rows((2.5, 2.5), (2, 2)), record, Output(io.StringIO))
    assert lines[1] == "nats per character"
    assert lines[2].startswith(" 3.08 ")
    (axis,) = (line for line in lines if line.endswith("20 steps"))
    assert axis.split()[0] == "0"
    went_on = learning_curve(
        rows((2.5, 2.5), (2, 2)), replace(record, known="ab"), Output(io.StringIO)
    )
    (axis,) = (line for line in went_on if line.endswith("20 steps"))
    assert axis.split()[0] == "10", "what began from a model had learned before"


def test_no_loss_is_below_nothing() -> None:
    labels = [line[:LABEL].strip() for line in drawn(rows((2.0, 2.0), (0.001, 0.001)))[:HEIGHT]]
    assert [float(label) for label in labels if label][-1] == 0


def test_a_training_loss_beyond_the_picture_is_not_drawn() -> None:
    lines = drawn(rows((9, 2), (9, 1.5), (1.8, 1.4)))
    assert lines[0].count(".") <= 3, "but for the end of its way down"


def test_without_anything_held_out_training_is_drawn_alone() -> None:
    history: list[dict[str, float]] = [{"step": 1, "train": 3.0}, {"step": 2, "train": 2.0}]
    lines = drawn(history)
    assert "." in lines[0]
    assert "held-out" not in lines[-1]


@pytest.mark.parametrize("count", [0, 1])
def test_one_check_up_makes_no_curve(count: int) -> None:
    assert drawn(rows((2, 2))[:count]) == []


def test_a_window_too_narrow_gets_none() -> None:
    assert drawn(rows((2, 2), (1, 1)), width=12) == []


def test_dots_are_of_braille_and_colours_go_around_them() -> None:
    lines = picture(curve(rows((2, 2), (1, 1))), 40, framed, plain=False)
    assert any(0x2800 < ord(letter) < 0x2900 for letter in lines[0])
    assert "<" in lines[0]


@given(
    pairs=st.lists(st.tuples(LOSSES, LOSSES), min_size=2, max_size=300),
    baseline=st.none() | LOSSES,
    width=st.integers(18, 100),
    plain=st.booleans(),
)
def test_it_always_fits(
    pairs: list[tuple[float, float]], baseline: float | None, width: int, plain: bool
) -> None:
    lines = picture(curve(rows(*pairs), baseline), width, plainly, plain=plain)
    assert len(lines) >= HEIGHT + 3
    assert all(len(one) <= max(width, LABEL + 12) for one in lines[:HEIGHT])
    assert all(math.isfinite(float(one[:LABEL])) for one in lines[:HEIGHT] if one[:LABEL].strip())

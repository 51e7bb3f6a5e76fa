"""``train --counts``: a file with counts, which sample, eval and slim know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import charrnn
from tests.evaluating import scored
from tests.program import Program

PARTS = ["network", "counts", "both"]


def names() -> list[str]:
    """The examples in names.txt."""
    return Path("names.txt").read_text("utf-8").splitlines()


@pytest.fixture
def counting(program: Program) -> Program:
    """A model that has learned next to nothing and keeps what it learned from."""
    assert program.train("names.txt", "--counts").status == 0
    return program


def test_what_is_drawn_costs_what_eval_says_of_it(counting: Program) -> None:
    for use in PARTS:
        drawn = counting.run("sample", "-n", "20", "--seed", "1", "--use", use, "--json").rows
        again = counting.run("sample", "-n", "3", "--seed", "1", "--use", use, "--json").rows
        assert again == drawn[:3]
        ended = [row for row in drawn if row["ended"] == "end"]
        costs = charrnn.load("model.npz").scores([row["text"] for row in ended], use=use)
        assert len(ended) > 3
        assert [row["nats"] for row in ended] == pytest.approx(
            [cost.nats for cost in costs], abs=1e-5
        )


def test_whoever_has_no_counts_cannot_be_asked_for_them(program: Program) -> None:
    program.train("names.txt")
    hint = "Train a model with --counts"
    for command, use in (("sample", "counts"), ("eval", "both")):
        what = f"--use {use} needs counts, and the model has none"
        program.refuses(command, "--use", use, what=what, hint=hint)
    assert program.run("eval", "--use", "network").status == 0


def test_info_says_that_the_file_holds_its_corpus(counting: Program) -> None:
    assert "the file contains all of the training text" in counting.run("info").out
    assert counting.run("info", "--json").json["holds_corpus"] is True
    counting.train("names.txt", "-m", "plain.npz")
    assert "training text" not in counting.run("info", "-m", "plain.npz").out
    help_text = " ".join(counting.run("train", "--help").out.replace("│", " ").split())
    assert "Anyone who gets the model file can read the training text" in help_text


def test_a_slim_file_counts_unless_it_is_told_not_to(counting: Program) -> None:
    ran = counting.run("export", "slim.npz")
    assert "slim.npz holds the training text; --without-counts leaves it out" in ran.err
    slim, whole = scored(counting, "names.txt", "-m", "slim.npz"), scored(counting, "names.txt")
    assert slim["nats"] == pytest.approx(whole["nats"], rel=1e-4)
    counting.run("export", "bare.npz", "--without-counts").says()
    bare = scored(counting, "names.txt", "-m", "bare.npz")
    assert "parts" not in bare
    network = scored(counting, "names.txt", "--use", "network")["nats"]
    assert bare["nats"] == pytest.approx(network, rel=1e-4)
    with np.load("bare.npz") as file:
        assert "counted" not in file


def test_a_run_with_counts_is_the_run_without_them(counting: Program) -> None:
    counting.train("names.txt", "-m", "plain.npz")
    with_counts, plain = charrnn.load("model.npz"), charrnn.load("plain.npz")
    np.testing.assert_array_equal(with_counts.parameters.flat, plain.parameters.flat)


def test_stopped_and_resumed_is_the_same_to_the_last_byte(program: Program) -> None:
    config = charrnn.TrainConfig(
        hidden=5, layers=1, batch=2, bptt=4, epochs=3, check_every=4, counts=True
    )
    run = charrnn.train([Path("names.txt")], config)
    for event in run:
        if isinstance(event, charrnn.Step) and event.step == 5:
            run.save("half.npz")
    run.save("whole.npz")
    resumed = charrnn.resume("half.npz")
    assert sum(isinstance(event, charrnn.Step) for event in resumed) > 1
    resumed.save("half.npz")
    assert Path("half.npz").read_bytes() == Path("whole.npz").read_bytes()


def test_two_models_draw_as_one(program: Program) -> None:
    program.train("names.txt")
    program.train("names.txt", "-m", "other.npz", "--hidden", "7")
    two, swapped = ("-m", "model.npz", "-m", "other.npz"), ("-m", "other.npz", "-m", "model.npz")
    line = ("sample", "-n", "9", "--seed", "2")
    assert program.run(*line, *two).out == program.run(*line, *swapped).out
    assert program.run(*line, *two).out != program.run(*line).out


def test_models_of_other_vocabularies_do_not_draw_together(program: Program) -> None:
    program.train("names.txt")
    Path("numbers.txt").write_text("".join(f"{n}\n" for n in range(99)))
    program.train("numbers.txt", "-m", "numbers.npz")
    line = ("-m", "model.npz", "-m", "numbers.npz")
    program.refuses(
        "sample",
        *line,
        what="the vocabularies of numbers.npz and model.npz differ",
        hint="trained on the same texts",
    )
    ran = program.run("eval", "names.txt", *line)
    assert ran.status == 0
    assert "the models are compared, but not mixed" in ran.err
    assert "together" not in ran.out


def test_blanks_are_filled_by_both(counting: Program) -> None:
    filled = counting.run("fill", "an_a", "--json").json["fillings"]
    model = charrnn.load("model.npz")
    texts = [f"an{one}a" for one in model.vocabulary.characters]
    chances = np.exp([-cost.nats for cost in model.scores(texts)])
    wanted = dict(zip(texts, chances / chances.sum(), strict=True))
    for one in filled:
        assert one["probability"] == pytest.approx(wanted[one["text"]], rel=1e-3)


def test_what_cannot_be_mixed_is_refused_before_it_is_trained(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charrnn.predictor.MIXABLE_HEADS", ("symbol",))
    line = ("train", "names.txt", "--ends", "halt", "--counts")
    program.refuses(*line, what="ends halt cannot be mixed", hint="ends symbol", status=2)
    assert program.train("names.txt", "--ends", "halt").status == 0

"""Two losses on the same text are compared with their uncertainty."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.cli.train import run
from charrnn.cli.train.metrics import Metrics
from charrnn.scoring import score
from charrnn.scoring.score import Difference, Pairing, moments, paired
from charrnn.training.loop import Checkup, Event
from charrnn.vocabulary import END
from tests.program import Program
from tests.runs import SIZE, summary_of

LINE = ("train", "names.txt", *SIZE, "--epochs", "8", "-q", "--seed")


@pytest.fixture
def two(program: Program) -> Program:
    """The program in a folder with two models of the same names."""
    for seed in "0", "1":
        options = ("-m", f"{seed}.npz", "--counts") if seed == "1" else ("-m", f"{seed}.npz")
        assert program.run(*LINE, seed, *options).status == 0
    return program


def of(ids: np.ndarray, nats: np.ndarray, cuts: list[int]) -> Difference:
    """The difference of a text that comes in pieces."""
    pairing = Pairing()
    for start, stop in zip([0, *cuts], [*cuts, len(ids)], strict=True):
        pairing.add(ids[start:stop], nats[start:stop])
    return pairing.difference


def stream(seed: int, examples: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids of examples, and a difference at each symbol with much in common within an example."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, examples)
    ids = np.concatenate([np.append(np.full(n, 5), END) for n in sizes]).astype(np.uint8)
    shared = np.repeat(rng.normal(0.1, 1, examples), sizes + 1)
    return ids, shared + rng.normal(0, 0.1, len(ids))


def test_the_standard_error_is_that_of_a_mean_over_examples() -> None:
    ids, nats = stream(0, 60, 9)
    ends = np.flatnonzero(ids == END)
    sums = [part.sum() for part in np.split(nats, ends[:-1] + 1)]
    sizes = np.diff(ends, prepend=-1)
    found = of(ids, nats, [])
    assert found == pytest.approx(paired(moments(sums, sizes)))
    assert found.nats_per_character == pytest.approx(nats.mean())
    rng = np.random.default_rng(1)  # as often drawn again, with replacement
    again = rng.integers(0, 60, (4000, 60))
    means = np.array(sums)[again].sum(1) / sizes[again].sum(1)
    assert found.standard_error == pytest.approx(means.std(), rel=0.06)


def test_a_stream_is_cut_into_blocks_and_a_text_of_one_unit_has_no_error() -> None:
    rng = np.random.default_rng(2)
    nats = rng.normal(0, 1, 100 * score.BLOCK)
    found = of(np.full(len(nats), 7, np.uint8), nats, [])
    assert found.standard_error == pytest.approx(1 / math.sqrt(len(nats)), rel=0.2)
    short = of(np.full(9, 7, np.uint8), nats[:9], [])
    assert math.isnan(short.standard_error)
    assert short.as_json() == pytest.approx({"difference": nats[:9].mean(), "standard_error": None})
    assert short.is_worse == (nats[:9].mean() > 0)
    assert not short.may_be_chance
    assert Difference(0, 0).may_be_chance


@given(st.lists(st.integers(0, 700), max_size=6), st.sampled_from([3, 60]))
def test_it_does_not_depend_on_how_the_text_arrives(cuts: list[int], examples: int) -> None:
    ids, nats = stream(3, examples, 1200 // examples)
    cuts = sorted(min(cut, len(ids)) for cut in cuts)
    assert of(ids, nats, cuts) == pytest.approx(of(ids, nats, []), rel=1e-9)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ids, nats = stream(4, 3000, 9)
    whole = of(ids, nats, [])
    monkeypatch.setattr(score, "MOST", 1 << 9)
    pairing = Pairing()
    for at in range(0, len(ids), 1000):
        pairing.add(ids[at : at + 1000], nats[at : at + 1000])
        assert len(pairing._units) <= 1 << 9
    assert pairing.difference.nats_per_character == pytest.approx(whole.nats_per_character)
    assert pairing.difference.standard_error == pytest.approx(whole.standard_error, rel=0.2)


def test_words_say_what_is_clear_and_what_is_not() -> None:
    assert Difference(-0.1, 0.02).in_words("b") == "0.100 nats below b (standard error 0.020)"
    unclear = "no clear difference from b: 0.009 nats above, standard error 0.010"
    assert Difference(0.009, 0.01).in_words("b") == unclear
    assert Difference(0.2, math.nan).in_words("b") == "0.200 nats above b (standard error unknown)"


def test_eval_compares_the_model_with_each_baseline(two: Program) -> None:
    two.write("x.txt", "xoxo\nana\nuwe\nanna\nblib\n")
    found = two.run("eval", "x.txt", "-m", "0.npz", "--baselines", "--json").json
    for name, one in found["baselines"].items():
        if name in ("xz", "bzip2"):
            assert "difference" not in one
            continue
        apart = found["nats_per_character"] - one["nats_per_character"]
        assert one["difference"] == pytest.approx(apart, abs=1e-6)
        assert 0 < one["standard_error"] < 1
    out = two.run("eval", "x.txt", "-m", "0.npz", "--baselines").out
    assert "difference  std error" in out
    unclear = [
        name
        for name, one in found["baselines"].items()
        if "difference" in one and abs(one["difference"]) < 2 * one["standard_error"]
    ]
    assert unclear
    said = " ".join(out.split())
    assert f"no clear difference (less than two standard errors): {', '.join(unclear)}" in said


def test_eval_compares_several_models_with_the_first(two: Program) -> None:
    two.write("x.txt", "anna\nbob\nclara\n" * 20)
    line = ("eval", "x.txt", "-m", "0.npz", "-m", "1.npz")
    found = two.run(*line, "--json").json
    first, second = found["models"]["0.npz"], found["models"]["1.npz"]
    assert "difference" not in first
    for one in (second, found):
        apart = one["nats_per_character"] - first["nats_per_character"]
        assert one["difference"] == pytest.approx(apart)
        assert one["standard_error"] > 0
    assert f"{second['difference']:+.3f}" in two.run(*line).out
    parts = second["parts"]
    apart = second["nats_per_character"] - parts["counts"]["nats_per_character"]
    assert parts["counts"]["difference"] == pytest.approx(apart)
    assert "difference" not in parts["both"]


def test_the_summary_of_train_says_how_clear_the_difference_is(program: Program) -> None:
    found = summary_of(program, "--epochs", "8")
    best = found["best"]
    lowest = min(found["baselines"].values())
    assert found["baselines"][best["baseline"]] == lowest
    assert best["difference"] == pytest.approx(best["nats_per_character"] - lowest)
    difference = Difference(best["difference"], best["standard_error"])
    again = program.run("train", "--resume")
    said = " ".join(again.out.split())
    assert difference.in_words(f"{best['baseline']}, the best baseline") in said


def test_the_summary_after_a_signal_does_so_too_if_it_is_quickly_computed(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(log: Metrics, event: Event) -> None:
        log.stop.requested = isinstance(event, Checkup)

    monkeypatch.setattr(Metrics, "add", stop)
    line = ("train", "names.txt", *SIZE, "--epochs", "8", "--metrics", "m.jsonl", "--json")
    ran = program.run(*line)
    assert ran.json["stopped"] == "interrupted"
    assert ran.json["best"]["standard_error"] > 0
    monkeypatch.setattr(run, "QUICK", 1)
    assert program.run(*line, "--force").json["best"]["standard_error"] is None


def test_a_best_of_few_held_out_symbols_is_called_that(program: Program) -> None:
    assert program.run("train", "names.txt", *SIZE, "--epochs", "1").status == 0
    symbols = "chosen on only 33 held-out symbols"
    program.write("more.txt", "anna bob\nclara\ndora\nemil\n" * 99)
    for command in (("train", "--resume"), ("info",)):
        assert "chosen on only" in " ".join(program.run(*command).out.split()), symbols
    assert program.run("train", "more.txt", *SIZE, "--epochs", "1", "-m", "b.npz").status == 0
    program.run("train", "names.txt", "--from", "model.npz", "-m", "c.npz", "--epochs", "1").says()
    started = " ".join(program.run("info", "-m", "c.npz").out.split())
    assert "chosen on only" in started
    assert "chosen on only" not in program.run("info", "-m", "b.npz").out


def test_info_says_how_to_get_the_loss_of_a_mixture(two: Program) -> None:
    told = [" ".join(two.run("info", "-m", f"{n}.npz").out.split()) for n in "01"]
    assert ["charrnn eval scores the mixture" in each for each in told] == [False, True]


def test_the_plan_says_that_unseen_characters_are_in_its_figures(program: Program) -> None:
    program.write("valid.txt", "anna\nZZ\n")
    line = ("train", "names.txt", "--valid", "valid.txt", "--dry-run")
    assert "nats (random guessing, with 2 unseen characters)" in program.run(*line).out
    assert program.run("train", "names.txt", *SIZE, "--epochs", "1", "-q").status == 0
    ran = program.run("eval", "valid.txt", "--baselines")
    assert "with the cost of 2 unseen characters" in ran.out


def test_without_a_standard_error_nothing_is_said_of_chance(two: Program) -> None:
    two.write("x.txt", "xoxo\n")
    out = two.run("eval", "x.txt", "-m", "0.npz", "-m", "1.npz", "--baselines").out
    assert "difference" in out
    assert "no clear difference" not in out
    unknown = Difference(0.25, math.nan).compared("markov-3")
    assert unknown == "worse than counting: 0.250 nats above markov-3 (standard error unknown)"

"""``charrnn sample``: samples of some length, the best of many, at several temperatures, copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from charrnn.cli.sample.run import are_at_hand
from charrnn.runs import load
from tests.program import Program
from tests.speaking import END, independent, saved, speller

LINE = ("sample", "-m", "coin.npz", "--seed", "1")


@pytest.fixture
def coin(program: Program) -> Program:
    """And a model that says words of a and b, of any length."""
    saved(independent({"a": 0.5, "b": 0.3, END: 0.2}), program / "coin.npz")
    return program


# Lengths


def test_samples_are_no_shorter_and_no_longer(coin: Program) -> None:
    free = coin.run(*LINE, "-n", "50").out.splitlines()
    ran = coin.run(*LINE, "-n", "50", "--shortest", "3", "--longest", "5", "-p", "b")
    found = ran.out.splitlines()
    assert len(found) == 50
    assert {len(text) for text in found} == {3, 4, 5}
    assert any("b" + text == other for text, other in zip(free, found, strict=True))


def test_what_is_cut_off_is_not_of_any_length(coin: Program) -> None:
    ran = coin.run(*LINE, "-n", "30", "--longest", "6", "--max-chars", "4", "--json")
    assert {row["ended"] for row in ran.rows} == {"end"}
    assert max(row["characters"] for row in ran.rows) < 4
    assert ran.err == ""


def test_a_length_that_nothing_has_is_given_up(program: Program) -> None:
    saved(speller("abc"), program / "abc.npz")
    what = "found only 0 of 3 samples: 101 attempts at one of them did not pass --shortest 4"
    hint = "Lower -n, raise -t, or leave out --shortest 4."
    program.refuses(
        "sample", "-m", "abc.npz", "-n", "3", "--shortest", "4", "-q", what=what, hint=hint
    )


# Their numbers


@pytest.mark.parametrize("more", [(), ("--json",), ("--shortest", "2"), ("-t", "0.5,1.5")])
def test_a_sample_is_known_by_its_number(coin: Program, more: tuple[str, ...]) -> None:
    times = 2 if "-t" in more else 1
    every = coin.run(*LINE, "-n", "105", *more).lines
    some = coin.run(*LINE, "-n", "5", "--first", "100", *more).lines
    assert some == [line for i in range(times) for line in every[105 * i + 100 : 105 * i + 105]]


# The best


def test_the_best_are_the_likeliest_of_many(coin: Program) -> None:
    every = coin.run(*LINE, "-n", "40", "--json").rows
    best = coin.run(*LINE, "-n", "4", "--best", "--of", "40", "--json").rows
    assert best == sorted(every, key=lambda row: row["nats_per_character"])[:4]
    assert coin.run(*LINE, "-n", "4", "--best", "--json").rows == best  # ten times as many
    unique = coin.run(*LINE, "-n", "4", "--best", "--of", "40", "--unique").out.splitlines()
    assert len(set(unique)) == 4


@pytest.mark.parametrize("more", [(), ("--hide-prime",)])
def test_the_best_after_a_prime_are_the_likeliest_of_what_is_shown(
    trained: Program, more: tuple[str, ...]
) -> None:
    line = ("sample", "--seed", "1", "-p", "an", *more)
    every = trained.run(*line, "-n", "40", "--json").rows
    best = trained.run(*line, "-n", "9", "--best", "--of", "40", "--json").rows
    assert best == sorted(every, key=lambda row: row["nats_per_character"])[:9]
    shown = trained.run(*line, "-n", "9", "--best", "--of", "40", "--raw").out
    assert shown.splitlines() == [row["text"] for row in best]


def test_what_is_longer_than_any_sample_is_not_waited_for(trained: Program) -> None:
    line = ("sample", "-p", "an", "--max-chars", "3")
    assert trained.run(*line, "--shortest", "5", "--temp", "1.5").status != 2


# Temperatures


def test_each_temperature_has_its_samples(coin: Program) -> None:
    alone = [coin.run(*LINE, "-n", "2", "-t", t, "--json").rows for t in ("0.5", "1", "2")]
    ran = coin.run(*LINE, "-n", "2", "-t", "0.5,1,2", "--json")
    assert ran.rows == [row for rows in alone for row in rows]
    assert [row["temperature"] for row in ran.rows] == [0.5, 0.5, 1, 1, 2, 2]
    text = coin.run(*LINE, "-n", "2", "-t", "0.5,1,2")
    assert text.out.splitlines() == [row["text"] for row in ran.rows]
    assert text.err == "temperature 0.5\ntemperature 1\ntemperature 2\n"
    assert coin.run(*LINE, "-t", "0.5,1", "-q").err == ""
    assert coin.run(*LINE, "-t", "0.5").err == ""


def test_what_is_unique_is_so_at_all_temperatures(coin: Program) -> None:
    found = coin.run(*LINE, "-n", "20", "-t", "0.8,1.2", "--unique").out.splitlines()
    assert len(found) == len(set(found)) == 40


def test_a_blank_line_stands_between_temperatures_where_samples_have_newlines(
    program: Program,
) -> None:
    saved(speller("a\nb"), program / "m.npz", "paragraphs")
    assert program.run("sample", "-m", "m.npz", "-t", "1,0").out == "a\nb\n\na\nb\n"


# What stands in a corpus


def test_case_and_outer_spaces_may_not_make_it_novel(coin: Program) -> None:
    (coin / "known.txt").write_text("A \nB\nAA\nAb\n")
    line = (*LINE, "-n", "60", "--novel", "known.txt")
    assert {"a", "b"} & set(coin.run(*line).out.splitlines())
    found = set(coin.run(*line, "--ignore-case").out.splitlines())
    assert not {"a", "b", "aa", "ab"} & found
    assert "ba" in found


@pytest.fixture
def copier(program: Program) -> Program:
    """And a model that has learned one word, and says it half of the time."""
    odds = {"a": 0.5, END: 0.5}
    saved(independent(odds), program / "copier.npz", sources=("names.txt",))
    (program / "names.txt").write_text("a\n" * 9)
    return program


def test_copies_of_the_corpus_are_counted(copier: Program) -> None:
    line = ("sample", "-m", "copier.npz", "--seed", "1")
    ran = copier.run(*line, "-n", "20")
    same = ran.out.splitlines().count("a")
    assert 0 < same < 20
    runs = "copied from known texts: at most 1 character in a row, 'a'; the median run has 1\n"
    assert ran.err == f"exact copies of training texts: {same} of 20 samples\n{runs}"
    assert copier.run(*line, "-n", "20", "--json").err == ran.err
    assert copier.run(*line, "-n", "20", "-q").err == ""
    assert copier.run(*line, "-n", "20", "--novel", "names.txt", "--max-chars", "9").err == runs


def test_copies_of_the_corpora_of_several_models_are_counted(copier: Program) -> None:
    other = independent({"a": 0.5, END: 0.5})
    (copier / "letters.txt").write_text("aa\n" * 9)
    saved(other, copier / "other.npz", sources=("letters.txt",))
    for models in (("copier", "other"), ("other", "copier")):
        named = [word for name in models for word in ("-m", f"{name}.npz")]
        ran = copier.run("sample", *named, "--seed", "1", "-n", "20")
        drawn = ran.out.splitlines()
        copies = drawn.count("a") + drawn.count("aa")
        assert drawn.count("aa") > 0
        assert ran.err.startswith(f"exact copies of training texts: {copies} of 20 samples\n")


def test_a_single_copy_is_told(copier: Program) -> None:
    line = ("sample", "-m", "copier.npz")
    told = [copier.run(*line, "--seed", str(seed)) for seed in range(9)]
    copy = "the sample is an exact copy of a training text\n"
    said = [(ran.out == "a\n", ran.err.partition("copied from")[0]) for ran in told]
    assert set(said) == {(True, copy), (False, "")}


def test_a_corpus_is_found_from_another_folder(well_trained: Program) -> None:
    (well_trained / "elsewhere").mkdir()
    model = well_trained / "model.npz"
    ran = well_trained.run(
        "sample", "-m", model, "-n", "3", cwd=well_trained / "elsewhere", child=True
    )
    assert ran.err.startswith("exact copies of training texts: ")


@pytest.mark.parametrize("content", [None, b"\xff\n", b""])
def test_a_corpus_that_cannot_be_read_is_no_error(copier: Program, content: bytes | None) -> None:
    Path("names.txt").unlink()
    if content is not None:
        Path("names.txt").write_bytes(content)
    ran = copier.run("sample", "-m", "copier.npz", "-n", "2", "--seed", "1")
    assert ran.status == 0
    assert "error" not in ran.err


def test_a_corpus_that_is_a_pipe_or_large_is_not_at_hand(copier: Program) -> None:
    model = load("copier.npz")
    assert are_at_hand([model], 18)
    assert not are_at_hand([model], 17)
    assert not are_at_hand([model], 20, ["names.txt"])
    Path("names.txt").unlink()
    assert not are_at_hand([model], 18)
    if hasattr(os, "mkfifo"):
        os.mkfifo("names.txt")
        assert not are_at_hand([model], 18)


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--ignore-case",), "--ignore-case needs --novel CORPUS"),
        (("--of", "3"), "--of needs --best"),
        (("-n", "5", "--best", "--of", "3"), "--of 3 is less than -n 5"),
        (("--shortest", "5", "--longest", "4"), "--shortest 5 is more than longest 4"),
    ],
)
def test_options_that_lead_nowhere_are_told(
    coin: Program, args: tuple[str, ...], what: str
) -> None:
    ran = coin.run(*LINE, *args)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"charrnn: error: {what}\n")

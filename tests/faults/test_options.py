"""Faults 16 to 18: values out of range, primes of every kind, and resumes that contradict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from charrnn import model_file as checkpoint
from tests.program import Program, is_refusal

TOO_LONG = "9" * 5000
WHOLE = ["0", "-1", "1.5", "", "nan", TOO_LONG]
OUT_OF_RANGE = {
    "sample": {
        "--temp": ["-1", "nan", "inf", "-inf", "1e300", "", "hot"],
        "--top-k": WHOLE,
        "--top-p": ["0", "1.5", "-0.1", "nan"],
        "--max-chars": WHOLE,
        "--count": WHOLE,
        "--seed": ["-1", str(2**64), "1.5"],
    },
    "train names.txt": {
        "--epochs": WHOLE,
        "--check-every": WHOLE,
        "--patience": WHOLE,
        "--holdout": ["1", "-0.1", "nan", "inf"],
        "--preview": ["-1", "101"],
        "--seed": ["-1", str(2**64)],
        "--optimizer": ["lion", ""],
        "--schedule": ["step"],
        "--examples": ["pages"],
        "--normalize": ["NFD"],
    },
    "eval names.txt": {
        "--examples": ["pages"],
        "--cores": ["0"],
    },
}
ALLOWED = {
    "--temp": "a number from 0 to 1,000,000",
    "--top-k": "a whole number from 1 to ",
    "--top-p": "a number from 0 to 1, but not 0",
    "--max-chars": "a whole number from 1 to ",
    "--count": "a whole number from 1 to ",
    "--seed": "from 0 to 18,446,744,073,709,551,615",
}
LINES = [(line, option) for line, options in OUT_OF_RANGE.items() for option in options]


@pytest.mark.parametrize(("line", "option"), LINES)
def test_16_values_out_of_range_are_refused_with_the_range(
    trained: Program, line: str, option: str
) -> None:
    before = trained.files()
    for value in OUT_OF_RANGE[line][option]:
        ended = trained.run(*line.split(), option, value)
        is_refusal(ended, f"{option}: '{value[:40]}", "", status=2)
        assert ALLOWED.get(option, "") in " ".join(ended.err.replace("│", "").split())
    assert trained.files() == before


def test_16_the_same_from_outside(trained: Program) -> None:
    what = "--temp: 'nan' is not a number from 0 to 1,000,000"
    hint = "Try 'charrnn sample --help'."
    trained.refuses("sample", "--temp", "nan", what=what, hint=hint, status=2, child=True)


def test_16_metrics_are_not_written_below_something_else(trained: Program) -> None:
    trained.write("diary.txt", "one line, no newline at its end")
    trained.refuses(
        *("train", "names.txt", "--force", "--metrics", "diary.txt"),
        what="diary.txt holds lines that are not metrics of charrnn",
        hint="Name another file",
    )


def test_16_more_of_the_likeliest_than_there_are_symbols_is_refused(trained: Program) -> None:
    symbols = checkpoint.load_trained(trained / "model.npz").model.vocabulary.symbols
    what = f"--top-k {symbols + 1} is more than the {symbols} symbols of the model"
    hint = f"It may be 1 to {symbols}."
    trained.refuses("sample", "--top-k", str(symbols + 1), what=what, hint=hint, status=2)
    sampled(trained, "--top-k", str(symbols))


@pytest.mark.parametrize(
    "line",
    [
        *("--temp 0", "--temp 1e-300", "--temp 1e-5", "--temp 1e6", "--top-k 1"),
        "--temp 1e-300 --top-k 5 --top-p 1",
        *("--top-p 1e-300", "--top-p 1", "--max-chars 1", f"--seed {2**64 - 1}", "--count 1000"),
    ],
)
def test_16_values_at_the_ends_of_a_range_draw(trained: Program, line: str) -> None:
    ended = trained.run("sample", "--max-chars", "9", *line.split(), "--json")
    ended.says()
    for row in ended.out.splitlines():
        drawn = json.loads(row)
        assert 0 <= drawn["nats"] < 1e6


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13", "undefined", "idna", ""])
def test_16_what_is_no_encoding_is_refused(trained: Program, encoding: str) -> None:
    before = trained.files()
    for command in (("train", "names.txt", "--force"), ("eval", "names.txt")):
        for errors in ("strict", "replace"):
            ended = trained.run(*command, "--encoding", encoding, "--errors", errors)
            is_refusal(ended, "is not an encoding", "Try utf-8", status=2)
    assert trained.files() == before


def sampled(program: Program, *args: str, **how: Any) -> str:
    ended = program.run("sample", "--seed", "1", "--max-chars", "20", *args, **how)
    ended.says()
    return ended.out


@pytest.mark.parametrize(
    ("prime", "named"),
    [
        (b"x\xc3\xa9y", "x (U+0078) é (U+00E9)"),
        ("日本\U0001f996".encode(), "日 (U+65E5) 本 (U+672C) \U0001f996 (U+1F996)"),
        (b"a\x1b[2J", r"\x1b (U+001B) [ (U+005B) 2 (U+0032) J (U+004A)"),
        (b"\xff\xfe", r"\udcff (U+DCFF) \udcfe (U+DCFE)"),
        ("\ufffd".encode(), "\ufffd (U+FFFD)"),
    ],
)
def test_17_characters_of_a_prime_that_were_never_seen_are_named_and_taken(
    trained: Program, prime: bytes, named: str
) -> None:
    line = ("sample", "--seed", "1", "--max-chars", "20", b"--prime", prime)
    ended = trained.run(*line, child=not prime.isascii())
    ended.says(f"not in the vocabulary, read as unknown: {named}")
    assert ended.out.startswith(prime.decode("utf-8", "replace"))


def test_17_a_prime_may_be_empty_or_huge(trained: Program) -> None:
    assert sampled(trained, "--prime", "") == sampled(trained)
    prime = "anna bob " * (1 << 11)
    assert len(sampled(trained, "--prime", prime)) <= len(prime) + 21


def test_17_a_prime_from_an_ascii_command_line_is_no_crash(trained: Program) -> None:
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    drawn = trained.run("sample", b"--prime", "née".encode(), env=env, child=True)
    drawn.says()
    assert drawn.out.startswith("née")


def test_18_a_resume_with_another_corpus_names_both(trained: Program) -> None:
    then = checkpoint.load(trained / "model.npz").corpus.fingerprint
    trained.write("other.txt", "quite another text\n" * 9)
    trained.refuses(
        *("train", "other.txt", "--resume", "--epochs", "5"),
        what=[
            "model.npz was trained on names.txt (SHA-256 ",
            f"{then[:12]}), not on other.txt (SHA-256 ",
        ],
        hint="Give the same text in the same order",
    )
    (trained / "names.txt").unlink()
    what, hint = "names.txt does not exist", "Name its new place: charrnn train CORPUS --resume"
    trained.refuses("train", "--resume", what=what, hint=hint)
    what = "charrnn: error: nothing.npz does not exist, so it cannot be resumed"
    hint = "Train one first: charrnn train CORPUS -m nothing.npz"
    nothing = trained.refuses("train", "--resume", "-m", "nothing.npz", what=what, hint=hint)
    assert nothing.err == f"{what}\n{hint}\n"

"""``charrnn train``: corpora of every size, and what cannot be done is refused in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from charrnn import system
from charrnn.cli.train import plan as plan_display
from charrnn.corpus import from_texts
from charrnn.counts import Baseline
from charrnn.settings.corpus import CorpusConfig
from charrnn.system import path_of
from tests.program import Program
from tests.runs import BRIEF

# Corpora of every size


@pytest.mark.parametrize("text", ["a", "ab", "aaaa", "a\nb", "\n\nx\n\n", "ab\n" * 3, "é" * 300])
def test_whatever_is_there_trains(program: Program, text: str) -> None:
    Path("tiny.txt").write_text(text)
    ran = program.run("train", "tiny.txt", "--epochs", "2", "--json")
    assert ran.status == 0
    assert ran.json["steps"] >= 2


def test_a_large_corpus_is_counted_in_parts_and_says_so() -> None:
    corpus = from_texts(["abcdefgh"] * 100, CorpusConfig(holdout=0.5))
    whole, part = (Baseline("unigram", 2.0, size, size) for size in (450, 45))
    assert plan_display.part_in_words(whole, corpus) == ""
    assert plan_display.part_in_words(part, corpus).startswith(
        "counted on 10.0% of the training text"
    )


def test_wrong_bytes_are_replaced_if_asked(program: Program) -> None:
    Path("log.txt").write_bytes(b"anna\nb\xffb\nclara\ndora\n")
    assert program.run("train", "log.txt", "--dry-run").status == 1
    ran = program.run("train", "log.txt", "--dry-run", "--json", "--errors", "replace")
    assert ran.json["corpus"]["examples"] + ran.json["corpus"]["held_out_examples"] == 4


# Wrong usage


@pytest.mark.parametrize("option", ["-m", "--metrics"])
@pytest.mark.parametrize("how", ["plainly", "linked", "hard linked", "typed"])
def test_a_corpus_is_never_replaced(program: Program, option: str, how: str) -> None:
    source = file = Path("names.txt")
    before = file.read_bytes()
    if how.endswith("linked"):
        file = Path("other.txt")
        file.hardlink_to(source) if how == "hard linked" else file.symlink_to(source)
    with source.open("rb") as typed:
        corpus = "-" if how == "typed" else source
        line = ("train", corpus, *BRIEF, "--force", option, file)
        ran = program.run(*line, child=True, stdin=typed)
    assert (ran.status, ran.out) == (2, "")
    assert " would " in ran.err
    assert source.read_bytes() == before
    assert file.read_bytes() == before


def test_a_corpus_that_comes_along_is_never_replaced(program: Program, tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(path_of("verses"))  # a link, lest a fault costs us the corpus
    ran = program.run("train", "verses", "--dry-run", "--force", "-m", link)
    assert ran.status == 2
    assert "-m would overwrite" in ran.err


def test_a_run_that_is_too_large_gets_a_hint_that_it_can_follow(
    trained: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "available", lambda: 1 << 20)
    for line, hint in (
        (("names.txt", "-m", "x.npz"), "Try a smaller --hidden, --batch or --bptt."),
        (
            ("names.txt", "-m", "x.npz", "--from", "model.npz"),
            "Try a smaller --batch or --bptt.",
        ),
        (("--resume",), "Resume it on a machine with more memory."),
    ):
        ended = trained.run("train", *line)
        assert "this run needs about" in ended.err.splitlines()[-2]
        assert hint in ended.err.splitlines()[-1]


def test_the_plan_counts_the_cores_that_have_work(program: Program) -> None:
    small = ("--hidden", "3", "--layers", "1", "--cores", "2", "--dry-run")
    assert "a second with 1 core\n" in program.run("train", "names.txt", *small).out

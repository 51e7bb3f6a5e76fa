"""``charrnn train``: corpora of every size, and what cannot be done is refused in time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from charrnn import system
from charrnn.cli import app
from charrnn.cli.train import plan as plan_display
from charrnn.corpus.corpus import from_texts
from charrnn.corpus.files import path_of
from charrnn.counts.baselines import Baseline
from charrnn.settings.using import CorpusConfig
from tests.program import Program
from tests.runs import BRIEF

# Corpora of every size


@pytest.mark.parametrize("text", ["a", "ab", "aaaa", "a\nb", "\n\nx\n\n", "ab\n" * 3, "é" * 300])
def test_whatever_is_there_trains(program: Program, text: str) -> None:
    Path("tiny.txt").write_text(text)
    ran = program.run("train", "tiny.txt", "--epochs", "2", "--json")
    assert ran.status == 0
    assert ran.json["steps"] >= 2


def test_a_network_that_memory_cannot_hold_is_refused(program: Program) -> None:
    ran = program.run("train", "names.txt", "--hidden", "1048576")
    assert ran.status == 1
    assert "GiB of memory" in ran.err


def test_a_large_corpus_is_counted_in_parts_and_says_so() -> None:
    corpus = from_texts(["abcdefgh"] * 100, CorpusConfig(holdout=0.5))
    whole, part = (Baseline("unigram", 2.0, "none", size, size) for size in (450, 45))
    assert plan_display.part_in_words(whole, corpus) == ""
    assert plan_display.part_in_words(part, corpus).startswith(
        "counted on 10.0% of the training text"
    )


def test_wrong_bytes_are_replaced_or_skipped_if_asked(program: Program) -> None:
    Path("log.txt").write_bytes(b"anna\nb\xffb\nclara\ndora\n")
    assert program.run("train", "log.txt", "--dry-run").status == 1
    for errors, examples in (("replace", 4), ("skip", 3)):
        ran = program.run("train", "log.txt", "--dry-run", "--json", "--errors", errors)
        corpus = ran.json["corpus"]
        assert corpus["examples"] + corpus["held_out_examples"] == examples


# Wrong usage


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("--lr 3", "CORPUS is missing"),
        ("x --resume --force", "--resume and --force exclude each other"),
        ("x --valid y --holdout 0.5", "--valid and --holdout exclude each other"),
        ("- --valid -", "standard input can be read only once"),
        ("x -m a.npz --metrics a.npz", "--metrics would overwrite a.npz"),
        ("x --metrics ./x", "--metrics would overwrite x"),
        ("names.txt -m ./names.txt", "-m would overwrite names.txt"),
        ("names.txt -m names.txt --dry-run", "-m would overwrite names.txt"),
        ("x --valid names.txt -m names.txt", "-m would overwrite names.txt"),
        ("names.txt -m names.txt --resume", "-m would overwrite names.txt"),
        ("verses -m verses", "-m would overwrite verses"),
        ("verses --metrics verses", "--metrics would overwrite verses"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(program: Program, line: str, what: str) -> None:
    ran = program.run("train", *line.split())
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == f"charrnn: error: {what}"
    assert os.listdir() == ["names.txt"]


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


def test_train_alone_says_that_a_corpus_is_missing(program: Program) -> None:
    ran = program.run("train")
    assert (ran.status, ran.out) == (2, "")
    what, hint = ran.err.splitlines()
    assert what == "charrnn: error: CORPUS is missing"
    assert hint.startswith("Name a file, - or one of dinosaurs, ")
    assert hint.endswith("see --help.")


def test_every_option_is_tried_somewhere() -> None:
    here = Path(__file__).parent
    tests = [
        *here.glob("test_cli_train*.py"),
        here / "test_lists.py",
        here / "test_folds.py",
        here / "runs.py",
    ]
    text = "".join(file.read_text(encoding="utf-8") for file in tests)
    for parameter in app.load("train").params:
        names = [*parameter.opts, *parameter.secondary_opts]
        long = [name for name in names if name.startswith("--")]
        assert not long or any(f'"{name}"' in text for name in names), names


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("option", "path", "what", "hint"),
    [
        ("--metrics", "no/x", "no/x cannot be written: No such file", "Make the folder first, or"),
        ("--metrics", ".", "cannot be written: Is a directory", "Name another file with --metrics"),
        ("--metrics", "names.txt/x", "cannot be written: Not a directory", "Name another file"),
        ("-m", "no/x.npz", "no/x.npz cannot be saved: ", "Make the folder first, or"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_known_from_a_dry_run(
    program: Program, option: str, path: str, what: str, hint: str, more: tuple[str, ...]
) -> None:
    program.refuses("train", "names.txt", option, path, *more, what=what, hint=hint)


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


def test_the_plan_counts_the_threads_that_have_work(program: Program) -> None:
    small = ("--hidden", "3", "--layers", "1", "--threads", "999", "--dry-run")
    assert "a second with 1 thread\n" in program.run("train", "names.txt", *small).out
    members = program.run("train", "names.txt", *small, "--members", "3").out
    assert "a second with 3 threads\n" in members

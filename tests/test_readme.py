"""The README says what is so."""

import re
import shlex
from pathlib import Path

import pytest

from charrnn.cli.app import COMMANDS, load
from charrnn.cli.plan import WORDS
from charrnn.corpus.bundled import NAMES, path_of

HOME = Path(__file__).parents[1]
README = (HOME / "README.md").read_text(encoding="utf-8")


def test_every_command_is_shown() -> None:
    for command in COMMANDS:
        assert re.search(rf"charrnn {command}\b", README), command


def test_the_python_in_it_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("anna bob clara dora\n" * 3)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert Path("names.npz").exists()


def test_the_lines_in_it_can_be_typed() -> None:
    lines = re.findall(r"^ +(charrnn .*)|`(charrnn [^`]*)`|[|&] (charrnn .*)", README, re.MULTILINE)
    commands = ["".join(found).partition("#")[0].partition(" | ")[0] for found in lines]
    assert len(commands) > 12
    for words in map(shlex.split, commands):
        if words[1] in COMMANDS and words[2:]:  # charrnn train alone shows its help
            load(words[1]).make_context(words[1], words[2:])


def test_the_tour_reads_what_is_there_and_says_how_the_program_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(HOME)
    tour = README[README.index("## A tour") : README.index("## From Python")]
    lines = [line.strip().partition("#")[0] for line in tour.splitlines() if line[:4] == " " * 4]
    assert lines[0] == ". .venv/bin/activate"
    made = {"-", "mine.txt"}  # mine.txt is written on the way
    assert any(line.endswith("> mine.txt") for line in lines)
    for line in lines:
        words = (
            shlex.split(line[line.index("charrnn") :].partition("|")[0])
            if "charrnn" in line
            else []
        )
        if words[1:2] in (["train"], ["eval"]):
            named = load(words[1]).make_context(words[1], words[2:]).params["sources"] or []
            assert all(name in made or Path(path_of(name)).is_file() for name in named), line


def test_every_word_of_the_plan_is_explained() -> None:
    words = README[README.index("### The words") : README.index("## From Python")]
    for word in ("nat", "bit", "Perplexity", "gap", "star", "markov-6"):
        assert f"*{word}*" in words
    ((_, line),) = WORDS
    for word in (
        "nat",
        "bits",
        "perplexity 5 is as if among 5 letters",
        "gap:",
        "* is",
        "markov-6",
    ):
        assert word in line


def test_every_file_that_it_names_is_there() -> None:
    named = re.findall(r"`((?:charrnn|data|tests)/[\w/.-]+)`", README)
    assert named
    for name in named:
        assert (HOME / name).exists(), name


def test_every_corpus_that_comes_along_is_described() -> None:
    described = (HOME / "data" / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"`{name}.txt`" in described
        assert (HOME / "data" / f"{name}.txt").is_file()

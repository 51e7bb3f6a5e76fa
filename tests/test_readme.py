"""The README says what is so."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from charrnn.cli.app import COMMANDS, load
from charrnn.cli.train.plan import terms
from charrnn.corpus.files import NAMES, path_of
from tests.program import Program

HOME = Path(__file__).parents[1]
README = (HOME / "README.md").read_text(encoding="utf-8")


def test_every_command_is_shown() -> None:
    for command in COMMANDS:
        assert re.search(rf"charrnn {command}\b", README), command


def test_the_python_in_it_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("anna bob clara dora\n" * 3)
    (block,) = (block for block in blocks("python") if "torch" not in block)
    exec(compile(block, "README.md", "exec"), {})
    assert Path("names.npz").exists()


def test_its_fourteen_lines_draw_with_torch(
    well_trained: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = (block for block in blocks("python") if "torch" in block)
    assert len([line for line in block.splitlines() if line]) == 14
    pytest.importorskip("torch")
    well_trained.run("export", "names.safetensors").says()
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.endswith("\n")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_its_lines_of_c_draw_what_it_says_that_they_draw(well_trained: Program) -> None:
    (block,) = blocks("c")
    well_trained.write("main.c", block)
    (line,) = re.findall(r"`charrnn (sample [^`]*)` draws, byte for byte", README)
    (compiler,) = re.findall(r"`(cc main.c [^`]*)`", README)
    well_trained.run("export", "names.h").says()
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", "main"]
    subprocess.run([*compiler.split(), *strict], check=True)
    drawn = subprocess.run("./main", capture_output=True, check=True).stdout
    assert drawn == well_trained.run(*line.split()).out_bytes
    assert drawn.count(b"\n") == 10


def blocks(language: str) -> list[str]:
    """The code in it."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


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
    for word in (
        "nat",
        "bits",
        "perplexity 5: a character is as hard to guess as one of 5",
        "gap:",
        "*: the best",
        "markov-6",
    ):
        assert word in " ".join(terms("markov-6", is_held_out=True))


def test_every_file_that_it_names_is_there() -> None:
    named = re.findall(r"`((?:charrnn|data|tests)/[\w/.-]+)`", README)
    assert named
    for name in named:
        assert (HOME / name).exists(), name


def test_every_corpus_that_comes_along_is_described() -> None:
    described = (HOME / "data" / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"`{name}`" in described or f"`{name}.txt`" in described
        assert Path(path_of(name)).parent == HOME / "data"

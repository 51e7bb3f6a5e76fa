"""The README says what is so."""

import re
import shlex
from pathlib import Path

import pytest

from charrnn.cli.app import COMMANDS, load
from charrnn.corpus.bundled import NAMES

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

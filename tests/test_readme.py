"""The README says what is so."""

import re
from pathlib import Path

from charrnn.cli.app import COMMANDS
from charrnn.shipped import NAMES

HOME = Path(__file__).parents[1]
README = (HOME / "README.md").read_text(encoding="utf-8")


def test_every_command_is_shown() -> None:
    for command in COMMANDS:
        assert re.search(rf"charrnn {command}\b", README), command


def test_the_python_in_it_is_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, "README.md", "exec")


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

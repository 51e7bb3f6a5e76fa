"""The Markdown pages of the guide and the README, and the commands in them.

A block of ``console`` has commands behind ``$ ``, each with its output below it; a line of ``...``
stands for any lines. A block of ``python`` is executed. A comment above a block directs the test:

    <!-- small -->            training gets a few units and one epoch
    <!-- output varies -->    the output is not compared
    <!-- status 3 -->         the exit status of each command
    <!-- needs dask -->       left out where this module or program is missing
    <!-- not run: reason -->  left out
    <!-- file names.txt -->   the block, of any language, is the content of this file
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.program import SMALL, Program

HOME = Path(__file__).parents[1]
GUIDE = HOME / "charrnn" / "guide"
PAGES = [HOME / "README.md", *sorted(GUIDE.glob("*.md"))]
BLOCK = re.compile(r"((?:^<!--[^>]*-->\n+)*)^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = set("|><;&$*`~")  # characters that need a shell


@dataclass(frozen=True)
class Block:
    """A block of code, and the directions above it."""

    language: str
    code: str
    directions: tuple[str, ...]

    def direction(self, word: str) -> str | None:
        """Return what follows a word in the directions; None without it."""
        found = [one for one in self.directions if one.split()[0].rstrip(":") == word]
        return found[0].partition(" ")[2] if found else None

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Return the commands of a console, each with the output that the page shows."""
        parts = re.split(r"^\$ ", self.code, flags=re.MULTILINE)
        assert not parts[0].strip(), f"output without a command: {parts[0]}"
        commands = []
        for part in parts[1:]:
            lines = part.split("\n")
            last = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
            commands.append(("\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :])))
        return commands


def blocks_of(page: Path) -> list[Block]:
    return [
        Block(language, code, tuple(re.findall(r"<!-- *(.*?) *-->", directions)))
        for directions, language, code in BLOCK.findall(page.read_text("utf-8"))
    ]


def commands_of(page: Path) -> list[str]:
    """Return the commands of charrnn on a page, in consoles and in running text."""
    text = page.read_text("utf-8")
    consoles = [
        command
        for block in blocks_of(page)
        if block.language == "console"
        for command, _ in block.commands
    ]
    inline = re.findall(r"`(charrnn [^`\n]+)`", re.sub(BLOCK, "", text))
    return [*consoles, *inline]


def run_page(page: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> int:
    """Execute the blocks of a page in order, compare their output, and return their number."""
    names: dict[str, Any] = {}
    done = 0
    monkeypatch.chdir(program.folder)
    for block in blocks_of(page):
        needs = block.direction("needs")
        if block.direction("not") is not None or (needs is not None and not is_here(needs)):
            continue
        if (name := block.direction("file")) is not None:
            program.write(name, block.code)
        elif block.language == "python":
            exec(compile(block.code, page.name, "exec"), names)
        elif block.language == "console":
            for command, shown in block.commands:
                run_command(block, command, shown, program)
        else:
            continue
        done += 1
    return done


def is_here(name: str) -> bool:
    """Return True if this module or program is installed."""
    return shutil.which(name) is not None or find_spec(name) is not None


def run_command(block: Block, command: str, shown: str, program: Program) -> None:
    """Run a command, and compare its exit status and its output."""
    command = command.replace("\\\n", " ")
    words = [] if SHELL & set(command) else shlex.split(command, comments=True)
    if block.direction("small") is not None:
        small = " ".join((*SMALL, "--force"))
        command = re.sub(r"charrnn (train|sweep)\b(?!.*--resume)", rf"charrnn \1 {small}", command)
        if words[1:2] == ["train"] and "--resume" not in words:
            words[2:2] = [*SMALL, "--force"]
    if words[:1] == ["charrnn"] and words[1:2] != ["--version"]:  # the launcher shows that
        result = program.run(*words[1:])
        status, output = result.status, (result.out, result.err + result.out)
    else:
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=program.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        status, output = ran.returncode, (ran.stdout, ran.stderr + ran.stdout)
    assert status == int(block.direction("status") or 0), f"{command}\n{output[1]}"
    if shown.strip() and block.direction("output") is None:
        assert any(matches(shown, text) for text in output), f"{command}\n{output[1]}"


def matches(shown: str, text: str) -> bool:
    """Return True if the text is what a page shows, where a line of ... is any lines."""
    wanted = [line.rstrip() for line in shown.strip().splitlines()]
    pattern = "\n".join(".*" if line.strip() == "..." else re.escape(line) for line in wanted)
    pattern = pattern.replace("\n.*\n", "\n(?:.*\n)*?").replace("\n.*", "(?:\n.*)*")
    pattern = re.sub(r"^\.\*\n", "(?:.*\n)*?", pattern)
    got = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return re.fullmatch(pattern, got) is not None

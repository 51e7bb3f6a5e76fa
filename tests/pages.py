"""The Markdown pages of the guide and the README, and the commands in them.

A block of ``console`` has commands behind ``$ ``, each with its output below it; a line of ``...``
stands for any lines. A block of ``python`` is executed. A comment above a block directs the test:

    <!-- small -->            training gets a few units and one epoch; the output is not compared
    <!-- read X as Y -->      the test runs Y in place of X, and PORT in Y is a free port; likewise
    <!-- background dask -->  commands of this program go on until the page ends
    <!-- output varies -->    the output is not compared
    <!-- status 3 -->         the exit status of each command
    <!-- needs dask -->       left out where this program or module is missing
    <!-- not run: reason -->  left out
    <!-- file names.txt -->   the block, of any language, is the content of this file
"""

import os
import random
import re
import shlex
import shutil
import socket
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.child import HOME, PLAIN, finished, going
from tests.program import SMALL, Program

GUIDE = HOME / "charrnn" / "guide"
PAGES = [HOME / "README.md", *sorted(GUIDE.glob("*.md"))]
BLOCK = re.compile(r"((?:^<!--[^>]*-->\n+)*)^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = set("|><;&$*`~")  # characters that need a shell
SHELL_ENV = {"PATH": os.pathsep.join([os.path.dirname(sys.executable), PLAIN["PATH"]])}


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

    def as_run(self, port: int) -> "Block":
        """Return the block with what the test runs in place of what the page shows."""
        code = self.code
        for shown, run in re.findall(r"^read (.+) as (.+)$", "\n".join(self.directions), re.M):
            assert shown in code, f"the block has no {shown}"
            code = code.replace(shown, run.replace("PORT", str(port)))
        return replace(self, code=code)

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


def run_page(page: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Execute the blocks of a page in order, and compare their output."""
    names: dict[str, Any] = {}
    port = free_port()
    monkeypatch.chdir(program.folder)
    with ExitStack() as background:
        for shown in blocks_of(page):
            needed = shown.direction("needs")
            is_here = needed is None or shutil.which(needed) or find_spec(needed)
            if shown.direction("not") is not None or not is_here:
                continue
            block = shown.as_run(port)
            if (name := block.direction("file")) is not None:
                program.write(name, block.code)
            elif block.language == "python":
                exec(compile(block.code, page.name, "exec"), names)
            elif block.language == "console":
                for command, output in block.commands:
                    run_command(block, command, output, program, background)


def free_port() -> int:
    """Return a port that no program uses, below those that the system gives to any program."""
    for port in random.sample(range(10_000, 32_000), 99):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port is free")


def run_command(block: Block, command: str, shown: str, program: Program, stack: ExitStack) -> None:
    """Run a command, and compare its exit status and its output."""
    command = command.replace("\\\n", " ")
    if block.direction("small") is not None:
        small = " ".join(("train", *SMALL, "--force"))
        command = re.sub(r"(?<=charrnn )train\b(?!.*--resume)", small, command)
    words = shlex.split(command, comments=True)
    if words[:1] == [block.direction("background")]:
        stack.enter_context(going(words, program.folder, SHELL_ENV))
        return
    if words[:1] == ["charrnn"] and not SHELL & set(command):
        is_short = words[1:2] == ["--version"]  # answered before the commands are imported
        ended = program.run(*words[1:], child=is_short)
    else:
        ended = finished(["bash", "-c", command], program.folder, SHELL_ENV, None)
    told = ended.err + ended.out
    assert ended.status == int(block.direction("status") or 0), f"{command}\n{told}"
    if shown.strip() and all(block.direction(one) is None for one in ("small", "read", "output")):
        assert any(matches(shown, text) for text in (ended.out, told)), f"{command}\n{told}"


def matches(shown: str, text: str) -> bool:
    """Return True if the text is what a page shows, where a line of ... is any lines."""
    wanted = [line.rstrip() for line in shown.strip().splitlines()]
    pattern = "\n".join(".*" if line.strip() == "..." else re.escape(line) for line in wanted)
    pattern = pattern.replace("\n.*\n", "\n(?:.*\n)*?").replace("\n.*", "(?:\n.*)*")
    pattern = re.sub(r"^\.\*\n", "(?:.*\n)*?", pattern)
    got = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return re.fullmatch(pattern, got) is not None

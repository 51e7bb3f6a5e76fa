"""What this program did not write is not replaced, whatever the option, unless by force."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from charrnn.cli.ours import may_be_replaced
from tests.program import Program
from tests.runs import BRIEF

NOVEL = "It was a dark and stormy night.\n"


def is_ours(head: bytes) -> bool:
    return head.startswith(b"ours")


@pytest.mark.parametrize(
    ("content", "expected"), [(None, True), ("", True), ("ours, and more", True), (NOVEL, False)]
)
def test_a_file_is_known_by_its_beginning(
    tmp_path: Path, content: str | None, expected: bool
) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_text(content)
    assert may_be_replaced(path, is_ours, force=False) is expected
    assert may_be_replaced(path, is_ours, force=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for ever
    assert may_be_replaced(tmp_path / "pipe", is_ours, force=False)
    assert may_be_replaced(tmp_path, is_ours, force=False)  # who writes there will see


@pytest.mark.parametrize("option", ["-m", "--metrics"])
def test_training_replaces_no_novel(program: Program, option: str) -> None:
    program.write("novel.txt", NOVEL)
    before = program.files()
    ran = program.run("train", "names.txt", *BRIEF, option, "novel.txt")
    assert ran.status == 1
    assert "novel.txt" in ran.err
    assert program.files()[str(program / "novel.txt")] == before[str(program / "novel.txt")]

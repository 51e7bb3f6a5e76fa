"""Processes that serve this one."""

import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from charrnn.system.children import Children


def test_a_folder_of_the_path_may_be_any_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("folder")])
    children = Children()
    children.start("tests.system.test_children:say_ready", ["anything"], 8)
    (pipe,) = children.pipes
    assert pipe.poll(20)
    assert children.ready_pipes() == [pipe]
    children.end()


def say_ready(pipe_file: int, memory_file: int) -> None:
    Connection(pipe_file).send("ready")


def test_no_process_starts_where_python_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", None)  # of a program with Python inside
    with pytest.raises(OSError, match="does not let a process hand its files to another"):
        Children().start("tests.system.test_children:say_ready", ["anything"], 8)

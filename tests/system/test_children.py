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

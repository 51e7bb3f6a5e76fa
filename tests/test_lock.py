"""One run, one file."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Thread

import pytest

from charrnn.errors import ModelBusyError, SaveError
from charrnn.model_file import saving
from charrnn.model_file.saving import locked
from tests.child import HOME, NOTHING, PYTHON, Arg, Child, going

HOLDER = """
import sys
from charrnn.model_file.saving import locked
with locked(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.npz"


@contextmanager
def another_run(path: Path) -> Iterator[Child]:
    line: list[Arg] = [*PYTHON, "-c", HOLDER, path]
    with going(line, HOME, NOTHING, stdin=subprocess.PIPE) as run:
        run.until(lambda: run.out == "locked\n")
        yield run


def is_free(path: Path) -> bool:
    try:
        with locked(path):
            return True
    except ModelBusyError:
        return False


def test_a_second_run_is_refused_and_told_who_is_first(path: Path) -> None:
    with another_run(path) as run:
        with pytest.raises(ModelBusyError, match=r"model\.npz is being written") as caught:
            locked(path).__enter__()
        if os.name != "nt":
            assert f"process {run.process.pid}" in caught.value.what
        assert not is_free(path), "to be refused frees nothing"
        run.process.communicate(b"\n")
    assert is_free(path)


def test_a_killed_run_holds_nothing(path: Path) -> None:
    with another_run(path) as run:
        assert not is_free(path)
        run.send(signal.SIGKILL)
        run.end()
    assert path.with_name(".model.npz.lock").exists()
    assert is_free(path)
    assert list(path.parent.iterdir()) == []


def test_the_same_process_is_refused_too_and_may_come_again(path: Path) -> None:
    for _ in range(3):
        with locked(path):
            assert not is_free(path)
    assert list(path.parent.iterdir()) == []


def test_an_error_inside_lets_go(path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(path):
        raise KeyboardInterrupt
    assert is_free(path)


def test_a_run_may_wait_until_the_other_ends(path: Path) -> None:
    left, inside = Barrier(2), Barrier(2)
    order: list[str] = []

    def hold() -> None:
        with locked(path):
            inside.wait()
            left.wait()
            order.append("first")

    other = Thread(target=hold)
    other.start()
    inside.wait()
    with pytest.raises(ModelBusyError), locked(path, 0.2):
        order.append("too soon")
    left.wait()
    with locked(path, 60):
        order.append("second")
    other.join()
    assert order == ["first", "second"]


def test_other_files_are_free(path: Path) -> None:
    with locked(path):
        assert is_free(path.with_name("other.npz"))


def test_two_names_of_one_model_have_one_lock(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"")
    link = tmp_path / "latest.npz"
    link.symlink_to(path.name)
    with locked(link):
        assert not is_free(path)


@pytest.mark.skipif(os.name == "nt", reason="Windows removes no open file")
def test_a_lock_file_removed_between_opening_and_locking_is_not_mistaken_for_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = saving.take
    removed: list[str] = []

    def take_late(file: int) -> bool:
        if not removed:
            removed.append(".model.npz.lock")
            path.with_name(removed[0]).unlink()
        return take(file)

    monkeypatch.setattr(saving, "take", take_late)
    with locked(path):
        assert path.with_name(".model.npz.lock").exists()
        assert not is_free(path)


def test_of_many_at_once_one_is_inside(path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []
    start = Barrier(8)

    def run() -> None:
        start.wait()
        for _ in range(50):
            try:
                with locked(path):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
            except ModelBusyError:
                pass

    threads = [Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert list(path.parent.iterdir()) == []


def test_a_place_without_locks_can_be_written_to(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(_: int) -> bool:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(saving, "take", unsupported)
    assert is_free(path)


def test_a_place_that_cannot_be_written_to_is_said(path: Path) -> None:
    with pytest.raises(SaveError, match=r"cannot be locked: No such file or directory"):
        locked(path / "missing" / "model.npz").__enter__()


def test_a_link_in_the_place_of_the_lock_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    path.with_name(".model.npz.lock").symlink_to(precious)
    with pytest.raises(SaveError, match="cannot be locked"):
        locked(path).__enter__()
    assert precious.read_text() == "precious"

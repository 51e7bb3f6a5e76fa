"""A file is replaced by a whole new one, or stays as it was."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

from charrnn.errors import SaveError
from charrnn.model_file import saving
from charrnn.model_file.saving import check_writable, replace
from tests.child import HOME, NOTHING, PYTHON, answer, going

posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no such thing")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.npz"
    path.write_bytes(b"old")
    return path


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir())


def failing(fault: BaseException) -> Iterator[bytes]:
    yield b"half of"
    raise fault


# What is replaced, and what is kept


def test_the_new_content_is_there_and_nothing_else(path: Path) -> None:
    replace(path, 7, [b"new", memoryview(b"er"), b"", b"!!"])
    assert path.read_bytes() == b"newer!!"
    assert names(path) == ["model.npz"]


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_the_mode_of_the_old_file_is_kept(path: Path, mode: int) -> None:
    path.chmod(mode)
    replace(path, 3, [b"new"])
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


@posix_only
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        replace(tmp_path / "new.npz", 3, [b"new"])
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new.npz").stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_its_target_is_replaced(path: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "latest.npz"
    link.symlink_to("../model.npz")
    replace(link, 3, [b"new"])
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert names(link) == ["latest.npz"]


def test_a_dangling_link_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "latest.npz"
    link.symlink_to("model.npz")
    replace(link, 3, [b"new"])
    assert link.is_symlink()
    assert (tmp_path / "model.npz").read_bytes() == b"new"


def test_a_name_as_long_and_odd_as_names_may_be(tmp_path: Path) -> None:
    for name in ("-m [b]*\n\x1b[2J.npz", "x" * 220, "\udcff.npz"):
        path = tmp_path / name
        replace(path, 3, [b"old"])
        check_writable(path, 3)
        replace(path, 3, [b"new"])
        assert path.read_bytes() == b"new"
    assert len(names(path)) == 3


# Faults


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    class Full(FileIO):
        def write(self, data: Any) -> int:
            if self.tell():
                raise OSError(number, os.strerror(number))
            return super().write(data)

        def close(self) -> None:
            was_open = not self.closed
            super().close()
            if was_open:
                raise OSError(errno.EBADF, "a close that fails as well")

    monkeypatch.setattr(saving, "FileIO", Full)
    with pytest.raises(SaveError, match=os.strerror(number)) as caught:
        replace(path, 12_345, [b"half of", b"it"])
    assert "12,345 bytes are needed" in caught.value.what
    assert "model.npz" in caught.value.what
    assert caught.value.hint
    assert path.read_bytes() == b"old"
    assert names(path) == ["model.npz"]


@pytest.mark.parametrize(
    "fault", [BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError("odd"), KeyboardInterrupt()]
)
def test_a_fault_of_the_pieces_is_not_called_one_of_the_file(
    path: Path, fault: BaseException
) -> None:
    with pytest.raises(type(fault)) as caught:
        replace(path, 12_345, failing(fault))
    assert caught.value is fault
    assert caught.value.__cause__ is None
    assert path.read_bytes() == b"old"
    assert names(path) == ["model.npz"]


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("fault", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_a_fault_of_any_call_before_the_rename_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str, fault: BaseException
) -> None:
    path.chmod(0o640)  # so that chmod is called

    def fail(*_: object) -> NoReturn:
        raise fault

    monkeypatch.setattr(os, call, fail)
    with pytest.raises((SaveError, KeyboardInterrupt)) as caught:
        replace(path, 3, [b"new"])
    assert isinstance(caught.value, SaveError) == isinstance(fault, OSError)
    assert path.read_bytes() == b"old"
    assert names(path) == ["model.npz"]


@posix_only
def test_a_folder_that_cannot_be_synced_is_told_though_the_file_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def fail_for_folders(file: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    with pytest.raises(SaveError, match="was saved, but may not outlast a power cut"):
        replace(path, 3, [b"new"])
    assert path.read_bytes() == b"new"
    assert names(path) == ["model.npz"]


@posix_only
def test_the_file_is_synced_before_the_rename_and_the_folder_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, rename = os.fsync, os.replace

    def noting_sync(file: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        sync(file)

    def noting_rename(old: str, new: str) -> None:
        assert Path(old).read_bytes() == b"new"
        assert Path(old).parent == path.parent
        steps.append("rename")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(os, "replace", noting_rename)
    replace(path, 3, [b"new"])
    assert steps == ["file", "rename", "folder"]


UNDER_A_LIMIT = """
import resource, sys
from charrnn.model_file import saving
from charrnn.model_file.saving import check_writable, replace
from charrnn.errors import SaveError
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for call in (check_writable, lambda path, size: replace(path, size, [bytes(size)])):
    try:
        call(sys.argv[1], 20_000)
    except SaveError as error:
        print(error.what)
"""


@posix_only
def test_a_limit_on_file_sizes_is_met_before_and_while_saving(path: Path) -> None:
    lines = answer(UNDER_A_LIMIT, path).splitlines()
    assert len(lines) == 2
    assert all("File too large (20,000 bytes are needed)" in line for line in lines)
    assert path.read_bytes() == b"old"
    assert names(path) == ["model.npz"]


def test_places_where_no_file_can_be_are_said(path: Path, tmp_path: Path) -> None:
    for bad, words in (
        (tmp_path, "it is a folder"),
        (tmp_path / "missing" / "model.npz", "there is no folder"),
        (path / "model.npz", "Not a directory"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(SaveError, match=words):
            check_writable(bad, 3)
        with pytest.raises(SaveError, match=words):
            replace(bad, 3, [b"new"])
    assert names(path) == ["model.npz"]


@posix_only
def test_a_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for odd in (fifo, Path("/dev/null")):
        with pytest.raises(SaveError, match="not a regular file"):
            replace(odd, 3, [b"new"])
    assert stat.S_ISFIFO(fifo.stat().st_mode)


# What can be known before


def test_a_file_that_could_be_saved_is_left_as_it_is(path: Path, tmp_path: Path) -> None:
    check_writable(path, 1000)
    check_writable(tmp_path / "new.npz", 1000)
    assert path.read_bytes() == b"old"
    assert names(path) == ["model.npz"]


class Room(NamedTuple):
    total: int
    free: int


def test_too_little_room_is_told_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Room(9999, 100))
    with pytest.raises(SaveError, match=r"only 100 bytes are free \(1,000 bytes are needed\)"):
        check_writable(path, 1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Room(0, 0))
    check_writable(path, 1000)


@posix_only
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may do all")
def test_what_may_not_be_written_is_told_before(path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(SaveError, match="protected against writing"):
        check_writable(path, 3)
    path.chmod(0o644)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(SaveError, match="Permission denied"):
            check_writable(path, 3)
    finally:
        path.parent.chmod(0o755)


# Leftovers

SLOW_WRITER = """
import sys, time
from charrnn.model_file.saving import replace
def pieces():
    yield b"half"
    print("writing", flush=True)
    time.sleep(60)
replace(sys.argv[1], 8, pieces())
"""


@posix_only
def test_leftovers_of_dead_runs_are_swept_and_those_of_living_ones_are_not(path: Path) -> None:
    with going([*PYTHON, "-c", SLOW_WRITER, path], HOME, NOTHING) as writer:
        writer.until(lambda: writer.out == "writing\n")
        replace(path, 3, [b"new"])
        assert len(names(path)) == 2, "the living run still has its file"
        writer.send(signal.SIGKILL)
        writer.end()
    assert len(names(path)) == 2, "a killed run leaves its file behind"
    assert path.read_bytes() == b"new"
    replace(path, 5, [b"newer"])
    assert names(path) == ["model.npz"]


def test_only_our_own_leftovers_of_this_very_file_are_swept(path: Path) -> None:
    ours = path.with_name(".model.npz.4242.0123abcd.tmp")
    others = [
        ".model.npz.4242.0123abcd.tmp.bak",
        ".model.npz.4242.tmp",
        ".model.npz.lock",
        ".other.npz.4242.0123abcd.tmp",
        "model.npz.tmp",
    ]
    for name in (ours.name, *others):
        path.with_name(name).write_bytes(b"")
    check_writable(path, 3)
    assert names(path) == sorted(["model.npz", *others])


STOPPED_WHILE_CLOSING = """
import sys
from charrnn.model_file import saving
class File(saving.FileIO):
    def close(self):
        raise KeyboardInterrupt
saving.FileIO = File
try:
    saving.replace(sys.argv[1], 8, (1 / 0 for _ in "x"))
except KeyboardInterrupt:
    sys.exit(0)
"""


def test_who_is_stopped_while_tidying_up_leaves_nothing(path: Path) -> None:
    answer(STOPPED_WHILE_CLOSING, path)
    assert names(path) == ["model.npz"]

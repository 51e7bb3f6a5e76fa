"""Faults 19, 23, 31, 32, 42 to 45 and 48: a file is whole or not written, locked, and ours."""

import errno
import fcntl
import math
import os
import resource
import stat
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import charrnn
from charrnn import errors
from charrnn.errors import SaveError
from charrnn.files import safe_writing, saves_and_metrics
from charrnn.files.safe_writing import LineFile
from tests.program import SMALL, Program, assert_no_temporary_files

TEXTS = ["anna", "bob", "cleo", "dora", "emil", "fritz"] * 5


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    run = charrnn.train(TEXTS, hidden=5, layers=1, batch=3, bptt=4, epochs=3)
    next(run)
    run.save(tmp_path / "m.npz")
    return tmp_path / "m.npz"


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_save_outlasts_a_power_cut(stored: Path, disk_calls: list[str]) -> None:
    charrnn.resume(stored, TEXTS).save(stored)
    assert disk_calls == ["fsync", "replace", "fsync"]  # the file, its name, the folder


@pytest.mark.parametrize(("before", "after"), [(None, 0o660), (0o600, 0o600), (0o664, 0o664)])
def test_fault_31_nobody_else_reads_a_file(tmp_path: Path, before: int | None, after: int) -> None:
    """It is made for its owner alone: who opens it while it is empty reads on."""
    path, usual = tmp_path / "m.npz", os.umask(0o207)
    if before is not None:
        path.touch()
        path.chmod(before)
    opening = mock.patch.object(os, "open", wraps=os.open)
    try:
        with opening as opened, safe_writing.replaced(path) as file:
            assert opened.call_args.kwargs == {"mode": 0o600}
            file.write(b"a text")
            file.flush()
            [temporary] = tmp_path.glob(".*.tmp")  # stays where the process is killed
            assert stat.S_IMODE(temporary.stat().st_mode) == (before or 0o400)
        with safe_writing.locked(lines := tmp_path / "m.jsonl"):  # whose lock stays then, too
            LineFile(lines).close()
            modes = [stat.S_IMODE(made.stat().st_mode) for made in sorted(tmp_path.iterdir())]
        assert modes == [0o660, 0o660, after]
        assert os.umask(usual) == 0o207
    finally:
        os.umask(usual)


def test_fault_48_names_of_the_package_are_refused(trained: Program) -> None:
    model = charrnn.load("model.npz")
    for write in (model.save, safe_writing.check_writable):
        with pytest.raises(errors.SettingError, match="latin cannot be written"):
            write("latin")


def test_fault_45_a_file_without_the_right_to_write_is_not_replaced(trained: Program) -> None:
    model = charrnn.load("model.npz")
    trained.write("model.html", "")
    for name in ("model.npz", "model.html"):
        (trained / name).chmod(0o444)
    what = "model.npz cannot be saved: it is read-only"
    for line in (("names.txt",), ("names.txt", "--force"), ("--resume", "--epochs", "9")):
        trained.refuses("train", *line, what=what, hint="Name another file.")
    what = "model.html cannot be saved: it is read-only"
    trained.refuses("export", "model.html", "--force", what=what, hint="Name another file.")
    before = trained.files()
    for save in (model.save, model.export):
        with pytest.raises(SaveError, match="it is read-only"):
            save("model.npz", force=True)
        for name in ("a\0.npz", "\ud800.npz"):
            with pytest.raises(SaveError, match="cannot be saved"):
                save(name)
    assert trained.files() == before


@pytest.mark.parametrize("kind", ["link", "nowhere", "pipe", "folder"])
def test_fault_32_a_lock_is_a_regular_file_or_refused(stored: Path, kind: str) -> None:
    lock, other = stored.with_name(".m.npz.lock"), stored.with_name("other")
    if kind == "pipe":
        os.mkfifo(lock)  # to open it would wait for ever
    elif kind == "folder":
        lock.mkdir()
    else:
        lock.symlink_to(other)
    if kind == "link":
        other.write_text("of somebody else")
    with pytest.raises(SaveError, match=r"\.m\.npz\.lock beside it is not a regular file"):
        charrnn.resume(stored, TEXTS).save(stored)
    assert os.path.lexists(lock)
    assert other.exists() == (kind == "link")
    with mock.patch("os.path.lexists", return_value=False), pytest.raises(SaveError) as refused:
        charrnn.resume(stored, TEXTS).save(stored)  # it came a moment later
    assert "not a regular file" not in refused.value.what
    assert other.exists() == (kind == "link")


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_fault_43_without_locks_it_goes_on_with_a_note(program: Program, number: int) -> None:
    sweep = ("--try", "hidden=2", "--layers", "1", "--epochs", "1")
    with mock.patch.object(fcntl, "flock", side_effect=OSError(number, os.strerror(number))):
        for ran in (program.train("names.txt"), program.run("sweep", "names.txt", *sweep)):
            ran.says(f" has no locks ({os.strerror(number)}): let no other run write this file")
        charrnn.load("model.npz").export("model.html")
    assert_no_temporary_files(program)
    assert charrnn.load("model.npz").trained.counters.step


@pytest.mark.parametrize("call", ["open", "fsync"])
def test_fault_42_a_folder_may_not_open_or_sync(stored: Path, monkeypatch: Any, call: str) -> None:
    usual = getattr(os, call)

    def refuse(file: Any, *how: Any, **more: Any) -> Any:
        if os.path.isdir(file):  # root may open it, whatever its mode is
            raise PermissionError(13, "Permission denied")
        return usual(file, *how, **more)

    monkeypatch.setattr(os, call, refuse)
    charrnn.resume(stored, TEXTS).save(stored)
    assert os.listdir(stored.parent) == [stored.name]


@pytest.mark.parametrize("others", [b"", b"0\n"])  # lines of another run, which come meanwhile
def test_faults_19_and_46_a_line_is_written_whole_or_not(tmp_path: Path, others: bytes) -> None:
    lines: Any = LineFile(tmp_path / "rows.jsonl")
    lines.append({"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        lines.append({"a": math.inf})
    write = lines._file.write

    def write_some(data: bytes) -> Any:
        with open(tmp_path / "rows.jsonl", "ab") as file:
            file.write(others)
        return write(data[:3]) if len(data) > 6 else full()

    lines._file = mock.Mock(wraps=lines._file)
    lines._file.write.side_effect = write_some
    with pytest.raises(OSError, match="No space left"):
        lines.append({"b": 2})
    whole = [b'{"a": 1}\n']
    if others:
        assert lines.lines() == [*whole, b"0\n", b'{"b0\n']
        lines._file.write.side_effect = None
        lines.keep(whole, [*whole, b"0\n"])  # the last came since these were read
        whole.append(b'{"b0\n')
    assert lines.lines() == whole
    lines.close()


def test_fault_19_a_limit_on_the_size_of_files_keeps_the_last_good_one(trained: Program) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    before, env = trained.files(), {"PYTHONDONTWRITEBYTECODE": "1"}  # no byte code is cut short
    for line in (("names.txt", "--force", *SMALL), ("--resume", "--epochs", "9")):
        ran = trained.run("train", *line, env=env, preexec_fn=limit)
        assert (ran.status, "cannot be saved: File too large" in ran.err) == (1, True), ran.err
        assert trained.files() == before


def test_fault_19_a_folder_that_is_read_only_is_said_before_training(trained: Program) -> None:
    trained.folder.chmod(0o500)
    try:
        if os.access(trained.folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        line = ("train", "names.txt", "--force", *SMALL)
        trained.refuses(*line, what="cannot be saved: Permission denied", hint="Name another file.")
    finally:
        trained.folder.chmod(0o700)


def test_fault_23_a_removed_lock_keeps_nobody_out(tmp_path: Path, monkeypatch: Any) -> None:
    lock, flock = tmp_path / ".m.npz.lock", fcntl.flock

    def take(file: Any, how: int) -> None:
        lock.unlink()
        lock.touch()  # by the next run
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", take)
    with pytest.raises(errors.SaveError), safe_writing.locked(tmp_path / "m.npz"):
        pass
    assert lock.exists()


@pytest.mark.parametrize("links", [True, False])
def test_an_old_model_is_kept(stored: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", full)
    before, second = stored.read_bytes(), str(stored.parent / "m.2.npz")
    (stored.parent / "m.1.npz").write_text("of somebody else")
    assert saves_and_metrics.keep_old(stored) == second
    assert Path(second).read_bytes() == before == stored.read_bytes()
    assert not links or saves_and_metrics.keep_old(stored) == second  # of a run that was killed
    (stored.parent / "empty").touch()
    assert not any(saves_and_metrics.keep_old(stored.parent / name) for name in ("none", "empty"))


def test_fault_44_no_old_model_is_torn(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_some(source: Any, copy: Any) -> None:
        copy.write(source.read(100))
        full(copy)

    stored.chmod(0o600)
    monkeypatch.setattr(os, "link", full)
    with mock.patch("shutil.copyfileobj", write_some), pytest.raises(SaveError) as failed:
        saves_and_metrics.keep_old(stored)
    assert failed.value.what.endswith("cannot be saved: No space left on device")
    assert failed.value.hint.startswith("Free some room")
    assert os.listdir(stored.parent) == [stored.name]
    old = saves_and_metrics.keep_old(stored)
    assert old == str(stored.parent / "m.1.npz")
    assert stat.S_IMODE(os.stat(old).st_mode) == 0o600


def test_fault_44_a_link_leads_elsewhere(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (stored.parent / "links").mkdir()
    monkeypatch.chdir(stored.parent / "links")
    Path("m.npz").symlink_to(stored)
    Path("m.1.npz").write_text("of somebody else")
    assert saves_and_metrics.keep_old("m.npz") == str(stored.parent / "m.1.npz")
    assert saves_and_metrics.keep_old("../m.npz") == os.path.join("..", "m.1.npz")
    assert Path("../m.1.npz").read_bytes() == stored.read_bytes()

"""Faults 18, 19 and 23: a file is whole or not written, locked, and replaced only if it is ours."""

import fcntl
import os
import resource
import stat
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import charrnn
from charrnn import errors, model_file, saving
from charrnn.errors import SaveError
from charrnn.system import LineFile
from tests.child import NOTHING, PYTHON, going
from tests.program import SMALL, Program

TEXTS = ["anna", "bob", "cleo", "dora", "emil", "fritz"] * 5


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    run = charrnn.train(TEXTS, hidden=5, layers=1, batch=3, bptt=4, epochs=3)
    for _ in range(20):
        next(run)
    run.save(tmp_path / "m.npz")
    return tmp_path / "m.npz"


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for ever
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(SaveError), model_file.locked(path, force=False):
            pass


def test_no_save_from_python_replaces_the_corpus_unless_forced(tmp_path: Path) -> None:
    corpus = tmp_path / "names.txt"
    corpus.write_text("anna\nbob\ncleo\n" * 9)
    run = charrnn.train(corpus, hidden=4, epochs=1, batch=2)
    next(run)
    model = run.model
    for save in (run.save, model.save):
        with pytest.raises(SaveError, match="charrnn has not written it") as refused:
            save(corpus)
        assert refused.value.hint == "Name another file, or add force to replace it."
        assert corpus.read_text().startswith("anna")
    run.save(tmp_path / "names.npz")
    run.save(tmp_path / "names.npz")  # a model may be replaced
    (tmp_path / "link.npz").symlink_to(corpus)
    with pytest.raises(SaveError):
        run.save(tmp_path / "link.npz")
    model.save(corpus, force=True)
    assert charrnn.load(corpus).sample(2, seed=1) == model.sample(2, seed=1)


def full(_: object) -> None:
    raise OSError(28, "No space left on device")


def test_fault_19_a_failed_save_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, run = saved.read_bytes(), charrnn.resume(saved, TEXTS)
    next(run)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(errors.SaveError, match="cannot be saved: No space left") as failed:
        run.save(saved)
    assert failed.value.hint.startswith("Free some room")
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
    with pytest.raises(errors.SaveError, match="it is not a regular file"):
        run.save("/dev/null")


def test_a_save_outlasts_a_power_cut_and_leaves_the_rights_of_the_file(
    saved: Path, disk_calls: list[str]
) -> None:
    saved.chmod(0o640)
    charrnn.resume(saved, TEXTS).save(saved)
    assert disk_calls == ["fsync", "replace", "fsync"]  # the file, its name, the folder
    assert stat.S_IMODE(saved.stat().st_mode) == 0o640


def test_fault_19_a_line_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    lines: Any = LineFile(tmp_path / "rows.jsonl")
    lines.append({"a": 1})
    write = lines._file.write
    lines._file = mock.Mock(wraps=lines._file)
    lines._file.write.side_effect = lambda data: write(data[:3]) if len(data) > 6 else full(data)
    with pytest.raises(OSError, match="No space left"):
        lines.append({"b": 2})
    assert lines.lines() == [b'{"a": 1}\n']
    lines.close()


def test_fault_19_a_limit_on_the_size_of_files_keeps_the_last_good_one(trained: Program) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    before, env = trained.files(), {"PYTHONDONTWRITEBYTECODE": "1"}  # no byte code is cut short
    for line in (("names.txt", "--force", *SMALL), ("--resume", "--epochs", "9")):
        ran = trained.run("train", *line, env=env, preexec_fn=limit)
        assert (ran.status, "cannot be saved: File too large" in ran.err) == (1, True), ran.err
        assert trained.files() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_fault_19_a_folder_that_is_read_only_is_said_before_training(trained: Program) -> None:
    trained.folder.chmod(0o500)
    try:
        line = ("train", "names.txt", "--force", *SMALL)
        trained.refuses(*line, what="cannot be saved: Permission denied", hint="-m")
    finally:
        trained.folder.chmod(0o700)


def test_fault_23_a_lock_keeps_others_out_and_goes_with_its_holder(tmp_path: Path) -> None:
    path, lock = tmp_path / "m.npz", tmp_path / ".m.npz.lock"
    lock.touch()  # of a run that was killed
    with saving.locked(path), pytest.raises(errors.SaveError), saving.locked(path):
        pass
    assert not lock.exists()
    code = "from charrnn.saving import locked\nimport time\nwith locked('m.npz'):\n  print()\n"
    command = [*PYTHON, "-uc", f"{code}  time.sleep(60)"]
    with going(command, tmp_path, NOTHING) as child:  # at its end it is killed
        child.until(lambda: child.out == "\n")
        with pytest.raises(errors.SaveError), saving.locked(path):
            pass
    with saving.locked(path):
        pass


def test_fault_23_a_lock_that_its_holder_removes_meanwhile_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, flock = tmp_path / ".m.npz.lock", fcntl.flock

    def take(file: Any, how: int) -> None:
        lock.unlink()
        lock.touch()  # by the next run
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", take)
    with pytest.raises(errors.SaveError), saving.locked(tmp_path / "m.npz"):
        pass
    assert lock.exists()


@pytest.mark.parametrize("links", [True, False])
def test_an_old_model_gets_the_next_free_name(
    saved: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:

        def refuse(*_: object) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "link", refuse)
    before = saved.read_bytes()
    (saved.parent / "m.1.npz").write_text("of somebody else")
    assert saving.keep_old(saved) == str(saved.parent / "m.2.npz")
    assert (saved.parent / "m.2.npz").read_bytes() == before == saved.read_bytes()
    if links:
        assert saving.keep_old(saved) == str(saved.parent / "m.2.npz")  # of a run that was killed
    assert saving.keep_old(saved.parent / "other.npz") is None

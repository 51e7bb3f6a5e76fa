"""Fault 20: disks that are full, broken or read-only, and limits on the size of files."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from charrnn.model_file import checkpoint
from tests.faults.limits import limited, unprivileged
from tests.faults.long_run import is_tidy, lines_of
from tests.faults.tracing import needs_strace, strace
from tests.program import SMALL, Program

ROOM = "Free some room, or name a file elsewhere with -m."
ELSEWHERE = "Name a file elsewhere with -m."


@pytest.fixture
def disk(trained: Program) -> Iterator[Path]:
    """A disk of 64 KB with the model on it."""
    path = trained / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", os.fspath(path)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        shutil.copy(trained / "model.npz", path)
        yield path
    finally:
        subprocess.run(["umount", "-l", os.fspath(path)], check=True)


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """Let this process write no file beyond this size: the kernel writes a part, then refuses."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def fill(disk: Path) -> None:
    """Leave no room on it."""
    with open(disk / "filler", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def test_20_a_full_disk_is_known_before_training_starts(trained: Program, disk: Path) -> None:
    fill(disk)
    model = os.fspath(disk / "model.npz")
    for line in (
        ("train", "names.txt", "--force", "-m", model),
        ("train", "--resume", "--epochs", "9", "-m", model),
        ("train", "names.txt", "-m", os.fspath(disk / "new.npz")),
    ):
        ended = trained.refuses(*line, what="only 0 bytes are free (4,096 bytes", hint=ROOM)
        assert "corpus" not in ended.err


def test_20_a_disk_with_too_little_room_for_this_model_is_known_before(
    trained: Program, disk: Path
) -> None:
    (disk / "filler").write_bytes(bytes(30_000))
    model = os.fspath(disk / "model.npz")
    before = trained.files()
    ended = trained.run("train", "names.txt", "--force", "--hidden", "30", "-m", model)
    assert ended.status == 1
    assert "bytes are free (" in ended.err.splitlines()[-2]
    assert ended.err.endswith(f"{ROOM}\n")
    assert trained.files() == before


def test_20_a_disk_that_fills_up_while_it_trains_keeps_the_last_good_file(
    trained: Program, disk: Path
) -> None:
    path = disk / "model.npz"
    old = path.read_bytes()
    line = ("train", "names.txt", *SMALL, "--epochs", "20000", "--check-every", "1000")
    with trained.going(*line, "--force", "-m", path, "--metrics", "metrics.jsonl") as child:
        child.until(lambda: path.read_bytes() != old)
        fill(disk)
        steps = lines_of(trained)
        child.until(lambda: lines_of(trained) > steps + 50)  # there is more to save by now
        before = path.read_bytes()
        child.send(signal.SIGINT)
        ended = child.end()
    assert ended.status == 1
    assert "Traceback" not in ended.err
    what, hint = ended.err.splitlines()[-2:]
    assert what.startswith("charrnn: error: ")
    assert "cannot be saved: No space left on device (" in what
    assert what.endswith(" bytes are needed)")
    step = checkpoint.load(path).state.step
    assert hint.endswith(f"{ROOM} {path} holds the run at step {step:,}.")
    assert path.read_bytes() == before
    assert sorted(os.listdir(disk)) == ["filler", "model.npz"]


def test_20_metrics_that_find_no_room_are_said_and_the_model_stays(
    trained: Program, disk: Path
) -> None:
    before = (trained / "model.npz").read_bytes()
    line = ("train", "--resume", "--epochs", "100000", "--metrics", disk / "metrics.jsonl")
    ended = trained.run(*line)
    assert ended.status == 1
    assert "Traceback" not in ended.err
    what, hint = ended.err.splitlines()[-2:]
    assert what.endswith("metrics.jsonl cannot be written: No space left on device")
    assert hint.startswith("Free some room, or name another file with --metrics. model.npz")
    assert len((trained / "model.npz").read_bytes()) >= len(before)
    checkpoint.load(trained / "model.npz")
    is_tidy(trained)


@pytest.mark.parametrize(
    ("line", "hint"),
    {
        ("slim", "disk/x.npz"): "name another file.",
        ("export", "disk/x.html"): "name another file.",
        ("export", "disk/x.onnx"): "name another file.",
        ("embed", "-o", "disk/x.npy"): "name another file with --output.",
        ("info", "--plot", "disk/x.svg"): "name another file with --plot.",
        ("train", "names.txt", "-m", "disk/x.npz"): "name a file elsewhere with -m.",
        ("train", "--resume", "--epochs", "9", "--metrics", "disk/x"): (
            "name another file with --metrics."
        ),
        ("sweep", "names.txt", *SMALL, "--seeds", "1", "-o", "disk"): "name another folder.",
    }.items(),
    ids=lambda value: " ".join(value[:3]) if isinstance(value, tuple) else "",
)
def test_54_a_full_disk_is_told_in_the_words_of_each_command(
    trained: Program, disk: Path, line: tuple[str, ...], hint: str
) -> None:
    fill(disk)
    ended = trained.run(*line)
    what = next(text for text in ended.err.splitlines() if text.startswith("charrnn: error: "))
    assert "disk" in what
    assert "No space left on device" in what or "only 0 bytes are free" in what
    assert f"Free some room, or {hint}" in ended.err.splitlines()[-1]
    assert not any(path.stat().st_size for path in disk.glob("*x*"))


def test_51_a_line_of_metrics_that_finds_no_room_is_taken_back(trained: Program) -> None:
    line = ("train", "names.txt", *SMALL, "--epochs", "9999", "--force", "--metrics", "x")
    with file_limit(20_000):
        ended = trained.run(*line)
    assert ended.err.splitlines()[-2] == "charrnn: error: x cannot be written: File too large"
    content = (trained / "x").read_bytes()
    assert 19_000 < len(content) < 20_000
    assert content.endswith(b"}\n")


def test_20_a_limit_on_file_sizes_is_known_before(trained: Program) -> None:
    before = trained.files()
    line = ("train", "names.txt", "--force", "--hidden", "40")
    ended = trained.run(*line, preexec_fn=limited(FSIZE=10_000))
    assert ended.status == 1
    what, hint = ended.err.splitlines()[-2:]
    assert what.startswith("charrnn: error: model.npz cannot be saved: File too large (")
    assert hint.startswith("Raise the limit on file sizes (ulimit -f)")
    assert trained.files() == before


@needs_strace
@pytest.mark.parametrize("fault", ["fsync:error=EIO", "rename:error=EIO"])
def test_20_a_disk_that_fails_while_it_saves_keeps_the_last_good_file(
    trained: Program, fault: str
) -> None:
    before = trained.files()
    line = ("train", "names.txt", *SMALL, "--force", "-q")
    ended = trained.run(*line, by=strace(fault))
    assert ended.status == 1
    assert "Traceback" not in ended.err
    what, hint = ended.err.splitlines()[-2:]
    assert what.startswith("charrnn: error: model.npz cannot be saved: Input/output error")
    assert hint.endswith(" model.npz is unchanged.")
    assert trained.files() == before


@needs_strace
def test_20_a_disk_that_fails_once_is_told_and_training_goes_on(trained: Program) -> None:
    line = ("train", "names.txt", *SMALL, "--epochs", "9", "--force")
    ended = trained.run(*line, by=strace("fsync:error=EIO:when=1"))
    what = "charrnn: warning: model.npz cannot be saved: Input/output error"
    ended.says(what, "; training continues", "next:")
    assert checkpoint.load(trained / "model.npz").state.epoch == 9
    is_tidy(trained)


@needs_strace
def test_20_a_folder_that_cannot_be_synced_is_told(trained: Program) -> None:
    ended = trained.run(
        *("train", "names.txt", *SMALL, "--force"), by=strace("fsync:error=EIO:when=2")
    )
    assert "was saved, but may not outlast a power cut: Input/output error" in ended.err
    assert "Traceback" not in ended.err
    checkpoint.load(trained / "model.npz")
    is_tidy(trained)


def test_20_a_folder_that_may_not_be_written_to_is_known_before(trained: Program) -> None:
    trained.folder.chmod(0o555)
    try:
        for line in (("train", "names.txt", "--force"), ("train", "--resume", "--epochs", "9")):
            what = "model.npz cannot be saved: Permission denied"
            trained.refuses(*line, what=what, hint=ELSEWHERE, preexec_fn=unprivileged)
        trained.run("sample", preexec_fn=unprivileged).says()
        trained.run("eval", preexec_fn=unprivileged).says()
    finally:
        trained.folder.chmod(0o755)


def test_20_a_model_that_is_protected_is_not_replaced(trained: Program) -> None:
    (trained / "model.npz").chmod(0o444)
    what = "model.npz cannot be saved: the file is protected against writing"
    line = ("train", "names.txt", "--force")
    trained.refuses(*line, what=what, hint=ELSEWHERE, preexec_fn=unprivileged)


def test_20_a_disk_mounted_to_be_read_is_known_before(trained: Program, disk: Path) -> None:
    remount = ["mount", "-o", "remount,ro", os.fspath(disk)]
    subprocess.run(remount, check=True)
    line = ("train", "names.txt", "--force", "-m", disk / "model.npz")
    what = "model.npz cannot be saved: "
    trained.refuses(*line, what=what, hint=ELSEWHERE)
    trained.run("sample", "-m", disk / "model.npz").says()

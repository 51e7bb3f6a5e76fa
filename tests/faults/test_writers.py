"""Fault 56: two writers of one file, and links that appear or change between check and write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import charrnn
from charrnn.json_lines import LineFile
from charrnn.model_file import saving
from charrnn.model_file.saving import locked, replace
from tests.program import Program

BUSY = "is being written by another run"


def write(path: Path, content: bytes = b"new") -> None:
    replace(path, len(content), [content])


def test_56_a_link_that_changes_while_it_is_locked_leads_to_no_other_file(tmp_path: Path) -> None:
    first, second, link = (tmp_path / name for name in ("first", "second", "link"))
    first.write_bytes(b"old")
    second.write_bytes(b"another run")
    link.symlink_to(first)
    with locked(link):
        link.unlink()
        link.symlink_to(second)
        write(link)
    assert (first.read_bytes(), second.read_bytes()) == (b"new", b"another run")
    write(link)
    assert second.read_bytes() == b"new", "it leads there once it is free"


def test_56_a_file_that_becomes_a_link_while_it_is_locked_is_a_file_again(tmp_path: Path) -> None:
    path, other = tmp_path / "model.npz", tmp_path / "other"
    other.write_bytes(b"mine")
    with locked(path):
        path.symlink_to(other)
        write(path)
    assert (path.is_symlink(), path.read_bytes(), other.read_bytes()) == (False, b"new", b"mine")


def test_56_a_folder_that_is_moved_while_a_file_in_it_is_locked_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with locked("model.npz"):
        (tmp_path / "here").rename(tmp_path / "there")
        write(Path("model.npz"))
    assert (tmp_path / "there" / "model.npz").read_bytes() == b"new"


APPEARANCES: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda path, mine: path.symlink_to(mine),
    "a file": lambda path, mine: path.write_bytes(b"mine"),
}


@pytest.mark.parametrize("what", APPEARANCES)
@pytest.mark.parametrize(
    "line",
    [("embed", "names.txt", "-o", "out.npy"), ("export", "out.npy", "--to", "html")],
    ids=lambda line: line[0],
)
def test_56_what_appears_at_an_output_path_during_the_work_is_not_replaced(
    trained: Program, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...], what: str
) -> None:
    mine, out = trained.write("mine", "mine"), trained / "out.npy"
    check = saving.check_writable

    def appear(path: Path, size: int) -> None:
        check(path, size)
        APPEARANCES[what](out, mine)

    monkeypatch.setattr(saving, "check_writable", appear)
    ended = trained.run(*line)
    assert ended.status == 1
    assert "out.npy already exists\nName another file" in ended.err
    assert (mine.read_bytes(), out.read_bytes()) == (b"mine", b"mine")


def test_56_no_output_takes_the_place_of_a_model_in_training(trained: Program) -> None:
    trained.write("copy.npz", (trained / "model.npz").read_bytes())
    with locked(trained / "model.npz"), locked(trained / "model.npy"):
        for line, hint in (
            (("export", "model.npz", "--to", "html", "--force"), "or name another file."),
            (("embed", "names.txt", "-o", "model.npy", "--force"), "another file with --output."),
            (("slim", "model.npz", "--force"), "or name another file."),
        ):
            trained.refuses(*line, "-m", "copy.npz", what=BUSY, hint=hint)
    with locked(trained / "page.html"), pytest.raises(charrnn.CharrnnError, match=BUSY):
        charrnn.load(trained / "copy.npz").export(trained / "page.html")


def test_56_two_runs_never_write_the_same_metrics(trained: Program) -> None:
    line = ("train", "--resume", "--epochs", "2", "--metrics", "metrics.jsonl")
    file = LineFile.at(trained / "metrics.jsonl")
    assert file.lock()
    trained.refuses(*line, what=f"metrics.jsonl {BUSY}", hint="name another file with --metrics.")
    file.close()
    trained.run(*line).says("next:")

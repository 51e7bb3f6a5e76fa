"""Faults 39 to 45: folders that vanish or give nothing back, hints that fit, limits in words."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import UserList
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import charrnn
from charrnn import plan
from charrnn.cli.train import prepare
from charrnn.cli.train.summary import texts_again
from charrnn.corpus.files import is_stream
from charrnn.errors import CorpusError, ResumeError
from charrnn.model_file import checkpoint
from charrnn.settings.training import Fitted, ending
from tests.faults.limits import unprivileged
from tests.faults.long_run import lines_of
from tests.faults.test_signals import ENDLESS, WRITTEN
from tests.program import SMALL, Program
from tests.rows import seldom

LINE = ("train", "names.txt", *SMALL)
OFTEN = ("--check-every", "1")


@pytest.mark.child(True)
def test_39_a_folder_that_vanishes_is_told_truly_also_with_quiet(program: Program) -> None:
    folder = program / "folder"
    folder.mkdir()
    code = (
        "from charrnn.model_file import checkpoint as c; c.OFTEN = c.SELDOM = 0;"
        "c.COSTLY = 0; from charrnn.__main__ import run; run()"
    )
    by = [*program.command[:-2], "-c", code]
    line = (*ENDLESS, "-q", "-m", folder / "model.npz", *WRITTEN)
    with program.going(*line, by=by) as child:
        child.until_saved("folder/model.npz")
        lines = lines_of(program)
        child.until(lambda: lines_of(program) > lines + 300)  # its first save is complete
        while folder.exists():  # it may save meanwhile
            shutil.rmtree(folder, ignore_errors=True)
        child.until(lambda: "; training continues\n" in child.err)
        child.send(signal.SIGINT)
        ended = child.end()
    assert ended.status == 1
    assert "there is no folder" in ended.err
    assert "; training continues\n" in ended.err
    assert ended.err.endswith(" but no longer exists.\n")
    assert " holds the run " not in ended.err


def unable_to_own() -> None:
    """For preexec_fn: root is nobody special to files and folders of others."""
    unprivileged()
    if os.geteuid() == 0:
        import ctypes

        assert ctypes.CDLL(None).prctl(24, 3, 0, 0, 0) == 0  # CAP_FOWNER


@pytest.mark.child(True)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_40_a_sticky_folder_with_a_model_of_somebody_else_is_known_before(trained: Program) -> None:
    shared = trained / "shared"
    shared.mkdir()
    shutil.copy(trained / "model.npz", shared)
    os.chown(shared / "model.npz", 12345, 12345)
    (shared / "model.npz").chmod(0o666)
    os.chown(shared, 12346, 12346)
    shared.chmod(0o1777)
    line = (*LINE, "--force", "-m", shared / "model.npz")
    what = "model.npz cannot be saved: Operation not permitted"
    hint = "Name a file elsewhere with -m."
    ended = trained.refuses(*line, what=what, hint=hint, preexec_fn=unable_to_own)
    assert "corpus" not in ended.err


@pytest.fixture
def append_only(trained: Program) -> Iterator[Path]:
    folder = trained / "ever-growing"
    folder.mkdir()
    mark = ["chattr", "+a", os.fspath(folder)]
    if shutil.which("chattr") is None or subprocess.run(mark, check=False).returncode:
        pytest.skip("no folder here can be told to keep all")
    try:
        yield folder
    finally:
        subprocess.run(["chattr", "-a", os.fspath(folder)], check=True)


@pytest.mark.child(True)
def test_40_a_folder_that_gives_nothing_back_is_known_before(
    trained: Program, append_only: Path
) -> None:
    ended = trained.run(*LINE, "-m", append_only / "model.npz")
    assert ended.status == 1
    assert "model.npz cannot be saved: Operation not permitted" in ended.err
    assert "corpus" not in ended.err


def test_41_a_link_that_leads_to_itself_is_called_one(trained: Program) -> None:
    (trained / "loop").symlink_to("loop")
    trained.refuses("train", "loop", "--force", what="loop is a link that leads", hint="Fix the")
    for line in (("info", "-m", "loop"), (*LINE, "-m", "loop")):
        trained.refuses(*line, what="loop cannot be ", hint="Fix the link, which leads to itself")


def test_41_memory_that_the_corpus_takes_is_not_sought_in_the_network() -> None:
    with pytest.raises(CorpusError) as error:
        plan.check_memory(10 << 30, 8 << 30, for_text=7 << 30)
    assert "the corpus alone needs 7.0 GiB" in error.value.what
    assert "part of it" in error.value.hint
    with pytest.raises(CorpusError) as error:
        plan.check_memory(10 << 30, 8 << 30, for_text=1 << 30)
    assert "smaller hidden" in error.value.hint


@pytest.mark.parametrize(
    ("corpus", "line"),
    [
        (("-",), "charrnn train - --resume --epochs 2 < CORPUS"),
        seldom(("names.txt", "--valid", "-"), "names.txt --valid - --resume --epochs 2 < FILE"),
        seldom(("/dev/fd/0",), "charrnn train CORPUS --resume --epochs 2"),
        (("names.txt", "--valid", "/dev/stdin"), "names.txt --valid FILE --resume --epochs 2"),
    ],
)
@pytest.mark.child(True)
def test_41_how_to_go_on_names_what_has_to_be_given_again(
    program: Program, corpus: tuple[str, ...], line: str
) -> None:
    ended = program.run("train", *corpus, *SMALL, stdin=b"anna\nbob\nclara\n" * 9)
    ended.says(line)


@pytest.mark.child(True)
def test_41_a_pipe_of_the_shell_is_known_as_standard_input(program: Program) -> None:
    fed = b"anna\nbob\nclara\n" * 9
    program.run("train", "/dev/fd/0", *SMALL, stdin=fed).says("next:")
    record = charrnn.load(program / "model.npz").corpus
    assert (record.sources, record.places) == (("-",), ("",))
    with pytest.raises(ResumeError, match="was trained on standard input"):
        charrnn.resume(program / "model.npz")
    program.refuses(
        *("eval", "--held-out"), what="the model was trained on standard input", hint="Name a text"
    )
    program.run("train", "/dev/fd/0", "--resume", "--epochs", "2", stdin=fed).says("next:")


def test_41_two_pipes_are_both_to_be_given_again() -> None:
    assert texts_again(["-"], ["a.txt"]) == ["-", "--valid", "a.txt"]
    assert texts_again(["-", "a.txt"], ["-"]) == ["CORPUS", "a.txt", "--valid", "FILE"]


def test_41_files_are_found_again_by_themselves() -> None:
    assert not is_stream("names.txt")
    assert is_stream("/dev/fd/63")


def test_44_patience_does_not_walk_the_history(trained: Program) -> None:
    class Counted(UserList[dict[str, float]]):
        looks = 0

        def __getitem__(self, at: Any) -> Any:
            self.looks += 1
            return super().__getitem__(at)

        def __iter__(self) -> Iterator[dict[str, float]]:
            raise AssertionError("it walks")

    config: Fitted = checkpoint.load(trained / "model.npz").config
    patient = Fitted(**(vars(config) | {"patience": 10, "epochs": 10**9}))
    history = Counted([{"step": 3.0 * number} for number in range(1, 100_001)])
    assert ending(patient, 1, 0.0, 3 * 99_991, history) is None
    assert ending(patient, 1, 0.0, 3 * 99_990, history) == "patience"
    assert history.looks < 60


def test_44_a_history_that_no_file_holds_is_known_when_a_run_is_resumed(
    trained: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "MOST_CHECKUPS", 10)
    what = "check-ups are too many; a model file holds 10"
    line = ("train", "--resume", "--epochs", "100000", "--dry-run")
    trained.refuses(*line, what=what, hint="Train for a shorter time.", status=2)


def test_45_an_example_that_is_too_long_for_bptt_0_is_told_in_those_words(program: Program) -> None:
    program.write("long", "ab" * (1 << 19) + "\nanna\n")
    program.refuses(
        *("train", "long", *SMALL, "--bptt", "0", "--holdout", "0"),
        what="--bptt 0 means the longest example, which has 1,048,577 symbols",
        hint="It may be a whole number up to 1048576.",
        status=2,
    )

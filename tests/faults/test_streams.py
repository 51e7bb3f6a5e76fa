"""Fault 22: readers who leave, streams that are closed, and those that take nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from charrnn import model_file as checkpoint
from tests.child import CHARRNN, PATIENCE
from tests.networks import independent, saved
from tests.program import SMALL, Program, is_tidy, seldom

pytestmark = pytest.mark.child(True)

TAKES_NOTHING = "charrnn: error: No space left on device"
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
ENDLESS = ("sample", "-n", "1000000000", "--max-chars", "1000000000")


@pytest.mark.parametrize(
    "line",
    [
        ENDLESS,
        seldom((*ENDLESS, "--json")),
        seldom((*ENDLESS, "--temp", "100", "--top-k", "2")),
        seldom(("sample", "-m", "endless.npz", "--max-chars", "1000000000000")),
        ("sample", "-n", "1000000000", "--unique"),
        seldom(("eval", "long.txt", "--per-char")),
        ("eval", "long.txt", "--per-example"),
    ],
    ids=" ".join,
)
def test_22_a_reader_who_leaves_ends_it_at_once_and_quietly(
    trained: Program, line: tuple[str, ...]
) -> None:
    trained.write("long.txt", (trained / "names.txt").read_bytes() * 10_000)
    saved(independent({"a": 1.0}), trained / "endless.npz")
    with trained.going(*line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        process = child.process
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.wait(PATIENCE) == 141
        said = process.stderr.read()
    assert b"rror" not in said
    assert line[0] != "sample" or said == b""


LINES = [("sample",), seldom(("sample", "--json")), ("eval", "names.txt", "-q"), ("info",)]


@full
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_22_a_stdout_that_takes_nothing_is_said(trained: Program, line: tuple[str, ...]) -> None:
    before = (trained / "model.npz").read_bytes()
    with open("/dev/full", "wb") as nowhere, trained.going(*line, stdout=nowhere) as child:
        ended = child.end()
    assert (ended.status, ended.err.splitlines()[-1]) == (1, TAKES_NOTHING)
    assert (trained / "model.npz").read_bytes() == before


@full
def test_22_a_run_whose_table_cannot_be_written_is_saved_all_the_same(program: Program) -> None:
    with (
        open("/dev/full", "wb") as nowhere,
        program.going("train", "names.txt", *SMALL, stdout=nowhere) as child,
    ):
        ended = child.end()
    assert ended.status == 1
    assert TAKES_NOTHING in ended.err
    assert checkpoint.load(program / "model.npz").state.epoch == 1
    is_tidy(program)


def closed(*streams: int) -> list[str]:
    """The program, begun with these streams closed."""
    closing = " ".join(f"{number}>&-" for number in streams)
    return ["/bin/sh", "-c", f'exec "$0" "$@" {closing}', *CHARRNN]


@full
def test_22_a_stderr_that_takes_nothing_changes_nothing(program: Program) -> None:
    line = ("train", "names.txt", *SMALL)
    program.run(*line, "-m", "heard.npz").says()
    assert program.run(*line, "-m", "closed.npz", by=closed(2)).status == 0
    with (
        open("/dev/full", "wb") as nowhere,
        program.going(*line, "-m", "full.npz", stderr=nowhere) as child,
    ):
        assert child.end().status == 0
    heard = (program / "heard.npz").read_bytes()
    assert (program / "closed.npz").read_bytes() == (program / "full.npz").read_bytes() == heard
    is_tidy(program)


def test_22_with_all_three_closed_no_file_takes_their_place(trained: Program) -> None:
    ended = trained.run("train", "names.txt", "--force", *SMALL, by=closed(0, 1, 2))
    assert (ended.status, ended.err, ended.out) == (0, "", "")
    checkpoint.load(trained / "model.npz")


def test_22_a_stdin_that_is_closed_is_empty(trained: Program) -> None:
    what, hint = "standard input is empty", "A corpus needs at least one visible character."
    trained.refuses("train", "-", "--force", what=what, hint=hint, by=closed(0))

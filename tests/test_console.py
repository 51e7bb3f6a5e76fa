"""What is written where: to stdout results, to stderr the rest, and nothing that steers."""

from __future__ import annotations

import io
import json
import math
from contextlib import redirect_stdout

import pytest

from charrnn.cli.console import Console
from charrnn.text import Raw, Visible, joined, visible
from tests.program import Program

Capture = pytest.CaptureFixture[str]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_results_go_to_stdout_and_the_rest_to_stderr(capsys: Capture) -> None:
    console = Console()
    console.result("a result\n")
    console.note("a note")
    console.warn("a warning")
    console.error("an error", "a hint")
    out, err = capsys.readouterr()
    assert out == "a result\n"
    assert err == "a note\ncharrnn: warning: a warning\ncharrnn: error: an error\na hint\n"


def test_in_quiet_only_results_and_errors_are_left(capsys: Capture) -> None:
    console = Console(quiet=True)
    console.result("a result\n")
    console.note("a note")
    console.warn("a warning")
    console.say(Visible("a line"))
    console.error("an error")
    assert capsys.readouterr() == ("a result\n", "charrnn: error: an error\n")


def test_a_result_is_as_it_is_but_on_a_terminal() -> None:
    for stream, seen in ((io.StringIO(), "\x1b[2J"), (Terminal(), r"\x1b[2J")):
        with redirect_stdout(stream):
            Console().result("\x1b[2J")
        assert stream.getvalue() == seen


def test_raw_text_is_as_it_is_on_a_terminal_too() -> None:
    with redirect_stdout(stream := Terminal()):
        Console().out.write(Raw("\x1b[2J"))
    assert stream.getvalue() == "\x1b[2J"


def test_notes_and_errors_steer_nothing(capsys: Capture) -> None:
    Console().note("one\x1b[2J\ntwo")
    Console().error("\x1b[2J", "\r")
    assert capsys.readouterr().err == "one\\x1b[2J\\ntwo\ncharrnn: error: \\x1b[2J\n\\r\n"


def test_a_pipe_to_a_narrow_terminal_gets_lines_that_fit(trained_once: Program) -> None:
    shown = {}
    for columns in (48, 200):
        by = ["sh", "-c", '"$@" | cat', "sh", *trained_once.command]
        shown[columns] = trained_once.terminal("info", by=by, columns=columns)[1].splitlines()
    facts = [line for line in shown[48] if line.isascii()]
    assert max(map(len, facts)) < 48
    assert trained_once.run("info").out.splitlines() == shown[200] != shown[48]


def test_json_has_no_number_that_is_none(capsys: Capture) -> None:
    Console().json("test", {"loss": math.inf, "curve": [math.nan, 1.5]})
    whole = json.loads(capsys.readouterr().out)
    assert whole == {"schema": "charrnn.test/2", "loss": None, "curve": [None, 1.5]}


def test_joined_pieces_stay_visible() -> None:
    assert joined([visible("a\x1b"), Visible("b")], "-") == r"a\x1b-b"


def test_a_run_that_the_clock_ends_has_no_number_of_epochs(program: Program) -> None:
    small = ("--hidden", "4", "--layers", "1", "-q", "--preview", "0", "--force")
    for limit, epochs in ((("--minutes", "0.001"), None), (("--epochs", "2"), 2)):
        assert program.run("train", "names.txt", *small, *limit).status == 0
        assert program.run("info", "--json").json["settings"]["epochs"] == epochs

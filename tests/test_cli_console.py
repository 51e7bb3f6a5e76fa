"""What goes to stdout and stderr: exact bytes, visible characters, colours, closed streams."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.child import CHARRNN, Result
from tests.program import Program
from tests.shout import SHOUT

posix = pytest.mark.skipif(os.name == "nt", reason="signals, shells and terminals of POSIX")
full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
SEEN_FIRST = "going to shout hey\ncharrnn: warning: this is [red]loud[/red]\n"


def in_a_shell(shout: Program, line: str) -> Result:
    """Run a line of shell, in which $SHOUT and $CHARRNN are the programs."""
    programs = {"SHOUT": " ".join(SHOUT), "CHARRNN": " ".join(CHARRNN)}
    return shout.run("-c", line, by=["/bin/sh"], env=programs)


@full_device
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "line",
    [
        "$CHARRNN --version >/dev/full",
        "$CHARRNN --help >/dev/full",
        "$SHOUT shout hey -q >/dev/full",
    ],
)
def test_a_stdout_that_takes_nothing_is_told(shout: Program, line: str, unbuffered: str) -> None:
    done = in_a_shell(shout, f"PYTHONUNBUFFERED={unbuffered} {line}")
    assert (done.status, done.err) == (1, "charrnn: error: No space left on device\n")


@posix
def test_a_file_never_takes_the_place_of_a_closed_stream(shout: Program, tmp_path: Path) -> None:
    line = f"""
import sys
from charrnn.cli import console as streams
streams.prepare()
with open({str(tmp_path / "model")!r}, "w") as model:
    print(model.fileno())
"""
    done = in_a_shell(shout, f"'{sys.executable}' -c '{line.replace(chr(39), chr(34))}' <&- 2>&-")
    assert int(done.out) > 2


@posix
@pytest.mark.parametrize("line", ["$CHARRNN --help", "$CHARRNN --version"])
def test_a_reader_who_leaves_ends_it_quietly(shout: Program, line: str) -> None:
    done = in_a_shell(shout, f"{{ {line}; echo $? >&2; }} | head -c 10 >/dev/null")
    # Rich ends with 1 if head leaves while it writes; a page may have been written before.
    assert done.err in ("141\n", "1\n", "0\n")


@pytest.mark.parametrize(
    "locale",
    [
        {},
        {"LANG": "C", "LC_ALL": "C"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict"},
        {"TERM": "dumb", "COLUMNS": "1"},
    ],
)
def test_a_pipe_gets_exact_bytes_whatever_the_locale(
    shout: Program, locale: dict[str, str]
) -> None:
    word = "Zoë\x1b[31m[/b]:smile:\r\u202eさ"
    done = shout.run("shout", word.encode(), env=locale)
    assert done.out_bytes == word.encode() + b"\n"
    assert "\x1b" not in done.err
    assert "Traceback" not in done.err


def test_a_byte_that_is_not_utf_8_is_replaced_in_a_result_and_shown_in_a_message(
    shout: Program,
) -> None:
    done = shout.run("shout", b"a\xff")
    assert done.out_bytes == "a\ufffd\n".encode()
    assert done.err.startswith("going to shout a\\udcff\n")


@posix
def test_a_terminal_sees_control_characters_and_does_not_obey_them(shout: Program) -> None:
    status, seen = shout.terminal("shout", "-q", "a\x1b[31m\u202e[/b]\n\tb")
    assert (status, seen) == (0, "a\\x1b[31m\\u202e[/b]\n\tb\n")


@posix
def test_raw_leaves_them_as_they_are(shout: Program) -> None:
    assert shout.terminal("shout", "-q", "--raw", "a\x1b[31m")[1] == "a\x1b[31m\n"


@posix
def test_errors_are_red_on_a_terminal_that_has_colours(shout: Program) -> None:
    seen = shout.terminal("shout", "hey", "-q", "--fault", "corpus")
    assert seen == (1, "\x1b[31mcharrnn: error: \\udcff.txt is empty\x1b[0m\n")
    for without in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        assert "\x1b" not in shout.terminal("shout", "hey", "--fault", "corpus", env=without)[1]


@posix
def test_a_log_gets_plain_lines_and_a_terminal_a_bar(shout: Program) -> None:
    log = shout.run("shout", "hey", "--act", "bar").err
    assert log == SEEN_FIRST + "half way\n"
    seen = shout.terminal("shout", "hey", "--act", "bar")[1]
    assert "100%" in seen
    assert "half way\n" in seen
    assert "\r" not in shout.terminal("shout", "hey", "--act", "bar", env={"TERM": "dumb"})[1]


def test_quiet_leaves_only_errors(shout: Program) -> None:
    assert shout.run("shout", "hey", "-q", "--act", "bar").err == ""
    done = shout.run("shout", "hey", "--quiet", "--fault", "setting")
    assert done.err == "charrnn: error: lr is 0\nTake one above 0.\n"


def test_json_has_a_schema_stays_on_its_line_and_knows_no_nan(shout: Program) -> None:
    word = 'two\nlines "\x1b[31m\x7f\u2028\u202e さ'
    done = shout.run("shout", word.encode(), b"\xff", "--json")
    first, second = done.out.splitlines()
    assert json.loads(first) == {
        "schema": "charrnn.shout/2",
        "words": [word, "\udcff"],
        "model": "model.npz",
    }
    assert json.loads(second) == {
        "schema": "charrnn.shout/2",
        "loss": None,
        "curve": [None, 1.5],
    }
    assert first.isprintable()

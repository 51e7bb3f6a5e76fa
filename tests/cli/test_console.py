"""Faults 21, 24, 27 and 28: what goes to stdout and stderr, and what a terminal obeys."""

import io
import json
import math
import os
import re
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import charrnn
from charrnn.cli.console import Console, clock
from charrnn.system.visible import Visible
from tests.child import CHARRNN, PATIENCE
from tests.networks import END, independent, saved
from tests.program import SMALL, Program, assert_no_temporary_files, assert_refusal, seldom

Capture = pytest.CaptureFixture[str]
ESCAPES = re.compile(r"\x1b\[[0-9;]*[mK]|\x1b\[A")  # colours, and what a progress bar moves by


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.quick
@pytest.mark.parametrize("quiet", [False, True])
def test_results_go_to_stdout_and_the_rest_to_stderr(capsys: Capture, quiet: bool) -> None:
    console = Console(quiet=quiet)
    console.result("a result\x1b[2J\n")
    console.note("one\x1b[2J\ntwo")
    console.say(Visible("a line"))
    console.warn("a warning")
    console.error("\x1b[2J", "\r")
    notes = "one\\x1b[2J\\ntwo\na line\n"
    errors = "charrnn: warning: a warning\ncharrnn: error: \\x1b[2J\n\\r\n"
    assert capsys.readouterr() == ("a result\x1b[2J\n", errors if quiet else notes + errors)
    with redirect_stdout(stream := Terminal()):  # which gets visible text, unless it is raw
        Console().result("\x1b[2J")
        Console().out.write(Visible("\x1b[2J"))
    assert stream.getvalue() == "\\x1b[2J\x1b[2J"


def test_it_is_said_that_the_keyboard_is_read(capsys: Capture, monkeypatch: Any) -> None:
    for stdin, said in ((io.StringIO(), ""), (Terminal(), "waiting for text from the keyboard")):
        monkeypatch.setattr("sys.stdin", stdin)
        Console().note_if_waiting(["a", "-"])
        assert capsys.readouterr().err.partition(";")[0] == said


@pytest.mark.quick
def test_json_is_one_line_of_printable_text_without_nan(capsys: Capture) -> None:
    word = 'two\nlines "\x1b[31m\x7f\u2028\u202e さ\udcff'
    Console().json("test", {"loss": math.inf, "curve": [math.nan, 1.5], "word": word})
    line = capsys.readouterr().out
    fields = {"loss": None, "curve": [None, 1.5], "word": word}
    assert json.loads(line) == {"schema": "charrnn.test/3", **fields}
    assert line[:-1].isprintable()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((0, "0.1 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.5, "1:00 min")),
        *((185, "3:05 min"), (3599.4, "59:59 min"), (3599.6, "1:00 h"), (3_603_780, "1,001:03 h")),
    ],
)
def test_a_duration_has_two_or_three_digits(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@pytest.mark.quick
@pytest.mark.parametrize(
    ("env", "code"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "48;2;"),
        ({"TERM": "xterm-256color"}, "48;5;"),
        ({"TERM": "xterm"}, "97;4"),
    ],
)
def test_each_terminal_gets_the_colours_it_has(program: Program, env: Any, code: str) -> None:
    saved(independent({"a": 0.9, "b": 2**-6, END: 0.08}), program / "model.npz")
    program.write("text", "ab\x1b[31m[b]\n")
    _, seen = program.terminal("eval", "text", "--per-char", by=CHARRNN, env=env)
    assert code in seen
    assert seen.startswith("a\x1b[")
    assert "ab\\x1b[31m[b]" in ESCAPES.sub("", seen)


@pytest.mark.quick
def test_errors_are_red_on_a_terminal_that_has_colours(program: Program) -> None:
    line = ("info", "-m", "\x1b[31m")
    status, seen = program.terminal(*line)
    assert status == 1
    assert seen.startswith("\x1b[31mcharrnn: error: there is no model \\x1b[31m")
    assert program.terminal("--version")[1].splitlines() == [f"charrnn {charrnn.__version__}"]
    for without in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        assert "\x1b" not in program.terminal(*line, env=without)[1]


@pytest.mark.parametrize(
    ("columns", "window", "width"),
    [("1", 1, 20), ("20", 20, 20), ("22", 22, 21), ("101", 101, 100), ("1000", 1000, 100)]
    + [(odd, 80, 79) for odd in ("-1", "0", "1001", "many")],
)
def test_text_is_20_to_100_wide(monkeypatch: Any, columns: str, window: int, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert (Console().out.window, Console().out.width) == (window, width)


def test_a_bar_fits_a_window_that_shrinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(stream := Terminal()):
        bar = Console().bar(total=9)
        monkeypatch.setenv("COLUMNS", "40")
        bar.refresh()
    assert len(stream.getvalue().split("\r")[-1].rstrip()) == 39


# 21: readers that leave, streams that are full or closed

ENDLESS = ("sample", "-n", "1000000000", "--max-chars", "1000000000")
FULL = "charrnn: error: No space left on device"
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@pytest.mark.parametrize(
    "line",
    [
        ENDLESS,
        seldom((*ENDLESS, "--json")),
        seldom(("sample", "-m", "endless.npz", "--max-chars", "1000000000000")),
        ("sample", "-n", "1000000000", "--unique"),
        seldom(("eval", "long.txt", "--per-char")),
        ("eval", "long.txt", "--per-example"),
    ],
    ids=" ".join,
)
def test_fault_21_a_reader_who_leaves_ends_it(trained: Program, line: tuple[str, ...]) -> None:
    trained.write("long.txt", (trained / "names.txt").read_bytes() * 200)
    saved(independent({"a": 1.0}), trained / "endless.npz")
    with trained.going(*line, stdout=subprocess.PIPE) as child:
        assert child.process.stdout is not None
        assert child.process.stdout.read(10)
        child.process.stdout.close()
        assert child.process.wait(PATIENCE) == 141
        assert "rror" not in child.err


@pytest.mark.parametrize("line", ["", "train --help"])
def test_fault_21_help_that_nobody_reads_ends_as_other_output(program: Program, line: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        ended = program.run(*line.split(), stdout=nobody)
    assert (ended.status, ended.err) == (141, "")


@full
@pytest.mark.parametrize(
    "line",
    ["--version", "--help", "sample -q", seldom("eval names.txt -q"), seldom("info"), "train"],
)
def test_fault_21_a_stdout_that_takes_nothing_is_said(trained: Program, line: str) -> None:
    more = ("names.txt", *SMALL, "-m", "new.npz") if line == "train" else ()
    with open("/dev/full", "wb") as nowhere:
        ended = trained.run(*line.split(), *more, stdout=nowhere)
    assert (ended.status, ended.err.splitlines()[-1]) == (1, FULL)
    if line == "train":  # it is saved all the same
        assert charrnn.load(trained / "new.npz").trained.best is not None
    assert_no_temporary_files(trained)


@pytest.mark.parametrize("line", ["eval - --per-example -q", "fill - --json -q"])
def test_each_line_is_answered_as_soon_as_it_is_there(trained: Program, line: str) -> None:
    with trained.going(*line.split(), stdin=subprocess.PIPE) as child:
        for count in (1, 2, 3):
            child.type(b"an_a\n")
            child.until(lambda count=count: child.out.count("\n") == count)  # type: ignore[misc]


def test_closed_streams_lead_nowhere(trained: Program) -> None:
    by = ["/bin/sh", "-c", 'exec "$0" "$@" 0>&- 1>&- 2>&-', *CHARRNN]
    assert trained.run("train", "names.txt", "--force", *SMALL, by=by).status == 0
    assert charrnn.load(trained / "model.npz").trained.best is not None


# 24: surroundings that change no result

SURROUNDINGS = {  # a variable without a value is not there
    "ascii, and no UTF-8 mode": "TERM= COLUMNS=0 LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0",
    "a locale that is not there": "LANG=xx.UTF-8 LC_ALL=xx.UTF-8 COLUMNS=1",
    "nothing at all": "PATH= HOME= LANG= TERM= USER= SHELL= PWD=",
    "too much": "FORCE_COLOR=1 CLICOLOR_FORCE=1 GITHUB_ACTIONS=true PYTHONOPTIMIZE=2 "
    "PYTHONHASHSEED=7 PYTHONUNBUFFERED=1 OMP_NUM_THREADS=3 OPENBLAS_NUM_THREADS=3",
}
DAILY = ("ascii, and no UTF-8 mode", "too much")
DUMB = {"TERM": "dumb", "PYTHONIOENCODING": "ascii", "COLUMNS": "x", "LC_ALL": "C", "HOME": None}
TEXT = "Zoë\nJosé\nбоб\n愛\n\x1b[31m[/b]:smile:\n" * 9


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What comes out in surroundings as they should be."""
    return results(Program(tmp_path_factory.mktemp("usual")), "")


def results(program: Program, variables: str) -> list[object]:
    """Train, sample and eval on a text that is not all ASCII."""
    program.write("text", TEXT)
    pairs = (pair.split("=") for pair in variables.split())
    env, found = {name: value or None for name, value in pairs}, list[object]()
    for line in (
        ("train", "text", *SMALL, "--epochs", "3"),
        ("sample", "-n", "5", "--seed", "1", "--prime", "Zoë"),
        ("eval", "text", "--per-example"),
    ):
        found += [program.run(*line, env=env).says().out_bytes] * (line[0] != "train")
    return [*found, (program / "model.npz").read_bytes()]


@pytest.mark.child
@pytest.mark.parametrize("name", [name if name in DAILY else seldom(name) for name in SURROUNDINGS])
def test_fault_24_poor_surroundings(program: Program, name: str, expected: list[object]) -> None:
    assert results(program, SURROUNDINGS[name]) == expected


def test_fault_24_nor_does_a_dumb_terminal(program: Program, expected: list[object]) -> None:
    program.write("text", TEXT)
    line = ("train", "text", *SMALL, "--epochs", "3")
    status, seen = program.terminal(*line, columns=1, env=DUMB)
    assert (status, "Traceback" in seen) == (0, False), seen
    assert (program / "model.npz").read_bytes() == expected[-1]


def test_fault_24_a_folder_that_is_gone_matters_only_to_what_is_in_it(trained: Program) -> None:
    gone, model = trained / "gone", trained / "model.npz"
    script = f'mkdir -p "{gone}" && cd "{gone}" && rmdir "{gone}" && exec "$0" "$@"'
    by = ["/bin/sh", "-c", script, *CHARRNN]
    trained.run("sample", "-m", model, by=by, env=DUMB).says()
    assert_refusal(trained.run("eval", "names.txt", by=by), "model.npz", "Train one, ")


# 27 and 28: text that would steer a terminal, and text that looks like markup

CONTROLS = "\x07\x08\x1b\x7f\x85\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029"
LOG = (
    "\x1b[2J\x1b]0;title\x07ok\tdone\n\x1b]8;;http://x\x1b\\link\x9b31mred\x08\x08\x7f\n"
    "\u202eabc\u2066d\u2069\u061c\u200e\u200f\u202a\n\u2028\u2029\x85end\n"
) * 5
MARKUP = "[/b] [red]x[/red] :smile: [link=http://x]y[/link] \\[b] [/] {0} %s"
LINES: dict[str, tuple[str, ...]] = {
    "sample": ("sample", "-n", "40", "--seed", "1"),
    "prime": ("sample", "--prime", LOG, "--max-chars", "9"),
    "info": ("info",),
    "fill": ("fill", "a\x1b[2J\u202e_"),
    "eval": ("eval", "log", "--baselines"),
    "per character": ("eval", "log", "--per-char"),
    "per example": ("eval", "log", "--per-example"),
    "train": ("train", "log", *SMALL, "--epochs", "5", "--check-every", "2", "-m", "new.npz"),
}


def steers(text: str) -> set[str]:
    """Return what of it a terminal would obey, or take for the end of a line."""
    return set(text) & set(CONTROLS)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The program in a folder with a terminal log and a model of it: do not change it."""
    made = Program(tmp_path_factory.mktemp("logs"))
    made.write("log", LOG)
    made.run("train", "log", *SMALL, "--holdout", "0.3").says()
    return made


@pytest.mark.parametrize("name", LINES)
def test_fault_27_nothing_steers_a_terminal(logs: Program, name: str) -> None:
    for columns in (300, 40) if name == "train" else (300,):
        status, seen = logs.terminal(*LINES[name], columns=columns)
        assert status == 0, seen
        assert not steers(ESCAPES.sub("", seen)), seen
        assert r"\x1b" in seen or name in ("info", "eval")
    piped = logs.run(*LINES[name]).says()
    assert not steers(piped.err)
    assert bool(steers(piped.out)) == (name in ("sample", "prime", "per example", "fill"))


def test_fault_27_a_pipe_gets_the_exact_characters_and_json_means_them(logs: Program) -> None:
    drawn = logs.run(*LINES["sample"]).out
    assert {"\x1b", "\x07", "\x9b", "\u202e"} <= steers(drawn)
    found = {name: logs.run(*LINES[name], "--json") for name in ("sample", "per character", "info")}
    assert not any(steers(ran.out) for ran in found.values())
    assert "".join(row["text"] + "\n" for row in found["sample"].rows) == drawn
    read = [row for row in found["per character"].rows if "character" in row]
    assert "".join(row["character"] or "\n" for row in read) == LOG
    assert set(found["info"].json["vocabulary"]) >= steers(LOG)


@pytest.mark.quick
def test_fault_28_markup_comes_out_as_it_is(program: Program) -> None:
    program.write("text", f"{MARKUP}\n" * 40)
    train = ("train", "text", *SMALL, "--epochs", "2", "--preview", "3", "--force")
    program.run(*train).says("next ")
    prime = ("sample", "--prime", MARKUP, "--max-chars", "1")
    for line, count in ((prime, 1), (("eval", "text", "--per-example"), 40)):
        status, seen = program.terminal(*line, columns=200)
        assert (status, seen.count(MARKUP)) == (0, count)
        assert program.run(*line).out.count(MARKUP) == count
    assert program.terminal(*train, columns=200)[0] == 0
    name = "[b]bold[-b]:smile:"
    program.write(name, "anna\nbob\n" * 9)
    again = ("train", name, *SMALL, "-m", f"{name}.npz")
    assert f"{name}.npz" in program.run(*again).says(f"corpus     {name}   16 lines").out
    what = f"there is no model [/b]{name}"
    program.refuses("info", "-m", f"[/b]{name}", what=what, hint="Train one, or")

"""What every command has in common: help, exit statuses, streams, colour, signals, start-up."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from charrnn import __version__
from charrnn.cli import app, faults, threads
from tests import shout

HOME = Path(__file__).parent.parent
PLAIN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("PYTHON", "CHARRNN", "LC_", "NO_COLOR", "FORCE_COLOR", "COLUMNS"))
} | {"PYTHONPATH": str(HOME), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
PYTHON = [sys.executable, "-W", "error"]
CHARRNN = [*PYTHON, "-m", "charrnn"]
SHOUT = [*PYTHON, "-m", "tests.shout"]
SEEN_FIRST = "going to shout hey\ncharrnn: warning: this is [red]loud[/red]\n"
HINT = "Try 'charrnn shout --help'.\n"

Environment = dict[str, str]
NOTHING: Environment = {}
Done = subprocess.CompletedProcess[bytes]
posix = pytest.mark.skipif(os.name == "nt", reason="signals, shells and terminals of POSIX")
full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


def run(*args: str | bytes, program: list[str] = SHOUT, env: Environment = NOTHING) -> Done:
    """Run it as a user does, with no stream a terminal."""
    return subprocess.run(
        [*program, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=PLAIN | env,
        timeout=30,
        check=False,
    )


def in_a_shell(line: str) -> Done:
    """Run a line of shell, in which $SHOUT and $CHARRNN are the programs."""
    programs = {"SHOUT": " ".join(SHOUT), "CHARRNN": " ".join(CHARRNN)}
    return run("-c", line, program=["/bin/sh"], env=programs)


def in_a_terminal(*args: str, env: Environment = NOTHING) -> tuple[int, str]:
    """Run it with all three streams on a pseudo-terminal: the status, and what was seen there."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen(
        [*SHOUT, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=PLAIN | env
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 65536):
                seen += block
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(ours)
    return process.returncode, seen.decode("utf-8").replace("\r\n", "\n")


@pytest.fixture(autouse=True)
def shout_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(app.COMMANDS, "shout", shout.ENTRY)


def status_of(*args: str) -> int:
    """Run a command line in this process."""
    with pytest.raises(SystemExit) as end, faults.told():
        app.main(args)
    assert isinstance(end.value.code, int)
    return end.value.code


# Start-up


@pytest.mark.parametrize(
    ("line", "unwanted"),
    [
        ("-m charrnn --version", {"numpy", "tqdm", "rich", "typer", "importlib.metadata"}),
        ("-m charrnn --help", {"numpy", "tqdm", "pydantic", "charrnn.cli.options"}),
        ("-m charrnn nonsense", {"numpy", "tqdm", "charrnn.cli.options"}),
        ("-m charrnn info nowhere.npz", {"tqdm", "pydantic"}),
        ("-m charrnn train nowhere.txt --hidden 3 --lr 0.1", {"pydantic"}),
        ("-m tests.shout shout --help", {"numpy", "tqdm", "pydantic"}),
    ],
)
def test_what_is_not_needed_is_not_imported(line: str, unwanted: set[str]) -> None:
    timed = run("-X", "importtime", *line.split(), program=PYTHON).stderr.decode()
    imported = {row.rpartition("|")[2].strip() for row in timed.splitlines()}
    assert "charrnn.cli.faults" in imported
    assert not unwanted & imported


def test_start_up_takes_few_times_an_empty_python() -> None:
    lines = {"nothing": ["-c", "pass"], "version": ["--version"], "help": ["--help"]}
    seconds: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(7):
        for name, args in lines.items():
            start = time.perf_counter()
            run(*args, program=PYTHON if name == "nothing" else CHARRNN)
            seconds[name].append(time.perf_counter() - start)
    median = {name: statistics.median(measured) for name, measured in seconds.items()}
    assert median["version"] < 8 * median["nothing"]
    assert median["help"] < 15 * median["nothing"]


# Help, version, completion


@pytest.mark.parametrize("args", [["--version"], ["--version", "nonsense"]])
def test_the_version_is_told(args: list[str]) -> None:
    done = run(*args, program=CHARRNN)
    assert (done.returncode, done.stdout.decode()) == (0, f"charrnn {__version__}\n")


def test_the_version_is_that_of_the_package() -> None:
    assert f'version = "{__version__}"' in (HOME / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("command", [[], ["shout"]])
def test_help_goes_to_stdout_under_both_names(command: list[str]) -> None:
    short = run(*command, "-h")
    long = run(*command, "--help")
    assert short.stdout == long.stdout
    assert short.stdout.startswith(b"Usage: charrnn")
    assert (short.returncode, long.returncode, long.stderr) == (0, 0, b"")


@pytest.mark.parametrize("command", [[], ["shout"]])
def test_where_all_is_missing_there_is_help(command: list[str]) -> None:
    done = run(*command)
    assert done.stdout == run(*command, "--help").stdout
    assert (done.returncode, done.stderr) == (2, b"")


def test_help_of_the_program_has_a_line_for_each_command() -> None:
    page = run("--help").stdout.decode()
    for name, entry in app.COMMANDS.items():
        assert [name, entry.line] in [row.split(maxsplit=1) for row in page.splitlines()]


def test_help_has_panels_defaults_and_examples_word_for_word() -> None:
    page = run("shout", "--help").stdout.decode()
    for heading in ("Loudness:", "Output:", "Corpus:", "Options:", "Examples:"):
        assert heading in page.splitlines()
    assert "-t, --temp NUMBER   How loud. [default: 1]" in page
    assert "[default: model.npz] [env: CHARRNN_MODEL]" in page
    for line in shout.EXAMPLES.strip().splitlines():
        assert f"  {line}".rstrip() in page.splitlines()


@pytest.mark.parametrize("columns", [1, 20, 40, 80])
def test_help_fits_the_window(columns: int) -> None:
    done = run("--help", env={"COLUMNS": str(columns)})
    assert done.returncode == 0
    text = done.stdout.decode().partition("Examples:")[0]
    assert max(map(len, text.splitlines())) <= max(columns, 30)


def test_markup_in_help_is_text() -> None:
    assert b"[b]bold[/b], and :smile:" in run("shout", "--help").stdout


@posix
def test_help_is_coloured_on_a_terminal_only() -> None:
    assert "\x1b[" in in_a_terminal("--help")[1]
    assert "\x1b" not in in_a_terminal("--help", env={"NO_COLOR": "1"})[1]
    assert "\x1b" not in in_a_terminal("--help", env={"TERM": "dumb"})[1]
    forced = {"FORCE_COLOR": "1", "GITHUB_ACTIONS": "true"}
    assert b"\x1b" not in run("--help", env=forced).stdout


def test_the_shell_completes_commands_options_and_names() -> None:
    def completed(words: str) -> list[str]:
        place = str(len(words.split(" ")) - 1)
        asked = {"COMP_WORDS": words, "COMP_CWORD": place, "_CHARRNN_COMPLETE": "complete_bash"}
        done = run(env=asked)
        assert done.returncode == 0
        return done.stdout.decode().split()

    assert completed("charrnn sh") == ["shout"]
    assert completed("charrnn shout --te") == ["--temp"]
    assert completed("charrnn shout --examples p") == ["paragraphs"]


def test_the_script_for_completion_is_shown() -> None:
    done = run(
        "--show-completion", "bash", env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    )
    assert done.returncode == 0
    assert b"_CHARRNN_COMPLETE=complete_bash" in done.stdout


@pytest.mark.parametrize(
    "name", [name for name in app.COMMANDS if find_spec(app.COMMANDS[name].where.split(":")[0])]
)
def test_each_command_has_its_line_its_help_and_examples_that_can_be_typed(name: str) -> None:
    command = app.load(name)
    assert (command.help or "").startswith(app.COMMANDS[name].line)
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"
    lines = [line for line in (command.epilog or "").splitlines() if line.startswith("charrnn ")]
    assert f"charrnn {name}" in "\n".join(lines)
    for line in lines:
        words = line.partition("|")[0].partition(">")[0].split()
        app.load(words[1]).make_context(words[1], words[2:])


# Wrong usage


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("shuot", "no such command: shuot", "Did you mean shout? Try 'charrnn --help'.\n"),
        ("zzz", "no such command: zzz", "Try 'charrnn --help'.\n"),
        ("--vrsion", "no such option: --vrsion", "Did you mean --version? Try 'charrnn --help'.\n"),
        ("shout hey --tmp 1", "no such option: --tmp", f"Did you mean --temp? {HINT}"),
        ("shout hey -z", "no such option: -z", HINT),
        ("shout --seed 1", "WORD is missing", HINT),
        ("shout hey --temp", "option '--temp' requires an argument", HINT),
        ("shout hey --json=1", "option '--json' does not take a value", HINT),
        ("shout hey --examples line", None, HINT),
        ("shout hey -m", "option '-m' requires an argument", HINT),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(
    line: str, what: str | None, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    what = what or "--examples: 'line' is not one of auto, lines, paragraphs, files"
    assert status_of(*line.split()) == 2
    assert capsys.readouterr() == ("", f"charrnn: error: {what}\n{hint}")


@pytest.mark.parametrize(
    ("option", "allowed", "refused"),
    [
        (
            "--temp",
            "a number from 0.01 to 100",
            ["-1", "0", "nan", "inf", "-inf", "1e-300", "1e300", "", "hot", "0x1", "9" * 400],
        ),
        ("--share", "a number above 0 up to 1", ["0", "1.5", "-0.0", "nan"]),
        (
            "--seed",
            "a whole number from 0 to 18446744073709551615",
            ["-1", "18446744073709551616", "1.5", "", "9" * 5000],
        ),
        ("--threads", "a whole number from 1 to 1024", ["0", "1025", "nan"]),
    ],
)
def test_a_value_out_of_range_is_told_with_the_range(
    option: str, allowed: str, refused: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for value in refused:
        assert status_of("shout", "hey", option, value) == 2
        shown = repr(value) if len(value) < 40 else f"'{value[:45]}...'"
        error = f"charrnn: error: {option}: {shown} is not {allowed}\n{HINT}"
        assert capsys.readouterr() == ("", error)


@pytest.mark.parametrize(
    ("option", "value", "read"),
    [
        ("--temp", "0.01", 0.01),
        ("--temp", "1e2", 100.0),
        ("--share", "1", 1.0),
        ("--seed", "0", 0),
        ("--seed", str(2**64 - 1), 2**64 - 1),
        ("--examples", "lines", "lines"),
    ],
)
def test_a_value_in_range_arrives(
    option: str, value: str, read: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of("shout", "hey", "--json", option, value) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first[option.lstrip("-")] == read


def test_the_model_is_named_by_option_by_environment_or_by_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(*args: str) -> Any:
        assert status_of("shout", "hey", "--json", *args) == 0
        return json.loads(capsys.readouterr().out.splitlines()[0])["model"]

    assert model() == "model.npz"
    monkeypatch.setenv("CHARRNN_MODEL", "other.npz")
    assert model() == "other.npz"
    assert model("-m", "third.npz") == "third.npz"


# Faults


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        ("known", 1, "charrnn: error: it is \\x1b[31mbroken\\nin two\nMend it.\n"),
        ("corpus", 1, "charrnn: error: \\udcff.txt is empty\n"),
        ("setting", 2, "charrnn: error: lr is 0\nTake one above 0.\n"),
        (
            "memory",
            1,
            "charrnn: error: not enough memory: 8 GB\n"
            "Ask for less: a smaller network, a smaller batch, a shorter horizon.\n",
        ),
        ("gone", 1, "charrnn: error: nowhere: No such file or directory\n"),
        ("disk", 1, "charrnn: error: No space left on device\n"),
        ("interrupt", 130, ""),
        ("exit", 7, ""),
    ],
)
def test_a_fault_is_told_and_has_its_status(
    fault: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of("shout", "hey", "--fault", fault) == status
    assert capsys.readouterr() == ("", SEEN_FIRST + said)


def test_a_traceback_is_shown_to_who_asks_for_it() -> None:
    assert b"Traceback" not in run("shout", "hey", "--fault", "known").stderr
    shown = run("shout", "hey", "--fault", "known", env={"CHARRNN_DEBUG": "1"})
    assert b"Traceback" in shown.stderr
    assert shown.stderr.endswith(b"Mend it.\n")
    assert shown.returncode == 1


@pytest.mark.parametrize(("fault", "error"), [("bug", b"ValueError"), ("recursion", b"Recursion")])
def test_a_bug_keeps_its_traceback(fault: str, error: bytes) -> None:
    done = run("shout", "hey", "--fault", fault)
    assert b"Traceback" in done.stderr
    assert error in done.stderr
    assert done.returncode == 1


@full_device
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "line",
    [
        "$CHARRNN --version >/dev/full",
        "$CHARRNN --help >/dev/full",
        "$SHOUT shout hey -q >/dev/full",
        "$SHOUT shout hey -q --json >/dev/full",
        "$CHARRNN --version >&-",
        "$SHOUT shout hey -q >&-",
    ],
)
def test_a_stdout_that_takes_nothing_is_told(line: str, unbuffered: str) -> None:
    done = in_a_shell(f"PYTHONUNBUFFERED={unbuffered} {line}")
    closed = "&-" in line
    what = "standard output is closed" if closed else "cannot write to standard output: No space"
    assert done.stderr.decode().startswith(f"charrnn: error: {what}")
    assert len(done.stderr.splitlines()) == 2
    assert done.returncode == 1


@full_device
@pytest.mark.parametrize("target", ["/dev/full", "&-"])
def test_a_stderr_that_takes_nothing_is_no_reason_to_stop(target: str) -> None:
    done = in_a_shell(f"$SHOUT shout hey --act bar 2>{target}")
    assert (done.returncode, done.stdout) == (0, b"hey\n")


@posix
def test_a_file_never_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    line = f"""
import sys
from charrnn.cli import streams
streams.prepare()
with open({str(tmp_path / "model")!r}, "w") as model:
    print(model.fileno())
"""
    done = in_a_shell(f"'{sys.executable}' -c '{line.replace(chr(39), chr(34))}' <&- 2>&-")
    assert int(done.stdout) > 2


@posix
@pytest.mark.parametrize(
    "line", ["$SHOUT shout hey -q --act draw", "$CHARRNN --help", "$CHARRNN --version"]
)
def test_a_reader_who_leaves_ends_it_quietly(line: str) -> None:
    done = in_a_shell(f"{{ {line}; echo $? >&2; }} | head -c 10 >/dev/null")
    if "draw" in line:
        assert done.stderr == b"141\n"
    assert done.stderr in (b"141\n", b"0\n")  # a page may have been written before head left


# Streams


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
def test_a_pipe_gets_exact_bytes_whatever_the_locale(locale: dict[str, str]) -> None:
    word = "Zoë\x1b[31m[/b]:smile:\r\u202eさ"
    done = run("shout", word.encode(), env=locale)
    assert done.stdout == word.encode() + b"\n"
    assert b"\x1b" not in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_byte_that_is_not_utf_8_is_replaced_in_a_result_and_shown_in_a_message() -> None:
    done = run("shout", b"a\xff")
    assert done.stdout == "a\ufffd\n".encode()
    assert done.stderr.startswith(b"going to shout a\\udcff\n")


@posix
def test_a_terminal_sees_control_characters_and_does_not_obey_them() -> None:
    status, seen = in_a_terminal("shout", "-q", "a\x1b[31m\u202e[/b]\n\tb")
    assert (status, seen) == (0, "a\\x1b[31m\\u202e[/b]\n\tb\n")


@posix
def test_raw_leaves_them_as_they_are() -> None:
    assert in_a_terminal("shout", "-q", "--raw", "a\x1b[31m")[1] == "a\x1b[31m\n"


@posix
def test_errors_are_red_on_a_terminal_that_has_colours() -> None:
    seen = in_a_terminal("shout", "hey", "-q", "--fault", "corpus")
    assert seen == (1, "\x1b[31mcharrnn: error: \\udcff.txt is empty\x1b[0m\n")
    for without in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        assert "\x1b" not in in_a_terminal("shout", "hey", "--fault", "corpus", env=without)[1]


@posix
def test_a_log_gets_plain_lines_and_a_terminal_a_bar() -> None:
    log = run("shout", "hey", "--act", "bar").stderr
    assert log.decode() == SEEN_FIRST + "half way\n"
    seen = in_a_terminal("shout", "hey", "--act", "bar")[1]
    assert "100%" in seen
    assert "half way\n" in seen
    assert "\r" not in in_a_terminal("shout", "hey", "--act", "bar", env={"TERM": "dumb"})[1]


def test_quiet_leaves_only_errors() -> None:
    assert run("shout", "hey", "-q", "--act", "bar").stderr == b""
    done = run("shout", "hey", "--quiet", "--fault", "setting")
    assert done.stderr == b"charrnn: error: lr is 0\nTake one above 0.\n"


def test_json_has_a_schema_stays_on_its_line_and_knows_no_nan() -> None:
    word = 'two\nlines "\x1b[31m\x7f\u2028\u202e さ'
    done = run("shout", word.encode(), b"\xff", "--json")
    first, second = done.stdout.decode("utf-8").splitlines()
    assert json.loads(first) == {
        "schema": "charrnn.shout/1",
        "words": [word, "\udcff"],
        "model": "model.npz",
    }
    assert json.loads(second) == {
        "schema": "charrnn.shout/1",
        "loss": None,
        "curve": [None, 1.5],
    }
    assert first.isprintable()


# Signals


@contextmanager
def at_work(act: str, *, quiet: bool = False, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A child that has said that it is ready, and is killed if it does not end by itself."""
    with subprocess.Popen(
        [*SHOUT, "shout", "hey", "--act", act, *(["-q"] if quiet else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=PLAIN,
        **how,
    ) as child:
        assert child.stderr is not None
        while line := child.stderr.readline():
            if line == b"ready\n":
                break
        try:
            yield child
        finally:
            child.kill()


@posix
@pytest.mark.parametrize(
    ("name", "status", "said"),
    [("SIGINT", 130, b""), ("SIGTERM", 143, b"SIGTERM: "), ("SIGHUP", 129, b"SIGHUP: ")],
)
def test_a_signal_is_told_at_once_and_the_work_is_saved(
    name: str, status: int, said: bytes
) -> None:
    with at_work("wait") as child:
        assert child.stderr is not None
        child.send_signal(signal.Signals[name])
        line = child.stderr.readline()
        out, rest = child.communicate(timeout=10)
    ending = b"finishing this step, then saving; Ctrl-C stops at once\n"
    assert line == b"charrnn: " + said + ending
    assert (child.returncode, out, rest) == (status, b"saved\n", b"")


@posix
def test_ctrl_c_is_answered_within_a_tenth_of_a_second() -> None:
    seconds = []
    for _ in range(3):  # the machine may be busy with something else
        with at_work("wait") as child:
            assert child.stderr is not None
            start = time.perf_counter()
            child.send_signal(signal.SIGINT)
            child.stderr.readline()
            seconds.append(time.perf_counter() - start)
            child.communicate(timeout=10)
    assert min(seconds) < 0.1


@posix
@pytest.mark.parametrize(
    ("first", "second", "status"),
    [("SIGINT", "SIGINT", 130), ("SIGTERM", "SIGTERM", 143), ("SIGHUP", "SIGTERM", 143)],
)
def test_the_second_signal_stops_at_once_and_cleans_up(
    first: str, second: str, status: int
) -> None:
    with at_work("wait-on") as child:
        assert child.stderr is not None
        child.send_signal(signal.Signals[first])
        child.stderr.readline()
        child.send_signal(signal.Signals[second])
        out, rest = child.communicate(timeout=10)
    assert (child.returncode, out, rest) == (status, b"cleaned up\n", b"")


@posix
def test_a_closing_terminal_may_hang_up_twice() -> None:
    with at_work("wait") as child:
        child.send_signal(signal.SIGHUP)
        child.send_signal(signal.SIGHUP)
        out, _ = child.communicate(timeout=10)
    assert (child.returncode, out) == (129, b"saved\n")


@posix
def test_with_quiet_a_signal_is_obeyed_without_a_word() -> None:
    with at_work("wait", quiet=True) as child:
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=10) == (b"saved\n", b"")
    assert child.returncode == 130


@posix
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_outside_of_training_a_signal_ends_it_cleanly(name: str, status: int) -> None:
    with at_work("sleep") as child:
        child.send_signal(signal.Signals[name])
        out, rest = child.communicate(timeout=10)
    assert (child.returncode, out, rest) == (status, b"cleaned up\n", b"")


@posix
def test_what_the_parent_ignores_stays_ignored() -> None:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with at_work("wait", preexec_fn=ignore) as child:
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGHUP)
        child.send_signal(signal.SIGTERM)
        out, rest = child.communicate(timeout=10)
    assert rest.startswith(b"charrnn: SIGTERM: ")
    assert (child.returncode, out) == (143, b"saved\n")


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    status_of("shout", "hey")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


# Threads


def test_the_matrix_library_gets_one_thread_and_we_take_what_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in threads.BLAS:
        monkeypatch.setenv(name, "8")
    assert threads.prepare(3) == 3
    assert {os.environ[name] for name in threads.BLAS} == {"1"}
    assert threads.prepare(None) == min(threads.cores(), threads.ENOUGH)

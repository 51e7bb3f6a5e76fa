"""Faults 20, 23 and 35: signals, and two runs into one file."""

import fcntl
import os
import shlex
import signal
import subprocess
import termios
from typing import Any

import pytest

from charrnn.files import model_file
from charrnn.system.signals import Stopped, delayed, handled, watched
from tests import child as children
from tests.child import NOTHING, PATIENCE
from tests.program import SMALL, Program, assert_no_temporary_files, lines_of, seldom

pytestmark = pytest.mark.child

ENDLESS = ("train", "names.txt", *SMALL, "--epochs", "1000000", "--check-every", "100")
SOON = "from charrnn.files import saves_and_metrics as saves; saves.SAVE_INTERVAL = 0.1"
BY = children.program_with(SOON)  # the program, with a first save that comes soon
IN_CLASS = "lambda: type('', (), {'': Late()})"
TWO = "lambda: [m(0, [1, 15]), *map(signal.raise_signal, [1, 15]), m(1, [1, 15])]"  # at once
METRICS = ("--metrics", "metrics.jsonl")
SAID = "charrnn: saving after this step; Ctrl-C stops at once\n"
MARK = [signal.SIGINT, signal.SIGTERM, seldom(signal.SIGHUP)]


@pytest.mark.parametrize("number", MARK, ids=lambda number: number.name)
def test_fault_20_a_signal_is_said_and_died_of(program: Program, number: signal.Signals) -> None:
    with program.going(*ENDLESS, *METRICS, "--json", by=BY) as child:
        child.until_saved()
        child.send(number)
        ended = child.end()
    assert child.process.returncode == -number
    assert "Traceback" not in ended.err
    assert SAID in ended.err
    step = model_file.load(program / "model.npz").state.step
    assert step > 0
    how = "to resume: charrnn train --resume --metrics metrics.jsonl"
    assert ended.err.endswith(f"saved at step {step:,}; {how}\n")
    assert (ended.json["stopped"], ended.json["steps"]) == ("interrupted", step)
    assert_no_temporary_files(program)


# A step, and later a save, that each wait for a file; in naps, for these notice a signal.
WAITING = f"""
{SOON}
import os, time
from charrnn.cli.train_screen import Progress
def wait(name):
    print(name, flush=True)
    while os.path.exists('model.npz') and not os.path.exists(name):
        time.sleep(0.01)
def slow_show(self, event):
    show(self, event)
    seen.append(os.path.exists('model.npz'))
    if sum(seen) == 3:  # events after the first save
        wait('step')
def slow_save(path, checkpoint):
    wait('save')
    save(path, checkpoint)
seen = []
show, Progress.show = Progress.show, slow_show
save, saves.save_run = saves.save_run, slow_save
"""


@pytest.mark.parametrize("first", [signal.SIGINT, seldom(signal.SIGHUP)])
def test_fault_20_a_second_signal_stops_at_once(program: Program, first: signal.Signals) -> None:
    with program.going(*ENDLESS, by=children.program_with(WAITING)) as child:
        child.until(lambda: "step" in child.out)
        before = (program / "model.npz").read_bytes()
        child.send(first)
        child.until(lambda: SAID in child.err)
        child.send(signal.SIGTERM)
        ended = child.end()
    assert (ended.status, "Traceback" in ended.err) == (143, False)
    assert "saved at step" not in ended.err
    assert (program / "model.npz").read_bytes() == before
    assert_no_temporary_files(program)


@pytest.mark.parametrize("number", MARK, ids=lambda number: number.name)
@pytest.mark.parametrize("command", ["train", "eval"])
def test_fault_20_outside_of_training_a_signal_ends_it_cleanly(
    trained: Program, command: str, number: signal.Signals
) -> None:
    before = trained.files()
    with trained.going(command, "-", "-q", stdin=subprocess.PIPE) as child:
        child.type(b"anna\n")
        pipe = child.process.stdin
        assert pipe is not None
        child.until(lambda: not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))))  # it is read
        child.send(number)
        ended = child.end()
    assert (ended.status, ended.err) == (128 + number, "")
    assert trained.files() == before


@pytest.mark.parametrize(
    ("name", "show"), [("__del__", "Late"), ("__set_name__", IN_CLASS), ("_", TWO)]
)
def test_fault_20_a_signal_ends_it_where_python_ignores_or_replaces_errors(
    program: Program, name: str, show: str
) -> None:
    code = "import signal; from charrnn.cli import console; m = signal.pthread_sigmask\n"
    code += f"class Late: {name} = lambda *_: signal.raise_signal(15)\n"
    code += f"console.show_version = {show}"
    ended = program.run("--version", by=children.program_with(code))
    assert (ended.status in (129, 143), ended.err) == (True, "")


@pytest.mark.parametrize(
    ("kind", "name", "when"),
    [
        ("contextlib._GeneratorContextManager", "__exit__", "self.gen.__name__ == 'report_errors'"),
        ("multiprocessing.process.BaseProcess", "kill", "True"),
    ],
)
def test_fault_20_a_signal_ends_it_where_it_cleans_up(
    program: Program, kind: str, name: str, when: str
) -> None:
    code = f"""
import contextlib, multiprocessing, signal
def late(self, *given):
    if {when}:
        signal.raise_signal(signal.SIGTERM)
    return call(self, *given)
call, {kind}.{name} = {kind}.{name}, late
"""
    line = ("sweep", "names.txt", "--epochs", "1", "--hidden", "3", "--seeds", "2")
    ended = program.run(*line, "--cores", "2", by=children.program_with(code))
    assert (ended.status, "Traceback" in ended.err) == (143, False)


def test_fault_20_a_signal_while_processes_start_ends_them(program: Program) -> None:
    with program.going(*ENDLESS, "--batch", "24", "--bptt", "2", "--cores", "3", "-q") as child:
        child.until(lambda: bool(children.children_of(child.process.pid)))
        workers = children.children_of(child.process.pid)
        child.send(signal.SIGINT)
        assert child.end().status == 130
    children.wait_until(lambda: not any(map(children.is_running, workers)))


def test_with_quiet_a_signal_saves_a_run_of_processes_without_a_word(program: Program) -> None:
    several = ("--batch", "24", "--bptt", "2", "--cores", "3")
    with program.going(*ENDLESS, *several, "-q", by=BY) as child:
        child.until_saved()
        child.send(signal.SIGINT)
        ended = child.end()
    assert (ended.status, ended.out, ended.err) == (130, "", "")
    assert model_file.load(program / "model.npz").config.shards == 3


def test_fault_35_ctrl_c_may_end_the_reader_first(program: Program) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as pipe, program.going(*ENDLESS, by=BY, stdout=pipe) as child:
        os.close(reader)
        child.until_saved()
        child.send(signal.SIGINT)
        ended = child.end()
    assert ended.status == 130
    assert "saved at step" in ended.err


def test_fault_62_a_second_sighup_loses_no_save(program: Program) -> None:
    """A terminal that closes sends two, also in a step or while the run is saved."""
    with program.going(*ENDLESS, by=children.program_with(WAITING)) as child:
        child.until(lambda: "step" in child.out)
        before = model_file.load(program / "model.npz").state.step
        child.send(signal.SIGHUP)
        child.until(lambda: SAID in child.err)
        child.send(signal.SIGHUP)
        saves = child.out.count("save")
        program.write("step", "")
        child.until(lambda: child.out.count("save") > saves)
        child.send(signal.SIGHUP)
        program.write("save", "")
        ended = child.end()
    assert ended.status == 129, ended.err
    step = model_file.load(program / "model.npz").state.step
    assert step > before
    assert f"saved at step {step:,}" in ended.err
    assert_no_temporary_files(program)


def test_what_the_parent_ignored_stays_ignored(program: Program) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with program.going(*ENDLESS, *METRICS, by=BY, preexec_fn=ignore) as child:
        child.until_saved()
        child.send(signal.SIGHUP)
        before = lines_of(program)
        child.until(lambda: lines_of(program) > before + 20)
        assert SAID not in child.err
        child.send(signal.SIGTERM)
        assert child.end().status == 143


def test_fault_23_a_second_run_into_the_same_file_is_refused(program: Program) -> None:
    (program / "link.npz").symlink_to("model.npz")
    with program.going(*ENDLESS, by=BY) as child:
        child.until_saved()
        again, same = ("names.txt", "--force"), program / "model.npz"
        for line in (again, ("--resume",), (*again, "-m", "link.npz"), (*again, "-m", same)):
            ended = program.run("train", *line, child=False)
            assert (ended.status, ended.out) == (1, "")
            what, hint = ended.err.splitlines()
            assert "is being written by another run" in what
            assert hint == "Wait until that run has ended, or name another file."
        program.run("train", *SMALL, "names.txt", "-m", "other.npz", child=False).says()
        program.run("sample", child=False).says()
        child.send(signal.SIGINT)
        assert child.end().status == 130
    assert_no_temporary_files(program)


def test_a_signal_waits_for_the_end_of_a_step_from_python() -> None:
    steps = []

    def take_step() -> None:
        with handled(), delayed():
            signal.raise_signal(signal.SIGTERM)
            steps.append("taken")

    with pytest.raises(Stopped):
        take_step()
    assert steps == ["taken"]


def test_only_the_program_changes_what_ctrl_c_does() -> None:
    imported = "import signal; before = signal.getsignal(2); import charrnn.__main__; "
    assert children.answer(f"{imported}print(signal.getsignal(2) is before)") == "True\n"


def test_while_a_second_signal_clears_up_another_ends_the_process() -> None:
    with handled(), watched(quiet=True):
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_fault_35_ctrl_c_ends_the_loop_of_a_shell(program: Program) -> None:
    loop = f"for seed in 1 2 3; do {shlex.join([*BY, *ENDLESS, '--force'])}; done; echo on"
    with children.pseudo_terminal(80) as (ours, theirs):
        how: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        how |= {"start_new_session": True, "preexec_fn": take_terminal}
        shell = subprocess.Popen(["bash", "-c", loop], env=children.surroundings(NOTHING), **how)
        try:
            os.close(theirs)
            children.wait_until((program / "model.npz").exists)
            os.write(ours, b"\x03")  # Ctrl-C
            assert shell.wait(PATIENCE) == -signal.SIGINT
        finally:
            shell.kill()
        assert children.read_screen(ours).count("to resume: charrnn train --resume") == 1
    assert_no_temporary_files(program)


def take_terminal() -> None:
    """Make standard input the terminal of this process, whose keys send it signals."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

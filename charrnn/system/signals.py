"""What lies around the program: cores, memory, child processes, signals, the terminal, JSON lines.

Threads of NumPy's matrix library beside processes of charrnn would wait for each other, so the
library gets one thread, by variables of the environment that are set before NumPy is imported.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import signal
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Final, NewType, NoReturn

if TYPE_CHECKING:
    import subprocess
    from multiprocessing.connection import Connection

MOST_CORES: Final = 8  # that a command uses unless it is asked for more
ONE_THREAD: Final = {  # for each library, before NumPy is imported
    f"{name}_{'MAXIMUM' if name == 'VECLIB' else 'NUM'}_THREADS": "1"
    for name in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "NUMEXPR")
}

# Each use of a seed has a stream of its own: default_rng([seed, ORDER, epoch]). Number 0 is not
# among them: default_rng(0), which holds out a part of the corpus, is default_rng([0, 0]).
WEIGHTS: Final = 1
REGULARIZATION: Final = 2  # then the step
ORDER: Final = 3  # then the epoch
OWN_INPUTS: Final = 4  # then the step

# Corpora and models that come with the program
CORPORA: Final = ("dinosaurs", "given-names", "given-names-latin", "reber", "verses")
MODELS: Final = ("dinosaurs", "given-names", "latin", "reber", "verses")
HOMES: Final = list(Path(__file__).parents)[1:3]  # of data, installed or in a checkout


def path_of(source: str) -> str:
    """Return the path of a corpus that comes with the program; any other name stays as it is."""
    return _packaged(source, CORPORA, f"data/{source}.txt")


def model_at(path: str | os.PathLike[str]) -> str:
    """Return the path of a model that comes with the program; any other path stays as it is."""
    name = os.fspath(path)
    return _packaged(name, MODELS, f"models/{name}.npz")


def _packaged(name: str, known: Sequence[str], file: str) -> str:
    if name in known and not os.path.lexists(name):  # a file of that name comes first
        return next((str(home / file) for home in HOMES if (home / file).is_file()), name)
    return name


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_for(wanted: int | None) -> int:
    """Return the number of processes that are wanted, or that suit this machine."""
    return wanted or min(cores(), MOST_CORES)


class Children:
    """Python processes that serve this one, each through a pipe. None outlives this one."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.pipes: list[Connection] = []
        self.are_ready = False
        self.end = weakref.finalize(self, end_processes, self.processes, self.pipes)

    def start(self, function: str, messages: Sequence[Any], size: int) -> mmap.mmap:
        """Start a process for each message, and return memory of that size that all share.

        A process calls MODULE:FUNCTION with its end of a pipe and with the file of the memory. The
        message is the first through the pipe; the answer says that the process is ready.
        """
        with open_memory() as file:
            # Zeros take the room at once; in a hole, a process could end for lack of it.
            file.write(bytes(size))
            file.flush()
            for message in messages:
                self._start(function, message, file.fileno())
            return mmap.mmap(file.fileno(), size)

    def _start(self, function: str, message: Any, file: int) -> None:
        import subprocess
        from multiprocessing import Pipe

        pipe, end = Pipe()
        self.pipes.append(pipe)
        module, _, name = function.partition(":")
        path = [folder for folder in sys.path if isinstance(folder, str)]
        call = f"import sys; sys.path = {path}; import {module} as home; home.{name}"
        with end:
            process = subprocess.Popen(
                [sys.executable, "-Pc", f"{call}{(end.fileno(), file)}"],  # its arguments
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=os.environ | ONE_THREAD,
                pass_fds=(end.fileno(), file),
                start_new_session=True,  # which Ctrl-C does not reach
            )
        self.processes.append(process)
        pipe.send(message)

    def ready_pipes(self) -> list[Connection]:
        """Return all pipes once all processes are ready; until then, none."""
        if not self.are_ready and self.pipes and all(pipe.poll() for pipe in self.pipes):
            try:
                for pipe in self.pipes:
                    pipe.recv()
                self.are_ready = True
            except (EOFError, OSError):  # one could not start
                self.end()
        return self.pipes if self.are_ready else []


def open_memory() -> IO[bytes]:
    """Open a file without a name, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("charrnn"), "wb")
    return tempfile.TemporaryFile()


def end_processes(processes: list[subprocess.Popen[bytes]], pipes: list[Connection]) -> None:
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.kill()
        process.wait()
    pipes.clear()


def available() -> int | None:
    """Return the bytes that this process may use; None if unknown."""
    with suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next((1024 * int(at.split()[1]) for at in lines if "MemAvailable" in at), None)
    return None


def parse_line(line: bytes | str) -> dict[str, Any]:
    """Return the object on a line of JSON. Raise ValueError for anything else."""
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("not an object")
    return row


class LineFile:
    """A file of JSON lines, each appended whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "ab+", buffering=0)  # noqa: SIM115

    def lines(self) -> list[bytes]:
        """Return the lines of the file with their ends. The last one may be torn."""
        size = self._file.seek(0, os.SEEK_END)  # 0 for a device, which may be endless
        self._file.seek(0)
        return self._file.read(size).splitlines(keepends=True)

    def cut(self, size: int) -> None:
        """Drop everything after the first ``size`` bytes."""
        if size < self._file.seek(0, os.SEEK_END):
            self._file.truncate(size)

    def cut_torn_line(self) -> None:
        self.cut(sum(len(line) for line in self.lines() if line.endswith(b"\n")))

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line. If that fails, raise OSError and leave the file as it was."""
        size = self._file.seek(0, os.SEEK_END)
        line = json.dumps(row, allow_nan=False).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            with suppress(OSError):
                self.cut(size)
            raise

    def sync(self) -> None:
        """Make the lines outlast a power cut, if the filesystem can do that."""
        with suppress(OSError):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


# Ctrl-C, SIGTERM and SIGHUP: the first requests a stop after the current step, the second stops.
# Outside of ``watched`` each raises Stopped, so that files are closed and removed on the way out.
# Signals that the parent process ignores (nohup, a shell's ``&``) stay ignored.


SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Stopped(KeyboardInterrupt):
    """A signal that ends the program at once."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Stop:
    """Whether a signal has requested a stop, and the exit status for it."""

    def __init__(self) -> None:
        self.requested = False
        self.status = 0


def raise_stopped(number: int, _frame: FrameType | None) -> NoReturn:
    """Raise Stopped. While that clears up, another signal ends the process."""
    for following in SIGNALS:
        if signal.getsignal(following) not in (signal.SIG_IGN, None):
            is_hangup = following == getattr(signal, "SIGHUP", None)  # a closing terminal sends two
            signal.signal(following, signal.SIG_IGN if is_hangup else signal.SIG_DFL)
    raise Stopped(number)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None] = raise_stopped) -> Iterator[None]:
    """Give the signals to a handler; the handlers from before come back at the end."""
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        unchanged = (signal.SIG_IGN, None)  # None: not of Python
        handlers = {number: old for number, old in handlers.items() if old not in unchanged}
    try:
        for number in handlers:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in handlers.items():
            signal.signal(number, old)


@contextmanager
def delayed() -> Iterator[None]:
    """Delay signals to the end of the block."""
    came: list[int] = []
    try:
        with handled(lambda number, _: came.append(number)):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)


@contextmanager
def watched(quiet: bool) -> Iterator[Stop]:
    """Yield a Stop that the first signal sets; the second signal raises Stopped."""
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            if number != getattr(signal, "SIGHUP", None):  # as above
                raise_stopped(number, frame)
            return
        stop.requested, stop.status = True, 128 + number
        if not quiet:
            line = b"charrnn: saving after this step; Ctrl-C stops at once\n"
            with suppress(OSError):  # not through sys.stderr, which may be in use; below the bar
                os.write(2, b"\n" + line if os.isatty(2) else line)

    with handled(handle):
        yield stop


# Text made safe to show. All text from a corpus, a model, a path or the command line passes through
# here on its way to a terminal: ``ESC`` is shown as ``\x1b``. Letters of every script, newline and
# tab stay.


Visible = NewType("Visible", str)  # safe: made by the functions below, coloured since, or for files

# For a character class: C0 but tab and newline, DEL and C1; marks that change the writing
# direction; the two separators that some programs take for a newline; lone surrogates, in which
# Python holds bytes that are not UTF-8.
STEERING: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
    "\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff"
)
ANY_STEERING, STEERING_OR_BREAK = re.compile(f"[{STEERING}]"), re.compile(f"[\t\n{STEERING}]")


def visible(text: str) -> Visible:
    """Return the text with control characters shown; pieces of a stream may come one by one."""
    return Visible(ANY_STEERING.sub(_shown, text))


def visible_line(text: str) -> Visible:
    """Return the text on one line: control characters, newline and tab are shown."""
    return Visible(STEERING_OR_BREAK.sub(_shown, text))


def visible_json(json_text: str) -> Visible:
    """Return equivalent JSON with the control characters in its strings escaped."""
    if json_text.isprintable():  # as nearly all is, and quick to see
        return Visible(json_text)
    return Visible(ANY_STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text))


def encodable(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates, which UTF-8 cannot hold."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}.get(match[0])
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def either(names: Sequence[str]) -> str:
    """Return "a, b or c" for some names."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def did_you_mean(names: Collection[str]) -> str:
    """Return the question whether one of these was meant; nothing without a name."""
    return f"Did you mean {' or '.join(names)}? " if names else ""

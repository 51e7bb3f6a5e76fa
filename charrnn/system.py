"""The cores and the memory of this machine, files of JSON lines, and random streams.

Threads of NumPy's matrix library beside processes of charrnn would wait for each other, so the
library gets one thread, by variables of the environment that are set before NumPy is imported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import subprocess
    from multiprocessing.connection import Connection

MOST_CORES: Final = 8  # that a command uses unless it is asked for more
ONE_THREAD: Final = {  # for each library, before NumPy is imported
    f"{name}_{'MAXIMUM' if name == 'VECLIB' else 'NUM'}_THREADS": "1"
    for name in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "NUMEXPR")
}

# Each use of a seed has a stream of its own: default_rng([seed, ORDER, epoch]). The split of a
# corpus is number 0, because default_rng(seed) is default_rng([seed, 0]).
WEIGHTS: Final = 1
REGULARIZATION: Final = 2  # then the step
ORDER: Final = 3  # then the epoch
OWN_INPUTS: Final = 4  # then the step

# Corpora and models that come with the program
NAMES: Final = ("dinosaurs", "given-names", "given-names-latin", "reber", "verses")  # corpora
MODELS: Final = ("dinosaurs", "given-names", "latin", "reber", "verses")
OURS: Final = f"{', '.join(MODELS[:-1])} or {MODELS[-1]}"
HOMES: Final = list(Path(__file__).parents)[:2]  # of data, installed or in a checkout


def path_of(source: str) -> str:
    """Return the path of a corpus that comes with the program; any other name stays as it is."""
    return _packaged(source, NAMES, f"data/{source}.txt")


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


Child = tuple["subprocess.Popen[bytes]", "Connection"]  # a process and the pipe to it


def start_child(function: str, *files: int) -> Child:
    """Start a Python that calls MODULE:FUNCTION with its end of a pipe, and with open files.

    Ctrl-C does not reach its session. The pipe closes if one of the two is killed.
    """
    import subprocess
    from multiprocessing import Pipe

    pipe, end = Pipe()
    module, _, name = function.partition(":")
    call = f"import sys; sys.path = {sys.path}; import {module} as home; home.{name}"
    try:
        process = subprocess.Popen(
            [sys.executable, "-Pc", f"{call}{(end.fileno(), *files)}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | ONE_THREAD,
            pass_fds=(end.fileno(), *files),
            start_new_session=True,
        )
    except BaseException:
        pipe.close()
        raise
    finally:
        end.close()
    return process, pipe


def end_children(children: list[Child]) -> None:
    for process, pipe in children:
        pipe.close()
        process.kill()
        process.wait()
    children.clear()


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

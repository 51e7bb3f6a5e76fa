"""Python processes that serve this one, each through a pipe and through shared memory."""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from charrnn.system.cores import ONE_THREAD, has_one_thread
from charrnn.system.signals import blocked

if TYPE_CHECKING:
    import subprocess
    from multiprocessing.connection import Connection

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Children:
    """Python processes that serve this one, and do not outlive it."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.pipes: list[Connection] = []
        self.are_ready = False
        self.end = weakref.finalize(self, end_processes, self.processes, self.pipes)

    def start(self, function: str, messages: Sequence[Any], size: int) -> mmap.mmap:
        """Start a process for each message, and return memory of that size that all share.

        A process calls MODULE:FUNCTION with its end of a pipe and with the file of the memory. The
        message is the first through the pipe; the answer says that the process is ready. Raise
        OSError where none can start.
        """
        if not can_start():
            raise OSError("this system does not let a process hand its files to another")
        in_memory = getattr(os, "memfd_create", None)
        with os.fdopen(in_memory("charrnn"), "wb") if in_memory else TemporaryFile() as file:
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
        with end, blocked():  # a stop of a job on a cluster is sent to all its processes
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

    def ready_pipes(self, *, wait: bool = False) -> list[Connection]:
        """Return all pipes once all processes are ready; until then, none, or ``wait``."""
        patience = None if wait else 0.0
        if not self.are_ready and self.pipes and all(pipe.poll(patience) for pipe in self.pipes):
            try:
                for pipe in self.pipes:
                    pipe.recv()
                self.are_ready = True
            except (EOFError, OSError):  # one could not start
                self.end()
        return self.pipes if self.are_ready else []


def can_start() -> bool:
    """Return whether Python is known, and a process may hand files to another: not on Windows."""
    return hasattr(os, "fork") and bool(sys.executable)


def in_one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return the function, done by a child where there are more threads here, if one can start."""

    @wraps(function)
    def call(*given: Given.args, **named: Given.kwargs) -> Result:
        if has_one_thread():
            return function(*given, **named)
        children = Children()
        try:
            children.start(f"{__name__}:answer", [(call, given, named)], 1)
            result: Result | Exception = children.pipes[0].recv()
        except (OSError, EOFError):
            return function(*given, **named)
        finally:
            children.end()
        if isinstance(result, Exception):
            raise result
        return result

    return call


def answer(pipe_file: int, _memory_file: int) -> None:
    """Call a function for the process that has started this one."""
    from multiprocessing.connection import Connection

    pipe = Connection(pipe_file)
    call, given, named = pipe.recv()
    try:
        result = call.__wrapped__(*given, **named)
    except Exception as error:
        result = error
    pipe.send(result)


def end_processes(processes: list[subprocess.Popen[bytes]], pipes: list[Connection]) -> None:
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.kill()
        process.wait()
    pipes.clear()

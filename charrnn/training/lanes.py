"""The lanes of a batch in parts, computed by this process and others that share its memory.

    this process                             another: python -Pm charrnn.training.lanes
    parameters and window, into the memory
    a byte to each other process   ----->    the gradient of its parts, each into its own row
    the gradient of its own parts
    a byte from each               <-----    done
    the sum of the rows, in order

So the bits depend on the number of parts, not on that of processes. The memory is a file without a
name. A process ends when its socket closes. Where none can start, this one computes all parts.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from dataclasses import asdict
from typing import Any

import numpy as np

from charrnn.errors import CharrnnError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.network.unfolded import Masks, State, Unfolded, Window
from charrnn.system import ONE_THREAD

Child = tuple[subprocess.Popen[bytes], socket.socket]


WORTHWHILE = 800_000  # units squared x lanes, from which two processes are faster than one
FOLDERS = "/dev/shm", None  # the first is in memory, but may be small or missing
FEWEST = 8  # lanes of a part, where many are asked for


def usual_parts(hidden: int, lanes: int, cores: int | None) -> int:
    """Return the number of parts for a network, on a number of cores if that was asked for."""
    if cores is not None and cores > 2:
        return max(1, min(cores, lanes // FEWEST))
    return 2 if hidden**2 * lanes >= WORTHWHILE else 1


class Part:
    """A part of the lanes, the network unfolded over them, and the memory of all parts."""

    def __init__(self, size: Architecture, sizes: list[int], number: int, memory: Any) -> None:
        steps, lanes, parts, _ = sizes
        self.number, self.memory = number, memory
        self.start, self.stop = lanes * number // parts, lanes * (number + 1) // parts
        self.unfolded = Unfolded(size, steps, self.stop - self.start)
        self.scale = 1 / (steps * lanes)  # the mean loss over a full window
        self.p = Parameters(size, memory["p"])
        self.gradient = Parameters(size, memory["gradients"][number])

    @np.errstate(all="ignore")  # overflow shows in the loss
    def compute(self) -> None:
        """Leave the gradient, the nats and the states of these lanes in the memory."""
        memory, lanes, steps = self.memory, slice(self.start, self.stop), int(self.memory["steps"])
        x, y, clock, left = np.ascontiguousarray(memory["symbols"][:, :steps, lanes])
        begins, idle = memory["marks"][:, :steps, lanes]
        window = Window(x, y, begins, idle if idle.any() else None, clock=clock, left=left)
        masks = list(memory["masks"][:, :, lanes]) or None
        for state, shared in zip(self.unfolded.states, memory["states"], strict=True):
            state[0] = shared[lanes]
        memory["nats"][self.number] = self.unfolded.nats_and_gradient(
            self.p, window, self.gradient, self.scale, masks
        )
        for state, shared in zip(self.unfolded.states, memory["states"], strict=True):
            shared[lanes] = state[0]


class Lanes:
    """All lanes of a batch. The sizes are steps, lanes, parts, and whether there is dropout."""

    def __init__(self, size: Architecture, sizes: list[int], cores: int = 1) -> None:
        processes, memory = min(cores, sizes[2]), None
        self.children: list[Child] = []
        self.are_ready = False  # until then this process computes all parts
        for folder in FOLDERS if processes > 1 else ():
            try:
                with tempfile.TemporaryFile(dir=folder) as file:
                    memory = memory_of(size, sizes, file.fileno())
                    numbers = *sizes, processes, file.fileno()
                    self.children += (start_child(size, *numbers, i) for i in range(1, processes))
                break
            except (OSError, ValueError, TypeError, subprocess.SubprocessError):
                end(self.children)
        self.memory = memory_of(size, sizes, -1) if memory is None else memory
        self.close = weakref.finalize(self, end, self.children)
        self.parts = [Part(size, sizes, number, self.memory) for number in range(sizes[2])]
        self.p, self.gradient = self.parts[0].p, self.parts[0].gradient

    def nats_and_gradient(self, window: Window, states: State, masks: Masks | None) -> float:
        """Return the loss at the parameters ``p``. Leave its gradient, and move the states on."""
        memory, steps = self.memory, len(window.x)
        memory["steps"][...] = steps
        fields = window.x, window.y, window.clock, window.left, window.begins, window.idle
        for array, shared in zip(fields, (*memory["symbols"], *memory["marks"]), strict=True):
            shared[:steps] = 0 if array is None else array
        for mask, shared in zip(masks or (), memory["masks"], strict=True):
            shared[...] = mask
        for state, shared in zip(states, memory["states"], strict=True):
            shared[...] = state
        self.compute_parts()
        for gradient in memory["gradients"][1:]:
            memory["gradients"][0] += gradient
        for state, shared in zip(states, memory["states"], strict=True):
            state[...] = shared
        return float(sum(memory["nats"].tolist()))

    def compute_parts(self) -> None:
        """Compute all parts, together with the other processes once they are ready."""
        pipes = [pipe for _, pipe in self.children]
        if pipes and not self.are_ready and select.select(pipes, [], [], 0)[0] == pipes:
            self.are_ready = all(pipe.recv(1) for pipe in pipes)
            if not self.are_ready:  # one could not start
                self.close()
        pipes = pipes if self.are_ready else []
        try:
            for pipe in pipes:
                pipe.send(b".")
            for part in self.parts[:: len(pipes) + 1]:
                part.compute()
            if all(pipe.recv(1) for pipe in pipes):
                return
        except OSError:
            pass
        self.close()
        what = "a process of this training has ended, perhaps for lack of memory"
        raise CharrnnError(what, "Resume the run, with [cores] 1 if that happens again.")


def memory_of(size: Architecture, sizes: list[int], file: int) -> Any:
    """Return named arrays in a file that processes share; without one (-1) they are this one's."""
    steps, lanes, parts, dropout = sizes
    fields: list[Any] = [
        ("steps", np.int64),
        ("nats", np.float64, (parts,)),
        ("symbols", np.int64, (4, steps, lanes)),  # x, y, clock, left
        ("states", np.float32, (len(size.state_names), lanes, size.hidden)),
        ("masks", np.float32, (size.layers * dropout, 1, lanes, size.hidden)),
        ("p", np.float32, (size.parameter_count,)),
        ("gradients", np.float32, (parts, size.parameter_count)),
        ("marks", np.bool_, (2, steps, lanes)),  # begins, idle
    ]
    kind = np.dtype(fields)
    if file < 0:  # not shared with a fork, either
        return np.zeros((), kind)
    if os.fstat(file).st_size == 0:
        with open(file, "wb", closefd=False) as writer:  # holes in a file can end a process later
            np.zeros(kind.itemsize, np.uint8).tofile(writer)
    return np.frombuffer(mmap.mmap(file, kind.itemsize), kind).reshape(())


def start_child(size: Architecture, *numbers: int) -> Child:
    """Start a process for some of the parts, in a session of its own: Ctrl-C does not reach it."""
    pipe, other = socket.socketpair()
    facts = json.dumps([asdict(size), *numbers, other.fileno()])
    try:
        child = subprocess.Popen(
            [sys.executable, "-Pm", "charrnn.training.lanes", facts],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(numbers[-2], other.fileno()),
            env=os.environ | ONE_THREAD,
            start_new_session=True,
        )
    except BaseException:
        pipe.close()
        raise
    finally:
        other.close()
    return child, pipe


def end(children: list[Child]) -> None:
    """End other processes."""
    for child, pipe in children:
        pipe.close()
        child.kill()
        child.wait()
    children.clear()


def main() -> None:
    """Compute parts at each byte from the process that has started this one, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    facts, *sizes, processes, file, first, pipe = json.loads(sys.argv[1])
    size = Architecture(**{**facts, "requested": tuple(facts["requested"])})
    memory = memory_of(size, sizes, file)
    parts = [Part(size, sizes, number, memory) for number in range(first, sizes[2], processes)]
    with socket.socket(fileno=pipe) as parent:
        parent.send(b".")
        while parent.recv(1):
            for part in parts:
                part.compute()
            parent.send(b".")


if __name__ == "__main__":
    main()

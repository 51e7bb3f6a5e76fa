"""The lanes of a batch in parts, computed by this process and others.

    this process                             another, which serves
    parameters, into shared memory
    a message to each other process  ---->   the gradient of its parts, each into its own row
    the gradient of its own parts
    a message from each              <----   losses and states
    the sum of the rows, in order

So the bits depend on the number of parts, not on that of processes. The memory is a file without a
name. Where no process can start, and until all are ready, this one computes all parts.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from contextlib import suppress
from math import prod
from multiprocessing.connection import Connection
from typing import IO, Any

import numpy as np

from charrnn.errors import CharrnnError
from charrnn.network import Array
from charrnn.network.parameters import Architecture, Parameters
from charrnn.network.through_time import Masks, State, Unfolded, Window
from charrnn.system import Child, end_children, start_child

Cut = tuple[Window, State, Masks | None]  # of the lanes of a part


class Part:
    """A part of the lanes, and the network unfolded over them."""

    def __init__(self, size: Architecture, sizes: list[int], number: int, memory: Array) -> None:
        steps, lanes, parts = sizes
        self.lanes = slice(lanes * number // parts, lanes * (number + 1) // parts)
        self.unfolded = Unfolded(size, steps, self.lanes.stop - self.lanes.start)
        self.scale = 1 / (steps * lanes)  # the mean loss over a full window
        self.p, self.gradient = Parameters(size, memory[0]), Parameters(size, memory[1 + number])

    def cut(self, window: Window, states: State, masks: Masks | None) -> Cut:
        """Return what these lanes need."""
        lanes = self.lanes
        arrays: list[Any] = [a if a is None else a[:, lanes] for a in vars(window).values()]
        of_layers = None if masks is None else [mask[:, lanes] for mask in masks]
        return Window(*arrays), [state[lanes] for state in states], of_layers

    def nats_and_states(self, cut: Cut) -> tuple[float, State]:
        """Return the loss and the states after the window, and leave the gradient in its row."""
        window, states, masks = cut
        for state, before in zip(self.unfolded.states, states, strict=True):
            state[0] = before
        nats = self.unfolded.nats_and_gradient(self.p, window, self.gradient, self.scale, masks)
        return nats, [state[0] for state in self.unfolded.states]


class Lanes:
    """All lanes of a batch. The sizes are steps, lanes and parts."""

    def __init__(self, size: Architecture, sizes: list[int], cores: int = 1) -> None:
        parts = sizes[2]
        processes = min(cores, parts)
        shape = 1 + parts, size.parameter_count  # p, and the gradient of each part
        memory: Array = np.zeros(shape, np.float32)
        self.children: list[Child] = []
        self.are_ready = False
        try:
            if processes > 1:
                with open_file() as file:
                    file.write(bytes(memory.nbytes))  # holes could end a process later
                    file.flush()
                    shared = array_in(file.fileno(), shape)
                    for first in range(1, processes):
                        self.children.append(
                            start_child("charrnn.training.processes:serve", file.fileno())
                        )
                        self.children[-1][1].send((size, sizes, first, processes))
                memory = shared
        except (OSError, ValueError, TypeError):  # no file or no process
            end_children(self.children)
        self.close = weakref.finalize(self, end_children, self.children)
        self.parts = [Part(size, sizes, number, memory) for number in range(parts)]
        self.p, self.gradient = self.parts[0].p, self.parts[0].gradient

    def nats_and_gradient(self, window: Window, states: State, masks: Masks | None) -> float:
        """Return the loss at the parameters ``p``. Leave its gradient, and move the states on."""
        parts, pipes = self.parts, self.pipes_of_others()
        processes = 1 + len(pipes)
        cuts = [part.cut(window, states, masks) for part in parts]
        results: list[tuple[float, State]] = [(0.0, [])] * len(parts)
        try:
            for first, pipe in enumerate(pipes, 1):
                pipe.send(cuts[first::processes])
            for number in range(0, len(parts), processes):
                results[number] = parts[number].nats_and_states(cuts[number])
            for first, pipe in enumerate(pipes, 1):
                results[first::processes] = pipe.recv()
        except (EOFError, OSError):
            self.close()
            what = "a process of this training has ended, perhaps for lack of memory"
            hint = "Resume the run, with [cores] 1 if that happens again."
            raise CharrnnError(what, hint) from None
        for part, (_, after) in zip(parts, results, strict=True):
            for state, rows in zip(states, after, strict=True):
                state[part.lanes] = rows
        for part in parts[1:]:
            self.gradient.flat += part.gradient.flat
        return sum(nats for nats, _ in results)

    def pipes_of_others(self) -> list[Connection]:
        """Return the pipes to the other processes once all are ready; until then, none."""
        if not self.are_ready and all(pipe.poll() for _, pipe in self.children):
            try:
                for _, pipe in self.children:
                    pipe.recv()
            except (EOFError, OSError):
                self.close()  # one could not start
            self.are_ready = True
        return [pipe for _, pipe in self.children] if self.are_ready else []


def open_file() -> IO[bytes]:
    """Open a file without a name, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("charrnn"), "wb")
    return tempfile.TemporaryFile()


def array_in(file: int, shape: tuple[int, ...]) -> Array:
    """Return an array in a file that processes share."""
    return np.frombuffer(mmap.mmap(file, 4 * prod(shape)), np.float32).reshape(shape)


@np.errstate(all="ignore")  # overflow shows in the loss
def serve(pipe_file: int, memory_file: int) -> None:
    """Compute parts at each message from the process that has started this one, until it ends."""
    pipe = Connection(pipe_file)
    with suppress(EOFError, OSError):
        size, sizes, first, processes = pipe.recv()
        memory = array_in(memory_file, (1 + sizes[2], size.parameter_count))
        parts = [Part(size, sizes, number, memory) for number in range(first, sizes[2], processes)]
        pipe.send("ready")
        while True:
            cuts = pipe.recv()
            pipe.send([part.nats_and_states(cut) for part, cut in zip(parts, cuts, strict=True)])

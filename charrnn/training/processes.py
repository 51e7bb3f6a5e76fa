"""The lanes of a batch in parts, computed by this process and others that share its memory.

    this process                             another, which serves
    p, window and states, into the memory
    the number of steps, to each     ---->   the gradient of its parts, each into its own row
    the gradient of its own parts    <----   done
    the sum of the rows, in order

A check-up is shared out as well: each process scores some portions by the p in the memory.

So the bits depend on the number of parts, not on that of processes. The memory is a file without a
name. Where no process can start, and until all are ready, this one computes all parts.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields as fields_of
from multiprocessing.connection import Connection
from typing import IO, Any, NamedTuple

import numpy as np

from charrnn.errors import CharrnnError
from charrnn.network.parameters import Architecture, Parameters
from charrnn.network.through_time import Masks, State, Unfolded, Window
from charrnn.scores import Score
from charrnn.system import Child, end_children, start_child
from charrnn.training.batches import Portion, score_portion
from charrnn.vocabulary import Vocabulary


class BatchSize(NamedTuple):
    steps: int
    lanes: int
    parts: int
    has_dropout: bool


class Part:
    """A part of the lanes, the network unfolded over them, and the memory of all parts."""

    def __init__(self, a: Architecture, size: BatchSize, number: int, memory: Any) -> None:
        first = size.lanes * number // size.parts
        stop = size.lanes * (number + 1) // size.parts
        self.number, self.memory, self.slice = number, memory, slice(first, stop)
        self.unfolded = Unfolded(a, size.steps, stop - first)
        self.states = [state[0] for state in self.unfolded.states]  # before a window, then after it
        self.scale = 1 / (size.steps * size.lanes)  # the mean loss over a full window
        self.p = Parameters(a, memory["p"])
        self.gradient = Parameters(a, memory["gradients"][number])

    def read(self, steps: int) -> tuple[Window, Masks | None]:
        """Take the states of these lanes from the memory; return their window and masks."""
        memory, lanes = self.memory, self.slice
        copy(memory["states"][:, lanes], self.states)
        fields = np.ascontiguousarray(memory["window"][:, :steps, lanes])  # of a Window, in order
        x, y, begins, idle, clock, to_come = fields
        # Zeros stand for None. A network without these inputs does not look at clock and to_come.
        window = Window(x, y, begins > 0, idle > 0 if idle.any() else None, clock, to_come)
        return window, list(memory["masks"][:, :, lanes]) or None

    def write(self, nats: float) -> None:
        """Leave the loss and the states of these lanes in the memory, beside the gradient."""
        self.memory["nats"][self.number] = nats
        copy(self.states, self.memory["states"][:, self.slice])


class SharedBatch:
    """The lanes of a batch in parts, and the processes that compute them."""

    def __init__(self, a: Architecture, size: BatchSize, cores: int = 1) -> None:
        self.children: list[Child] = []
        self.are_ready = False
        self.memory = memory_of(a, size)
        try:
            self.start_children(a, size, min(cores, size.parts))
        except (OSError, ValueError, TypeError):  # no file or no process
            end_children(self.children)
        self.close = weakref.finalize(self, end_children, self.children)
        self.parts = [Part(a, size, number, self.memory) for number in range(size.parts)]
        self.p, self.gradient = self.parts[0].p, self.parts[0].gradient

    def start_children(self, a: Architecture, size: BatchSize, processes: int) -> None:
        """Start all processes but this one, if there are others, in memory that all share."""
        if processes > 1:
            with open_file() as file:
                # Zeros take the room at once; in a hole, a process could end for lack of it.
                file.write(bytes(self.memory.nbytes))
                file.flush()
                shared = memory_of(a, size, file.fileno())
                for first in range(1, processes):
                    child, pipe = start_child(f"{__name__}:serve", file.fileno())
                    self.children.append((child, pipe))
                    pipe.send((a, size, first, processes))
            self.memory = shared

    def nats_and_gradient(self, window: Window, states: State, masks: Masks | None) -> float:
        """Return the loss at the parameters ``p``. Leave its gradient, and move the states on."""
        if len(self.parts) == 1:
            only = self.parts[0]
            copy(states, only.states)
            nats = only.unfolded.nats_and_gradient(self.p, window, only.gradient, only.scale, masks)
            copy(only.states, states)
            return nats
        memory, steps = self.memory, len(window.x)
        copy(vars(window).values(), memory["window"][:, :steps])  # in the order of its fields
        copy(masks or [], memory["masks"])
        copy(states, memory["states"])
        pipes = self.pipes_of_others()
        processes = 1 + len(pipes)
        with self.explained():
            for pipe in pipes:
                pipe.send(steps)
            for part in self.parts[::processes]:  # process i has the parts i, i + processes, ...
                part_window, part_masks = part.read(steps)
                inputs = part_window, part.gradient, part.scale, part_masks
                part.write(part.unfolded.nats_and_gradient(self.p, *inputs))
            for pipe in pipes:
                pipe.recv()
        for part in self.parts[1:]:
            self.gradient.flat += part.gradient.flat
        copy(memory["states"], states)
        return float(sum(memory["nats"].tolist()))

    def scores(self, vocabulary: Vocabulary, portions: Sequence[Portion]) -> list[list[Score]]:
        """Return the scores of the texts in each portion at the parameters ``p``."""
        pipes = self.pipes_of_others()
        processes = 1 + len(pipes)
        scores: list[list[Score]] = [[] for _ in portions]
        with self.explained():
            for number, pipe in enumerate(pipes, 1):
                pipe.send((vocabulary, portions[number::processes]))
            scores[::processes] = [
                score_portion(vocabulary, self.p, i) for i in portions[::processes]
            ]
            for number, pipe in enumerate(pipes, 1):
                scores[number::processes] = pipe.recv()
        return scores

    @contextmanager
    def explained(self) -> Iterator[None]:
        """If another process has ended, end the rest and say so."""
        try:
            yield
        except (EOFError, OSError):
            self.close()
            what = "a process of this training has ended, perhaps for lack of memory"
            hint = "Resume the run, with [cores] 1 if that happens again."
            raise CharrnnError(what, hint) from None

    def pipes_of_others(self) -> list[Connection]:
        """Return the pipes to the other processes once all are ready; until then, none."""
        pipes = [pipe for _, pipe in self.children]
        if self.are_ready:
            return pipes
        if not all(pipe.poll() for pipe in pipes):
            return []
        self.are_ready = True
        try:
            for pipe in pipes:
                pipe.recv()
        except (EOFError, OSError):  # one could not start: this process computes all parts
            self.close()  # which empties the list of children
            return []
        return pipes


def copy(arrays: Any, targets: Any) -> None:
    """Copy arrays, zeros for None."""
    for array, target in zip(arrays, targets, strict=True):
        target[...] = 0 if array is None else array


def open_file() -> IO[bytes]:
    """Open a file without a name, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("charrnn"), "wb")
    return tempfile.TemporaryFile()


def memory_of(a: Architecture, size: BatchSize, file: int | None = None) -> Any:
    """Return named arrays in a file that processes share, or in the memory of this one."""
    masked = a.layers if size.has_dropout else 0
    fields: list[Any] = [
        ("nats", "f8", (size.parts,)),
        ("window", "i8", (len(fields_of(Window)), size.steps, size.lanes)),  # 0 for None
        ("states", "f4", (len(a.state_names), size.lanes, a.hidden)),
        ("masks", "f4", (masked, 1, size.lanes, a.hidden)),
        ("p", "f4", (a.parameter_count,)),
        ("gradients", "f4", (size.parts, a.parameter_count)),
    ]
    kind = np.dtype(fields)
    if file is None:
        return np.zeros((), kind)
    return np.frombuffer(mmap.mmap(file, kind.itemsize), kind).reshape(())


@np.errstate(all="ignore")  # overflow shows in the loss
def serve(pipe_file: int, memory_file: int) -> None:
    """Do what each message asks for, until the process that has started this one ends."""
    pipe = Connection(pipe_file)
    with suppress(EOFError, OSError, MemoryError):
        a, size, first, processes = pipe.recv()
        memory = memory_of(a, size, memory_file)
        parts = [Part(a, size, number, memory) for number in range(first, size.parts, processes)]
        scores: list[list[Score]] = []
        while True:
            pipe.send(scores)  # ready, or done
            message = pipe.recv()
            scores = []
            if isinstance(message, int):
                for part in parts:
                    window, masks = part.read(message)
                    inputs = window, part.gradient, part.scale, masks
                    part.write(part.unfolded.nats_and_gradient(part.p, *inputs))
            else:
                vocabulary, portions = message
                scores = [score_portion(vocabulary, parts[0].p, portion) for portion in portions]

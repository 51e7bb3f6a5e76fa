"""The lanes of a batch in shards, computed by this process and others that share its memory.

    this process                             another, which serves
    p, window and states, into the memory
    the number of time steps, to each     ---->   the gradient of its shards, each into its own row
    the gradient of its own shards    <----   done
    the sum of the rows, in order

The sum is in order, so the bits depend on the number of shards, not on that of processes. Check-ups
are distributed as well: each process scores some portions by the p in the memory, a file without a
name. Where no process can start, and until all are ready, this one computes all shards.

Where the matrix library has several threads, which could change the last bits, others compute all.
"""

import mmap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from charrnn.errors import CharrnnError
from charrnn.network.parameters import Architecture, Parameters
from charrnn.network.through_time import LaneStates, Masks, Unfolded, Window
from charrnn.prediction.losses import Score
from charrnn.system.children import Children
from charrnn.system.cores import has_one_thread
from charrnn.text.vocabulary import Vocabulary
from charrnn.training.batches import Portion, score_portion
from charrnn.training.optimizer import norm_of
from charrnn.training.own_inputs import OwnInputs

ENDED = "a process of this training has ended, perhaps for lack of memory"
RESUME = "Resume the run, with [cores] 1 if that happens again."
Task = tuple[Callable[..., Any], tuple[Any, ...]]  # function(shards, ...), and what follows


class BatchSize(NamedTuple):
    time_steps: int
    lanes: int
    shards: int
    has_dropout: bool


def memory_of(a: Architecture, size: BatchSize, shared: mmap.mmap | None = None) -> Any:
    """Return named arrays in shared memory, or in the memory of this process."""
    masked = a.layers if size.has_dropout else 0
    layout: list[Any] = [
        ("nats", "f8", (size.shards,)),
        ("window", "i8", (len(fields(Window)), size.time_steps, size.lanes)),  # 0 for None
        ("states", "f4", (len(a.state_names), size.lanes, a.hidden)),
        ("masks", "f4", (masked, 1, size.lanes, a.hidden)),
        ("p", "f4", (a.parameter_count,)),
        ("gradients", "f4", (size.shards, a.parameter_count)),
    ]
    if shared is None:
        return np.zeros((), layout)
    return np.frombuffer(shared, layout).reshape(())


class Shard:
    """A shard of the lanes, the network unfolded over them, and the memory of all shards."""

    def __init__(self, a: Architecture, size: BatchSize, number: int, memory: Any) -> None:
        first = size.lanes * number // size.shards
        stop = size.lanes * (number + 1) // size.shards
        self.number, self.memory, self.lanes = number, memory, slice(first, stop)
        self.unfolded = Unfolded(a, size.time_steps, stop - first)
        self.states = [state[0] for state in self.unfolded.states]  # before a window, then after it
        self.scale = 1 / (size.time_steps * size.lanes)  # the mean loss over a full window
        self.p = Parameters(a, memory["p"])
        self.gradient = Parameters(a, memory["gradients"][number])

    def compute(self, time_steps: int) -> None:
        """Read a window from the memory, and leave loss, states and gradient of these lanes."""
        memory, lanes = self.memory, self.lanes
        copy(memory["states"][:, lanes], self.states)
        fields = np.ascontiguousarray(memory["window"][:, :time_steps, lanes])  # of a Window
        x, y, is_first, idle, clock, to_come = fields
        # Zeros stand for None. A network without these inputs does not look at clock and to_come.
        window = Window(x, y, is_first > 0, idle > 0 if idle.any() else None, clock, to_come)
        masks = list(memory["masks"][:, :, lanes]) or None
        nats = self.unfolded.nats_and_gradient(self.p, window, self.gradient, self.scale, masks)
        memory["nats"][self.number] = nats
        copy(self.states, memory["states"][:, lanes])


def compute(shards: Sequence[Shard], time_steps: int) -> None:
    for shard in shards:
        shard.compute(time_steps)


def score(
    shards: Sequence[Shard], vocabulary: Vocabulary, portions: Sequence[Portion]
) -> list[list[Score]]:
    return [score_portion(vocabulary, shards[0].p, portion) for portion in portions]


def norm(shards: Sequence[Shard]) -> float:
    """Return the norm of the whole gradient, which is in the first row."""
    return norm_of(shards[0].memory["gradients"][0])


def sample_inputs(shards: Sequence[Shard], own: OwnInputs, *given: Any) -> Window:
    """Return the window with inputs that the network has sampled: see OwnInputs.read."""
    return own.read(shards[0].p, *given)


class SharedBatch:
    """The lanes of a batch in shards, and the processes that compute them."""

    def __init__(self, a: Architecture, size: BatchSize, cores: int = 1) -> None:
        self.children = Children()
        self.close = self.children.end
        self.memory = memory_of(a, size)
        self.works_here = has_one_thread()
        processes = min(cores, size.shards)
        messages = [(a, size, at, processes) for at in range(int(self.works_here), processes)]
        try:
            if messages:
                shared = self.children.start(f"{__name__}:serve", messages, self.memory.nbytes)
                self.memory = memory_of(a, size, shared)
        except (OSError, ValueError, TypeError):  # no file or no process
            self.close()
        if not self.works_here:
            self.works_here = not self.children.ready_pipes(wait=True)
        self.shards = [Shard(a, size, number, self.memory) for number in range(size.shards)]
        self.p, self.gradient = self.shards[0].p, self.shards[0].gradient

    def nats_and_gradient(self, window: Window, states: LaneStates, masks: Masks | None) -> float:
        """Return the loss at the parameters ``p``. Leave its gradient, and move the states on."""
        memory, time_steps, only = self.memory, len(window.x), self.shards[0]
        if len(self.shards) == 1 and self.works_here:  # without copies, up to a tenth faster
            copy(states, only.states)
            nats = only.unfolded.nats_and_gradient(self.p, window, only.gradient, only.scale, masks)
            copy(only.states, states)
            return nats
        copy(vars(window).values(), memory["window"][:, :time_steps])  # in the order of its fields
        copy(masks or [], memory["masks"])
        copy(states, memory["states"])
        self.distribute(lambda number, processes: (compute, (time_steps,)))
        for shard in self.shards[1:]:
            self.gradient.flat += shard.gradient.flat
        copy(memory["states"], states)
        return float(sum(memory["nats"].tolist()))

    def ask(self, function: Callable[..., Any], *given: Any) -> Any:
        """Return what a process with one thread returns for its shards and these arguments."""
        if self.works_here:
            return function(self.shards, *given)
        return self.distribute(lambda number, processes: (function, given))[0]

    def scores(self, vocabulary: Vocabulary, portions: Sequence[Portion]) -> list[list[Score]]:
        """Return the scores of the texts in each portion at the parameters ``p``."""
        scores: list[list[Score]] = [[] for _ in portions]
        done = self.distribute(lambda first, step: (score, (vocabulary, portions[first::step])))
        for first, of_process in enumerate(done):
            scores[first :: len(done)] = of_process
        return scores

    def distribute(self, task_of: Callable[[int, int], Task]) -> list[Any]:
        """Return what each process answers to the task of its number among so many.

        Process i has the shards i, i + processes, ... Raise CharrnnError if one has ended.
        """
        pipes = self.children.ready_pipes()
        here = [self.shards] if self.works_here else []
        processes = len(here) + len(pipes)
        try:
            for number, pipe in enumerate(pipes, len(here)):
                pipe.send(task_of(number, processes))
            function, given = task_of(0, processes)
            done = [function(shards[::processes], *given) for shards in here]
            return [*done, *(pipe.recv() for pipe in pipes)]
        except (EOFError, OSError):
            self.close()
            raise CharrnnError(ENDED, RESUME) from None


def copy(arrays: Iterable[Any], targets: Iterable[Any]) -> None:
    """Copy arrays, zeros for None."""
    for array, target in zip(arrays, targets, strict=True):
        target[...] = 0 if array is None else array


@np.errstate(all="ignore")  # overflow shows in the loss
def serve(pipe_file: int, memory_file: int) -> None:
    """Do each task, until the process that has started this one ends."""
    pipe = Connection(pipe_file)
    with suppress(EOFError, OSError, MemoryError):
        a, size, first, processes = pipe.recv()
        memory = memory_of(a, size, mmap.mmap(memory_file, 0))  # the whole file
        shards = [Shard(a, size, number, memory) for number in range(first, size.shards, processes)]
        pipe.send("ready")
        while True:
            function, given = pipe.recv()
            pipe.send(function(shards, *given))

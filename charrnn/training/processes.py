"""The lanes of a batch in shards, computed by this process and others that share its memory.

    this process                             another, which serves
    p, window and states, into the memory
    the number of time steps, to each     ---->   the gradient of its shards, each into its own row
    the gradient of its own shards    <----   done
    the sum of the rows, in order

The sum is in order, so the bits depend on the number of shards, not on that of processes. Check-ups
are distributed as well. Where no process can start, and until all are ready, this one computes all
shards. Where its matrix library has several threads, which change the last bits, others do.
"""

import math
import mmap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from itertools import accumulate
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from charrnn.errors import ClusterError
from charrnn.network.parameters import Architecture, Parameters
from charrnn.network.through_time import LaneStates, Masks, Unfolded, Window
from charrnn.prediction.losses import Score
from charrnn.settings.training import Fitted
from charrnn.system.children import Children
from charrnn.system.cores import cores_for, has_one_thread
from charrnn.text.vocabulary import Vocabulary
from charrnn.training.batches import Portion, score_portion
from charrnn.training.noise import OwnInputs


def memory_of(a: Architecture, config: Fitted, shared: mmap.mmap | None = None) -> dict[str, Any]:
    """Return named arrays in shared memory, or in the memory of this process."""
    layout: dict[str, tuple[str, tuple[int, ...]]] = {
        "nats": ("f8", (config.shards,)),
        "window": ("i8", (len(fields(Window)), config.bptt, config.batch)),  # 0 for None
        "states": ("f4", (len(a.state_names), config.batch, a.hidden)),
        "masks": ("f4", (a.layers * (config.dropout > 0), 1, config.batch, a.hidden)),
        "p": ("f4", (a.parameter_count,)),
        "gradients": ("f4", (config.shards, a.parameter_count)),
    }
    stops = [*accumulate(int(kind[1]) * math.prod(shape) for kind, shape in layout.values())]
    memory = np.zeros(stops[-1], "u1") if shared is None else np.frombuffer(shared, "u1")
    parts = zip(layout.items(), np.split(memory, stops), strict=False)
    return {name: part.view(kind).reshape(shape) for (name, (kind, shape)), part in parts}


class Shard:
    """A shard of the lanes, the network unfolded over them, and the memory of all shards."""

    def __init__(self, a: Architecture, config: Fitted, number: int, memory: Any) -> None:
        first, stop = (config.batch * n // config.shards for n in (number, number + 1))
        self.number, self.memory, self.lanes = number, memory, slice(first, stop)
        self.unfolded = Unfolded(a, config.bptt, stop - first)
        self.own_inputs = OwnInputs(a, config)
        self.states = [state[0] for state in self.unfolded.states]  # before a window, then after it
        self.scale = 1 / (config.bptt * config.batch)  # the mean loss over a full window
        self.p = Parameters(a, memory["p"])
        self.gradient = Parameters(a, memory["gradients"][number])

    def compute(self, window: Window, states: LaneStates, masks: Masks | None) -> float:
        """Return the loss in nats. Leave its gradient, and move the states on."""
        copy(states, self.states)
        nats = self.unfolded.nats_and_gradient(self.p, window, self.gradient, self.scale, masks)
        copy(self.states, states)
        return nats


def compute(shards: Sequence[Shard], time_steps: int) -> None:
    """Compute the lanes of these shards in the window that is in the memory."""
    for shard in shards:
        memory, lanes = shard.memory, shard.lanes
        of_window = np.ascontiguousarray(memory["window"][:, :time_steps, lanes])
        x, y, is_first, idle, *counts = of_window  # zeros for None
        window = Window(x, y, is_first > 0, idle > 0 if idle.any() else None, *counts)
        states, masks = list(memory["states"][:, lanes]), list(memory["masks"][:, :, lanes])
        memory["nats"][shard.number] = shard.compute(window, states, masks or None)


def score(shards: Sequence[Shard], vocabulary: Vocabulary, portions: Sequence[Portion]) -> Any:
    return [score_portion(vocabulary, shard.p, portions[shard.number]) for shard in shards]


def norm(shards: Sequence[Shard]) -> float:
    gradient = shards[0].memory["gradients"][0]  # the sum
    return math.sqrt(float(np.dot(gradient, gradient)))


def sample_inputs(shards: Sequence[Shard], *given: Any) -> Window:
    """Return the window with inputs that the network has sampled: see OwnInputs.read."""
    return shards[0].own_inputs.read(shards[0].p, *given)


class SharedBatch:
    """The lanes of a batch in shards, and the processes that compute them."""

    def __init__(self, a: Architecture, config: Fitted) -> None:
        self.children = Children()
        self.close = self.children.end
        self.memory = memory_of(a, config)
        self.works_here = has_one_thread()
        processes = min(cores_for(config.cores), config.shards)
        messages = [(a, config, at, processes) for at in range(int(self.works_here), processes)]
        try:
            if messages:
                size = sum(array.nbytes for array in self.memory.values())
                shared = self.children.start(f"{__name__}:serve", messages, size)
                self.memory = memory_of(a, config, shared)
        except (OSError, ValueError, TypeError):  # no file or no process
            self.close()
        if not self.works_here:
            self.works_here = not self.children.ready_pipes(wait=True)
        self.shards = [Shard(a, config, number, self.memory) for number in range(config.shards)]
        self.p, self.gradient = self.shards[0].p, self.shards[0].gradient

    def nats_and_gradient(self, window: Window, states: LaneStates, masks: Masks | None) -> float:
        """Return the loss at the parameters ``p``. Leave its gradient, and move the states on."""
        memory, time_steps = self.memory, len(window.x)
        if len(self.shards) == 1 and self.works_here:  # without copies, up to a tenth faster
            return self.shards[0].compute(window, states, masks)
        copy(vars(window).values(), memory["window"][:, :time_steps])  # in the order of its fields
        copy(masks or [], memory["masks"])
        copy(states, memory["states"])
        self.distribute(compute, time_steps)
        for shard in self.shards[1:]:
            self.gradient.flat += shard.gradient.flat
        copy(memory["states"], states)
        return float(sum(memory["nats"].tolist()))

    def ask(self, function: Callable[..., Any], *given: Any) -> Any:
        """Return what a process with one thread returns for its shards and these arguments."""
        if self.works_here:
            return function(self.shards, *given)
        return self.distribute(function, *given)[0]

    def scores(self, vocabulary: Vocabulary, portions: Sequence[Portion]) -> list[list[Score]]:
        """Return the scores of the texts in each portion, one a shard, at the parameters ``p``."""
        answers = self.distribute(score, vocabulary, portions)
        scores: list[list[Score]] = [[] for _ in portions]
        for first, of_process in enumerate(answers):
            scores[first :: len(answers)] = of_process
        return scores

    def distribute(self, function: Callable[..., Any], *given: Any) -> list[Any]:
        """Return what each process answers for its shards: process i has i, i + processes, ...

        Raise ClusterError if one has ended.
        """
        pipes = self.children.ready_pipes()
        try:
            for pipe in pipes:
                pipe.send((function, given))
            answers = [function(self.shards[:: 1 + len(pipes)], *given)] if self.works_here else []
            return answers + [pipe.recv() for pipe in pipes]
        except (EOFError, OSError):
            self.close()
            what = "a process of this training has ended, perhaps for lack of memory"
            hint = "Resume the run, with [cores] 1 if that happens again."
            raise ClusterError(what, hint) from None


def copy(arrays: Iterable[Any], targets: Iterable[Any]) -> None:
    """Copy arrays, zeros for None."""
    for array, target in zip(arrays, targets, strict=True):
        target[...] = 0 if array is None else array


@np.errstate(all="ignore")  # overflow shows in the loss
def serve(pipe_file: int, memory_file: int) -> None:
    """Do each task, until the process that has started this one ends."""
    pipe = Connection(pipe_file)
    with suppress(EOFError, OSError, MemoryError):
        a, config, first, processes = pipe.recv()
        memory = memory_of(a, config, mmap.mmap(memory_file, 0))  # the whole file
        numbers = range(first, config.shards, processes)
        shards = [Shard(a, config, number, memory) for number in numbers]
        pipe.send("ready")
        while True:
            function, given = pipe.recv()
            pipe.send(function(shards, *given))

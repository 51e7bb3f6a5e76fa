"""Processes that train as one, each on its own lanes: the ranks of MPI, or a single process.

    rank 0       lanes 0 .. 31  -> gradient -+              +-> clip -> Adam
    rank 1       lanes 32 .. 63 -> gradient -+-> their sum -+-> clip -> Adam

Each rank does the work of one thread of Parallel, so P ranks write the same model file as P
threads. The first rank decides what depends on a clock or a signal. Only ``join`` loads MPI.
"""

from __future__ import annotations

import socket
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np

from charrnn.corpus.corpus import Corpus, read_files
from charrnn.errors import CharrnnError, CorpusError, SettingError
from charrnn.network.parameters import Parameters
from charrnn.network.rounding import Array
from charrnn.network.threads import Parallel, useful_threads
from charrnn.network.unfolded import State
from charrnn.scoring.score import Score
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Fitted, TrainConfig

if TYPE_CHECKING:
    from mpi4py import MPI


T = TypeVar("T")


class DismissedError(CharrnnError):
    """The first rank has ended the run before training, and has reported why."""


class Ranks:
    """A single process: it is the first rank and has all lanes."""

    number = 0
    count = 1

    def parallel(self, p: Parameters, config: Fitted) -> Parallel:
        """Return the object that computes the gradient over all lanes."""
        sizes = config.bptt, config.batch, config.threads
        return Parallel(p.architecture, *sizes, p.flat.dtype)

    def load(self, sources: Sequence[str], config: CorpusConfig, valid: Sequence[str]) -> Corpus:
        """Return the corpus; CorpusError if it differs between ranks."""
        return read_files(sources, config, valid)

    def of_first(self, value: T) -> T:
        """Return the value that the first rank passes."""
        return value

    def begin(self, value: T) -> T:
        """Return the value that the first rank passes, and begin to train."""
        return value

    def end(self) -> None:
        """Stop waiting for other ranks."""

    def total(self, score: Score) -> Score:
        """Return the sum over all ranks."""
        return score

    def align(self, p: Array, moments: Mapping[str, Array], lanes: State) -> None:
        """Copy the first rank's numbers to all ranks, and all lanes to the first."""

    def add_up(self, gradient: Array, nats: float) -> float:
        """Add up the gradients of all ranks in place, and return the sum of their nats."""
        return nats

    def share(self, lanes: State) -> None:
        """Copy all lanes to the first rank, if it needs them after this step."""

    def are_to_stop(self, requested: bool = False) -> bool:
        """Return True if all ranks stop now; a request of the first takes effect a step later."""
        return requested

    def first_has_all(self) -> bool:
        """Return True if the first rank has all lanes; if not, it has them after the next step."""
        return True


ALONE = Ranks()


def check_can_be_shared(config: TrainConfig) -> None:
    """Raise SettingError for settings that several ranks cannot train with."""
    if config.members > 1:
        what = f"members {config.members} cannot train on several ranks"
        hint = "Train each network in a run of its own, and name all model files in later commands."
        raise SettingError(what, hint, setting="members")
    for name in ("own_inputs", "free_running"):
        if getattr(config, name):
            what = f"{name} {getattr(config, name):g} cannot be used on several ranks"
            why = "it samples for all lanes at once"
            raise SettingError(f"{what}: {why}", "Leave it out, or train with threads.", name)


class MpiRanks(Ranks):
    """The ranks of a communicator, each a process that can be on another machine."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.number, self.count = comm.rank, comm.size
        self.have_begun = False  # to train; before that the others wait for the first rank
        self.are_apart = self.count == 1  # whether no rank waits for another any more
        self.bounds = [0] * (self.count + 1)  # of the lanes of each rank
        self._gathers = False  # whether the first rank gets all lanes after this step
        self._requests = {"stop": False, "all lanes": False}
        self._are_to_stop = False
        self._first_has_all = True
        self._parts: Array = np.empty((0, 0))

    def parallel(self, p: Parameters, config: Fitted) -> Parallel:
        lanes, busy = config.batch, useful_threads(p.architecture, config.batch, self.count)
        self.bounds = [lanes * min(rank, busy) // busy for rank in range(self.count + 1)]
        start, stop = self.bounds[self.number : self.number + 2]
        steps, dtype = config.bptt, p.flat.dtype
        return Parallel(p.architecture, steps, stop - start, dtype=dtype, first=start)

    def load(self, sources: Sequence[str], config: CorpusConfig, valid: Sequence[str]) -> Corpus:
        if "-" in (*sources, *valid):
            what = "standard input reaches the first rank alone, and each rank reads the corpus"
            raise CorpusError(what, "Write the corpus into a file.")
        of_first = self.of_first((sources, config, valid))
        if of_first is None:
            raise DismissedError("the first rank has ended")
        sources, config, valid = of_first
        corpus = failure = marks = None
        try:
            corpus = read_files(sources, config, valid)
            marks = corpus.fingerprint, corpus.digest
        except (CharrnnError, OSError, MemoryError) as caught:
            failure = caught
        found = self.comm.allgather((failure, marks, socket.gethostname()))
        for number, (error, other, machine) in enumerate(found):
            if error is None and other == found[0][1]:
                continue
            self.are_apart = True
            where = f"rank {number} on {machine}"
            if number and isinstance(error, CharrnnError):
                error.what = f"{where}: {error.what}"
            if error is not None and (number == 0 or isinstance(error, CharrnnError)):
                raise error
            what = f"{where}: {error}"
            if error is None:
                both = f"SHA-256 {other[0][:12]}, and {found[0][1][0][:12]} on the first rank"
                what = f"the corpus of {where} differs: {both}"
            raise CorpusError(what, "Let every rank read the same corpus.")
        assert corpus is not None
        return corpus

    def of_first(self, value: T) -> T:
        found: T = self.comm.bcast(value)
        return found

    def begin(self, value: T) -> T:
        found = self.of_first(value)
        self.have_begun, self.are_apart = True, self.are_apart or found is None
        return found

    def abort(self, status: int) -> NoReturn:
        self.comm.Abort(status)
        raise SystemExit(status)

    def end(self) -> None:
        self.are_apart = True

    def total(self, score: Score) -> Score:
        return sum(self.comm.allgather(score), Score())

    def align(self, p: Array, moments: Mapping[str, Array], lanes: State) -> None:
        """Copy the numbers, because last bits can differ between kinds of machines."""
        for numbers in (p, *moments.values()):
            self.comm.Bcast(numbers)
        self._gather(lanes)

    def share(self, lanes: State) -> None:
        if self._gathers:
            self._gather(lanes)

    def _gather(self, lanes: State) -> None:
        for state in lanes:
            at = [bound * state.shape[1] for bound in self.bounds]
            counts = [stop - start for start, stop in pairwise(at)]
            own = state[self.bounds[self.number] : self.bounds[self.number + 1]]
            self.comm.Gatherv(own.copy(), [state, (counts, at[:-1])])
        self._first_has_all, self._requests["all lanes"] = True, False

    def are_to_stop(self, requested: bool = False) -> bool:
        self._requests["stop"] |= requested
        return self._are_to_stop

    def first_has_all(self) -> bool:
        self._requests["all lanes"] = not self._first_has_all
        return self._first_has_all

    def add_up(self, gradient: Array, nats: float) -> float:
        own = np.array([nats, *self._requests.values()])
        every = np.empty((self.count, len(own)))
        self.comm.Allgather(own, every)
        self._are_to_stop, self._gathers = bool(every[0, 1]), bool(every[0, 1:].any())
        self._first_has_all = False
        self._add_up_gradients(gradient)
        total = 0.0
        for part in every[:, 0].tolist():  # sum() rounds less since Python 3.12
            total += part
        return total

    def _add_up_gradients(self, gradient: Array) -> None:
        """Let each rank add up a part of the numbers for all, in the order of the ranks."""
        busy = int(np.count_nonzero(np.diff(self.bounds)))
        at = [len(gradient) * rank // self.count for rank in range(self.count + 1)]
        counts = [stop - start for start, stop in pairwise(at)]
        own = counts[self.number]
        if self._parts.shape != (busy, own):
            self._parts = np.empty((busy, own), gradient.dtype)
        parts = self._parts
        of_each = [own if rank < busy else 0 for rank in range(self.count)]
        places = [own * min(rank, busy - 1) for rank in range(self.count)]
        to_each = counts if self.number < busy else [0] * self.count
        self.comm.Alltoallv([gradient, (to_each, at[:-1])], [parts, (of_each, places)])
        for part in parts[1:]:
            parts[0] += part
        self.comm.Allgatherv(parts[0], [gradient, (counts, at[:-1])])


def join() -> MpiRanks:
    """Return the ranks that mpiexec has started, or a single one without mpiexec.

    Raise ImportError if mpi4py is missing, RuntimeError if it finds no MPI to load.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about another mpiexec: the caller counts the ranks
        from mpi4py import MPI

    return MpiRanks(MPI.COMM_WORLD)

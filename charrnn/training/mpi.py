"""Several processes that learn as one, each from its own lanes: the ranks of an MPI.

    rank 0       lanes 0 .. 31  -> gradient -+              +-> clip -> Adam
    rank 1       lanes 32 .. 63 -> gradient -+-> their sum -+-> clip -> Adam

Each rank does what a thread of Parallel would, and what they find is added up in the order of the
ranks, as that of threads is: so a run by P ranks ends in the bytes of one by P threads. The first
rank decides whatever a clock or a signal has a say in, and what it wishes goes along with the nats
of the next step. MPI is known here and nowhere else, and loaded by ``join`` alone.
"""

from __future__ import annotations

import socket
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from charrnn.corpus.corpus import Corpus, CorpusConfig, read_files
from charrnn.errors import CharrnnError, CorpusError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, Parameters
from charrnn.network.threads import Parallel, useful_workers
from charrnn.network.unfolded import Masks, State, Window
from charrnn.scoring.score import Score
from charrnn.training.ranks import DismissedError, Learning, Ranks

if TYPE_CHECKING:
    from mpi4py import MPI

T = TypeVar("T")


class MpiRanks(Ranks):
    """The ranks of a communicator, each a process that may be on a machine of its own."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.number, self.count = comm.rank, comm.size
        self.have_begun = False  # to learn; until then the others wait for a word of the first
        self.are_apart = self.count == 1  # whether nobody waits for anybody any more
        self.bounds = [0] * (self.count + 1)  # of the lanes of each
        self.gathers = False  # whether the first one gets all lanes after this step
        self._wishes = {"stop": False, "all lanes": False}
        self._are_to_stop = False
        self._first_has_all = True
        self._parts: Array = np.empty((0, 0))

    def parallel(
        self,
        architecture: Architecture,
        steps: int,
        lanes: int,
        workers: int,
        dtype: DTypeLike = np.float32,
    ) -> Learning:
        busy = useful_workers(architecture, lanes, self.count)
        self.bounds = [lanes * min(rank, busy) // busy for rank in range(self.count + 1)]
        return OneOfMany(self, architecture, steps, dtype)

    def load(self, sources: Sequence[str], config: CorpusConfig, valid: Sequence[str]) -> Corpus:
        if "-" in (*sources, *valid):
            raise CorpusError(
                "standard input goes to the first rank alone, and each of them reads the corpus",
                "Write it into a file.",
            )
        of_first = self.of_first((sources, config, valid))
        if of_first is None:
            raise DismissedError("the first rank has ended")
        sources, config, valid = of_first
        corpus: Corpus | None = None
        failure: Exception | None = None
        try:
            corpus = read_files(sources, config, valid)
        except (CharrnnError, OSError, MemoryError) as caught:
            failure = caught
        marks = None if corpus is None else (corpus.fingerprint, corpus.digest)
        found = self.comm.allgather((failure, marks, socket.gethostname()))
        for number, (error, other, machine) in enumerate(found):
            if error is not None or other != found[0][1]:
                self.are_apart = True
                raise _placed(error, other, found[0][1], f"rank {number} on {machine}", number)
        assert corpus is not None
        return corpus

    def of_first(self, value: T) -> T:
        found: T = self.comm.bcast(value)
        return found

    def begin(self, value: T) -> T:
        found = self.of_first(value)
        self.have_begun, self.are_apart = True, self.are_apart or found is None
        return found

    def dismiss(self) -> None:
        """Let the others go, who wait for a word, and have not begun."""
        self.begin(None)

    def abort(self, status: int) -> NoReturn:
        """End the processes of all ranks, whatever they are at."""
        self.comm.Abort(status)
        raise SystemExit(status)

    def end(self) -> None:
        self.are_apart = True

    def total(self, score: Score) -> Score:
        return sum(self.comm.allgather(score), Score())

    def align(self, p: Array, moments: Mapping[str, Array], lanes: State) -> None:
        """On machines of different kinds a last bit may differ, and would from then on."""
        for numbers in (p, *moments.values()):
            self.comm.Bcast(numbers)
        self.gather(lanes)

    def gather(self, lanes: State) -> None:
        """Let the first one have all lanes."""
        for state in lanes:
            at = [bound * state.shape[1] for bound in self.bounds]
            counts = [stop - start for start, stop in pairwise(at)]
            own = state[self.bounds[self.number] : self.bounds[self.number + 1]]
            self.comm.Gatherv(own.copy(), [state, (counts, at[:-1])])
        self._first_has_all, self._wishes["all lanes"] = True, False

    def are_to_stop(self, wish: bool = False) -> bool:
        self._wishes["stop"] |= wish
        return self._are_to_stop

    def first_has_all(self) -> bool:
        self._wishes["all lanes"] = not self._first_has_all
        return self._first_has_all

    def add_up(self, gradient: Array, nats: float) -> float:
        """Turn the gradient of this rank's lanes into that of all; the nats of all."""
        own = np.array([nats, *self._wishes.values()])
        every = np.empty((self.count, len(own)))
        self.comm.Allgather(own, every)
        self._are_to_stop, self.gathers = bool(every[0, 1]), bool(every[0, 1:].any())
        self._first_has_all = False
        self._add_up_gradients(gradient)
        total = 0.0
        for one in every[:, 0].tolist():  # not by sum(), which since Python 3.12 rounds less
            total += one
        return total

    def _add_up_gradients(self, gradient: Array) -> None:
        """Each rank adds up a part of the numbers, in the order of the ranks, for all."""
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


class OneOfMany:
    """What a thread of Parallel does, done by a rank; one with no lanes only adds up."""

    def __init__(
        self, ranks: MpiRanks, architecture: Architecture, steps: int, dtype: DTypeLike
    ) -> None:
        start, stop = ranks.bounds[ranks.number], ranks.bounds[ranks.number + 1]
        self.here = slice(start, stop)
        self._ranks = ranks
        self._own = [Parallel(architecture, steps, stop - start, 1, dtype)] if stop > start else []

    def start_from(self, state: State) -> None:
        """Let the next window start from this state of all lanes."""
        for own in self._own:
            own.start_from([of_all[self.here] for of_all in state])

    def copy_state(self, state: State) -> None:
        """Write where the next window starts from into this state; that of all lanes, if the first
        rank has wished for it.
        """
        for own in self._own:
            own.copy_state([of_all[self.here] for of_all in state])
        if self._ranks.gathers:
            self._ranks.gather(state)

    def nats_and_gradient(
        self,
        p: Parameters,
        window: Window,
        gradient: Parameters,
        scale: float = 1.0,
        masks: Masks | None = None,
    ) -> float:
        """The loss of the window in nats, in all lanes; its gradient is left in ``gradient``."""
        nats = 0.0
        for own in self._own:
            nats = own.nats_and_gradient(p, window, gradient, scale, masks)
        return self._ranks.add_up(gradient.flat, nats)


def _placed(error: Exception | None, other: Any, first: Any, where: str, number: int) -> Exception:
    """What is wrong with the corpus of a rank, said by the first one."""
    if number == 0 and error is not None:
        return error
    if isinstance(error, CharrnnError):
        error.what = f"{where}: {error.what}"
        return error
    if error is not None:
        return CorpusError(f"{where}: {error}", "Let every rank read the same corpus.")
    return CorpusError(
        f"the corpus of {where} is another one: SHA-256 {other[0][:12]}, and that of the first rank"
        f" is {first[0][:12]}",
        "Let every rank read the same corpus.",
    )


def join() -> MpiRanks:
    """The ranks that mpiexec has started, or the one that it has not.

    ImportError where mpi4py is missing, RuntimeError where there is no MPI for it to load.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of another mpiexec, which whoever counts them finds out
        from mpi4py import MPI

    return MpiRanks(MPI.COMM_WORLD)

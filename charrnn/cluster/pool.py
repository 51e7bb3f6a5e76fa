"""Pieces of work in, their results out: in order, or as they come."""

from __future__ import annotations

import pickle
import time
import warnings
from asyncio import CancelledError as AsyncCancelledError
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from charrnn.cluster import worker as task
from charrnn.cluster import worker as worker_check
from charrnn.errors import CharrnnError, ClusterError

if TYPE_CHECKING:
    from distributed import Client, Future

AHEAD: Final = 3  # pieces for each thread that are given out before the oldest has come back
OFTEN: Final = 0.2  # seconds between two looks at what was told meanwhile
AGAIN: Final = 2.0  # seconds after which workers are counted again
QUIET: Final = 10.0  # seconds without a worker after which that is said

Message = Mapping[str, Any]


class Outcome(NamedTuple):
    """What became of an item: a result, or what was wrong with it."""

    item: Any
    result: Any
    error: CharrnnError | None


class DeadlyPieceError(ClusterError):
    """A piece whose workers died; or one that was to be the next where another killed them."""


class Cluster:
    """Workers, and how to give them work. Pieces of work are lost with a worker that dies, and go
    to another one by themselves; what kills several workers is given up.
    """

    def __init__(self, client: Client, address: str, say: Callable[[str], None]) -> None:
        self._client = client
        self._address = address
        self._say = say
        self._mine = replace(worker_check.here(), threads=1)
        self._topic = f"charrnn-{uuid4().hex}"
        self._told: SimpleQueue[Message] = SimpleQueue()
        self._listener: Callable[[Message], None] | None = None
        self._counted = (0, float("-inf"))  # threads, and when
        self._silent_since: float | None = None
        self._shared: list[Future[Any]] = []  # what nobody holds any more is forgotten
        self.is_lost = False  # the scheduler is gone

    def begin(self) -> None:
        """Wait for a worker, and see that all there are by then are like us."""
        while not self._count():
            self._look_around()
            time.sleep(OFTEN)
        found = self._spoken(lambda: self._client.run(worker_check.here, on_error="return"))
        for worker, its in found.items():
            if isinstance(its, worker_check.Likeness):
                self._mine.check(its, worker)
            else:
                raise ClusterError(
                    f"worker {worker} cannot import this charrnn: {its}", worker_check.THE_SAME
                )

    @property
    def threads(self) -> int:
        """How many pieces are worked on at once, by the workers that there are now."""
        if time.monotonic() - self._counted[1] > AGAIN:
            self._count()
        return self._counted[0]

    def share(self, value: object) -> Shared:
        """A value that many pieces need: it travels to each worker once, when it is needed."""
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        future = self._submit(pickle.loads, packed)  # a result, for that can be made again
        self._shared.append(future)
        return Shared(future)

    def everywhere(self, function: Callable[[], Any]) -> list[Any]:
        """What the function, of a module of ours, comes to on each of the workers."""
        return list(self._spoken(lambda: self._client.run(function)).values())

    def listen(self, heard: Callable[[Message], None]) -> None:
        """Let all that tasks ``report`` be heard, by the thread that waits for results, while it
        waits.
        """
        self._listener = heard
        self._client.subscribe_topic(self._topic, lambda event: self._told.put(event[1]))

    def ordered(
        self,
        function: Callable[..., Any],
        pieces: Iterable[Any],
        shared: Shared | None = None,
        name: Callable[[Any], str] = str,
    ) -> Iterator[Any]:
        """What the function makes of each piece, in their order, ``function(piece)`` or
        ``function(piece, shared value)``. It has to stand in a module of ours.

        Few are out at a time, so that nothing piles up however many there are. Where the pieces
        themselves come to an error, all results before it come first. ``name`` says what a piece is
        called in a message.
        """
        out: deque[tuple[Any, Future[Any]]] = deque()
        suspects: deque[Any] = deque()  # one of them kills workers, and the others are beside it
        source, failure = iter(pieces), None
        is_over = is_alone = False
        try:
            while True:
                is_alone = is_alone if out else bool(suspects)
                if is_alone and not out:
                    piece = suspects.popleft()
                    out.append((piece, self._give(function, piece, shared)))
                while not (is_over or is_alone) and len(out) < AHEAD * max(1, self.threads):
                    try:
                        piece = next(source)
                    except StopIteration:
                        is_over = True
                    except Exception as error:
                        is_over, failure = True, error
                    else:
                        out.append((piece, self._give(function, piece, shared)))
                if not out:
                    break
                piece, future = out[0]
                if not self._wait_for([future]):
                    continue
                try:
                    result = self._result(piece, future, name)
                except DeadlyPieceError:
                    if len(out) == 1:
                        raise
                    suspects.extend(piece for piece, _ in out)
                    self._forget(out)
                    continue
                out.popleft()[1].release()
                yield result
        finally:
            self._forget(out)
        if failure is not None:
            raise failure

    def as_completed(
        self,
        function: Callable[..., Any],
        items: Iterable[Any],
        shared: Shared | None = None,
        name: Callable[[Any], str] = str,
    ) -> Iterator[Outcome]:
        """What the function makes of each item, as soon as it is there; or what was wrong with it,
        so that one that fails does not take the others along. None waits at a worker behind
        another, lest it be taken for what killed that.
        """
        out: dict[Future[Any], Any] = {}
        source = iter(items)
        is_over = False
        try:
            while True:
                while not is_over and len(out) < max(1, self.threads):
                    try:
                        item = next(source)
                    except StopIteration:
                        is_over = True
                    else:
                        out[self._give(function, item, shared)] = item
                if not out:
                    return
                for future in self._wait_for([*out]):
                    item = out[future]
                    try:
                        outcome = Outcome(item, self._result(item, future, name), None)
                    except CharrnnError as error:
                        if self.is_lost:
                            raise
                        outcome = Outcome(item, None, error)
                    del out[future]
                    future.release()
                    yield outcome
        finally:
            for future in out:
                future.release()

    def _forget(self, out: deque[tuple[Any, Future[Any]]]) -> None:
        """Wait for none of these any more."""
        while out:
            out.popleft()[1].release()

    def _give(self, function: Callable[..., Any], piece: Any, shared: Shared | None) -> Future[Any]:
        value = None if shared is None else shared.future
        packed = pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)  # lest Dask look for futures in it
        key = f"{function.__name__}-{uuid4().hex}"
        return self._submit(task.run, function, packed, value, self._mine, self._topic, key=key)

    def _submit(self, function: Callable[..., Any], *args: Any, **how: Any) -> Future[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is large
            send = partial(self._client.submit, function, *args, pure=False, **how)
            future: Future[Any] = self._spoken(send)
            return future

    def _result(self, piece: Any, future: Future[Any], name: Callable[[Any], str]) -> Any:
        """The result of a piece that is done."""
        from distributed import KilledWorker

        try:
            result = self._spoken(future.result)
        except KilledWorker as error:
            raise DeadlyPieceError(
                f"{name(piece)} killed {error.allowed_failures + 1} workers, one after the other",
                "Perhaps it takes more memory than a worker has.",
            ) from None
        if isinstance(result, task.Failed):
            raise result.error
        return result

    def _wait_for(self, futures: list[Future[Any]]) -> list[Future[Any]]:
        """Those that are done by the time that one of them is; none, if more workers came first."""
        from distributed import wait

        threads = self.threads

        def done() -> list[Future[Any]]:
            return [future for future in futures if future.done()]

        while not done():
            try:
                with self._client.as_current():
                    self._spoken(partial(wait, futures, OFTEN, "FIRST_COMPLETED"))
            except TimeoutError:
                self._look_around()
                if self.threads > threads:
                    break
        self._hear()
        return done()

    def _look_around(self) -> None:
        """Hear what tasks tell, and say so where there is nobody to do the work."""
        self._hear()
        if self.threads:
            self._silent_since = None
            return
        now = time.monotonic()
        self._silent_since = self._silent_since or now
        if now - self._silent_since >= QUIET:
            self._say(f"no workers yet at {self._address}: waiting for one")
            self._silent_since = float("inf")

    def _hear(self) -> None:
        while self._listener is not None:
            try:
                self._listener(self._told.get_nowait())
            except Empty:
                return

    def _count(self) -> int:
        """Count the workers."""
        found = self._spoken(self._client.nthreads)
        self._counted = sum(found.values()), time.monotonic()
        return len(found)

    def _spoken(self, call: Callable[[], Any]) -> Any:
        """What a call to the scheduler comes to; ClusterError where there is none any more."""
        if self.is_lost:
            raise self._lost()
        try:
            return call()
        except (CancelledError, AsyncCancelledError):
            raise self._lost() from None
        except OSError:  # a task may have one of its own
            if str(self._client.status) != "running":
                raise self._lost() from None
            raise

    def _lost(self) -> ClusterError:
        self.is_lost = True
        return ClusterError(
            f"the scheduler at {self._address} is gone",
            "What was written is right as far as it goes. Start the scheduler, then this again.",
        )


class Shared(NamedTuple):
    """A value that is at the workers."""

    future: Any

"""A pool of Dask workers: send pieces of work, receive results in order or as they complete.

A sample depends only on its number, and a score is exact to the last bit. So any division of the
work gives the results of one process, and only the order has to be kept.
"""

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
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from charrnn.cluster import worker
from charrnn.cluster.worker import SamplingJob, Work, draw
from charrnn.errors import CharrnnError, ClusterError
from charrnn.sampling.sampler import IN_VAIN, Sample

if TYPE_CHECKING:
    from distributed import Client, Future

AHEAD: Final = 3  # pieces per thread that are sent before the oldest result is back
POLL: Final = 0.2  # seconds between two checks for messages
RECOUNT: Final = 2.0  # seconds after which workers are counted again
QUIET: Final = 10.0  # seconds without a worker before a message appears
FIRST_PIECE: Final = 16  # samples a piece: few at first, so that the first texts appear soon
LARGEST_PIECE: Final = 1 << 14
LONG_ENOUGH: Final = 1.0  # seconds; a piece that took so long does not grow
LARGE_ENOUGH: Final = 1 << 20  # characters, likewise

Message = Mapping[str, Any]


class DeadlyPieceError(ClusterError):
    """A piece whose workers died, or a piece queued behind it."""


class Cluster:
    """Workers that run pieces of work. If a worker crashes, Dask sends its pieces to another
    worker; a piece that crashes several workers is an error.
    """

    def __init__(self, client: Client, address: str, say: Callable[[str], None]) -> None:
        self._client, self._address, self._say = client, address, say
        self._environment = replace(worker.environment(), threads=1)
        self._topic = f"charrnn-{uuid4().hex}"
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._listener: Callable[[Message], None] | None = None
        self._counted = (0, float("-inf"))  # threads, and the time of the count
        self._silent_since: float | None = None
        self._shared: list[Future[Any]] = []  # Dask forgets a value without references
        self.is_lost = False  # the scheduler is gone

    def begin(self) -> None:
        """Wait for a worker, and check that all workers compute what this process computes."""
        while not self._count():
            self._check_for_workers()
            time.sleep(POLL)
        answers = self._call(lambda: self._client.run(worker.environment, on_error="return"))
        for name, environment in answers.items():
            if not isinstance(environment, worker.Environment):
                what = f"worker {name} cannot import this charrnn: {environment}"
                raise ClusterError(what, worker.SAME_INSTALL)
            self._environment.check(environment, name)

    @property
    def threads(self) -> int:
        """The number of pieces that the workers can run at once."""
        if time.monotonic() - self._counted[1] > RECOUNT:
            self._count()
        return self._counted[0]

    def share(self, value: object) -> Future[Any]:
        """Send a value that many pieces need; it travels to each worker once."""
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        # The result of a task, because Dask can recompute that if a worker is lost.
        future = self._submit(pickle.loads, packed)
        self._shared.append(future)
        return future

    def everywhere(self, function: Callable[[], Any]) -> list[Any]:
        """Run a function of a charrnn module on every worker and return the results."""
        return list(self._call(lambda: self._client.run(function)).values())

    def listen(self, listener: Callable[[Message], None]) -> None:
        """Pass messages of tasks to a listener, while this process waits for results."""
        self._listener = listener
        self._client.subscribe_topic(self._topic, lambda event: self._messages.put(event[1]))

    def ordered(
        self,
        function: Work,
        pieces: Iterable[Any],
        shared: Future[Any] | None = None,
        name: Callable[[Any], str] = str,
    ) -> Iterator[Any]:
        """Yield ``function(piece)`` or ``function(piece, shared value)`` for each piece, in order;
        if ``pieces`` raises an error, after all results before it. Few pieces are sent ahead, so
        memory stays bounded. ``name`` describes a piece in messages.
        """
        pending: deque[tuple[Any, Future[Any]]] = deque()
        suspects: deque[Any] = deque()  # one of these pieces kills workers
        source, failure = iter(pieces), None
        is_over = is_alone = False
        try:
            while True:
                is_alone = is_alone if pending else bool(suspects)
                if is_alone and not pending:
                    piece = suspects.popleft()
                    pending.append((piece, self._send(function, piece, shared)))
                while not (is_over or is_alone) and len(pending) < AHEAD * max(1, self.threads):
                    try:
                        piece = next(source)
                    except StopIteration:
                        is_over = True
                    except Exception as error:
                        is_over, failure = True, error
                    else:
                        pending.append((piece, self._send(function, piece, shared)))
                if not pending:
                    break
                piece, future = pending[0]
                if not self._wait_for([future]):
                    continue
                try:
                    result = self._result(piece, future, name)
                except DeadlyPieceError:
                    if len(pending) == 1:
                        raise
                    suspects.extend(piece for piece, _ in pending)
                    release(pending)
                    continue
                pending.popleft()[1].release()
                yield result
        finally:
            release(pending)
        if failure is not None:
            raise failure

    def as_completed(
        self,
        function: Work,
        items: Iterable[Any],
        shared: Future[Any] | None = None,
        name: Callable[[Any], str] = str,
    ) -> Iterator[tuple[Any, Any, CharrnnError | None]]:
        """Yield each item with its result or its error as soon as it is ready. One failure does not
        stop the others. No item queues behind another, so the item that kills a worker is known.
        """
        pending: dict[Future[Any], Any] = {}
        source = iter(items)
        try:
            while True:
                room = max(0, max(1, self.threads) - len(pending))
                for item in islice(source, room):
                    pending[self._send(function, item, shared)] = item
                if not pending:
                    return
                for future in self._wait_for([*pending]):
                    item, result, failure = pending[future], None, None
                    try:
                        result = self._result(item, future, name)
                    except CharrnnError as error:
                        if self.is_lost:
                            raise
                        failure = error
                    del pending[future]
                    future.release()
                    yield item, result, failure
        finally:
            for future in pending:
                future.release()

    def _send(self, function: Work, piece: Any, shared: Future[Any] | None) -> Future[Any]:
        packed = pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)  # else Dask searches it for futures
        key = f"{function.__name__}-{uuid4().hex}"
        arguments = (function, packed, shared, self._environment, self._topic)
        return self._submit(worker.run, *arguments, key=key)

    def _submit(self, function: Work, *args: Any, **options: Any) -> Future[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Dask warns of large arguments
            submit = partial(self._client.submit, function, *args, pure=False, **options)
            future: Future[Any] = self._call(submit)
            return future

    def _result(self, piece: Any, future: Future[Any], name: Callable[[Any], str]) -> Any:
        from distributed import KilledWorker

        try:
            result = self._call(future.result)
        except KilledWorker as error:
            what = f"{name(piece)} killed {error.allowed_failures + 1} workers, one after the other"
            raise DeadlyPieceError(what, "It may need more memory than a worker has.") from None
        except (ImportError, AttributeError) as error:  # the worker has joined late
            what = f"a worker cannot import this charrnn: {error}"
            raise ClusterError(what, worker.SAME_INSTALL) from None
        if isinstance(result, worker.Failed):
            raise pickle.loads(result.packed)
        return result

    def _wait_for(self, futures: list[Future[Any]]) -> list[Future[Any]]:
        """Wait for a future and return those that are done: none if new workers joined first."""
        from distributed import wait

        threads = self.threads

        def done() -> list[Future[Any]]:
            return [future for future in futures if future.done()]

        while not done():
            try:
                with self._client.as_current():
                    self._call(partial(wait, futures, POLL, "FIRST_COMPLETED"))
            except TimeoutError:
                self._check_for_workers()
                if self.threads > threads:
                    break
        self._deliver_messages()
        return done()

    def _check_for_workers(self) -> None:
        """Deliver messages, and after a while without workers a message that there are none."""
        self._deliver_messages()
        if self.threads:
            self._silent_since = None
            return
        now = time.monotonic()
        self._silent_since = self._silent_since or now
        if now - self._silent_since >= QUIET:
            self._say(f"{self._address} has no workers yet: waiting for one")
            self._silent_since = float("inf")

    def _deliver_messages(self) -> None:
        while self._listener is not None and not self._messages.empty():
            self._listener(self._messages.get())

    def _count(self) -> int:
        """Count threads and workers; return the number of workers."""
        threads = self._call(self._client.nthreads)
        self._counted = sum(threads.values()), time.monotonic()
        return len(threads)

    def _call(self, function: Callable[[], Any]) -> Any:
        """Call the scheduler; raise ClusterError if it is gone."""
        if self.is_lost:
            raise self._lost()
        try:
            return function()
        except (CancelledError, AsyncCancelledError):
            raise self._lost() from None
        except OSError as error:  # may come from a task instead
            from distributed.comm.core import CommClosedError

            if isinstance(error, CommClosedError) or str(self._client.status) != "running":
                raise self._lost() from None
            raise

    def _lost(self) -> ClusterError:
        self.is_lost = True
        hint = "Results so far are valid. If you started the scheduler, restart it. Then try again."
        return ClusterError(f"the scheduler at {self._address} is gone", hint)


def release(pending: deque[tuple[Any, Future[Any]]]) -> None:
    """Release all futures, so that Dask cancels their tasks."""
    while pending:
        pending.popleft()[1].release()


def drawn(cluster: Cluster, job: SamplingJob, numbers: range) -> Iterator[Sample | None]:
    """Yield these samples in order, None for each failure; stop after IN_VAIN failures in a row."""
    size, failures = FIRST_PIECE, 0

    def pieces() -> Iterable[range]:
        at = 0
        while at < len(numbers):
            piece = numbers[at : at + size]
            at += len(piece)
            yield piece  # the size may grow before the next one

    def name(piece: range) -> str:
        return f"drawing samples {piece[0]:,} to {piece[-1]:,}"

    for samples, seconds in cluster.ordered(draw, pieces(), cluster.share(job), name):
        characters = sum(len(sample.nats) for sample in samples if sample)
        if seconds < LONG_ENOUGH and characters < LARGE_ENOUGH:
            size = min(4 * size, LARGEST_PIECE)
        for sample in samples:
            yield sample
            failures = 0 if sample is not None else failures + 1
            if failures == IN_VAIN:
                return

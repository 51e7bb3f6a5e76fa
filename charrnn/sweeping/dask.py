"""Runs of a sweep on the workers of a Dask cluster, which need no shared disk and no common clock.

Each worker gets the texts once, and sends back the model file of each run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from charrnn.cluster.worker import cached, check_wanted, own_folder, report
from charrnn.corpus.files import path_of
from charrnn.model_file import saving
from charrnn.sweeping.grid import Result, failure
from charrnn.sweeping.run import Advanced, Ended, Material, Split, Splits, Task, make_run

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster

OFTEN = 0.2  # seconds between two reports of progress


@dataclass(frozen=True, eq=False)
class Packed:
    """The material of a sweep with the content of its files."""

    material: Material
    contents: dict[str, bytes]  # by the names of the files
    key: str = field(default_factory=lambda: uuid4().hex)

    @contextmanager
    def unpacked(self) -> Iterator[Material]:
        """Write the files to a temporary folder of this machine, and yield the material."""
        with own_folder() as folder:
            names = {}
            for number, (name, content) in enumerate(self.contents.items()):
                names[name] = os.path.join(folder, str(number))
                Path(names[name]).write_bytes(content)
            m = self.material
            yield replace(
                m,
                files=tuple(names[name] for name in m.files),
                valid_files=tuple(names[name] for name in m.valid_files),
                start_from=None if m.start_from is None else names[m.start_from],
            )


class PackedSplits(Splits):
    """The corpora of a packed material."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        with packed.unpacked() as material:
            super().__init__(material)

    def _read(self, seed: int) -> Split:
        with self._packed.unpacked() as self.material:
            return super()._read(seed)


def make(piece: tuple[Task, bytes | None], packed: Packed) -> tuple[Result, bytes | None]:
    """Make a run on a worker, from its saved model file if it has one. Return its result and its
    model file.
    """
    task, saved = piece
    with own_folder() as folder:
        file = Path(folder, "model.npz")
        if saved is not None:
            file.write_bytes(saved)
        reported, result = 0.0, None
        splits = cached(packed.key, lambda: PackedSplits(packed))
        with closing(make_run(replace(task, file=str(file)), splits)) as run:
            for event in run:
                if isinstance(event, Ended):
                    result = event.result
                    break
                check_wanted()
                if time.monotonic() > reported + OFTEN:
                    reported = time.monotonic()
                    report({"name": event.name, "share": event.share})
        assert result is not None
        return result, file.read_bytes() if file.exists() else None


def share_runs(
    cluster: Cluster, tasks: Iterable[Task], material: Material, show: Callable[[Advanced], None]
) -> Iterator[Ended]:
    """Let the workers make the runs. Yield each as it ends, once its model file is written."""

    def pieces() -> Iterator[tuple[Task, bytes | None]]:
        for task in tasks:
            saved = None
            with suppress(FileNotFoundError):
                saved = Path(task.model).read_bytes()
            yield replace(task, home=os.path.realpath(task.model)), saved

    cluster.listen(lambda message: show(Advanced(message["name"], message["share"])))
    start = [] if material.start_from is None else [material.start_from]
    names = (*material.files, *material.valid_files, *start)
    contents = {name: Path(path_of(name)).read_bytes() for name in names}
    shared = cluster.share(Packed(material, contents))
    outcomes = cluster.as_completed(make, pieces(), shared, lambda piece: piece[0].trial.name)
    for (task, _), outcome, error in outcomes:
        if error is not None:
            yield Ended(failure(task.trial, error.what))
            continue
        result, content = outcome
        if content is not None:
            saving.replace(task.model, len(content), [content])
        yield Ended(result)

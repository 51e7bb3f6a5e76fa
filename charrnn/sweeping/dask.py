"""Runs made by the workers of a cluster: the texts go to each of them once, and what comes back is
the model file. No disk is shared, and no clock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from charrnn.cluster.worker import check_wanted, own_folder, prepared, report
from charrnn.corpus.files import path_of
from charrnn.model_file import saving
from charrnn.sweeping.grid import Result, failed
from charrnn.sweeping.run import Ended, Material, Moved, Split, Splits, Task, learned

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster

OFTEN = 0.2  # seconds from one word of how far a run is to the next


@dataclass(frozen=True, eq=False)
class Packed:
    """The material with what its files hold."""

    material: Material
    contents: dict[str, bytes]  # by the names of the files
    key: str = field(default_factory=lambda: uuid4().hex)

    @contextmanager
    def unpacked(self) -> Iterator[Material]:
        """The material in files of this machine, for a while."""
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
    """The corpus of each seed, of what was packed."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        with packed.unpacked() as material:
            super().__init__(material)

    def _read(self, seed: int) -> Split:
        with self._packed.unpacked() as self.material:
            return super()._read(seed)


@dataclass(frozen=True)
class Piece:
    """A run to be made, and what was saved of it before."""

    task: Task
    saved: bytes | None


def make(piece: Piece, packed: Packed) -> tuple[Result, bytes | None]:
    """Make the run: what it came to, and its file. This is the work of a worker."""
    with own_folder() as folder:
        file = Path(folder, "model.npz")
        if piece.saved is not None:
            file.write_bytes(piece.saved)
        told, result = 0.0, None
        splits = prepared(packed.key, lambda: PackedSplits(packed))
        with closing(learned(replace(piece.task, file=str(file)), splits)) as run:
            for event in run:
                if isinstance(event, Ended):
                    result = event.result
                    break
                check_wanted()
                if time.monotonic() > told + OFTEN:
                    told = time.monotonic()
                    report({"name": event.name, "share": event.share})
        assert result is not None
        return result, file.read_bytes() if file.exists() else None


def pack(material: Material) -> Packed:
    """The material, ready to be sent to another machine."""
    start = [] if material.start_from is None else [material.start_from]
    names = (*material.files, *material.valid_files, *start)
    return Packed(material, {name: Path(path_of(name)).read_bytes() for name in names})


def shared_out(
    cluster: Cluster, tasks: Iterable[Task], material: Material, moved: Callable[[Moved], None]
) -> Iterator[Ended]:
    """Have these runs made: each as it ends, its file written by then."""
    cluster.listen(lambda told: moved(Moved(told["name"], told["share"])))
    pieces = (
        Piece(replace(task, home=os.path.realpath(task.model)), saved_in(task.model))
        for task in tasks
    )
    shared = cluster.share(pack(material))
    for outcome in cluster.as_completed(make, pieces, shared, lambda one: one.task.trial.name):
        task = outcome.item.task
        if outcome.error is not None:
            yield Ended(failed(task.trial, outcome.error.what))
            continue
        result, content = outcome.result
        if content is not None:
            saving.replace(task.model, len(content), [content])
        yield Ended(result)


def saved_in(path: str) -> bytes | None:
    """What a run that was stopped has left."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None

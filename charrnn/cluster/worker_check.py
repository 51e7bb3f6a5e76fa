"""What has to be the same on all machines, so that their results are those of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from charrnn.blas import loaded
from charrnn.errors import ClusterError

THE_SAME = "Install the same on all machines."


@dataclass(frozen=True)
class Likeness:
    """What a process computes with."""

    charrnn: str  # a hash of its source: two checkouts may have one version
    numpy: str
    threads: int  # of the matrix library; 1 where that cannot be asked

    def check(self, other: Likeness, worker: str) -> None:
        """ClusterError where the other, of a worker, would come to other results."""
        if self.charrnn != other.charrnn:
            raise ClusterError(f"worker {worker} has another charrnn than there is here", THE_SAME)
        if self.numpy != other.numpy:
            raise ClusterError(
                f"worker {worker} has numpy {other.numpy}, and here is {self.numpy}", THE_SAME
            )
        if other.threads > 1:
            raise ClusterError(
                f"worker {worker} multiplies matrices with {other.threads} threads,"
                " whose sums are rounded otherwise",
                "Start it with OMP_NUM_THREADS=1, as dask worker does by itself if it has a nanny.",
            )


def here() -> Likeness:
    """That of this process."""
    library = loaded()
    threads = 1 if library is None else library.get()
    return Likeness(_code(), np.__version__, threads)


@cache
def _code() -> str:
    home = Path(__file__).parent.parent
    found = blake2b(digest_size=8)
    for file in sorted(home.rglob("*.py")):
        found.update(file.relative_to(home).as_posix().encode() + b"\0")
        found.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()

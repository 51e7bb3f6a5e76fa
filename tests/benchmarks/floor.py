"""What the matrix products of a training step cost alone: nobody can be faster than this and right.

They are given to BLAS's own threads, as a program would that knows nothing better, or to one. The
program measures itself, in a process of its own, for BLAS takes its threads at import.

    python -m tests.benchmarks.floor 65 256 64 64       symbols, hidden, lanes, steps
"""

from __future__ import annotations

import json
import statistics
import sys

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.measuring import Work, in_turn


def products(symbols: int, hidden: int, lanes: int, steps: int) -> Work:
    """The products of one step, with nothing in between."""
    rng = np.random.default_rng(0)
    rows = steps * lanes

    def made(*shape: int) -> NDArray[np.float32]:
        return (0.01 * rng.standard_normal(shape)).astype(np.float32)

    W, V = made(hidden, hidden), made(symbols, hidden)
    h, o, x, d = made(rows, hidden), made(rows, symbols), made(rows, symbols), made(rows, hidden)
    lane, out = made(lanes, hidden), made(lanes, hidden)
    o_out, h_out = np.empty_like(o), np.empty_like(h)

    def work() -> None:
        for _ in range(steps):
            np.matmul(lane, W.T, out=out)
        np.matmul(h, V.T, out=o_out)
        np.matmul(o, V, out=h_out)
        for _ in range(steps):
            np.matmul(lane, W, out=out)
        np.matmul(o.T, h)
        np.matmul(d.T, h)
        np.matmul(x.T, d)

    return work


def main(symbols: int, hidden: int, lanes: int, steps: int) -> None:
    """Print the characters a second that the products allow."""
    seconds = in_turn({"products": products(symbols, hidden, lanes, steps)})["products"]
    print(json.dumps({"characters_per_second": lanes * steps / statistics.median(seconds)}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))

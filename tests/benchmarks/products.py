"""Time of the matrix products of one training step, and nothing else.

BLAS uses all cores, as in a program that leaves threads to BLAS. So they run in a process of
their own.

    python -m tests.benchmarks.products 65 256 64 64 tanh  symbols, hidden, lanes, steps, cell
"""

import json
import statistics
import sys

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import Architecture
from tests.benchmarks.measuring import Work, in_turn


def products(symbols: int, hidden: int, lanes: int, steps: int, gates: int) -> Work:
    """Return the products of one step: forward, backward, and the gradients of V, W and U."""
    rng = np.random.default_rng(0)
    rows = steps * lanes

    def made(*shape: int) -> NDArray[np.float32]:
        return (0.01 * rng.standard_normal(shape)).astype(np.float32)

    W, V = made(hidden, gates * hidden), made(hidden, symbols)
    h, o, x = made(rows, hidden), made(rows, symbols), made(rows, symbols)
    a, lane, lane_a = made(rows, gates * hidden), made(lanes, hidden), made(lanes, gates * hidden)
    there, back = np.empty_like(lane_a), np.empty_like(lane)
    o_out, h_out = np.empty_like(o), np.empty_like(h)

    def work() -> None:
        for _ in range(steps):
            np.matmul(lane, W, out=there)
        np.matmul(h, V, out=o_out)
        np.matmul(o, V.T, out=h_out)
        for _ in range(steps):
            np.matmul(lane_a, W.T, out=back)
        np.matmul(h.T, o)
        np.matmul(h.T, a)
        np.matmul(x.T, a)

    return work


def main(symbols: int, hidden: int, lanes: int, steps: int, cell: str) -> None:
    """Print the characters a second that the products allow."""
    gates = Architecture(2, 1, 1, cell).cell.gates
    seconds = in_turn({"products": products(symbols, hidden, lanes, steps, gates)})["products"]
    rate = lanes * steps / statistics.median(seconds)
    print(json.dumps({"library": "products only", "characters_per_second": rate}))


if __name__ == "__main__":
    symbols, hidden, lanes, steps = map(int, sys.argv[1:5])
    main(symbols, hidden, lanes, steps, sys.argv[5])

"""Speed of one training step with clipping and Adam, compared with other libraries.

    python -m tests.benchmarks.step 65 256 64 64 tanh   the matrix products of a step alone

Here BLAS uses all cores, as in a program that leaves threads to BLAS: so it is a process.
"""

import json
import os
import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import Architecture, initial
from charrnn.network.through_time import Window
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.training.automatic_settings import usual_shards, weights_of
from charrnn.training.optimizer import Optimizer, clip, initial_moments
from charrnn.training.processes import SharedBatch, norm

Work = Callable[[], object]
Shape = tuple[int, int, int, int]  # symbols, hidden, lanes, steps

OTHERS_HAVE = ("tanh", "gru", "lstm")  # other libraries do not feed back outputs
SHAPES = [(65, 128, 64, 64), (65, 256, 64, 64), (65, 512, 64, 100), (28, 64, 32, 16)]
ROUNDS = 5
LEAST_ROUNDS = 27  # of a step, the first two to warm up
LONG_ENOUGH = 1.0  # seconds; shorter measurements vary too much
PEERS = Path(__file__).parent / "peers"


def report(against: list[str]) -> None:
    """Print our rate for each shape, and that as a multiple of the rate of others."""
    head: list[str] = []
    for cell in OTHERS_HAVE:
        for shape in SHAPES:
            rate, multiples = measure(cell, shape, against)
            if not head:
                head = ["cell, units, lanes x steps", "characters/s", *multiples]
                print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
            _, hidden, lanes, steps = shape
            shown = (f"{multiple:.2f}" for multiple in multiples.values())
            row = (f"{cell}, {hidden}, {lanes} x {steps}", f"{rate:,.0f}", *shown)
            print(f"| {' | '.join(row)} |", flush=True)


def measure(cell: str, shape: Shape, against: list[str]) -> tuple[float, dict[str, float]]:
    """Return medians of rounds, in each of which all are measured one after the other."""
    ours: list[float] = []
    theirs: dict[str, list[float]] = {}
    peers = [[python, str(peer)] for python in against for peer in sorted(PEERS.glob("with_*.py"))]
    for _ in range(ROUNDS):
        rivals: dict[str, float] = {}
        for command in ([sys.executable, "-m", "tests.benchmarks.step"], *peers):
            rivals |= rates([*command, *map(str, shape), cell])
        ours.append(rate_of(step(shape, len(os.sched_getaffinity(0)), cell), shape))
        for name, other in rivals.items():
            theirs.setdefault(name, []).append(ours[-1] / other)
    return statistics.median(ours), {name: statistics.median(of) for name, of in theirs.items()}


def rates(command: list[str]) -> dict[str, float]:
    """Return the rate that another library reports; {} if that Python does not have it."""
    free = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(command, capture_output=True, text=True, env=free, check=False)
    if done.returncode:
        return {}
    found = json.loads(done.stdout)
    return {found["library"]: found["characters_per_second"]}


def rate_of(work: Work, shape: Shape) -> float:
    """Return the characters a second of a step: the median of rounds that take LONG_ENOUGH."""
    seconds: list[float] = []
    while len(seconds) < LEAST_ROUNDS or sum(seconds) < LONG_ENOUGH:
        seconds.append(timeit.timeit(work, number=1))  # without garbage collection
    return shape[2] * shape[3] / statistics.median(seconds[2:])


def step(shape: Shape, cores: int, cell: str) -> Work:
    """Return work that does one step on random symbols."""
    symbols, hidden, lanes, steps = shape
    rng = np.random.default_rng(0)
    size = Architecture(symbols, hidden, 1, cell)
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng)
    moments, states = initial_moments("adam", p), [np.zeros((lanes, hidden), np.float32)]
    states *= len(size.state_names)
    shards = min(usual_shards(weights_of(hidden, 1, cell) * lanes * steps, lanes, None), cores)
    config = TrainConfig(bptt=steps, batch=lanes, shards=shards, dropout=0, cores=cores)
    everything = SharedBatch(size, Fitted(**vars(config)))
    optimizer = Optimizer("adam", p)
    x, y = rng.integers(0, symbols, (2, steps, lanes))
    window = Window(x, y, np.zeros(x.shape, np.bool_))
    count = 0

    def work() -> None:
        nonlocal count
        count += 1
        everything.p.flat[...] = p.flat
        everything.nats_and_gradient(window, states, None)
        clip(everything.gradient.flat, everything.ask(norm), 5.0)
        optimizer.update(everything.gradient.flat, moments, count, 0.001)

    return work


def products(shape: Shape, gates: int) -> Work:
    """Return the products of one step: forward, backward, and the gradients of V, W and U."""
    symbols, hidden, lanes, steps = shape
    rng = np.random.default_rng(0)
    rows = steps * lanes

    def made(*size: int) -> NDArray[np.float32]:
        return (0.01 * rng.standard_normal(size)).astype(np.float32)

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


if __name__ == "__main__":
    symbols, hidden, lanes, steps = map(int, sys.argv[1:5])
    shape = symbols, hidden, lanes, steps
    rate = rate_of(products(shape, Architecture(2, 1, 1, sys.argv[5]).cell.gates), shape)
    print(json.dumps({"library": "products only", "characters_per_second": rate}))

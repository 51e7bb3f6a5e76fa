"""Speed of one training step with clipping and Adam, compared with other libraries."""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

from charrnn.network.parameters import Architecture, initial
from charrnn.network.through_time import Window
from charrnn.training.automatic_settings import usual_shards, weights_of
from charrnn.training.optimizer import Optimizer, clip, initial_moments
from charrnn.training.processes import BatchSize, SharedBatch, norm
from tests.benchmarks.measuring import Work, in_turn

Shape = tuple[int, int, int, int]  # symbols, hidden, lanes, steps

OTHERS_HAVE = ("tanh", "gru", "lstm")  # other libraries do not feed back outputs
SHAPES: tuple[Shape, ...] = (
    (65, 128, 64, 64),
    (65, 256, 64, 64),
    (65, 512, 64, 100),
    (28, 64, 32, 16),
)
ROUNDS = 5
PEERS = Path(__file__).parent / "peers"


def step(shape: Shape, cores: int, cell: str = "tanh", *, forced: bool = False) -> Work:
    """Return work that does one step on random symbols."""
    symbols, hidden, lanes, steps = shape
    rng = np.random.default_rng(0)
    size = Architecture(symbols, hidden, 1, cell, forced=forced)
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng)
    moments, states = initial_moments("adam", p), [np.zeros((lanes, hidden), np.float32)]
    states *= len(size.state_names)
    products = weights_of(hidden, 1, cell) * lanes * steps
    shards = min(usual_shards(products, lanes, None), cores)
    everything = SharedBatch(size, BatchSize(steps, lanes, shards, has_dropout=False), cores)
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


def report(against: list[str]) -> None:
    """Print our rate for each shape and its ratio to theirs."""
    print("| cell | symbols, hidden, lanes, steps | characters/s | times the rate of |")
    print("|---|---|---|---|", flush=True)
    for cell in OTHERS_HAVE:
        for shape in SHAPES:
            report_on(cell, shape, against)


def report_on(cell: str, shape: Shape, against: list[str]) -> None:
    ours: list[float] = []
    theirs: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        rate, rivals = one_round(cell, shape, against)
        ours.append(rate)
        for name, other in rivals.items():
            theirs.setdefault(name, []).append(rate / other)
    ratios = ", ".join(f"{k} {statistics.median(v):.2f}" for k, v in theirs.items())
    print(f"| {cell} | {shape} | {statistics.median(ours):,.0f} | {ratios} |", flush=True)


def one_round(cell: str, shape: Shape, against: list[str]) -> tuple[float, dict[str, float]]:
    """Return our characters a second and those of the others, measured one after the other."""
    rivals = rates([sys.executable, "-m", "tests.benchmarks.products"], cell, shape)
    for python in against:
        for peer in sorted(PEERS.glob("with_*.py")):
            rivals |= rates([python, str(peer)], cell, shape)
    work = step(shape, len(os.sched_getaffinity(0)), cell)
    return shape[2] * shape[3] / statistics.median(in_turn({"ours": work})["ours"]), rivals


def rates(command: list[str], cell: str, shape: Shape) -> dict[str, float]:
    """Return the rate that another library reports; {} if that Python does not have it."""
    free = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [*command, *map(str, shape), cell], capture_output=True, text=True, env=free, check=False
    )
    if done.returncode:
        return {}
    found = json.loads(done.stdout)
    return {found["library"]: found["characters_per_second"]}

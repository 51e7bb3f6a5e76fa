"""Training by two ranks and by two threads, and a calculation for many machines."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import initial
from charrnn.network.threads import Parallel
from charrnn.network.unfolded import Window
from charrnn.training.optimizers import Optimizer, clip, initial_moments
from tests.benchmarks.loop import write_corpus
from tests.benchmarks.scale_model import BYTES_IN_A_GIGABIT, Costs, table

ROUNDS = 7
LETTERS = 63
SIZE = ("--hidden", "256", "--layers", "2", "--batch", "64", "--bptt", "64", "--epochs", "1")
BARE = ("--holdout", "0", "--check-every", "1000000", "--preview", "0", "--force", "--json")
MPIEXEC = [str(Path(sys.executable).parent / "mpiexec"), "-n", "2"]
CHARRNN = [sys.executable, "-m", "charrnn", "train"]
NETWORKS = ((2, 256), (2, 1024))  # layers, units
LANES, STEPS = 32, 64  # of one machine


def report(gigabits: list[float], microseconds: float) -> None:
    """Print the rates of ranks and threads, and the calculated efficiencies."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = write_corpus(Path(folder) / "corpus.txt", LETTERS, 1 << 19)
        threads, ranks = [], []
        for _ in range(ROUNDS):
            threads.append(rate([*CHARRNN, str(corpus), "--threads", "2"], folder))
            ranks.append(rate([*MPIEXEC, *CHARRNN, str(corpus), "--mpi"], folder))
    share = statistics.median(b / a for a, b in zip(threads, ranks, strict=True))
    print("| 2 layers of 256 units, 64 lanes, 64 steps | characters/s |")
    print(f"| 2 threads | {statistics.median(threads):,.0f} |")
    print(f"| 2 ranks of one thread | {statistics.median(ranks):,.0f} |")
    print(f"| ranks, in times of threads, round by round | {share:.3f} |", flush=True)
    print(f"\nCalculated, not tried: efficiency of many machines of a core, {LANES} lanes each, ")
    print(f"messages of {microseconds:g} microseconds one by one / along a tree\n")
    costs = {}
    for layers, hidden in NETWORKS:
        gradient, update, numbers = measured(layers, hidden)
        name = f"{layers} x {hidden}"
        print(f"{name}: gradient {gradient * 1e3:.1f} ms, update {update * 1e3:.2f} ms")
        for speed in gigabits:
            bandwidth = speed * BYTES_IN_A_GIGABIT
            costs[f"{name}, {speed:g} Gb/s"] = Costs(
                gradient, update, numbers, bandwidth, microseconds * 1e-6
            )
    print("\n" + "\n".join(table(costs)))


def rate(command: list[str], folder: str) -> float:
    """Return characters a second of a run, from its first step to its last."""
    model = ("--model", str(Path(folder) / "model.npz"))
    done = subprocess.run(
        [*command, *SIZE, *BARE, *model],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return float(json.loads(done.stdout)["characters_per_second"])


def measured(layers: int, hidden: int) -> tuple[float, float, int]:
    """Return the core seconds of a gradient and of an update, and the number of parameters."""
    symbols = LETTERS + 2
    rng = np.random.default_rng(0)
    size = Architecture(symbols, hidden, layers)
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng)
    gradient, moments = p.like(), initial_moments("adam", p)
    parallel, optimizer = Parallel(size, STEPS, LANES), Optimizer("adam", p)
    x, y = rng.integers(0, symbols, (2, STEPS, LANES))
    times: list[tuple[float, float]] = []
    for number in range(ROUNDS + 1):
        began = time.process_time()
        parallel.nats_and_gradient(p, Window(x, y), gradient, 1 / x.size)
        found = time.process_time()
        clip(gradient.flat, 1.0)
        optimizer.update(p.flat, gradient.flat, moments, number + 1, 0.001)
        times.append((found - began, time.process_time() - found))
    found_in, updated_in = (statistics.median(column) for column in zip(*times[1:], strict=True))
    return found_in, updated_in, size.parameter_count

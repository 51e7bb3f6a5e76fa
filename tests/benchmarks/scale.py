"""Efficiency of work on Dask workers, and the cost of a task.

Efficiency is the CPU time of one process over that of all workers, for the same work; 1 is ideal.
Two processes at once slow each other down through caches and clock rate, with Dask or without.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

from charrnn.cluster import pool
from charrnn.cluster.opening import open_cluster
from charrnn.cluster.pool import Cluster, drawn, scored
from charrnn.cluster.worker import SamplingJob, ScoringJob, TextPiece, score_piece
from charrnn.corpus.files import path_of
from charrnn.model import Model
from charrnn.model_file.texts import codes_in
from charrnn.runs import train
from charrnn.sampling.sampler import SampleConfig
from charrnn.scoring.pieces import PIECE, whole_pieces
from charrnn.scoring.score import Score
from charrnn.settings.corpus import Reading
from charrnn.settings.training import TrainConfig
from tests.cluster_work import cpu, twice

WORKERS = 2
ROUNDS = 3
EMPTY = 500  # tasks with next to nothing in them
TEXTS = (16_000, 64_000)  # drawn, to see whether the memory of the client grows with them
SAMPLED = 262_144


class Work(NamedTuple):
    """A piece of work, run in this process and on workers."""

    name: str
    alone: Callable[[], object]
    shared: Callable[[Cluster], object]


def model() -> Model:
    """Return an untrained network of two layers of 256 units, which draws long samples."""
    lines = [line for line in open_lines() if line]
    run = train(lines, TrainConfig(hidden=256, layers=2, epochs=1, batch=64, bptt=64))
    return run.model


def open_lines() -> list[str]:
    """Return the bundled dinosaurs."""
    with open(path_of("dinosaurs"), encoding="utf-8") as file:
        return file.read().split("\n")


def works(asked: Model) -> list[Work]:
    """Return sampling and scoring work, in pieces of about two seconds."""
    config = SampleConfig(seed=1, max_characters=24)
    sampled = range(SAMPLED)
    text = list(whole_pieces(codes_in([path_of("dinosaurs")] * 80, "lines", Reading()), PIECE))

    def draw() -> object:
        return sum(1 for _ in SamplingJob((asked,), config).sampler().samples(sampled))

    def score() -> object:
        job = ScoringJob((asked,))
        return [score_piece(TextPiece(piece, ""), job) for piece in text]

    def score_shared(cluster: Cluster) -> object:
        pieces = (TextPiece(piece, "") for piece in text)
        found = scored(cluster, ScoringJob((asked,)), pieces)
        return sum((piece.score() for (piece,) in found), Score())

    def draw_shared(cluster: Cluster) -> object:
        return sum(1 for _ in drawn(cluster, SamplingJob((asked,), config), sampled))

    return [Work("sampling", draw, draw_shared), Work("scoring", score, score_shared)]


def cpu_of(cluster: Cluster, work: Callable[[], object]) -> float:
    """Return the CPU time of this process and of all workers during a call."""
    before: list[float] = [cpu(), *cluster.everywhere(cpu)]
    work()
    after: list[float] = [cpu(), *cluster.everywhere(cpu)]
    return sum(after) - sum(before)


def efficiency(cluster: Cluster) -> None:
    """Print the efficiencies."""
    print("| work | one process, CPU s | workers and client, CPU s | ratio |")
    for work in works(model()):
        work.shared(cluster)  # workers import their modules
        ratios, alones, others = [], [], []
        for _ in range(ROUNDS):
            start = cpu()
            work.alone()
            alones.append(cpu() - start)
            others.append(cpu_of(cluster, lambda work=work: work.shared(cluster)))  # type: ignore[misc]
            ratios.append(alones[-1] / others[-1])
        middle = [statistics.median(some) for some in (alones, others, ratios)]
        print(f"| {work.name} | {middle[0]:.2f} | {middle[1]:.2f} | {middle[2]:.2f} |", flush=True)


def overhead(cluster: Cluster) -> None:
    """Print the cost of an empty task."""
    walls, costs = [], []
    for _ in range(ROUNDS):
        begun, start = time.perf_counter(), cpu()
        assert sum(1 for _ in cluster.ordered(twice, range(EMPTY))) == EMPTY
        walls.append((time.perf_counter() - begun) / EMPTY)
        costs.append((cpu() - start) / EMPTY)
    wall, cost = (statistics.median(some) * 1000 for some in (walls, costs))
    print(f"| an empty task | {wall:.2f} ms | of it, processor time of the client {cost:.2f} ms |")


def memory(cluster: Cluster) -> None:
    """Print the peak memory of this process after some texts and after four times as many."""
    asked = model()
    for count in TEXTS:
        job = SamplingJob((asked,), SampleConfig(seed=1, max_characters=8))
        assert sum(1 for _ in drawn(cluster, job, range(count))) == count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| client after {count:,} texts | {peak:,.0f} MB |", flush=True)


def with_dask() -> None:
    """Print figures of the workers from Dask."""
    print(f"Dask, {WORKERS} workers on {os.cpu_count()} cores; pieces grow to {pool.LONG_ENOUGH} s")
    with open_cluster(workers=WORKERS) as cluster:
        memory(cluster)
        overhead(cluster)
        efficiency(cluster)


def report() -> None:
    """Print all of it."""
    with_dask()

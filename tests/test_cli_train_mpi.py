"""Several processes that learn as one: the bytes of as many threads, whatever the network."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from charrnn.corpus.files import path_of
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.network.threads import useful_threads
from charrnn.network.unfolded import Window
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.training.noise import Regularization
from tests.extras import without
from tests.mpi import needs_mpi, others, ranks
from tests.program import Program

SIZE = ("--hidden", "192", "--layers", "1", "--batch", "48", "--bptt", "8", "--preview", "0")
HIDING = ("--dropout", "0.2", "--dropconnect", "0.1", "--blank", "0.1")
RUN = ("train", "lines.txt", *SIZE, "--epochs", "2", "--check-every", "5")
ONCE = ("--epochs", "1")
LONG = Path(path_of("dinosaurs")).read_text("utf-8").splitlines()[:300]


@pytest.fixture
def lines(program: Program) -> Program:
    """The program beside a corpus that is large enough for several threads to have work."""
    program.write("lines.txt", "\n".join(LONG) + "\n")
    return program


@needs_mpi
@pytest.mark.parametrize(
    ("count", "options"),
    [
        (3, ("--carry", "--layers", "2", *HIDING)),
        (2, ("--cell", "gru", "--stride", "4", "--ends", "length", *ONCE)),
        (2, ("--cell", "lstm", "--clock", "--counts", "--optimizer", "sgd", *ONCE)),
        (2, ("--cell", "output", "--ends", "halt", "--dropout", "0.1", *ONCE)),
        (2, ("--hidden", "16", *ONCE)),  # so small that one rank does all the work
        (2, ("--hidden", "256", "--valid", "dinosaurs", *ONCE)),  # ranks share the check-ups
    ],
)
def test_so_many_ranks_end_in_the_bytes_of_so_many_threads(
    lines: Program, count: int, options: tuple[str, ...]
) -> None:
    by_threads = ("--threads", str(count), "-m", "threads.npz", "--metrics", "threads.jsonl")
    lines.run(*RUN, *options, *by_threads).says()
    by_ranks = ("--mpi", "-m", "ranks.npz", "--metrics", "ranks.jsonl")
    ran = lines.run(*RUN, *options, *by_ranks, by=ranks(count))
    ran.says(f"with {count} ranks", f"ranks      {count}, with")
    assert ran.err.count("corpus     lines.txt") == 1  # the first alone speaks
    assert (lines / "ranks.npz").read_bytes() == (lines / "threads.npz").read_bytes()
    assert (lines / "ranks.jsonl").read_bytes() == (lines / "threads.jsonl").read_bytes()


def test_the_sizes_of_these_tests_are_worth_sharing_out() -> None:
    assert useful_threads(Architecture(50, 192, 1), 48, 3) == 3
    assert useful_threads(Architecture(50, 16, 1), 48, 3) == 1


@needs_mpi
def test_ranks_begun_by_threads_go_on_as_ranks_and_the_other_way_round(lines: Program) -> None:
    longer = ("train", "--resume", "--epochs", "4", "--preview", "0")
    lines.run(*RUN, *HIDING, "--threads", "2").says()
    begun = (lines / "model.npz").read_bytes()
    lines.run(*longer).says()
    by_threads = (lines / "model.npz").read_bytes()
    lines.write("model.npz", begun)
    lines.run(*longer, "--mpi", by=ranks(2)).says()
    assert (lines / "model.npz").read_bytes() == by_threads
    lines.write("model.npz", begun)
    ran = lines.run(*longer, "--mpi", by=ranks(3))
    text = " ".join(ran.err.split())
    assert "shared by 3 ranks now, 2 before: the last digits will differ" in text
    lines.write("by_two.npz", by_threads)
    with np.load("model.npz") as by_three, np.load("by_two.npz") as by_two:
        for name in ("U1", "W1", "V", "c"):
            np.testing.assert_allclose(by_three[name], by_two[name], rtol=0, atol=1e-5)


@needs_mpi
def test_without_mpiexec_one_rank_is_one_thread(lines: Program) -> None:
    lines.run(*RUN, "--threads", "1", "-m", "thread.npz").says()
    lines.run(*RUN, "--mpi", "-m", "rank.npz", child=True).says("with 1 rank")
    assert (lines / "rank.npz").read_bytes() == (lines / "thread.npz").read_bytes()


@needs_mpi
def test_a_dry_run_of_ranks_is_one_plan_and_says_when_they_are_too_many(lines: Program) -> None:
    ran = lines.run(*RUN, "--mpi", "--dry-run", by=ranks(3))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.count("corpus     lines.txt") == 1
    text = " ".join(ran.out.split())
    assert "3, with 16 lanes and one thread each" in text
    assert "20 steps are few" in text
    small = lines.run(*RUN, "--mpi", "--dry-run", "--hidden", "16", by=ranks(3))
    assert "1 rank is enough" in " ".join(small.out.split())
    assert "Use at most 1 rank with as many lanes each: --batch 16" in text.replace("\xa0", " ")
    enough = lines.run(*RUN, "--mpi", "--dry-run", "--epochs", "1000", by=ranks(3))
    assert "steps are few" not in " ".join(enough.out.split())


CLOCK = """
from itertools import count
from charrnn.training.state import Stopwatch
laps = count()
def lap(clock):
    now = {} * next(laps)
    clock.now, since = now, now - getattr(clock, "now", 0)
    return since
Stopwatch.lap = lap
"""


@needs_mpi
@pytest.mark.parametrize(("often", "steps", "counts"), [("1000", 7, ()), ("2", 5, ("--counts",))])
def test_the_clock_of_the_first_is_that_of_all(
    lines: Program, often: str, steps: int, counts: tuple[str, ...]
) -> None:
    line = (*RUN, "--mpi", "--minutes", "0.11", "--check-every", often, *counts)
    second = others(CLOCK.format(0), *line)
    ran = lines.run(*line, *second, by=ranks(1, CLOCK.format(1)))
    ran.says()
    # of a second each, as are check-ups, by the first one's clock
    assert f"trained    {steps} steps" in ran.out


@needs_mpi
@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        (("--members", "2"), "--members 2 cannot train on", "a run of its own"),
        (("--own-inputs", "0.1"), "--own-inputs 0.1 cannot be used on", "with threads"),
        (("--free-running", "2"), "--free-running 2 cannot be used on", "with threads"),
        (("--threads", "2"), "--mpi and --threads exclude each other", "one thread"),
    ],
)
def test_what_reads_all_lanes_at_once_is_refused_by_the_first_alone(
    lines: Program, options: tuple[str, ...], what: str, hint: str
) -> None:
    ran = lines.run(*RUN, *options, "--mpi", by=ranks(2))
    assert ran.status == 2
    assert ran.err.count("charrnn: error: ") == 1
    error, advice = ran.err.splitlines()
    assert what in error
    assert hint in advice


def test_without_mpi4py_it_says_what_to_install(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "mpi4py")
    hint = "If there is no MPI on this machine, also: pip install mpich"
    program.refuses("train", "names.txt", "--mpi", what="--mpi needs mpi4py", hint=hint)


def test_without_an_mpi_it_says_what_to_install(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def join() -> NoReturn:
        raise RuntimeError("cannot load MPI library\nlibmpi.so.12: no such file\nlibmpi.so.40: ...")

    monkeypatch.setattr("charrnn.training.ranks.join", join)
    what, hint = "mpi4py finds no MPI library", "pip install mpich"
    program.refuses("train", "names.txt", "--mpi", what=what, hint=hint)


def test_what_is_hidden_of_some_lanes_is_that_of_those_of_all() -> None:
    p = Parameters.zeros(Architecture(9, 8, 2))
    x = np.arange(60).reshape(5, 12) % 9
    given = TrainConfig(batch=12, seed=3, dropout=0.4, dropconnect=0.3, blank=0.2)
    every, some = (
        Regularization(p, Fitted(**vars(given)), here) for here in (slice(0, 12), slice(4, 9))
    )
    for one in (every, some):
        one.begin(7)
        one.weights(p)
    np.testing.assert_array_equal(every.loudness["W1"], some.loudness["W1"])
    whole, part = (
        one.characters(Window(here, here)).x for one, here in ((every, x), (some, x[:, 4:9]))
    )
    np.testing.assert_array_equal(whole[:, 4:9], part)
    for loud, louder in zip(every.units() or [], some.units() or [], strict=True):
        np.testing.assert_array_equal(loud[:, 4:9], louder)

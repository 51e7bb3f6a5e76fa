"""Lanes of a batch in several processes: the same bytes, and no process that is left over."""

import os
import select
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import charrnn
from charrnn.errors import CharrnnError
from charrnn.network.parameters import Architecture
from charrnn.settings.training import TrainConfig
from charrnn.system.children import Children
from charrnn.training.processes import Shard, SharedBatch, memory_of
from tests.child import NOTHING, UNLIMITED, Child, going, is_running, wait_until
from tests.program import Program

NAMES = [f"{first}{last}" for first in "abcdefgh" for last in ("nna", "ob", "erta", "lix")]
NOISY: dict[str, Any] = {"dropout": 0.3, "dropconnect": 0.2, "blank": 0.1, "own_inputs": 0.3}
SMALL: dict[str, Any] = {"hidden": 6, "batch": 7, "bptt": 5, "epochs": 3, "check_every": 4, **NOISY}
Batches = list[SharedBatch]
SCRIPT = """
import select, sys, charrnn
from charrnn.training.processes import SharedBatch
init = SharedBatch.__init__
def wait(self, *given):
    init(self, *given)
    for pipe in self.children.pipes:
        select.select([pipe], [], [], 60)
    print(*[child.pid for child in self.children.processes], flush=True)
SharedBatch.__init__ = wait
names = ["anna", "bob", "clara", "dora"] * 20
charrnn.fit(names, hidden=9, batch=8, bptt=5, epochs=int(sys.argv[1]), shards=2, cores=2)
print("done")
"""


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Batches:
    """The batch of each training, which waits until all of its processes are ready."""
    init = SharedBatch.__init__
    made: Batches = []

    def wait(self: SharedBatch, *given: Any) -> None:
        init(self, *given)
        for pipe in self.children.pipes:
            assert select.select([pipe], [], [], 20)[0]
        made.append(self)

    monkeypatch.setattr(SharedBatch, "__init__", wait)
    monkeypatch.setattr(sys, "path", [*sys.path, Path("folder")])  # whose folders may be any object
    return made


def trained(path: Path, cores: int, **settings: Any) -> bytes:
    run = charrnn.train(NAMES, TrainConfig(**{**SMALL, "cores": cores, **settings}))
    assert sum(isinstance(event, charrnn.Step) for event in run) > 6
    run.save(path / "model.npz")
    return (path / "model.npz").read_bytes()


@pytest.mark.parametrize(
    ("shards", "cores", "more"),
    [
        *((2, 3, {"cell": "lstm"}), (2, 3, {"ends": "length"}), (2, 3, {"cell": "output"})),
        *((4, 2, {}), (5, 3, {})),  # processes with one shard, and with two
    ],
)
def test_any_number_of_processes_writes_the_same_file(
    tmp_path: Path, batches: Batches, shards: int, cores: int, more: dict[str, Any]
) -> None:
    files = {trained(tmp_path, number, shards=shards, **more) for number in (1, cores)}
    assert len(files) == 1
    assert files != {trained(tmp_path, 1, shards=1, **more)}


@pytest.mark.parametrize("has_threads", [False, True])
@pytest.mark.parametrize("fault", ["no memory", "no program", "other program"])
def test_fault_67_without_other_processes_this_one_does_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, has_threads: bool
) -> None:
    whole = trained(tmp_path, 1, shards=2)
    if fault == "no memory":
        full = Mock(side_effect=OSError(28, "No space left on device"))
        monkeypatch.setattr(os, "memfd_create", full, raising=False)
    else:
        name = {"no program": "", "other program": "/bin/false"}[fault]
        monkeypatch.setattr(sys, "executable", name)
    if has_threads:
        several_threads(monkeypatch)
    assert trained(tmp_path, 2, shards=2) == whole


def several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make charrnn believe that the matrix library has several threads here."""
    for module in ("system.children", "training.processes"):
        monkeypatch.setattr(f"charrnn.{module}.has_one_thread", lambda: False)


def test_more_shards_change_nothing_but_the_rounding() -> None:
    sizes: dict[str, Any] = {**SMALL, **dict.fromkeys(NOISY, 0.0), "cores": 1}
    losses, norms = [], []
    for shards in (1, 3):
        run = charrnn.train(NAMES, **sizes, shards=shards)
        steps = [event for event in run if isinstance(event, charrnn.Step)]
        losses.append([step.nats_per_character for step in steps])
        norms.append([step.gradient_norm for step in steps])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert norms[1] == pytest.approx(norms[0], rel=1e-3)


def test_processes_start_with_the_first_step(batches: Batches) -> None:
    run = charrnn.train(NAMES, TrainConfig(**SMALL, shards=2, cores=2))
    assert not batches
    next(run)
    assert len(batches[-1].children.processes) == 1


def test_ctrl_c_while_a_process_starts_leaves_it_to_be_ended(monkeypatch: Any) -> None:
    popen, children = subprocess.Popen, Children()

    def start(*given: Any, **how: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return popen(*given, **how)

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt):
        children.start("charrnn.system.children:answer", [None], 1)
    (child,) = children.processes
    children.end()
    assert child.poll() is not None


def test_fault_26_a_killed_process_ends_the_training(tmp_path: Path, batches: Batches) -> None:
    run = charrnn.train(NAMES, TrainConfig(**SMALL, shards=3, cores=3))
    next(run)
    children = batches[-1].children.processes
    assert batches[-1].children.are_ready
    for child in children:
        child.terminate()  # as when a cluster stops all processes of a job: the parent decides
    for _ in range(10):
        next(run)
    children[1].kill()
    with pytest.raises(CharrnnError, match="a process of this training has ended"):
        list(run)
    assert all(child.poll() is not None for child in children)
    run.save(tmp_path / "model.npz")
    assert charrnn.resume(tmp_path / "model.npz", NAMES).checkpoint.state.step > 0


def test_fault_26_a_killed_process_costs_no_step(program: Program, monkeypatch: Any) -> None:
    line = ("--hidden", "6", "--batch", "16", "--bptt", "2", "--epochs", "3", "--cores", "3")
    program.run("train", "names.txt", *line, "-m", "whole.npz").says()
    several_threads(monkeypatch)  # so that a child computes the norm of the gradient
    ask, steps = SharedBatch.ask, iter(range(99))

    def ask_after_kill(batch: SharedBatch, *given: Any) -> Any:
        if next(steps) == 9:
            batch.children.processes[0].kill()
            batch.children.processes[0].wait()
        return ask(batch, *given)

    with monkeypatch.context() as patch:
        patch.setattr(SharedBatch, "ask", ask_after_kill)
        ended = program.run("train", "names.txt", *line)
    assert (ended.status, "model.npz holds the run at step 9." in ended.err) == (1, True)
    program.run("train", "--resume").says()
    assert (program / "model.npz").read_bytes() == (program / "whole.npz").read_bytes()


RESUME = """
{}import sys, charrnn
run = charrnn.resume("names.npz", epochs=3)
for event in run:
    pass
run.save(sys.argv[1])
"""
NOISE = ("--dropout", "0.3", "--own-inputs", "0.3", "--clip", "0.5", "--counts", "--cell", "gru")


@pytest.mark.parametrize("cores", ["1", "3"])
def test_fault_67_in_any_order_of_imports_bytes_are_the_same(program: Program, cores: str) -> None:
    shape = ("--hidden", "120", "--bptt", "8", "--batch", "24", "--cores", cores, *NOISE)
    program.run("train", "names.txt", *shape, "--epochs", "1", "-m", "names.npz").says()
    for first in ("", "import numpy; "):
        line = [sys.executable, "-c", RESUME.format(first), f"{len(first)}.npz"]
        with going(line, program.folder, UNLIMITED) as child:
            assert child.end().status == 0, child.err
    program.run("train", "--resume", "-m", "names.npz", "--epochs", "3").says()
    assert len({(program / name).read_bytes() for name in ("names.npz", "0.npz", "14.npz")}) == 1


@pytest.mark.parametrize("cores", [1, 2])
def test_fault_67_with_threads_children_work(tmp_path: Path, monkeypatch: Any, cores: int) -> None:
    whole = trained(tmp_path, 1, shards=2)
    several_threads(monkeypatch)
    monkeypatch.setattr(Shard, "compute", None)
    assert trained(tmp_path, cores, shards=2) == whole


def script(folder: Path, epochs: str) -> AbstractContextManager[Child]:
    return going([sys.executable, "-c", SCRIPT, epochs], folder, NOTHING)


def test_a_script_needs_no_guard_and_leaves_no_process(tmp_path: Path) -> None:
    with script(tmp_path, "3") as child:
        ended = child.end()
    *pids, done = ended.out.split()
    assert pids
    assert (ended.status, done) == (0, "done")
    assert not any(is_running(int(pid)) for pid in pids)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_with_its_parent_a_process_ends(tmp_path: Path, number: int) -> None:
    with script(tmp_path, "1000000") as child:
        child.until(lambda: child.out.endswith("\n"))
        pids = [int(pid) for pid in child.out.split()]
        assert pids
        assert all(map(is_running, pids))
        os.killpg(child.process.pid, number)
        assert child.end().status != 0
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_batch_may_take_more_than_two_gigabytes() -> None:
    size, config = Architecture(30, 2400, 2, "lstm"), Mock(shards=8, bptt=64, batch=64, dropout=0)
    assert memory_of(size, config)["gradients"].nbytes > 2**31  # zeros, which take no room

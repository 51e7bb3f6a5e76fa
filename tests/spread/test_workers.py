"""Shared work: the same results in one process, in several, and on Dask; and what is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from charrnn.errors import ClusterError, CorpusError
from charrnn.spread import cluster
from charrnn.spread.workers import open_executor
from tests.child import NOTHING, PYTHON, children_of, dask_cluster, finished, going, wait_until
from tests.program import NAMES, SMALL, Program

GROUPS = [0.0, 0.03, 0.0, 0.02, 0.01, 0.0, 0.0, 0.0]


def work(shared: str, group: float) -> tuple[str, float, str]:
    time.sleep(group)
    return shared, group, os.environ["OPENBLAS_NUM_THREADS"]


def fail_at_two(shared: object, group: int) -> int:
    if group == 2:
        raise CorpusError("two", "Take one.")
    return group


def stumble_at_two(shared: object, group: int) -> int:
    return [0, 1][group]


def die_at_two(shared: object, group: int) -> int:
    if group == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return group


def die_while_sending(shared: int, group: int) -> bytes:
    if group == 2:
        threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return bytes(shared)


def results(function: Any, groups: Any, shared: Any = "s", **how: Any) -> list[Any]:
    in_order = how.pop("in_order", True)
    with open_executor(shared, **how) as executor:
        return list(executor(function, groups, in_order=in_order))


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The file of a Dask scheduler with two workers, shared by the tests below."""
    with dask_cluster(tmp_path_factory.mktemp("dask")) as (file, _):
        yield str(file)


def test_results_and_errors_are_the_same_on_all_executors(dask: str) -> None:
    expected = results(work, GROUPS)
    assert expected == [("s", group, "1") for group in GROUPS]
    ways: list[tuple[int, dict[str, Any]]] = [(1, {}), (6, {"cores": 2}), (6, {"scheduler": dask})]
    for most, how in ways:
        assert results(work, GROUPS, **how) == expected
        assert sorted(results(work, GROUPS, in_order=False, **how)) == sorted(expected)
        assert results(work, [], **how) == []
        groups = iter([0.0] * 40)
        with open_executor("s", **how) as executor:
            next(executor(work, groups))
            assert 40 - most <= len(list(groups)) < 40  # few are sent ahead
        with pytest.raises(CorpusError, match="two") as error:
            results(fail_at_two, range(9), **how)
        assert (error.value.hint, hasattr(error.value, "__notes__")) == ("Take one.", False)
        with pytest.raises(IndexError) as bug:
            results(stumble_at_two, range(9), **how)
        assert "in stumble_at_two" in "".join(traceback.format_exception(bug.value))


def test_commands_answer_the_same_on_all_executors(trained: Program, dask: str) -> None:
    trained.write("long.txt", NAMES * 50)
    sweep = ("sweep", "names.txt", *SMALL, "--try", "lr=0.01,0.02", "--seeds", "2", "-q", "-o")
    lines = ("sample -n 100 --seed 1 --unique", "eval long.txt --per-example")
    answers, models = list[str](), []
    for name, *how in (("1", "--cores", "1"), ("2", "--cores", "2"), ("3", "--scheduler", dask)):
        answers += [trained.run(*line.split(), "--json", *how).out for line in lines]
        trained.run(*sweep, name, *how).says()
        models.append({file.name: file.read_bytes() for file in (trained / name).glob("*.npz")})
    assert answers == answers[:2] * 3
    assert min(answer.count("\n") for answer in answers) >= 100
    assert len(models[0]) == 4
    assert models == models[:1] * 3


def test_other_versions_are_refused(dask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    what = f"a worker has {cluster.VERSIONS}, this machine charrnn 9 and numpy 9"
    monkeypatch.setattr(cluster, "VERSIONS", "charrnn 9 and numpy 9")
    with pytest.raises(ClusterError, match=what):
        results(work, GROUPS, scheduler=dask)


def in_one(shared: object, group: int) -> list[int]:
    return results(add, [group], shared, cores=2)


def add(shared: int, group: int) -> int:
    return shared + group


def test_a_process_without_children_works_alone() -> None:
    with multiprocessing.Pool(1) as pool:
        assert pool.apply(in_one, (1, 2)) == [3]


def test_processes_of_the_caller_stay(monkeypatch: Any) -> None:
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=[99])
    process.start()
    assert results(add, [1], 2, cores=2) == [3]
    assert process.is_alive()
    process.kill()
    process.join()


def submitted(function: Any, group: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(function("s", group))
    return future


@pytest.mark.parametrize(("in_order", "ahead"), [(True, 15), (False, 5)])
def test_each_worker_has_groups_ahead_where_order_makes_it_wait(in_order: bool, ahead: int) -> None:
    groups = iter([0.0] * 40)
    next(cluster.results_of(submitted, lambda: 5, work, groups, in_order=in_order))
    assert 40 - len(list(groups)) == ahead


def test_no_group_is_lost_while_there_is_no_worker() -> None:
    assert list(cluster.results_of(submitted, lambda: 0, work, GROUPS)) == results(work, GROUPS)


@pytest.mark.parametrize("function", [die_at_two, die_while_sending])
def test_fault_26_a_killed_worker_is_one_error(function: Any, kills: int) -> None:
    for _ in range(kills):
        with pytest.raises(ClusterError, match="killed"):
            results(function, range(500), 1 << 20, cores=2)


def test_a_scheduler_without_workers_or_that_is_none(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(cluster, "SCHEDULER_TIMEOUT", 1.0)
    with dask_cluster(tmp_path, workers=0) as (file, _):
        for scheduler in (str(file), "127.0.0.1:1", "nowhere.json", __file__):
            what = "has no workers" if scheduler == str(file) else "no Dask scheduler answers"
            with pytest.raises(ClusterError, match=what):
                results(work, GROUPS, scheduler=scheduler)
        assert "no Dask" in Program(tmp_path).run("sample", "--scheduler", "nowhere.json").err


TWICE = """
from charrnn.system.signals import handled
from charrnn.spread.workers import open_executor
from tests.spread.test_workers import work
with handled(), open_executor("s", cores=2) as executor:
    answers = executor(work, [0.01] + [99] * 4)
    next(answers)
    print("go", flush=True)
    next(answers)
"""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_two_signals_end_the_work_at_once(tmp_path: Path, number: int, kills: int) -> None:
    for gap in range(3 * kills):
        with going([*PYTHON, "-c", TWICE], tmp_path, NOTHING) as child:
            child.until(lambda: child.out == "go\n")
            workers = children_of(child.process.pid)
            child.send(number)
            time.sleep(gap % 5 * 2e-4)
            child.send(number)
            assert child.end().status in (1, 128 + number)
            wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))  # noqa: B023


SPAWNED = """
import os, signal, sys
from charrnn.spread import workers
if __name__ != "__main__" and sys.argv[1] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
workers.START = "spawn"
workers._end_with_parent = int  # whether it is quick or not
from charrnn.system.signals import SIGNALS
def item(shared, group):
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) >= {*SIGNALS}
    return shared[group]
if __name__ == "__main__":
    with workers.open_executor(bytes(range(256)) * 4096, cores=2) as executor:
        print(*executor(item, [0, 1, -1]), flush=True)
        if sys.argv[1] == "is killed":
            sys.stdin.read()
"""


def test_workers_that_begin_anew_get_what_is_shared(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SPAWNED)
    for how, status, out in (("lives", 0, "0 1 255\n"), ("dies", 1, "")):
        ended = finished([*PYTHON, "script.py", how], tmp_path, NOTHING, None)
        assert (ended.status, ended.out) == (status, out)
        assert ("ClusterError" in ended.err) == (how == "dies")


def test_workers_say_nothing_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SPAWNED)
    line = [*PYTHON, "script.py", "is killed"]
    with going(line, tmp_path, NOTHING, stdin=subprocess.PIPE) as child:
        child.until(lambda: child.out == "0 1 255\n")
        workers = children_of(child.process.pid)
        child.send(signal.SIGKILL)
        assert child.end().status == 128 + signal.SIGKILL
        wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))
        assert child.err == ""

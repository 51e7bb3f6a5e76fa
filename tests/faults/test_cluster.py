"""Faults C1 to C13: machines that die, stand still or come late, and clients that leave."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import charrnn
from charrnn.errors import ClusterError
from charrnn.settings.sampling import SampleConfig
from tests.child import HOME, wait_until
from tests.cluster_work import meet, twice
from tests.clusters import (
    Machines,
    children_of,
    command_of,
    kill_session,
    machines,
    need_dask,
    processes_of,
    small_pieces,
    when_three_are_there,
)
from tests.program import Program, is_refusal
from tests.speaking import independent, saved
from tests.sweeps import workers_of

need_dask()
from charrnn.cluster import opening, pool  # noqa: E402
from charrnn.cluster.opening import local_cluster, open_cluster  # noqa: E402
from charrnn.system import ONE_THREAD  # noqa: E402

PATIENT = 60.0  # seconds; on a busy machine even a scheduler that is there answers late
TIMEOUT = opening.TIMEOUT
DRAW = ("sample", "-n", "60", "--seed", "3", "--json")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process wait long for an answer of the scheduler."""
    monkeypatch.setattr(opening, "TIMEOUT", PATIENT)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two machines, which the faults here leave as they are."""
    with machines(tmp_path_factory.mktemp("two"), 2, nanny=True) as made:
        yield made


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for machines, of which a program that changes no file knows nothing."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture
def made(elsewhere: Path) -> Iterator[Machines]:
    """A scheduler without workers, to do harm to."""
    with machines(elsewhere, 0) as made:
        yield made


def is_as_ever(program: Program, machines: Machines) -> None:
    """Assert that workers draw what one process draws."""
    one = program.run(*DRAW)
    others = program.run(*DRAW, "--scheduler", str(machines.file))
    assert (others.status, others.out, others.err) == (0, one.out, one.err)


def test_c1_a_worker_that_is_killed_is_missed_by_nobody(trained: Program, two: Machines) -> None:
    line = ("sample", "-n", "30000", "--seed", "3")
    one = trained.run(*line)
    with trained.going(*line, "--scheduler", two.file) as child:
        child.until(lambda: len(child.out) > 0)
        two.kill_a_worker()
        ended = child.end()
    assert (ended.status, ended.out == one.out, ended.err) == (0, True, one.err)


def test_c2_a_machine_that_is_lost_is_missed_by_nobody(
    trained: Program, two: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch)
    third = two.work()
    two.until_there_are(3)
    taken = when_three_are_there(monkeypatch, lambda: kill_session(third.pid))
    is_as_ever(trained, two)
    assert len(taken) > 3


@pytest.mark.long
def test_c3_a_machine_that_stands_still_loses_its_work_to_the_others(
    trained: Program, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch)
    impatient = {f"DASK_DISTRIBUTED__COMM__TIMEOUTS__{what}": "15s" for what in ("TCP", "CONNECT")}
    impatient["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "8s"
    with machines(elsewhere, 2, impatient) as made:
        made.until_there_are(2)

        def stand_still() -> None:
            for one in processes_of(made.workers[0].pid):
                os.kill(one, signal.SIGSTOP)

        taken = when_three_are_there(monkeypatch, stand_still)
        is_as_ever(trained, made)
        assert len(taken) > 3


@pytest.mark.parametrize("how", ["ordered", pytest.param("as_completed", marks=pytest.mark.long)])
def test_c4_a_machine_that_comes_late_is_given_work(
    made: Machines, tmp_path: Path, how: str
) -> None:
    made.work()
    with open_cluster(scheduler=str(made.file)) as cluster:
        made.work()
        met = list(getattr(cluster, how)(meet, [str(tmp_path)] * 2))  # which two can, not one alone
    assert len({one if how == "ordered" else one[1] for one in met}) == 2


def test_c5_where_there_is_no_worker_that_is_said_and_one_is_waited_for(
    trained: Program, made: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pool.QUIET == 10
    monkeypatch.setattr(pool, "QUIET", 0.5)
    said: list[str] = []

    def start_one(text: str) -> None:
        said.append(text)
        made.work()

    with open_cluster(scheduler=str(made.file), say=start_one) as cluster:
        assert list(cluster.ordered(twice, range(3))) == [0, 2, 4]
    assert said == [f"{made.address} has no workers yet: waiting for one"]


def test_c6_where_the_scheduler_is_lost_all_that_was_written_is_right(
    trained: Program, made: Machines
) -> None:
    made.work()
    line = ("sample", "-n", "1000000", "--seed", "3")
    with trained.going(*line, "--scheduler", made.file) as child:
        child.until(lambda: len(child.out) > 1000)
        kill_session(made.started[0].pid)
        ended = child.end()
    is_refusal(ended, f"the scheduler at {made.address} is gone", "Results so far are valid")
    assert len(ended.err.splitlines()) == 2
    assert ended.out.endswith("\n")
    whole = trained.run("sample", "-n", str(ended.out.count("\n")), "--seed", "3", "-q").out
    assert ended.out == whole


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL]
)
def test_c7_c8_workers_are_free_as_soon_as_nobody_waits_for_them(
    program: Program, two: Machines, number: int
) -> None:
    saved(independent({"a": 1.0}), program / "model.npz")  # it never ends
    line = ("sample", "-n", "64", "--max-chars", str(1 << 60), "--scheduler", two.file)
    with open_cluster(scheduler=str(two.file)) as cluster:
        with program.going(*line) as child:
            child.until(lambda: cluster_is_busy(two))
            child.send(number)
            ended = child.end()
        assert ended.status == (130 if number == signal.SIGINT else -number)
        assert (ended.out, ended.err) == ("", "")
        assert list(cluster.ordered(twice, range(6))) == [0, 2, 4, 6, 8, 10]
        assert not cluster_is_busy(two)


def cluster_is_busy(machines: Machines) -> bool:
    """Whether all workers have something to do."""
    from distributed import Client

    with Client(machines.address, timeout="30s", set_as_default=False) as client:
        return all(client.processing().values())


@contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """The address of something that is no scheduler: it says that, or nothing for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            while True:
                try:
                    other, _ = server.accept()
                except OSError:
                    return
                with other:
                    other.sendall(answer or b"")

        thread = threading.Thread(target=talk)
        if answer is not None:
            thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    if answer is not None:
        thread.join()


def refuses_address(program: Program, address: str, what: str, hint: str) -> None:
    """It says so, in one line and with status 2."""
    line = ("sample", "--scheduler", address)
    ended = program.refuses(*line, what=what, hint=hint, status=2)
    assert len(ended.err.splitlines()) == 2
    assert ended.out == ""


def test_c11_what_is_no_scheduler_is_refused_soon(
    trained: Program, two: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.until_there_are(1)
    worker = worker_address(two)
    refuses_address(trained, worker, "is a Worker of Dask, not a scheduler", "dask scheduler")
    assert TIMEOUT < 5
    monkeypatch.setattr(opening, "TIMEOUT", 0.5)
    with listening(None) as address:
        refuses_address(trained, address, "no scheduler of Dask answers", "can be reached")
        silent = address
    refuses_address(trained, silent, "no scheduler of Dask answers", "Start one")
    for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(100), b"SSH-2.0-OpenSSH_9.2p1\r\n"):
        with listening(answer) as address:
            refuses_address(trained, address, address, "")
    refuses_address(trained, "tcp://nowhere.invalid:1", "no scheduler of Dask answers", "Start one")
    refuses_address(trained, "http://127.0.0.1", "is not an address", "tcp://HOST:PORT")
    refuses_address(trained, "", "cannot read the scheduler file ''", "tcp://")
    refuses_address(trained, "nofile", "cannot read the scheduler file 'nofile'", "tcp://")
    refuses_address(trained, "names.txt", "is not a scheduler file", "Give the file")


def worker_address(machines: Machines) -> str:
    """That of one of the workers."""
    from distributed import Client

    with Client(machines.address, timeout="30s", set_as_default=False) as client:
        return str(next(iter(client.nthreads())))


OLDER = """
from distributed import node
now = getattr(node, "given", node.get_versions)  # this may be done more than once
node.given = now

def older(packages=None):
    found = now(packages)
    found["packages"]["distributed"] = "2021.1.0"
    return found

node.get_versions = older
"""


def test_c11_another_version_of_dask_is_refused(trained: Program, elsewhere: Path) -> None:
    script = elsewhere / "older.py"
    script.write_text(OLDER)
    older = Machines(elsewhere)
    try:
        older.schedule("--preload", str(script))
        what, hint = "has Dask 2021.1.0, this machine", "pip install 'distributed==2021.1.0'"
        refuses_address(trained, older.address, what, hint)
    finally:
        older.end()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_c11_tls_works_by_the_settings_of_dask_and_is_missed_where_they_are(
    trained: Program, elsewhere: Path
) -> None:
    key, certificate = elsewhere / "key.pem", elsewhere / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=charrnn", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    settings: dict[str, str | None] = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(certificate)}
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        settings[f"DASK_DISTRIBUTED__COMM__TLS__{who}__CERT"] = str(certificate)
        settings[f"DASK_DISTRIBUTED__COMM__TLS__{who}__KEY"] = str(key)
    safe = Machines(elsewhere, settings)
    try:
        safe.schedule("--protocol", "tls")
        safe.work("--protocol", "tls")
        assert safe.address.startswith("tls://")
        line = ("sample", "-n", "5", "--seed", "1")
        ended = trained.run(*line, "--scheduler", safe.file, child=True, env=settings)
        assert (ended.status, ended.out) == (0, trained.run(*line).out)
        hint = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE"
        refuses_address(trained, safe.address, "no certificates for TLS", hint)
        plain = safe.address.replace("tls", "tcp")
        refuses_address(
            trained, plain, "closed the connection, as a scheduler that needs TLS does", hint
        )
        gone = settings | {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(elsewhere / "none.pem")}
        ended = trained.run(*line, "--scheduler", safe.address, child=True, env=gone)
        is_refusal(ended, "no TLS with", hint, 2)
    finally:
        safe.end()


def test_c12_a_worker_that_would_come_to_other_results_is_refused(
    trained: Program, made: Machines, elsewhere: Path
) -> None:
    other = elsewhere / "other"
    shutil.copytree(Path(charrnn.__file__).parent, other / "charrnn")
    with (other / "charrnn" / "system.py").open("a") as file:
        file.write("# another charrnn\n")
    shutil.copytree(Path(__file__).parent.parent.parent / "data", other / "data")
    script = elsewhere / "numpy1.py"
    script.write_text("import numpy\nnumpy.__version__ = '1.0'\n")
    preload = ["--preload", str(script)]
    two_threads = dict.fromkeys(ONE_THREAD, "2")
    for more, env, what, hint in (
        (
            [],
            {"PYTHONPATH": str(other)},
            "has a different charrnn than",
            "the same versions on all",
        ),
        (preload, {}, "has numpy 1.0, this machine", "Install the same versions"),
        ([], two_threads, "multiplies matrices with 2 threads", "OMP_NUM_THREADS=1 (dask"),
    ):
        worker = made.work(*more, env=env)
        made.until_there_are(1)
        line = ("sample", "--scheduler", str(made.file))
        trained.refuses(*line, what=what, hint=hint)
        kill_session(worker.pid)
        wait_until(lambda: cluster_is_empty(made))


@pytest.mark.long
def test_c12_a_worker_without_charrnn_that_comes_late_is_refused(
    made: Machines, elsewhere: Path
) -> None:
    (elsewhere / "sitecustomize.py").write_text("import sys\nsys.modules['charrnn'] = None\n")
    first = made.work()
    made.until_there_are(1)
    with open_cluster(scheduler=str(made.file)) as cluster:
        made.work(env={"PYTHONPATH": str(elsewhere)})
        made.until_there_are(2)
        kill_session(first.pid)
        shared = cluster.share(SampleConfig())
        with pytest.raises(ClusterError, match="cannot import this charrnn") as error:
            list(cluster.ordered(max, range(2), shared))
    assert error.value.hint == "Install the same versions on all machines."


def cluster_is_empty(machines: Machines) -> bool:
    """Whether no worker is left."""
    from distributed import Client

    with Client(machines.address, timeout="30s", set_as_default=False) as client:
        return not client.nthreads()


def test_c13_a_reader_who_leaves_ends_it_quietly(trained: Program, two: Machines) -> None:
    line = ("sample", "-n", "1000000", "--seed", "3", "--scheduler", two.file)
    with trained.going(*line, stdout=subprocess.PIPE) as child:
        assert child.process.stdout is not None
        assert child.process.stdout.read(100)
        child.process.stdout.close()
        status = child.process.wait(60)
        assert (status, child.err) == (141, "")
    is_as_ever(trained, two)


def test_our_own_scheduler_is_reached_from_this_machine_alone() -> None:
    with local_cluster(2) as address:
        assert address.startswith("tcp://127.0.0.1:")
        leader = next(
            one for one in children_here() if "charrnn.cluster.opening" in command_of(one)
        )
        found = {place for one in processes_of(leader) for place in listening_at(one)}
    assert len(found) >= 4  # a scheduler, two workers, their nannies, and pages of all of them
    assert {host for host, _ in found} == {"0100007F"}


def children_here() -> list[int]:
    """The sessions that this process has started."""
    return workers_of(os.getpid())


def listening_at(process: int) -> set[tuple[str, str]]:
    """The addresses and ports, in hexadecimal digits, at which a process listens."""
    own = set()
    for name in Path(f"/proc/{process}/fd").iterdir():
        try:
            own.add(os.readlink(name))
        except OSError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            columns = row.split()
            if columns[3] == "0A" and f"socket:[{columns[9]}]" in own:
                host, _, port = columns[1].partition(":")
                found.add((host, port))
    return found


def test_a_cluster_that_ends_slowly_leaves_no_folder(
    temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SHUTDOWN", 0.0)  # the child is killed before it can tidy up
    with local_cluster(1):
        assert [*temporary_files.glob("charrnn-*")]
    assert not [*temporary_files.glob("charrnn-*")]


def test_modules_that_print_when_python_starts_do_no_harm(
    trained: Program, elsewhere: Path
) -> None:
    (elsewhere / "sitecustomize.py").write_text("print('hello\\nand', end=' welcome')\n")
    env = {"PYTHONPATH": os.pathsep.join([str(elsewhere), str(HOME)])}
    trained.run("sample", "-n", "2", "--workers", "1", child=True, env=env).says()
    line = ("names.txt", "--try", "lr=0.01,0.02", "--epochs", "1", "-o", "sweep")
    trained.run("sweep", *line, child=True, env=env).says("2 runs")


def test_workers_end_with_whoever_started_them(trained: Program) -> None:
    line = ("sample", "-n", "10000000", "--workers", "1")
    with trained.going(*line, stdout=subprocess.DEVNULL) as child:
        started: list[int] = []

        def have_begun() -> bool:
            started[:] = [
                one for one in workers_of(child.process.pid) if len(children_of(one)) == 1
            ]
            return bool(started)

        child.until(have_begun)
        child.send(signal.SIGKILL)
    wait_until(lambda: not processes_of(started[0]))

"""Faults 34 and 38: threads, memory and cores are those of this process."""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from charrnn.system.cores import ONE_THREAD, available, cores, cores_for
from tests.child import HOME, PYTHON, UNLIMITED, Changes, Result, finished, program_with
from tests.program import SMALL, Program

MB = 10**6
MEMINFO = "MemTotal: 9000000 kB\nMemAvailable: 4000000 kB\n"


def system(folder: Path, files: dict[str, str]) -> Path:
    """Write the files of a system, and return its root."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


V2 = {
    "proc/self/cgroup": "0::/outer/inner\n",
    "sys/fs/cgroup/outer/inner/memory.max": "max\n",
    "sys/fs/cgroup/outer/inner/memory.current": "100000000\n",
    "sys/fs/cgroup/outer/memory.max": "500000000\n",
    "sys/fs/cgroup/outer/memory.current": "300000000\n",
    "sys/fs/cgroup/outer/memory.stat": "anon 7\nactive_file 40000000\ninactive_file 60000000\n",
}
V1 = {
    "proc/self/cgroup": "5:cpu,cpuacct:/box\n4:memory:/box\n0::/\n",
    "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "400000000\n",
    "sys/fs/cgroup/memory/box/memory.usage_in_bytes": "350000000\n",
    "sys/fs/cgroup/memory/box/memory.stat": (
        "active_file 1\ninactive_file 2\ntotal_active_file 30000000\ntotal_inactive_file 20000000\n"
    ),
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "2549272576\n",
}


def test_fault_38_a_control_group_whose_name_is_not_utf8_is_left_out(tmp_path: Path) -> None:
    root = system(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/cgroup": ""})
    (root / "proc/self/cgroup").write_bytes(b"0::/\xff\n")
    assert (available(root), cores(root)) == (4_096_000_000, cores(tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        ({"proc/meminfo": MEMINFO}, 4_096_000_000),
        ({"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n"}, 4_096_000_000),
        ({"proc/meminfo": MEMINFO, **V2}, 300 * MB),
        ({"proc/meminfo": MEMINFO, **V1}, 100 * MB),
        (V1 | {"sys/fs/cgroup/memory/box/memory.usage_in_bytes": "500000000\n"}, 0),
        # as in a container, which sees its own group as the top
        (V1 | {"proc/self/cgroup": "4:memory:/docker/5f/box\n"}, 9223372036854771712 - 2549272576),
    ],
)
def test_fault_38_the_memory_of_control_groups(
    tmp_path: Path, files: dict[str, str], free: int | None
) -> None:
    assert available(system(tmp_path, files)) == free


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"sys/fs/cgroup/outer/cpu.max": "50000 100000\n"}, 1),
        ({"sys/fs/cgroup/outer/cpu.max": "max 100000\n"}, None),
        ({"sys/fs/cgroup/outer/inner/cpu.max": "100000 100000\n"}, 1),
        ({"sys/fs/cgroup/outer/inner/cpu.max": "9900000 100000\n"}, None),
    ],
)
def test_fault_38_the_cores_of_control_groups(
    tmp_path: Path, files: dict[str, str], most: int | None
) -> None:
    all_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert cores(system(tmp_path, V2 | files)) == (most or all_cores)


@pytest.mark.parametrize(("quota", "most"), [("50000", 1), ("-1", None)])
def test_fault_38_half_a_core_means_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, most: int | None
) -> None:
    place = "sys/fs/cgroup/cpu/box/cpu.cfs_"
    files = V1 | {f"{place}quota_us": f"{quota}\n", f"{place}period_us": "100000\n"}
    root = system(tmp_path, files)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setattr("charrnn.system.cores.cores", partial(cores, root))
    assert cores_for(None) == (most or 3)
    assert cores_for(2) == 2  # as asked for


def test_fault_38_a_limit_on_addresses_is_seen(program: Program) -> None:
    resource = pytest.importorskip("resource")
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (600 * MB, 600 * MB))
    assert_too_large(program.run("train", "names.txt", "--hidden", "2000", preexec_fn=limit))


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A control group of 400 MB inside that of this process, where that is possible."""
    mine = Path("/proc/self/cgroup")
    lines = mine.read_text().splitlines() if mine.exists() else []
    for line in lines:
        _, controllers, name = line.split(":", 2)
        top = Path("/sys/fs/cgroup", "memory" if controllers == "memory" else "")
        group = Path(f"{top}{name}", f"charrnn-test-{os.getpid()}")
        file = group / ("memory.limit_in_bytes" if controllers else "memory.max")
        if controllers not in ("memory", ""):
            continue
        with suppress(OSError):
            group.mkdir()
            try:
                file.write_text(str(400 * MB))
                yield group
            finally:
                group.rmdir()
            return
    pytest.skip("no control group can be made")


def test_fault_38_a_plan_too_large_for_a_real_group_is_refused(
    program: Program, small_group: Path
) -> None:
    def enter() -> None:
        (small_group / "cgroup.procs").write_text(str(os.getpid()))

    assert_too_large(program.run("train", "names.txt", "--hidden", "2000", preexec_fn=enter))
    program.run("train", "names.txt", *SMALL, preexec_fn=enter).says()


def assert_too_large(ran: Result) -> None:
    """Assert that a plan is refused in one line, and a hint."""
    assert (ran.status, "Traceback" in ran.err) == (1, False), ran.err
    what, hint = ran.err.splitlines()[-2:]
    assert "charrnn: error: this run needs about" in what
    assert "Try a smaller --hidden" in hint


def test_fault_34_importing_changes_nothing_in_the_environment() -> None:
    code = "import os; before = dict(os.environ); import charrnn, charrnn.__main__; "
    code += "charrnn.fit, charrnn.load; print(os.environ == before)"
    assert run_python(code, UNLIMITED) == "True\n"


@pytest.mark.parametrize(
    ("first", "env", "is_known"),
    [
        ("", UNLIMITED, False),
        ("", ONE_THREAD, True),
        ("import numpy; ", ONE_THREAD, False),
        ("from charrnn.system.cores import limit_threads; limit_threads(); ", UNLIMITED, True),
        (
            "from charrnn.system.cores import limit_threads; limit_threads(); ",
            UNLIMITED | {"OPENBLAS_NUM_THREADS": "2"},
            False,
        ),
    ],
)
def test_fault_34_whether_numpy_has_one_thread_is_known(
    first: str, env: Changes, is_known: bool
) -> None:
    code = f"{first}from charrnn.system.cores import has_one_thread; print(has_one_thread())"
    assert run_python(code, env) == f"{is_known}\n"


def test_fault_34_the_program_limits_its_threads_and_not_those_that_were_chosen(
    program: Program,
) -> None:
    show = "import atexit, os; atexit.register(lambda: print(os.environ['OMP_NUM_THREADS'], "
    show += "os.environ['OPENBLAS_NUM_THREADS']))"
    env = UNLIMITED | {"OMP_NUM_THREADS": "7"}
    ran = program.run("--version", by=program_with(show), env=env)
    assert ran.lines[1:] == ["7 1"]


def run_python(code: str, env: Changes) -> str:
    """Run this code in a child of Python with these changes, and return what it prints."""
    ended = finished([*PYTHON, "-c", code], HOME, env, None)
    assert ended.status == 0, ended.err
    return ended.out

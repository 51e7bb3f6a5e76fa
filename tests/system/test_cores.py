"""Faults 34 and 38: threads, memory and cores are those of this process."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from charrnn.system.cores import ONE_THREAD, available, cores, cores_for
from tests.child import HOME, PYTHON, UNLIMITED, Changes, finished, program_with
from tests.program import Program, assert_refusal

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
CPU = "sys/fs/cgroup/cpu/box/cpu.cfs_"
HALF = {f"{CPU}quota_us": "50000\n", f"{CPU}period_us": "100000\n"}  # of a core
IMPORT = "from charrnn.system import cores"


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
def test_fault_38_memory_of_groups(tmp_path: Path, files: dict[str, str], free: int | None) -> None:
    assert available(system(tmp_path, files)) == free


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"sys/fs/cgroup/outer/cpu.max": "50000 100000\n"}, 1),
        ({"sys/fs/cgroup/outer/cpu.max": "max 100000\n"}, None),
        ({"sys/fs/cgroup/outer/inner/cpu.max": "100000 100000\n"}, 1),
        ({"sys/fs/cgroup/outer/inner/cpu.max": "9900000 100000\n"}, None),
        (V1 | HALF, 1),
        (V1 | HALF | {f"{CPU}quota_us": "-1\n"}, None),
        (HALF | {"proc/self/cgroup": "6:cpuset:/box\n"}, None),  # another controller
    ],
)
def test_fault_38_the_cores_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], most: int | None
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert cores(system(tmp_path, V2 | files)) == (most or 3)
    assert (cores_for(None), cores_for(2)) == (min(cores(), 8), 2)


def test_fault_38_addresses_are_limited(program: Program, tmp_path: Path, monkeypatch: Any) -> None:
    resource = pytest.importorskip("resource")
    root = system(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/status": "VmSize:\t 1000 kB\n"})
    for most, free in ((MB, 0), (300 * MB, 300 * MB - 1_024_000), (5000 * MB, 4_096_000_000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, most=most: (most, -1))
        assert available(root) == free
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (600 * MB, 600 * MB))
    ran = program.run("train", "names.txt", "--hidden", "2000", preexec_fn=limit)
    assert_refusal(ran, "this run needs about", "Try a smaller --hidden")


def test_fault_34_importing_changes_nothing_in_the_environment() -> None:
    code = "import os; before = dict(os.environ); import charrnn, charrnn.__main__; "
    code += "charrnn.fit, charrnn.load; print(os.environ == before)"
    assert finished([*PYTHON, "-c", code], HOME, UNLIMITED, None).out == "True\n"


@pytest.mark.parametrize(
    ("code", "env", "is_known"),
    [
        (IMPORT, UNLIMITED, False),
        (IMPORT, ONE_THREAD, True),
        (f"import numpy; {IMPORT}", ONE_THREAD, False),
        (f"{IMPORT}; cores.limit_threads()", UNLIMITED, True),
        (f"{IMPORT}; cores.limit_threads()", UNLIMITED | {"OPENBLAS_NUM_THREADS": "2"}, False),
    ],
)
def test_fault_34_threads_of_numpy_are_known(code: str, env: Changes, is_known: bool) -> None:
    ran = finished([*PYTHON, "-c", f"{code}; print(cores.has_one_thread())"], HOME, env, None)
    assert ran.out == f"{is_known}\n"


def test_fault_34_the_program_limits_threads_unless_they_were_chosen(program: Program) -> None:
    show = "import atexit, os; atexit.register(lambda: print(os.environ['OMP_NUM_THREADS'], "
    show += "os.environ['OPENBLAS_NUM_THREADS']))"
    env = UNLIMITED | {"OMP_NUM_THREADS": "7"}
    assert program.run("--version", by=program_with(show), env=env).lines[1:] == ["7 1"]

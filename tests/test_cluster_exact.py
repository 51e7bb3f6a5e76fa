"""What workers draw and score is what one process does, byte by byte: for any number of them, for
pieces of any size, and while some are killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clusters import Machines, machines, need_dask, small_pieces, when_three_are_there
from tests.program import Program, Result
from tests.rows import seldom

need_dask()


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.long), 3])
def some(request: pytest.FixtureRequest, grown: Machines) -> Machines:
    """A scheduler with so many workers."""
    while len(grown.workers) < request.param:
        grown.work()
    grown.until_there_are(request.param)
    return grown


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler for all of them."""
    with machines(tmp_path_factory.mktemp("cluster"), 0) as made:
        yield made


@pytest.fixture(params=[1, 7])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So large are pieces of work, in samples and in symbols."""
    found = int(request.param)
    small_pieces(monkeypatch, found, found)
    return found


@pytest.fixture
def killing(some: Machines, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """With the third result a machine is lost."""
    return when_three_are_there(monkeypatch, some.lose_a_machine)


def alike(program: Program, some: Machines, *line: str) -> tuple[Result, Result]:
    """The results of one process and of the workers."""
    one = program.run(*line)
    return one, program.run(*line, "--scheduler", str(some.file))


def test_what_workers_draw_is_what_one_process_draws(
    trained: Program, some: Machines, size: int
) -> None:
    one, others = alike(trained, some, "sample", "-n", "40", "--seed", "3", "--json")
    assert (others.status, others.out, others.err) == (0, one.out, one.err)


def timeless(ran: Result) -> dict[str, Any]:
    """What was found, but for how long it took."""
    return {name: value for name, value in ran.json.items() if "second" not in name}


@pytest.fixture(scope="module")
def several(grown: Machines) -> Machines:
    """A scheduler with two workers or more."""
    while len(grown.workers) < 2:
        grown.work()
    grown.until_there_are(2)
    return grown


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces are small, and many."""
    small_pieces(monkeypatch)


@pytest.fixture
def models(trained: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Two models: a network, and one beside counts."""
    trained.train("names.txt", "--counts", "--seed", "5", "-m", "both.npz").says()
    return trained


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "line",
    [
        seldom(""),
        "--json -t 0.5,1.5",
        "--novel names.txt --ignore-case",
        seldom("--shortest 3 --longest 5 -p an"),
        "--best --of 50 --json",
        "-m model.npz -m both.npz --use network",
        seldom("-m both.npz --use counts --json"),
        seldom("--first 7 -0 --top-k 5 --max-chars 4"),
    ],
)
def test_however_samples_are_asked_for_workers_draw_the_same(
    models: Program, several: Machines, line: str
) -> None:
    one, others = alike(models, several, "sample", "-n", "23", "--seed", "3", *line.split())
    assert (others.status, others.out_bytes, others.err) == (0, one.out_bytes, one.err)
    assert others.out


@pytest.mark.usefixtures("small")
def test_what_is_hopeless_is_given_up_by_workers_too(models: Program, several: Machines) -> None:
    one, others = alike(models, several, "sample", "-n", "23", "--seed", "3", "--shortest", "99")
    assert (others.status, others.out, others.err) == (1, one.out, one.err)
    assert "found only 0 of 23 samples" in others.err


def test_workers_of_this_machine_need_no_scheduler(models: Program) -> None:
    one = models.run("sample", "-n", "50", "--seed", "1")
    child = models.run("sample", "-n", "50", "--seed", "1", "--workers", "2", child=True)
    assert (child.status, child.out, child.err) == (0, one.out, one.err)


def test_whether_it_was_said_before_is_not_asked_of_workers(models: Program) -> None:
    what = "--unique and --workers exclude each other"
    models.refuses(
        "sample", "-n", "3", "--unique", "--workers", "2", what=what, hint="sort -u", status=2
    )
    for other in ("--threads=2", "--scheduler=x"):
        models.refuses(
            "sample", "--workers", "2", other, what="exclude each other", hint="Leave", status=2
        )


def test_without_dask_workers_are_not_to_be_had(
    models: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.extras import without

    without(monkeypatch, "distributed")
    hint = "pip install distributed"
    models.refuses("sample", "--workers", "2", what="--workers needs Dask", hint=hint)

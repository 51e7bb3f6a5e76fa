"""The room that knows Dask: results in order, or as they come, of workers that may die."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from unittest import mock

import pytest

from charrnn.cluster.opening import open_cluster
from charrnn.cluster.pool import AHEAD, Cluster
from charrnn.errors import ClusterError, CorpusError, MissingPackageError
from tests.child import wait_until
from tests.cluster_work import die, die_once, fail_at_three, fall, go_on, tell, times, twice
from tests.clusters import need_dask
from tests.extras import without

need_dask()


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    """Two workers of this machine. Those that take the place of dead ones start in no time."""
    quick = {"DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver"}
    with mock.patch.dict(os.environ, quick), open_cluster(workers=2) as cluster:
        yield cluster


def test_results_come_in_the_order_of_the_pieces(two: Cluster) -> None:
    assert list(two.ordered(twice, range(20))) == [2 * number for number in range(20)]


def test_few_pieces_are_out_at_a_time(two: Cluster) -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = two.ordered(twice, numbers())
    for behind in range(10):
        assert next(results) == 2 * behind
        assert len(taken) <= AHEAD * two.threads + behind


def test_what_is_shared_comes_to_each_piece(two: Cluster) -> None:
    shared = two.share(7)
    assert list(two.ordered(times, range(5), shared)) == [0, 7, 14, 21, 28]
    done = {(item, result) for item, result, _ in two.as_completed(times, [5, 6], shared)}
    assert done == {(5, 35), (6, 42)}


def test_an_error_of_a_piece_comes_in_its_place_and_as_what_it_is(two: Cluster) -> None:
    results = two.ordered(fail_at_three, range(10))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(CorpusError, match="piece three is wrong") as caught:
        next(results)
    assert (caught.value.hint, caught.value.setting) == ("Mend it.", "text")


def test_a_bug_comes_as_what_it_is_and_says_where_it_was(two: Cluster) -> None:
    with pytest.raises(RecursionError) as caught:
        list(two.ordered(fall, [0]))
    assert "in fall" in caught.value.__notes__[0]


def test_where_the_pieces_come_to_an_error_all_results_before_it_come_first(two: Cluster) -> None:
    def numbers() -> Iterator[int]:
        yield from range(4)
        raise CorpusError("the file ends in the middle")

    results = two.ordered(twice, numbers())
    assert [next(results) for _ in range(4)] == [0, 2, 4, 6]
    with pytest.raises(CorpusError, match="in the middle"):
        next(results)


def test_one_item_that_fails_does_not_take_the_others_along(two: Cluster) -> None:
    done = {item: rest for item, *rest in two.as_completed(fail_at_three, range(6))}
    assert [done[item][0] for item in (0, 1, 2, 4, 5)] == [0, 1, 2, 4, 5]
    assert "piece three" in str(done[3][1])


def test_what_a_task_tells_is_heard_while_results_are_waited_for(two: Cluster) -> None:
    heard: list[int] = []
    two.listen(lambda message: heard.append(message["number"]))

    def until_all_is_heard() -> Iterator[int]:
        for number in count():
            if {*range(8)} <= {*heard}:
                return
            yield number

    for _ in two.ordered(tell, until_all_is_heard()):
        pass
    assert sorted({*heard})[:8] == list(range(8))


def test_a_piece_is_done_again_where_its_worker_dies(two: Cluster, tmp_path: Path) -> None:
    marks = [str(tmp_path / str(number)) for number in range(4)]
    assert list(two.ordered(die_once, marks)) == marks


def test_a_piece_that_kills_its_workers_is_named(two: Cluster) -> None:
    with pytest.raises(ClusterError, match="piece 5 killed 4 workers"):
        list(two.ordered(die, [5], name=lambda number: f"piece {number}"))


def test_a_task_that_nobody_waits_for_ends(two: Cluster, tmp_path: Path) -> None:
    def until_somebody_works() -> Iterator[str]:
        yield str(tmp_path)
        wait_until(lambda: any(tmp_path.glob("*.begun")))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(two.ordered(go_on, until_somebody_works()))
    wait_until(lambda: any(tmp_path.glob("*.over")))
    assert list(two.ordered(twice, range(6))) == [0, 2, 4, 6, 8, 10]


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "distributed")
    with pytest.raises(MissingPackageError, match="Dask") as caught, open_cluster(workers=1):
        pass
    assert caught.value.hint == "pip install distributed"

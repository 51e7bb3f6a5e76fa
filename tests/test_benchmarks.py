"""The help of the benchmarks, and the model of training on many machines."""

from __future__ import annotations

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.defaults import variants
from tests.benchmarks.scale_model import MACHINES, Costs, table

COSTS = Costs(gradient=0.030, update=0.001, numbers=250_000, bandwidth=1e9, latency=30e-6)


def test_the_help_keeps_a_line_for_each_example() -> None:
    lines = benchmarks.parser().format_help().splitlines()
    examples = [line for line in lines if line.startswith("python -m tests.benchmarks ")]
    assert len(examples) == 9
    for name in (*benchmarks.SECTIONS, *benchmarks.LONG):
        assert name in " ".join(lines)


def test_one_machine_is_as_quick_as_itself() -> None:
    assert COSTS.efficiency(1, tree=False) == COSTS.efficiency(1, tree=True) == 1


def test_a_step_of_four_machines_by_hand() -> None:
    sent = 2 * 250_000 * 4 * 3 / 4 / 1e9  # each number twice, but for the own quarter
    one_by_one, tree = 2 * 3 + 2, 2 * 2 + 2  # messages
    assert COSTS.step(4, tree=False) == pytest.approx(0.031 + sent + one_by_one * 30e-6)
    assert COSTS.step(4, tree=True) == pytest.approx(0.031 + sent + tree * 30e-6)


def test_more_machines_are_less_efficient_and_along_a_tree_more_so() -> None:
    one_by_one = [COSTS.efficiency(count, tree=False) for count in MACHINES]
    tree = [COSTS.efficiency(count, tree=True) for count in MACHINES]
    assert one_by_one == sorted(one_by_one, reverse=True)
    assert all(fast >= slow for fast, slow in zip(tree, one_by_one, strict=True))
    assert len(table({"a": COSTS, "b": COSTS})) == 4


@pytest.mark.parametrize(("dropout", "others"), [(0.2, {0, 0.1, 0.2, 0.4}), (0, {0, 0.1})])
def test_each_default_is_compared_with_its_neighbours(dropout: float, others: set[float]) -> None:
    usual = {"hidden": 400, "epochs": 16, "dropout": dropout, "lr": 0.004}
    rows = variants(usual)
    assert rows["default"] == usual
    assert {row["dropout"] for row in rows.values()} == others
    assert {row["lr"] for row in rows.values()} == {0.002, 0.004, 0.008}
    work = {row["hidden"]: row["hidden"] ** 2 * row["epochs"] for row in rows.values()}
    assert work == {320: 320**2 * 25, 400: 400**2 * 16, 500: 500**2 * 10}
    assert max(work.values()) < 1.05 * min(work.values())

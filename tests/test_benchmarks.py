"""The help of the benchmarks, and the model of training on many machines."""

from __future__ import annotations

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.defaults import variants


def test_the_help_keeps_a_line_for_each_example() -> None:
    lines = benchmarks.parser().format_help().splitlines()
    examples = [line for line in lines if line.startswith("python -m tests.benchmarks ")]
    assert len(examples) == 9
    for name in (*benchmarks.SECTIONS, *benchmarks.LONG):
        assert name in " ".join(lines)


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

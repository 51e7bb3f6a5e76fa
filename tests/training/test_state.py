"""When a run is over."""

import pytest

from charrnn.runs import train
from charrnn.training.state import ending_at


@pytest.mark.parametrize(("patience", "why"), [(1, "patience"), (2, "patience"), (3, None)])
def test_patience_counts_the_check_ups_since_the_best(patience: int, why: str | None) -> None:
    config = train(["anna", "bob"] * 9, epochs=9, patience=patience).checkpoint.config
    history = [{"step": step} for step in (5, 10, 15, 20)]
    assert ending_at(config, 1, 0.0, 10, history) == why


@pytest.mark.parametrize(("until_best", "in_vain"), [(1, 11), (10, 2), (16, 4), (19, 4), (32, 8)])
def test_without_a_limit_a_run_ends_after_a_quarter_more_in_vain(
    until_best: int, in_vain: int
) -> None:
    config = train(["anna", "bob"] * 9).checkpoint.config
    assert config.patience == 0
    for count, end in (in_vain - 1, None), (in_vain, "patience"):
        history = [{"step": 10.0 * row} for row in range(1, until_best + count + 1)]
        assert ending_at(config, 0, 0.0, 10 * until_best, history) == end

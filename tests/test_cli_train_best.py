"""The loss that a run reports as its best is that of eval, to the last digit."""

from __future__ import annotations

import pytest

from tests.program import Program


@pytest.mark.parametrize("lr", ["0.002", "0.05"])
@pytest.mark.parametrize("options", [(), ("--cell", "lstm")])
def test_the_best_of_a_run_is_what_eval_says(
    program: Program, lr: str, options: tuple[str, ...]
) -> None:
    line = ("--hidden", "24", "--layers", "2", "--epochs", "4", "--lr", lr)
    best = program.run("train", "names.txt", *line, *options, "--json").json["best"]
    found = program.run("eval", "--held-out", "--json").json
    for name in ("nats_per_character", "bits_per_character", "perplexity"):
        assert best[name] == found[name]

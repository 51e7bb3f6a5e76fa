"""How good the defaults are for a text: the loss with each of them changed, all else equal.

python -m tests.benchmarks defaults --corpus plays.txt --corpus novel.txt
python -m tests.benchmarks defaults --corpus novel.txt --minutes 2

A corpus is one stream, and its last tenth is held out. A smaller or larger network reads the text
more or less often, so that it trains for about the same time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.learning import figures, trained

CHOSEN = ("hidden", "layers", "dropout", "dropconnect", "blank", "bptt", "batch", "lr", "epochs")
CELLS = ("tanh", "gru", "lstm")
STEP = 1.25  # between sizes


def chosen_for(arguments: list[str]) -> dict[str, float]:
    """Return the settings that the plan chooses."""
    command = [sys.executable, "-m", "charrnn", "train", *arguments, "--dry-run", "--json", "-q"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    settings = json.loads(done.stdout)["settings"]
    return {name: settings[name] for name in CHOSEN if settings[name] is not None}


def variants(usual: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return the settings to compare, by their names."""
    rows = {"default": usual}
    for share in sorted({0.0, usual["dropout"] / 2, min(0.9, usual["dropout"] * 2) or 0.1}):
        if share != usual["dropout"]:
            rows[f"dropout {share:g}"] = {**usual, "dropout": share}
    for factor in (0.5, 2):
        lr = usual["lr"] * factor
        rows[f"lr {lr:g}"] = {**usual, "lr": lr}
    for factor in (1 / STEP, STEP):
        changed = {"hidden": round(usual["hidden"] * factor)}
        if "epochs" in usual:  # else minutes end the run
            changed["epochs"] = max(1, round(usual["epochs"] / factor**2))
        rows[", ".join(f"{name} {value}" for name, value in changed.items())] = usual | changed
    return rows


def report(corpora: list[str], minutes: float | None = None) -> None:
    """Print a row for each corpus, cell and change."""
    print("| corpus | cell | settings | held-out nats per character | above the best |")
    print("|---|---|---|---|---|", flush=True)
    for corpus in corpora:
        for cell in CELLS:
            arguments = [corpus, "--examples", "files", "--cell", cell]
            arguments += [] if minutes is None else ["--minutes", str(minutes)]
            losses = {}
            for name, settings in variants(chosen_for(arguments)).items():
                typed = [f"--{key}={value:g}" for key, value in settings.items()]
                summary, _ = trained([*arguments, *typed], 0)
                losses[name] = figures(summary)["network"]
            best = min(losses.values())
            for name, loss in losses.items():
                row = f"{Path(corpus).stem} | {cell} | {name} | {loss:.3f} | {loss - best:.3f}"
                print(f"| {row} |", flush=True)

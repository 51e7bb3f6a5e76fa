"""Quality of the defaults: train as a user does with three seeds; print the medians.

python -m tests.benchmarks.learning dinosaurs
python -m tests.benchmarks.learning names.txt
python -m tests.benchmarks.learning plays.txt --examples files
python -m tests.benchmarks.learning names.txt --counts --members 4

With --counts, print the figures of the network, of counts and of both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEEDS = (0, 1, 2)


def trained(arguments: list[str], seed: int) -> tuple[dict[str, object], float]:
    """Train with this seed; return the summary and the wall-clock seconds."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.npz")
        command = [sys.executable, "-m", "charrnn", "train", *arguments]
        began = time.monotonic()
        done = subprocess.run(
            [*command, "--seed", str(seed), "-m", model, "--json", "--quiet"],
            stdout=subprocess.PIPE,
            check=True,
        )
        return json.loads(done.stdout), time.monotonic() - began


def main(arguments: list[str]) -> None:
    """Print one line a seed, and the medians."""
    losses, gaps, times = [], [], []
    parts: dict[str, list[float]] = {}
    for seed in SEEDS:
        summary, seconds = trained(arguments, seed)
        best, baselines = summary["best"], summary["baselines"]
        assert isinstance(best, dict)
        assert isinstance(baselines, dict)
        loss, markov = float(best["nats_per_character"]), min(baselines.values())
        found = summary.get("parts") or {}
        assert isinstance(found, dict)
        for name, figures in found.items():
            parts.setdefault(name, []).append(float(figures["nats_per_character"]))
        loss = parts["both"][-1] if found else loss
        losses.append(loss)
        gaps.append(loss - markov)
        times.append(seconds)
        print(
            f"seed {seed}: {loss:.4f} nats, best Markov {markov:.4f}, {seconds:.0f} s", flush=True
        )
    print(
        f"median: {statistics.median(losses):.4f} nats per character, "
        f"{statistics.median(gaps):+.4f} against the best Markov model, "
        f"{statistics.median(times):.0f} s"
    )
    for name, every in parts.items():
        print(f"median of {name}: {statistics.median(every):.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])

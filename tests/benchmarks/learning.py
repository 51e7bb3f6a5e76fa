"""Quality of the defaults: train as a user does with three seeds; print medians.

python -m tests.benchmarks learning dinosaurs
python -m tests.benchmarks learning --minutes 5 names.txt
python -m tests.benchmarks learning plays.txt --examples files --counts

All options are those of charrnn train.
"""

import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import charrnn

SEEDS = (0, 1, 2)


def trained(arguments: list[str], seed: int) -> tuple[dict[str, Any], float]:
    """Train with this seed; return the summary and the wall-clock seconds."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.npz")  # unless the arguments name one
        command = [sys.executable, "-m", "charrnn", "train", "-m", model, *arguments]
        command += ["--seed", str(seed), "--json", "--quiet", "--force"]
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            peak = 0
            while process.poll() is None:  # the summary fits into the pipe
                peak = max(peak, memory_of(process.pid))
                time.sleep(0.05)
            seconds = time.monotonic() - began
            if process.returncode:
                sys.exit(process.returncode)
            return json.loads(process.stdout.read()) | {"peak_bytes": peak}, seconds


def memory_of(process: int) -> int:
    """Return the most memory that a process has had, in bytes; 0 once it has ended."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        return 1024 * int(found[1]) if found else 0
    return 0


def figures(summary: dict[str, Any]) -> dict[str, float]:
    """Return the losses of a summary: by use, of counting, and what is gained over counting."""
    by_use, baselines = summary["by_use"], summary["baselines"]
    if not by_use or not baselines:
        sys.exit("without held-out text there is nothing to compare")
    found = {name: loss["nats_per_character"] for name, loss in by_use.items()}
    found["counting"] = min(loss["nats_per_character"] for loss in baselines.values())
    last = by_use.get("both", by_use["network"])
    error = last["standard_error"]  # a short stream has none
    return found | {"below": -last["difference"], "error": math.nan if error is None else error}


def gain(found: dict[str, float]) -> str:
    """Return the nats below counting, with their standard error if there is one."""
    error = found["error"]
    return f"{found['below']:+.3f}" + ("" if math.isnan(error) else f" ± {error:.3f}")


def machine() -> str:
    """Return the cores and the processor of this machine."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else 'unknown'}"


def version() -> str:
    """Return the commit of this checkout, or the version of a package."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return charrnn.__version__


def report(arguments: list[str]) -> None:
    """Print a line for each seed, and one of medians."""
    every = []
    for seed in SEEDS:
        summary, seconds = trained(arguments, seed)
        every.append(figures(summary) | {"seconds": seconds})
        print_figures(f"seed {seed}", every[-1])
    medians = {name: statistics.median(found[name] for found in every) for name in every[0]}
    print_figures("medians", medians)


def print_figures(head: str, found: dict[str, float]) -> None:
    shown = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
    print(f"{head}: {shown}", flush=True)

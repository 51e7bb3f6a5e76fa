"""Training as a user does it, with its losses, its time and its memory."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import charrnn


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
    """Return the losses of a summary: by use, and of counting."""
    found = {name: loss["nats_per_character"] for name, loss in summary["by_use"].items()}
    counting = min(loss["nats_per_character"] for loss in summary["baselines"].values())
    return found | {"counting": counting}


def gain(summary: dict[str, Any]) -> str:
    """Return the nats of both below counting, with their standard error if there is one."""
    both = summary["by_use"]["both"]
    error = both["standard_error"]  # a short stream has none
    return f"{-both['difference']:+.3f}" + ("" if error is None else f" ± {error:.3f}")


def machine() -> str:
    """Return the cores and the processor of this machine."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else 'unknown'}"


def version() -> str:
    """Return the commit of this checkout, or the version where there is none."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.check_output(command, text=True).strip()
    return charrnn.__version__

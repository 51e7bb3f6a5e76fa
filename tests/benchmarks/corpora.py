"""Speed of reading by size of the corpus, and peak memory of training."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

MEGABYTE = 1 << 20
LINES = b"".join(b"%s\n" % word for word in (b"banana", b"cherry", b"quince", b"medlar")) * 997

CHILD = """
import json, resource, sys, time
from charrnn.corpus import read_files
from charrnn.plan import fit_settings
from charrnn.settings import TrainConfig
from charrnn.training.loop import train
from charrnn.training.state import start
began = time.perf_counter()
corpus = read_files([sys.argv[1]])
read = time.perf_counter() - began
config = fit_settings(TrainConfig(hidden=64, layers=1, bptt=64, batch=64), corpus)
events = train(start(corpus, config), corpus, config)
next(events)
first = time.perf_counter() - began
began, steps = time.perf_counter(), 0
for steps, _ in zip(range(300), events): pass
rate = 300 * 64 * 64 / (time.perf_counter() - began)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"read": read, "first": first, "rate": rate, "peak": peak * 1024}))
"""


def report() -> None:
    """Print seconds, characters a second and peak memory for corpora of several sizes."""
    print("| corpus | read | to the first step | training, characters/s | peak memory |")
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in (1, 10, 100, 200):
            path = Path(folder) / "corpus.txt"
            with path.open("wb") as file:
                while file.tell() < megabytes * MEGABYTE:
                    file.write(LINES)
            found = json.loads(subprocess.check_output([sys.executable, "-c", CHILD, str(path)]))
            bytes_each = found["peak"] / path.stat().st_size
            print(
                f"| {megabytes} MB | {found['read']:.2f} s | {found['first']:.2f} s "
                f"| {found['rate']:,.0f} | {found['peak'] / MEGABYTE:,.0f} MB, "
                f"{bytes_each:.2f} bytes a character |",
                flush=True,
            )

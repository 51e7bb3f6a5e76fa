"""Everything that can be measured in a few minutes, as a table; nothing is judged.

python -m tests.benchmarks                         everything
python -m tests.benchmarks step startup            some of it
python -m tests.benchmarks step --against PYTHON   beside PyTorch or JAX, whichever that has
python -m tests.benchmarks ranks --gigabits 10 --latency 30   ranks, and a network to calculate with
python -m tests.benchmarks chapter --corpus FILE   the systems of the chapter, which takes an hour
python -m tests.benchmarks minutes --corpus FILE   what longer runs bring, which takes longer still
python -m tests.benchmarks scale                   many machines, with Dask
"""

from __future__ import annotations

import argparse
import os
from importlib import import_module

from charrnn.cli.options import prepare

SECTIONS = ("step", "loop", "scoring", "sampling", "together", "startup", "corpora", "feedback")
WITH_CORPORA = ("chapter", "minutes")
LONG = (*WITH_CORPORA, "scale", "ranks")  # only where they are asked for


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS + LONG))
    parser.add_argument("--against", action="append", default=[], metavar="PYTHON")
    parser.add_argument("--corpus", action="append", default=[], metavar="FILE")
    parser.add_argument("--gigabits", action="append", type=float, metavar="N")
    parser.add_argument("--latency", type=float, default=30.0, metavar="MICROSECONDS")
    options = parser.parse_args()
    given = {
        "step": [options.against],
        "ranks": [options.gigabits or [10.0, 1.0], options.latency],
        **{name: [options.corpus] for name in WITH_CORPORA},
    }
    prepare()  # before numpy: BLAS gets one thread, as in the program
    print(f"{os.cpu_count()} cores")
    for name in options.sections or SECTIONS:
        print(f"\n## {name}\n", flush=True)
        section = import_module(f"tests.benchmarks.{name}")
        section.report(*given.get(name, []))


if __name__ == "__main__":
    main()

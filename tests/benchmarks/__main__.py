"""Everything that can be measured in a few minutes, as a table; nothing is judged.

python -m tests.benchmarks                         everything
python -m tests.benchmarks step startup            some of it
python -m tests.benchmarks step --against PYTHON   beside PyTorch or JAX, whichever that has
"""

from __future__ import annotations

import argparse
import os

WORKERS = min(2, os.cpu_count() or 1)


def main() -> None:
    """Run what was asked for."""
    from charrnn.cli.threads import prepare

    prepare()  # before numpy: BLAS gets one thread, as in the program
    from tests.benchmarks import corpora, loop, sampling, scoring, startup, step

    sections = {
        "step": step.report,
        "loop": loop.report,
        "scoring": scoring.report,
        "sampling": sampling.report,
        "startup": startup.report,
        "corpora": corpora.report,
    }
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*sections, []], default=[])
    parser.add_argument("--against", action="append", default=[], metavar="PYTHON")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores\n")
    for name, report in sections.items():
        if not options.sections or name in options.sections:
            print(f"## {name}\n")
            report(options.against) if name == "step" else report()
            print()


if __name__ == "__main__":
    main()

"""Measure charrnn and print tables. No figure is judged.

python -m tests.benchmarks step exports            these sections
python -m tests.benchmarks step --against PYTHON   compare with PyTorch or JAX in that PYTHON
python -m tests.benchmarks seconds --corpus FILE --against PYTHON   losses after 1, 10, 60 seconds
python -m tests.benchmarks labels --corpus FOLDER --against PYTHON  telling a file's kind of text
python -m tests.benchmarks results --data FOLDER --against PYTHON --write   the page of results
"""

import argparse
import os
from importlib import import_module
from typing import Any

from charrnn.system.cores import ONE_THREAD

SECTIONS = ("step", "exports", "oddness", "seconds", "labels", "results")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    against = "also measure the Python with this path (repeatable; step, seconds, labels, results)"
    add("--against", action="append", default=[], metavar="PYTHON", help=against)
    corpus = "learn this list (for seconds), or the files of this folder (for labels)"
    add("--corpus", default="dinosaurs", metavar="FILE", help=corpus)
    data = "texts that are not included stand in this folder (for results)"
    add("--data", default=".", metavar="FOLDER", help=data)
    add("--write", action="store_true", help="replace the tables of the page results")
    add("--dry-run", action="store_true", help="only name the sections")
    return made


def main() -> None:
    """Run the sections that the command line names."""
    options = parser().parse_args()
    if unknown := {*options.sections} - {*SECTIONS}:
        parser().error(f"no section is called {', '.join(sorted(unknown))}")
    arguments: dict[str, list[Any]] = {
        "step": [options.against],
        "seconds": [options.corpus, options.against],
        "labels": [options.corpus, options.against],
        "results": [options.data, options.against, options.write],
    }
    os.environ.update(ONE_THREAD)  # before numpy is imported: one BLAS thread, as in the program
    print(f"{os.cpu_count()} cores")
    for name in options.sections or ["step"]:
        print(f"\n## {name}\n", flush=True)
        section = import_module(f"tests.benchmarks.{name}")
        if not options.dry_run:
            section.report(*arguments.get(name, []))


if __name__ == "__main__":
    main()

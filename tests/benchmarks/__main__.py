"""Measure charrnn and print tables. No figure is judged.

python -m tests.benchmarks                         all quick sections, in a few minutes
python -m tests.benchmarks step startup            these sections only
python -m tests.benchmarks step --against PYTHON   compare with PyTorch or JAX in that PYTHON
python -m tests.benchmarks chapter --corpus FILE   the systems of the chapter; takes an hour
python -m tests.benchmarks minutes --corpus FILE   runs of growing length; takes several hours
python -m tests.benchmarks defaults --corpus FILE  each default changed; takes several hours
python -m tests.benchmarks starts                  short lists, from models; takes half an hour
python -m tests.benchmarks expect --corpus FILE    parts of a text, and samples; takes an hour
python -m tests.benchmarks learning CORPUS [OPTIONS OF TRAIN]   a row of medians of three seeds
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from charrnn.system import set_threads

SECTIONS = ("step", "loop", "scoring", "sampling", "startup", "corpora")
WITH_CORPORA = ("chapter", "minutes", "defaults", "expect")
LONG = (*WITH_CORPORA, "starts", "learning")  # only when named


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sections = f"quick: {', '.join(SECTIONS)}; slow: {', '.join(LONG)} (default: all quick ones)"
    made.add_argument("sections", nargs="*", metavar="SECTION", help=sections)
    against = "also measure the Python with this path (repeatable, for step)"
    made.add_argument("--against", action="append", default=[], metavar="PYTHON", help=against)
    corpus = "train on this file (repeatable, for chapter, minutes, defaults and expect)"
    made.add_argument("--corpus", action="append", default=[], metavar="FILE", help=corpus)
    minutes = "length of the runs (for defaults; default: what the plan chooses)"
    made.add_argument("--minutes", type=float, metavar="N", help=minutes)
    made.add_argument("--dry-run", action="store_true", help="only name the sections")
    return made


def main() -> None:
    """Run the sections that the command line names."""
    words = sys.argv[1:]
    after = words.index("learning") + 1 if "learning" in words else len(words)
    options = parser().parse_args(words[:after])
    if unknown := {*options.sections} - {*SECTIONS, *LONG}:
        parser().error(f"no section is called {', '.join(sorted(unknown))}")
    if not options.corpus and {"defaults", "expect"} & {*options.sections}:
        parser().error("defaults and expect need --corpus FILE")
    given = {
        "learning": [words[after:]],
        "step": [options.against],
        **{name: [options.corpus] for name in WITH_CORPORA},
        "defaults": [options.corpus, options.minutes],
    }
    set_threads()  # before numpy is imported: one BLAS thread, as in the program
    print(f"{os.cpu_count()} cores")
    for name in options.sections or SECTIONS:
        print(f"\n## {name}\n", flush=True)
        section = import_module(f"tests.benchmarks.{name}")
        if not options.dry_run:
            section.report(*given.get(name, []))


if __name__ == "__main__":
    main()

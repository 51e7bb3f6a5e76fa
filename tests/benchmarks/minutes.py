"""Loss by training time: `--minutes` chooses sizes for the time, and ends in time.

python -m tests.benchmarks minutes
python -m tests.benchmarks minutes --corpus tinyshakespeare.txt

The default corpus is 5 MB of Python's standard library: each file is a text, and a tenth of the
files is held out. Other corpora are one stream, and hold out their last tenth.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

from tests.benchmarks.learning import figures, trained

LARGEST = 5_000_000  # bytes
NOT_SOURCES = {"test", "tests", "idle_test", "site-packages", "encodings", "pydoc_data"}
CELLS = ("tanh", "lstm")
MINUTES = (1, 5, 20)


def library() -> list[Path]:
    """Return source files up to this size, in the order of their names."""
    root = Path(sysconfig.get_path("stdlib"))
    files, size = [], 0
    for path in sorted(root.rglob("*.py")):
        if NOT_SOURCES & set(path.relative_to(root).parts):
            continue
        size += path.stat().st_size
        if size > LARGEST:
            break
        files.append(path)
    return files


def split(files: list[Path]) -> list[str]:
    """Return arguments of train that hold out every tenth file."""
    arguments = ["--examples", "files"]
    for number, path in enumerate(files):
        arguments += ["--valid", str(path)] if number % 10 == 9 else [str(path)]
    return arguments


def report(corpora: list[str]) -> None:
    """Print a row for each corpus, cell and time."""
    print("| corpus | cell | minutes | held-out nats per character | best Markov |")
    print("|---|---|---|---|---|", flush=True)
    of = {Path(corpus).stem: [corpus, "--examples", "files"] for corpus in corpora}
    for name, arguments in ({"standard library": split(library())} | of).items():
        for cell in CELLS:
            for minutes in MINUTES:
                options = [*arguments, "--cell", cell, "--minutes", str(minutes)]
                summary, _ = trained(options, 0)
                found = figures(summary)
                row = (
                    f"{name} | {cell} | {minutes} | {found['network']:.3f} | {found['Markov']:.3f}"
                )
                print(f"| {row} |", flush=True)

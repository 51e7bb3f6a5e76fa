"""All tables of the page `results`: losses, seconds, steps, drawing.

python -m tests.benchmarks results --data FOLDER --against PYTHON --write

FOLDER has the texts that are not included: names.txt, tinyshakespeare.txt, war_and_peace.txt. Rows
of texts that it lacks are left out. With --write the tables replace those of the page.
"""

import io
import platform
import random
import re
import sysconfig
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

import charrnn
from charrnn.system.packaged import path_of
from tests.benchmarks import exports, seconds, step
from tests.benchmarks.training import figures, gain, machine, trained, version

PAGE = Path(charrnn.__file__).parent / "guide" / "results.md"
ROWS = (  # corpus and options, all with --counts
    "dinosaurs",
    "dinosaurs --cell lstm",
    "names.txt",
    "names.txt --cell lstm",
    "tinyshakespeare.txt --examples files",
    "tinyshakespeare.txt --examples files --cell lstm",
    "war_and_peace.txt --examples files --cell lstm --minutes 10",
)
SPLIT = ("dinosaurs", "names.txt")  # lists that are cut into three parts
USES = ("network", "counts", "both")


def losses(data: Path) -> None:
    """Print a row for each corpus: losses, what both gain, and the cost."""
    head = ("corpus and options", "network", "counting", "both", "below counting", "time", "memory")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in ROWS:
        corpus, *options = row.split()
        file = data / corpus
        if corpus != path_of(corpus) or file.exists():
            learned = str(file) if file.exists() else corpus
            summary, spent = trained([learned, "--counts", *options], 0)
            found = figures(summary)
            shown = [f"{found[name]:.3f}" for name in ("network", "counting", "both")]
            cost = (f"{spent:.0f} s", f"{summary['peak_bytes'] / 1e6:.0f} MB")
            print(f"| `{row}` | {' | '.join((*shown, gain(summary), *cost))} |", flush=True)


def beginnings(data: Path) -> None:
    """Print the losses of the beginnings of two long texts."""
    print("| beginning of | 10 kB | 100 kB | 1 MB |\n|---|---|---|---|", flush=True)
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    texts = {f"Python {platform.python_version()}, `*.py`": b"".join(map(Path.read_bytes, modules))}
    if (data / "tinyshakespeare.txt").exists():
        texts["tinyshakespeare"] = (data / "tinyshakespeare.txt").read_bytes()
    for name, text in texts.items():
        cells = []
        for size in (10_000, 100_000, 1_000_000):
            with tempfile.NamedTemporaryFile(suffix=".txt") as file:
                file.write(text[:size])
                file.flush()
                options = ["--examples", "files", "--counts", "--errors", "replace"]
                found = figures(trained([file.name, *options], 0)[0])
            cells.append(", ".join(f"{found[use]:.2f}" for use in ("network", "counting", "both")))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def third_part(data: Path) -> None:
    """Print losses of a part that chose nothing, beside those of the part that chose."""
    print("| list | part | network | counting | both |\n|---|---|---|---|---|", flush=True)
    for name in SPLIT:
        source = data / name if (data / name).exists() else Path(path_of(name))
        if source.exists():
            lines = sorted({*source.read_text("utf-8").split("\n")} - {""})
            random.Random(0).shuffle(lines)
            for part, found in losses_of_parts(lines).items():
                shown = (f"{found[use]:.3f}" for use in USES)
                print(f"| `{name}` | {part} | {' | '.join(shown)} |", flush=True)


def losses_of_parts(lines: list[str]) -> dict[str, dict[str, float]]:
    """Learn eight tenths, choose by one, and score it and the last one."""
    tenth = len(lines) // 10
    parts = {"chooses": lines[:tenth], "third": lines[tenth : 2 * tenth]}
    with tempfile.TemporaryDirectory() as folder:
        learn, valid, model = (str(Path(folder, name)) for name in ("learn", "valid", "model.npz"))
        Path(learn).write_text("\n".join(lines[2 * tenth :]) + "\n", "utf-8")
        Path(valid).write_text("\n".join(parts["chooses"]) + "\n", "utf-8")
        trained([learn, "--valid", valid, "--counts", "-m", model], 0)
        loaded = charrnn.load(model)
    return {
        name: {use: loaded.score(part, use=use).nats_per_character for use in USES}
        for name, part in parts.items()
    }


def drawing() -> None:
    """Print the names a second that the model `dinosaurs` draws in each language."""
    print("| language | names a second, one core |\n|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for language, draw in exports.drawers_in(Path(folder)).items():
            print(f"| {language} | {exports.TEXTS / exports.seconds_of(draw):,.0f} |", flush=True)


def surroundings() -> None:
    """Print the machine and the versions."""
    facts = (machine(), platform.system(), platform.python_version(), np.__version__, version())
    print("| cores | system | Python | numpy | charrnn |\n|---|---|---|---|---|")
    print(f"| {' | '.join(facts)} |")


def report(data: str, against: list[str], write: bool) -> None:
    """Print each table; replace those of the page on demand."""
    folder = Path(data)
    corpus = str(folder / "names.txt") if (folder / "names.txt").exists() else "dinosaurs"
    tables: dict[str, Callable[[], None]] = {
        "machine": surroundings,
        "losses": lambda: losses(folder),
        "beginnings": lambda: beginnings(folder),
        "third part": lambda: third_part(folder),
        "seconds": lambda: seconds.report(corpus, against),
        "step": lambda: step.report(against),
        "drawing": drawing,
    }
    for name, table in tables.items():
        printed = io.StringIO()
        with redirect_stdout(printed):
            table()
        print(f"\n### {name}\n\n{printed.getvalue()}", flush=True)
        if write:
            PAGE.write_text(with_table(PAGE.read_text("utf-8"), name, printed.getvalue()), "utf-8")


def with_table(page: str, name: str, table: str) -> str:
    """Return a page with this table below the comment that names it, if it has one."""
    lines = table.strip().replace("\\", r"\\") + "\n"
    return re.sub(rf"(<!-- table {name} -->\n)(?:\|.*\n)*", rf"\g<1>{lines}", page)

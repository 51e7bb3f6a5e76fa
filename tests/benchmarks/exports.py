"""Size and speed of a model that is included, in the formats that draw texts, on one core."""

import os
import shutil
import subprocess
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path

import charrnn

MODEL, TEXTS = "dinosaurs", 3000
DRAW_IN_C = Path(__file__).parent.parent / "export" / "draw.c"
JAVASCRIPT = """
import model from "./names.mjs";
const texts = [];
for (let number = 0; number < %d; number++) texts.push(model.sample({ seed: 1, number }));
console.log(texts.join("\\n"));
"""
ROWS = (  # of the table: a name, its file, and the language that draws
    ("npz, from Python", "names.npz", "Python, side by side"),
    ("html", "names.html", ""),
    ("mjs, in Node", "names.mjs", "JavaScript"),
    ("h", "names.h", ""),
    ("h, compiled by cc -O3 -march=native", "draw", "C"),
)


def report() -> None:
    """Print bytes of each file, and characters a second, the start of the program included."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drawers = drawers_in(folder)
        print("| file | bytes | characters/s |\n|---|---|---|")
        for row, file, language in ROWS:
            if (folder / file).exists():
                draw = drawers.get(language)
                rate = f"{len(draw()) / seconds_of(draw):,.0f}" if draw else ""
                print(f"| {row} | {(folder / file).stat().st_size:,} | {rate} |")


def drawers_in(folder: Path) -> dict[str, Callable[[], str]]:
    """Export the model into a folder. Return functions that draw TEXTS names, by language."""
    for suffix in ("npz", "html", "mjs", "h"):
        charrnn.load(MODEL).export(folder / f"names.{suffix}")
    small = charrnn.load(folder / "names.npz")
    drawers = {"Python, side by side": lambda: "\n".join(small.sample(TEXTS, seed=1))}
    if shutil.which("cc"):
        line = ["cc", "-O3", "-march=native", "-I.", "-o", "draw", str(DRAW_IN_C), "-lm"]
        subprocess.run(line, cwd=folder, check=True)
        drawers["C"] = drawn_by(folder / "draw", "1", "1", str(TEXTS))
    if shutil.which("node"):
        (folder / "draw.mjs").write_text(JAVASCRIPT % TEXTS)
        drawers["JavaScript"] = drawn_by("node", folder / "draw.mjs")
    return drawers


def drawn_by(*command: str | Path) -> Callable[[], str]:
    return lambda: subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def seconds_of(draw: Callable[[], str]) -> float:
    """Return the seconds of the fastest of three rounds."""
    return min(timeit.repeat(draw, timer=work, repeat=3, number=1))


def work() -> float:
    """Return the seconds that this process and its children have worked: others may work, too."""
    return sum(os.times()[:4])

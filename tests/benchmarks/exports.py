"""Size and speed of a model that is included, in the formats that draw texts, on one core."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import charrnn

MODEL, TEXTS = "dinosaurs", 3000
C = """
#define NAMES_IMPLEMENTATION
#include "names.h"
#include <stdio.h>

int main(void) {
    static names_state s;
    static char text[8001];
    for (uint64_t i = 0; i < %d; i++) {
        names_begin(&s, 1, i, 0);
        names_utf8(&s, 1.0, text, sizeof text);
        puts(text);
    }
    return 0;
}
"""
JAVASCRIPT = """
import model from "./names.mjs";
const texts = [];
for (let number = 0; number < %d; number++) texts.push(model.sample({ seed: 1, number }));
console.log(texts.join("\\n"));
"""


def drawn_by(*command: str) -> Callable[[], str]:
    return lambda: subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def draw_here(model: charrnn.Model) -> str:
    return "\n".join(model.sample(TEXTS, seed=1))


def report() -> None:
    """Print bytes of each file, and characters a second, the start of the program included."""
    model = charrnn.load(MODEL)
    rows: dict[str, tuple[int, Callable[[], str] | None]] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for suffix in ("npz", "html", "mjs", "h"):
            model.export(f"names.{suffix}")
        small = charrnn.load("names.npz")
        rows["npz, from Python"] = os.path.getsize("names.npz"), partial(draw_here, small)
        rows["html"] = os.path.getsize("names.html"), None
        if shutil.which("node"):
            Path("draw.mjs").write_text(JAVASCRIPT % TEXTS)
            rows["mjs, in Node"] = os.path.getsize("names.mjs"), drawn_by("node", "draw.mjs")
        if shutil.which("cc"):
            Path("draw.c").write_text(C % TEXTS)
            subprocess.run(["cc", "-O2", "-o", "draw", "draw.c", "-lm"], check=True)
            rows["h"] = os.path.getsize("names.h"), None
            rows["h, compiled by cc -O2"] = os.path.getsize("draw"), drawn_by("./draw")
        print("| file | bytes | characters/s |\n|---|---|---|")
        for name, (size, draw) in rows.items():
            rate = "" if draw is None else f"{speed(draw):,.0f}"
            print(f"| {name} | {size:,} | {rate} |")
        os.chdir("/")


def speed(draw: Callable[[], str]) -> float:
    """Return the characters a second of work, of the fastest of three rounds."""
    rates = []
    for _ in range(3):
        began = work()
        characters = len(draw())
        rates.append(characters / (work() - began))
    return max(rates)


def work() -> float:
    """Return the seconds that this process and its children have worked: others may work, too."""
    return sum(os.times()[:4])

"""Fault 39: the memory that a plan asks for is what the run takes."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from charrnn.system.packaged import CORPORA, path_of
from charrnn.text.counts import COUNTED, READY
from charrnn.training.plan import left_out, memory_bytes, plan
from tests.child import program_with
from tests.program import NAMES, Program, plan_of
from tests.training.test_automatic_settings import corpus_with, fitted

TELL = """
import atexit, re
from pathlib import Path
status = Path("/proc/self/status")
atexit.register(lambda: print(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]))
"""
SHAPES = {
    "short list": ("--epochs", "3"),
    "many symbols, counts": ("--epochs", "1", "--hidden", "96", "--counts"),
    "one long text": ("--epochs", "1", "--hidden", "64", "--examples", "files"),
}


def corpus(shape: str) -> str:
    rng, names = random.Random(1), NAMES.split()
    if shape == "many symbols, counts":
        signs = [chr(0x4E00 + number) for number in range(6000)]
        return "".join(f"{''.join(rng.choices(signs, k=8))}\n" for _ in range(6000))
    if shape == "one long text":
        return "".join(Path(path_of(name)).read_text("utf-8") for name in CORPORA)
    return "".join(rng.choice(names) + rng.choice(names) + "\n" for _ in range(2_000))


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is not known here")
@pytest.mark.parametrize("shape", SHAPES)
def test_fault_39_the_plan_is_near_the_peak(program: Program, shape: str) -> None:
    program.write("names.txt", corpus(shape))
    line = (*SHAPES[shape], "--cores", "1")
    planned = plan_of(program, *line)["memory_bytes"]
    ran = program.run("train", "names.txt", *line, "-q", by=program_with(TELL))
    assert ran.status == 0, ran.err
    assert 0.8 < planned / (1024 * int(ran.lines[-1])) < 1.3


def test_a_plan_that_starts_from_a_model_tells_the_size_of_a_header(program: Program) -> None:
    program.write("mine.txt", "Arveth\nBelisra\nCaldorin\nDravena\nElowith\nFaelric\n")
    line = ("train", "mine.txt", "--epochs", "1", "-m")
    for name, rest in (("first", ["--from", "dinosaurs"]), ("second", [])):
        program.run(*line, f"{name}.npz", *rest).says()
        program.run("export", f"{name}.h", "-m", f"{name}.npz").says()
    plan = program.run(*line, "plan.npz", "--from", "dinosaurs", "--dry-run").out
    found = re.search(r"as a C header about ([\d.]+) MB; without --from ([\d.]+) kB", plan)
    assert found is not None
    sizes = float(found[1]) * 1e6, float(found[2]) * 1e3
    for size, name in zip(sizes, ("first", "second"), strict=True):
        assert size == pytest.approx((program / f"{name}.h").stat().st_size, rel=0.08)
    assert "C header" not in program.run(*line, "plan.npz", "--dry-run").out
    for kind in (["--cell", "output"], ["--ends", "length"], ["--clock"]):  # which fit into no file
        assert "export" not in program.run(*line, "x.npz", "--force", *kind).says("sample -n").err
        assert "C header" not in program.run(*line, "y.npz", "--from", "x.npz", "--dry-run").out


N, WIDE = 200_000, {"hidden": 300, "batch": 64, "bptt": 128}
SMALL: dict[str, Any] = {"hidden": 4, "layers": 1, "cores": 1, "shards": 1, "dropout": 0.0}
FITTED, USED = 2 * 9 * 16_384, 4 * 9 * 512  # logits of network and counts, and of lanes


def parameters(symbols: int, hidden: int) -> int:
    return symbols * (2 * hidden + 1) + hidden * (hidden + 1)


@pytest.mark.parametrize(
    ("sizes", "first", "second", "more"),
    [
        ((N, 2 * N), {}, {}, (1 + 72) * N),  # counting needs most
        ((COUNTED, COUNTED + N), {}, {}, N),
        ((N, N), {}, {"shards": 2}, 4 * parameters(9, 4)),
        ((N, N), {"shards": 2}, {"shards": 2, "cores": 2}, 56 << 20),
        ((N, N), {"shards": 2, "cores": 2}, {"shards": 2, "cores": 8}, 0),
        ((N, N), {"optimizer": "sgd"}, {"optimizer": "adam"}, 4 * parameters(9, 4)),
        ((N, N), {}, {"counts": True}, 8 * (READY + FITTED + USED)),
        ((N, N), WIDE, {**WIDE, "batch": 128}, 4 * 64 * 128 * (300 * 3 + 2 * 9)),
        ((N, N), WIDE, {**WIDE, "shards": 2}, 4 * (parameters(9, 300) + 2 * 64 * 128 * 9)),
    ],
)
def test_each_part_of_a_plan_counts(sizes: Any, first: Any, second: Any, more: int) -> None:
    base = fitted(N, **SMALL, counts=False)
    least, most = (
        memory_bytes(replace(base, **given), corpus_with(size))
        for size, given in zip(sizes, (first, second), strict=True)
    )
    assert most - least == pytest.approx(more, rel=1e-4 if "counts" in second else 0)
    if sizes[1] == 2 * N:
        assert least == (56 << 20) + (1 + 72) * N + 900 + 16 + 4 * (3 + 2 + 2) * parameters(9, 4)


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_what_a_run_of_the_book_leaves_out_is_named(schedule: str) -> None:
    words = left_out(fitted(N, book=True, schedule=schedule))
    assert ("a fall of the rate" in words) == (schedule == "constant")


@pytest.mark.parametrize(
    ("given", "steps"),
    [({"epochs": 2}, 2 * 8), ({"epochs": 2, "minutes": 1}, 2 * 8), ({"minutes": 1}, None)],
)
def test_steps_are_planned_unless_minutes_alone_end_a_run(given: Any, steps: int | None) -> None:
    found = plan(fitted(450, **SMALL, batch=6, bptt=10, **given), corpus_with(450))
    assert (found["steps"], found["steps_per_epoch"]) == (steps, 8)

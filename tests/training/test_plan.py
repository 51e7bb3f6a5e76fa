"""Fault 39: the memory that a plan asks for is what the run takes."""

import random
import re
from pathlib import Path

import pytest

from charrnn.system.packaged import CORPORA, path_of
from tests.child import program_with
from tests.program import NAMES, Program, plan_of

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
    """Return a text of this shape."""
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


def test_a_plan_has_room_for_the_moments_of_each_parameter(program: Program) -> None:
    line = ("--hidden", "300", "--layers", "1", "--epochs", "1", "--cores", "1", "--optimizer")
    adam, sgd = (plan_of(program, *line, optimizer) for optimizer in ("adam", "sgd"))
    assert adam["memory_bytes"] - sgd["memory_bytes"] >= 4 * 300 * 300

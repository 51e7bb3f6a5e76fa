"""Fault 41: every command works without what Windows does not have, in one process if need be."""

from charrnn.files import model_file
from tests.child import HOME, PLAIN, PYTHON, Changes
from tests.program import Program

AS_ON_WINDOWS: Changes = {"PYTHONPATH": f"{HOME}/tests/as_on_windows:{PLAIN['PYTHONPATH']}"}
SMALLEST = "--hidden 3 --layers 1 --epochs 2 --batch 64"
# The first in two processes, had it any; the fourth keeps the old model by another name.
LINES = f"""
train names.txt --hidden 256 --epochs 1 --batch 64 --bptt 8 -m usual.npz
train names.txt {SMALLEST} --cores 3 --metrics run.jsonl
train --resume --epochs 3 --cores 2 --metrics run.jsonl
train names.txt {SMALLEST} --counts
sample -n 3 --best --cores 2
eval names.txt --per-example --cores 2
eval --held-out --baselines
fill ann_
embed names.txt -o vectors.npy
reach
unfold anna
info
export names.html
export names.npz
sweep names.txt --try hidden=3,4 --epochs 1 --cores 2
sweep names.txt --try hidden=3,4,5 --epochs 1 -o sweep --resume
guide promises
"""
RUN_ALL = """
import os, signal, sys
from pathlib import Path
from tests.program import Program
assert not hasattr(os, "fork") and not hasattr(signal, "SIGHUP")
for line in sys.argv[1:]:
    ended = Program(Path.cwd()).run(*line.split())
    assert (ended.status, "Traceback" in ended.err) == (0, False), (line, ended.err)
"""


def test_fault_41_every_command_works_as_on_windows(program: Program) -> None:
    program.run("-c", RUN_ALL, *LINES.strip().split("\n"), by=PYTHON, env=AS_ON_WINDOWS).says()
    assert model_file.load(program / "usual.npz").config.shards == 2
    assert (program / "model.1.npz").exists()


def test_fault_41_one_process_writes_the_same_file(program: Program) -> None:
    line = ("train", "names.txt", *SMALLEST.split(), "--cores", "2", "-q", "-m")
    program.run(*line, "here.npz").says()
    program.run(*line, "there.npz", child=True, env=AS_ON_WINDOWS).says()
    assert (program / "here.npz").read_bytes() == (program / "there.npz").read_bytes()

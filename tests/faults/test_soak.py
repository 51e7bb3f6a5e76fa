"""Fault 59: many random commands at once, on a disk that fills and empties, with signals, kills and
readers that leave. Every process ends, every file is whole, and only a kill leaves hidden files.

``--soak MINUTES`` says how long. With -s it prints the number of times each status came.
"""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from charrnn.model_file import checkpoint
from tests.child import PATIENCE, PYTHON, started, written
from tests.faults.limits import limited
from tests.program import SMALL, Program

ROOM = 400  # KB of the disk
TOGETHER = 3  # commands at once, at most
# The program closes the descriptor once its handlers of signals are there.
TELLING = (
    "import os; from charrnn.cli import signals; signals.keep(); os.close({});"
    "import runpy; runpy.run_module('charrnn', run_name='__main__', alter_sys=True)"
)
# Python writes a torn .pyc, without an error, where a limit on file sizes meets it.
NO_CACHE = {"PYTHONDONTWRITEBYTECODE": "1"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
MODELS = ("one.npz", "two.npz", "base.npz", "counts.npz", "gone.npz")
TRAINING = (
    *("--cell gru", "--cell lstm", "--cell output", "--ends halt", "--ends length", "--clock"),
    *("--counts", "--cores 2", "--minutes 0.01", "--from base.npz", "--json"),
    *("--preview 1", "-q", "--dry-run", "--patience 2", "--lr 1000", "--check-every 3"),
    *("--metrics one.jsonl", "--metrics two.jsonl", "--force", "--resume", "--holdout 0"),
)
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {  # the line, and options that it may have
    "train": ("names.txt --hidden 4 --layers 1 --epochs {n} -m {model}", TRAINING),
    "resume": ("--resume -m {model} --epochs {n}", ("--metrics one.jsonl", "-q", "--cores 2")),
    "sample": (
        "-m {model} -n {n}00",
        (
            *("--json", "--temp 3", "--prime T", "--unique", "--novel names.txt", "--surprise"),
            *("-n 3 --best --of 30", "--cores 2", "--temp 0.5,1", "--max-chars 5", "--null"),
        ),
    ),
    "eval": (
        "-m {model} names.txt",
        (
            *("--per-example", "--per-char", "--baselines"),
            *("--json", "--above 4", "--cores 2", "-m one.npz"),
        ),
    ),
    "fill": ("T_r* _x -m {model}", ("--json", "-n 4", "--particles 50")),
    "embed": ("names.txt -m {model}", ("-o vectors.npy", "--force", "-q")),
    "reach": ("-m {model}", ("--json", "--bptt 5")),
    "export": ("page{n}.html -m {model}", ("--force", "--bits 8", "--novel names.txt", "--json")),
    "slim": ("slim{n}.npz -m {model}", ("--force", "--without-counts", "--json")),
    "sweep": (
        "names.txt --try hidden=3,4 --seeds 0-1 --epochs {n} --layers 1 -o sweep{n}",
        ("--resume", "--cores 2", "--json", "-q", "--dry-run"),
    ),
    "info": ("-m {model}", ("--json",)),
}


@dataclass
class Run:
    """A running command, what was done to it, and what was found."""

    line: list[str]
    process: subprocess.Popen[bytes]
    begun: int  # a pipe that the program closes
    err: io.BufferedRandom
    done: str = ""
    statuses: set[int | None] = field(default_factory=lambda: {0, 1, 2, 3, 141})

    def disturb(self, chance: random.Random, leaves: bool) -> None:
        """Wait until it has begun, and perhaps read a little, leave, and send a signal or two."""
        with open(self.begun, "rb") as pipe:
            pipe.read()
        if leaves and self.process.stdout is not None:
            self.process.stdout.read(chance.choice((0, 1, 100, 5000)))
            self.process.stdout.close()
            self.done += " reader left"
        while chance.random() < 0.4 and self.process.poll() is None:
            time.sleep(chance.expovariate(2.0))
            number = chance.choice(SIGNALS)
            self.process.send_signal(number)
            self.done += f" {number.name}"
            self.statuses |= {128 + number, -number}  # the latter as Python ends

    def end(self, faults: list[str]) -> int | None:
        """Return its status, and add a fault if it hangs or ends badly."""
        status = None
        with suppress(subprocess.TimeoutExpired):
            status = self.process.wait(PATIENCE)
        if status is None:
            self.process.send_signal(signal.SIGABRT)  # which shows where its threads are
            self.process.wait()
        err = written(self.err).decode("utf-8", "replace")
        if status not in self.statuses or "Traceback" in err:
            faults.append(f"{self.line}{self.done}: {status}\n{err[-3000:]}")
        return status


class Soak:
    def __init__(self, folder: Path, is_small: bool, seed: int) -> None:
        self.folder, self.is_small = folder, is_small
        self.chance = random.Random(seed)
        self.faults: list[str] = []
        self.seen: Counter[tuple[str, int | None]] = Counter()
        self._left: set[str] = set()  # hidden files of killed processes

    def line(self) -> list[str]:
        """Return a random command line."""
        chance = self.chance
        name = chance.choice([*COMMANDS])
        text, options = COMMANDS[name]
        model = chance.choice(MODELS if name in ("train", "resume") else MODELS[:4])
        if name in ("train", "resume", "sweep") and model in ("base.npz", "counts.npz"):
            model = "one.npz"
        words = text.format(model=model, n=chance.randint(1, 6)).split()
        some = chance.sample(options, min(len(options), chance.choice((0, 1, 2, 3))))
        return [name.replace("resume", "train"), *words, *(w for o in some for w in o.split())]

    def begin(self, stack: ExitStack) -> Run:
        """Start a random command. Its stdout is a file outside, one on the disk, or a pipe."""
        chance, line = self.chance, self.line()
        begun, closed = os.pipe()
        how: dict[str, object] = {"stdin": subprocess.DEVNULL, "pass_fds": (closed,)}
        leaves = chance.random() < 0.3
        if leaves:
            how["stdout"] = subprocess.PIPE
        else:
            places = [Path(os.devnull), Path("/dev/full"), self.folder / "out.txt"]
            with suppress(OSError):
                how["stdout"] = stack.enter_context(chance.choice(places).open("ab"))
        if not self.is_small or chance.random() < 0.1:
            how["preexec_fn"] = limited(FSIZE=chance.choice((0, 3000, 20_000, 1_000_000)))
        err = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        command = [*PYTHON, "-X", "faulthandler", "-W", "ignore::ResourceWarning"]
        command += ["-c", TELLING.format(closed), *line]
        process = stack.enter_context(
            started(command, NO_CACHE, cwd=self.folder, stderr=err, **how)
        )
        os.close(closed)
        run = Run(line, process, begun, err)
        thread = threading.Thread(target=run.disturb, args=(random.Random(chance.random()), leaves))
        thread.start()
        stack.callback(thread.join)
        return run

    def round(self) -> None:
        """Run some commands at once, and look at what they leave."""
        with ExitStack() as stack:
            runs = [self.begin(stack) for _ in range(self.chance.randint(1, TOGETHER))]
            for run in runs:
                self.seen[run.line[0], run.end(self.faults)] += 1
        about = "".join(f"\n{run.line}{run.done}" for run in runs)
        hidden = {path.name for path in self.folder.rglob(".*")}
        if any("SIGKILL" in run.done for run in runs):
            self._left |= hidden
        if new := hidden - self._left:
            self.faults.append(f"left {new}:{about}")
            self._left |= new
        for path in self.folder.rglob("*.*"):
            try:
                is_whole(path)
            except Exception as error:
                self.faults.append(f"{path.name} is torn: {error!r}:{about}")
                path.unlink()


def is_whole(path: Path) -> None:
    """Raise an error unless the file is what a command would write."""
    match path.suffix:
        case ".npz":
            checkpoint.load_trained(path)
        case ".html":
            assert path.read_text().rstrip().endswith("</html>")
        case ".npy":
            np.load(path)
        case ".jsonl" | ".json":
            lines = path.read_text().split("\n") if path.suffix == ".jsonl" else [path.read_text()]
            for line in lines[:-1]:  # a kill may tear the last one
                json.loads(line)


def fill_and_empty(disk: Path, chance: random.Random, is_over: threading.Event) -> None:
    """Take all room or some of it, and give it back, again and again."""
    filler = disk / "filler"
    while not is_over.wait(chance.expovariate(0.3)):
        with suppress(OSError), open(filler, "wb", buffering=0) as file:
            for _ in range(chance.choice((ROOM, ROOM, ROOM - 40, ROOM // 2))):
                file.write(bytes(1024))
        is_over.wait(chance.expovariate(2.0))
        with suppress(OSError):
            filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk, or a folder where none can be mounted."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}k", "none", os.fspath(path)]
    is_small = os.geteuid() == 0 and not subprocess.run(mount, check=False).returncode
    yield path
    if is_small:
        subprocess.run(["umount", "-l", os.fspath(path)], check=True)


def test_59_everything_at_once_leaves_nothing_torn_hanging_or_lying_about(
    trained: Program, disk: Path, pytestconfig: pytest.Config
) -> None:
    trained.run("train", "names.txt", *SMALL, "--counts", "-m", "counts.npz").says()
    for name in ("model.npz", "counts.npz", "names.txt"):
        (disk / name.replace("model", "base")).write_bytes((trained / name).read_bytes())
    seed = int.from_bytes(os.urandom(4))
    soak = Soak(disk, os.path.ismount(disk), seed)
    is_over = threading.Event()
    filling = threading.Thread(target=fill_and_empty, args=(disk, random.Random(seed), is_over))
    until = time.monotonic() + 60 * pytestconfig.getoption("soak")
    filling.start()
    try:
        while time.monotonic() < until and len(soak.faults) < 20:
            soak.round()
    finally:
        is_over.set()
        filling.join()
    print("\n", sum(soak.seen.values()), "commands:", sorted(soak.seen.items(), key=str))
    assert not soak.faults, "\n\n".join(soak.faults)

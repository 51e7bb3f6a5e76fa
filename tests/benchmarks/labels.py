"""Telling kinds apart: how often the likeliest label is right, beside other ways, and the loss.

python -m tests.benchmarks labels --corpus FOLDER --against PYTHON

Each file of the folder is a kind, a text a line. Repeats within a kind are dropped, and a tenth of
each kind is held out at random, five times. A PYTHON with scikit-learn shows logistic regression on
n-grams of 1 to 5 characters, weighted by tf-idf; one with PyTorch the network of its tutorial,
which learns for as many seconds.
"""

import json
import math
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean

import charrnn
from charrnn.prediction.scoring import accuracy_of
from tests.benchmarks.training import trained

SPLITS = 5
PEERS = {"logistic regression": "labels_sklearn.py", "PyTorch's tutorial": "labels_torch.py"}
Pairs = list[tuple[str, str]]  # of a text and its label
Told = tuple[list[str], float, float]  # labels, the loss, and the seconds of the training


def report(folder: str, against: list[str]) -> None:
    """Print a row for each split and way, and the paired differences from the network."""
    kinds = {
        file.stem: sorted({line.strip() for line in file.read_text("utf-8").splitlines()} - {""})
        for file in sorted(Path(folder).glob("*.txt"))
    }
    if len(kinds) < 2:
        sys.exit(f"{folder} is no folder with a .txt file for each kind: name one by --corpus")
    right: dict[str, list[bool]] = {}  # by way, whether it is, of all held-out texts
    print("| split | way | right | mean over labels | nats | seconds |\n|---|---|---|---|---|---|")
    for seed in range(SPLITS):
        learn, held_out = split(kinds, seed)
        told = told_by_charrnn(learn, held_out, seed)
        seconds = told["network"][2]
        for way, peer in PEERS.items():
            for python in against:
                if by_peer := told_by_peer([python, peer, str(seconds)], learn, held_out):
                    told[way] = by_peer
        for way, (said, nats, spent) in told.items():
            is_right = [a == b for a, (_, b) in zip(said, held_out, strict=True)]
            right.setdefault(way, []).extend(is_right)
            found = accuracy_of([label for _, label in held_out], said, {"": 0})
            shares = f"{100 * found['accuracy']:.1f}% | {100 * found['mean_over_labels']:.1f}%"
            print(f"| {seed} | {way} | {shares} | {nats:.3f} | {spent:.0f} |", flush=True)
    for way, hits in right.items():
        apart = [int(a) - int(b) for a, b in zip(right["network"], hits, strict=True)]
        error = math.sqrt(fmean([(x - fmean(apart)) ** 2 for x in apart]) / len(apart))
        print(f"network less {way}: {100 * fmean(apart):+.2f} ± {100 * error:.2f} points")


def split(kinds: dict[str, list[str]], seed: int) -> tuple[Pairs, Pairs]:
    """Return the pairs to learn and those held out: a tenth of each kind."""
    lots, learn, held_out = random.Random(seed), Pairs(), Pairs()
    for label, texts in kinds.items():
        shuffled = lots.sample(texts, len(texts))
        size = round(len(texts) / 10)
        held_out += [(text, label) for text in shuffled[:size]]
        learn += [(text, label) for text in shuffled[size:]]
    return learn, held_out


def told_by_charrnn(learn: Pairs, held_out: Pairs, seed: int) -> dict[str, Told]:
    """Return what network and counts say. Print the loss of the same network without labels."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources, valid = write(folder / "learn", learn), write(folder / "valid", held_out)
        model = str(folder / "model.npz")
        how = ["--cell", "lstm", "--counts", "-m", model]
        how += [word for file in valid for word in ("--valid", file)]
        summary, seconds = trained([*sources, "--label-by", "file", *how], seed)
        loaded = charrnn.load(model)
        plain, _ = trained([*sources, *how], seed)
    texts, told = [text for text, _ in held_out], {}
    for use, way in (("network", "network"), ("both", "network and counts")):
        said = [label for label, _ in loaded.classify(texts, use=use)]
        told[way] = said, summary["by_use"][use]["nats_per_character"], seconds
        nats = plain["by_use"][use]["nats_per_character"]
        print(f"| {seed} | {way}, without labels | | | {nats:.3f} | |", flush=True)
    return told


def told_by_peer(command: list[str], learn: Pairs, held_out: Pairs) -> Told | None:
    """Return what a program of the folder ``peers`` says; None if its Python lacks the library."""
    python, peer, *words = command
    line = [python, str(Path(__file__).parent / "peers" / peer), *words]
    texts = json.dumps({"learn": learn, "held_out": [text for text, _ in held_out]})
    began = time.monotonic()
    ran = subprocess.run(line, input=texts.encode(), capture_output=True, check=False)
    return None if ran.returncode else (json.loads(ran.stdout), math.nan, time.monotonic() - began)


def write(folder: Path, pairs: Pairs) -> list[str]:
    """Write a file for each label, and return their names."""
    folder.mkdir()
    for label in sorted({label for _, label in pairs}):
        texts = [text for text, of in pairs if of == label]
        (folder / f"{label}.txt").write_text("\n".join(texts) + "\n", "utf-8")
    return [str(file) for file in sorted(folder.iterdir())]

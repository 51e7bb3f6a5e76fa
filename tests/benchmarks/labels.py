"""Telling kinds apart: how often the likeliest label is right, beside another way, and the loss.

python -m tests.benchmarks labels --corpus FOLDER --against PYTHON

Each file of the folder is a kind, a text a line. Repeats within a kind are dropped, and a tenth of
each kind is held out at random, five times. PYTHON has scikit-learn, for logistic regression on
n-grams of 1 to 5 characters, weighted by tf-idf.
"""

import json
import math
import random
import subprocess
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

import charrnn
from tests.benchmarks.training import trained

SPLITS = 5
PEER = Path(__file__).parent / "peers" / "labels_sklearn.py"
Pairs = list[tuple[str, str]]  # of a text and its label


def report(folder: str, against: list[str]) -> None:
    """Print a row for each split and way, and the paired differences from the network."""
    kinds = {
        file.stem: sorted({line.strip() for line in file.read_text("utf-8").splitlines()} - {""})
        for file in sorted(Path(folder).glob("*.txt"))
    }
    right: dict[str, list[bool]] = {}  # by way, whether it is, of all held-out texts
    print("| split | way | right | nats | nats without labels |\n|---|---|---|---|---|")
    for seed in range(SPLITS):
        learn, held_out = split(kinds, seed)
        rows = told_by_charrnn(learn, held_out, seed)
        for python in against:
            rows["logistic regression"] = [told_by_sklearn(python, learn, held_out), "", ""]
        for way, (said, *losses) in rows.items():
            is_right = [a == b for a, (_, b) in zip(said, held_out, strict=True)]
            right.setdefault(way, []).extend(is_right)
            shown = (str(seed), way, f"{100 * fmean(is_right):.1f}%", *losses)
            print(f"| {' | '.join(shown)} |", flush=True)
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


def told_by_charrnn(learn: Pairs, held_out: Pairs, seed: int) -> dict[str, list[Any]]:
    """Return what network and counts say, and the losses with and without labels."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources, valid = write(folder / "learn", learn), write(folder / "valid", held_out)
        model = str(folder / "model.npz")
        how = ["--cell", "lstm", "--counts", "-m", model]
        how += [word for file in valid for word in ("--valid", file)]
        labelled, _ = trained([*sources, "--label-by", "file", *how], seed)
        loaded = charrnn.load(model)
        plain, _ = trained([*sources, *how], seed)
    told, texts = dict[str, list[Any]](), [text for text, _ in held_out]
    for use, way in (("network", "network"), ("both", "network and counts")):
        nats = [run["by_use"][use]["nats_per_character"] for run in (labelled, plain)]
        said = [label for label, _ in loaded.classify(texts, use=use)]
        told[way] = [said, *(f"{loss:.3f}" for loss in nats)]
    return told


def told_by_sklearn(python: str, learn: Pairs, held_out: Pairs) -> Any:
    """Return the labels that logistic regression says."""
    texts = json.dumps({"learn": learn, "held_out": [text for text, _ in held_out]})
    return json.loads(subprocess.check_output([python, str(PEER)], input=texts.encode()))


def write(folder: Path, pairs: Pairs) -> list[str]:
    """Write a file for each label, and return their names."""
    folder.mkdir()
    for label in sorted({label for _, label in pairs}):
        texts = [text for text, of in pairs if of == label]
        (folder / f"{label}.txt").write_text("\n".join(texts) + "\n", "utf-8")
    return [str(file) for file in sorted(folder.iterdir())]

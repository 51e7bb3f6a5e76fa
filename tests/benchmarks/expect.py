"""What to expect: losses, seconds and ten samples for longer and longer parts of a text.

python -m tests.benchmarks expect --corpus words.txt --corpus bible.txt --corpus python.txt

A part is the beginning of the text. The lines of a list are its examples; any other text is a
stream, whose last tenth is held out. A file of which no line has more than 60 characters is a list.
Losses are held-out nats per character of seed 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.learning import figures, gain, trained

SIZES = (1_000, 10_000, 100_000, 1_000_000, 5_000_000)  # bytes
LONGEST = 60  # characters in a line of a list
OPTIONS = {"--counts": SIZES[-1], "--counts --cell lstm": SIZES[-2]}  # and the largest size
SHOWN = 60  # characters of a sample


def part_of(text: str, size: int) -> str:
    """Return the first lines of a text, up to so many bytes."""
    return text.encode()[:size].decode(errors="ignore").rpartition("\n")[0] + "\n"


def samples(model: str) -> str:
    """Return ten samples, a line each."""
    command = [sys.executable, "-m", "charrnn", "sample", "-m", model, "-q", "-n", "10"]
    command += ["-t", "0.8", "--max-chars", str(SHOWN), "--seed", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    texts = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    return "\n".join(text.replace("\n", "↵") for text in texts)


def report(corpora: list[str]) -> None:
    """Print a row for each text, size and cell, and the samples of each below."""
    print("| text | bytes | options | network | best Markov | both | below counting | time |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    drawn: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.npz")
        for corpus in map(Path, corpora):
            text = corpus.read_text("utf-8")
            is_list = max(map(len, text.splitlines())) <= LONGEST
            for size in (size for size in SIZES if size < 1.25 * len(text.encode())):
                part = Path(folder) / f"{corpus.stem}-{size}.txt"
                part.write_text(part_of(text, size), "utf-8")
                for options in (some for some, most in OPTIONS.items() if size <= most):
                    typed = [*([] if is_list else ["--examples", "files"]), *options.split()]
                    name = f"{corpus.stem} | {size:,} | `{' '.join(typed)}`"
                    summary, seconds = trained([str(part), *typed, "-m", model, "--force"], 0)
                    of = figures(summary)
                    losses = f"{of['network']:.3f} | {of['Markov']:.3f} | {of['both']:.3f}"
                    print(f"| {name} | {losses} | {gain(of)} | {seconds:.0f} s |", flush=True)
                    drawn.append(f"{name}\n{samples(model)}\n")
    print("\n" + "\n".join(drawn))

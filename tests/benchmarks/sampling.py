"""Characters a second of one stream and of a thousand, and how long the first character takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import numpy as np

from charrnn.network.parameters import Size, initial
from charrnn.sampling import Piece, SampleConfig, Sampler
from charrnn.vocabulary import Vocabulary

TEXT = Size(symbols=65, hidden=256, layers=1)
NAMES = Size(symbols=28, hidden=256, layers=2)


def sampler(size: Size, mean_length: float, workers: int = 1) -> Sampler:
    """A network that says anything, and ends after so many characters on average."""
    chances = np.full(size.symbols, (1 - 1 / mean_length) / (size.symbols - 2))
    chances[:2] = 1 / mean_length, 1e-9
    parameters = initial(size, np.log(chances), np.random.default_rng(0))
    vocabulary = Vocabulary("".join(map(chr, range(0x61, 0x61 + size.symbols - 2))), 0.001)
    return Sampler(parameters, vocabulary, SampleConfig(seed=1), "", workers)


def rate(pieces: Iterable[Piece], characters: int) -> float:
    """Characters a second, from the first on; each END counts as one."""
    drawn = 0
    start = time.perf_counter()
    for piece in pieces:
        drawn += len(piece.nats)
        if drawn >= characters:
            break
    return drawn / (time.perf_counter() - start)


def one_stream(size: Size = TEXT, mean_length: float = 1e6, characters: int = 10_000) -> float:
    """Characters a second where each is handed over as it is drawn."""
    source = sampler(size, mean_length)
    return rate((piece for number in count() for piece in source.stream(number)), characters)


def one_stream_of_names() -> float:
    """The same, of the network that also draws a thousand names."""
    return one_stream(NAMES, mean_length=8)


def a_thousand_names(workers: int = 1) -> float:
    """Characters a second where a thousand names are drawn side by side."""
    source = sampler(NAMES, 8, workers)
    return rate(source.pieces(range(1000)), characters=1 << 30)


def seconds_to_the_first_character(model: Path) -> float:
    """From the start of the command to the first byte of what it writes."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "charrnn", "sample", "-m", str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=_environment()) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        seconds = time.perf_counter() - start
        process.stdout.close()
        process.wait()
    return seconds


def seconds_of_an_empty_python() -> float:
    """What every program in Python costs."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True, env=_environment())
    return time.perf_counter() - start


def _environment() -> dict[str, str]:
    """Bytecode is kept from one start to the next, as it is for a user."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
        "PYTHONPATH": str(Path(__file__).parents[2])
    }

"""Speed of sampling: one stream, and a thousand in parallel."""

import statistics
import time
from collections.abc import Callable
from itertools import count, islice

import numpy as np

from charrnn.network.parameters import Architecture, LanguageModel, initial
from charrnn.prediction.sampling import SampleConfig, Sampler
from charrnn.text.vocabulary import Vocabulary

ROUNDS = 5
CHARACTERS = 10_000  # of one stream in a round
TEXT = Architecture(symbols=65, hidden=256, layers=1)
NAMES = Architecture(symbols=28, hidden=256, layers=2)


def sampler(size: Architecture, mean_length: float) -> Sampler:
    """Return a random network whose texts have this mean length."""
    chances = np.full(size.symbols, (1 - 1 / mean_length) / (size.symbols - 2))
    chances[:2] = 1 / mean_length, 1e-9
    parameters = initial(size, np.log(chances), np.random.default_rng(0))
    vocabulary = Vocabulary("".join(map(chr, range(0x61, 0x61 + size.symbols - 2))), 0.001)
    return Sampler(LanguageModel(parameters, vocabulary), SampleConfig(seed=1))


def one_stream(size: Architecture, mean_length: float) -> float:
    """Return characters a second of one stream, character by character."""
    source = sampler(size, mean_length)
    start = time.perf_counter()
    pieces = (piece for number in count() for piece in source.stream(number))
    drawn = sum(1 for _ in islice(pieces, CHARACTERS))
    return drawn / (time.perf_counter() - start)


def a_thousand_names() -> float:
    """Return characters a second of a thousand names in parallel; each END counts as one."""
    source = sampler(NAMES, 8)
    start = time.perf_counter()
    drawn = sum(len(sample.text) + 1 for sample in source.samples(range(1000)))
    return drawn / (time.perf_counter() - start)


def report() -> None:
    """Print characters a second, and the ratio of a thousand streams to one."""
    works: dict[str, Callable[[], float]] = {
        "one stream, 1 x 256": lambda: one_stream(TEXT, 1e6),
        "one stream of names, 2 x 256": lambda: one_stream(NAMES, 8),
        "a thousand names side by side": a_thousand_names,
    }
    print("| drawing | characters/s |\n|---|---|")
    rounds = [{name: work() for name, work in works.items()} for _ in range(ROUNDS)]
    for name in works:
        print(f"| {name} | {statistics.median(r[name] for r in rounds):,.0f} |")
    one, many = list(works)[1:]
    ratio = statistics.median(r[many] / r[one] for r in rounds)
    print(f"| a thousand in times of one | {ratio:.1f} |")

"""Speed of scoring beside training, of drawing, and of the start."""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path

import numpy as np

from charrnn.network.parameters import Architecture, LanguageModel, initial
from charrnn.prediction.sampling import SampleConfig, Sampler
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import TrainConfig
from charrnn.system.packaged import path_of
from charrnn.text.corpus import Corpus, corpus_of
from charrnn.text.examples import excerpt_of
from charrnn.text.vocabulary import Vocabulary
from charrnn.training.automatic_settings import fit_settings
from charrnn.training.loop import Learner
from charrnn.training.state import initial_state
from tests.networks import nats_of

Work = Callable[[], object]

LONG_ENOUGH = 1.0  # seconds; shorter measurements vary too much
ROUNDS = 7
STEPS = 12  # of training in a round
SCORED = 1 << 18  # symbols in a round
DRAWN = 10_000  # characters of one stream in a round
SIZES = ((256, 2), (128, 2), (512, 1))  # units, layers
CHARRNN = [sys.executable, "-m", "charrnn"]


def in_turn(works: dict[str, Work], rounds: int = 25) -> dict[str, list[float]]:
    """Return the seconds of each piece of work, round by round; a round runs all of them once.

    Short work gets more rounds, until LONG_ENOUGH has passed.
    """
    for work in works.values():
        work()
        work()
    seconds: dict[str, list[float]] = {name: [] for name in works}
    gc.disable()
    try:
        while rounds > 0 or sum(map(sum, seconds.values())) < LONG_ENOUGH:
            rounds -= 1
            for name, work in works.items():
                start = time.perf_counter()
                work()
                seconds[name].append(time.perf_counter() - start)
    finally:
        gc.enable()
    return seconds


def report() -> None:
    """Print all three tables."""
    report_scoring()
    report_drawing()
    report_start()


def report_scoring() -> None:
    """Print the speed of training and of scoring, of many short texts and of a long one."""
    names, verses = (Path(path_of(name)).read_text("utf-8") for name in ("dinosaurs", "verses"))
    print("| corpus | units, layers | cores | training, characters/s | scoring | times |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, texts in (("names", names.splitlines() * 25), ("book", [verses * 14])):
        corpus = corpus_of(texts, CorpusConfig(holdout=0.0))
        for hidden, layers in SIZES:
            for cores in sorted({1, len(os.sched_getaffinity(0))}):
                settings = TrainConfig(hidden=hidden, layers=layers, batch=64, bptt=64, cores=cores)
                learned, scored = rates(corpus, settings)
                facts = f"{name} | {hidden}, {layers} | {cores} | {learned:,.0f} | {scored:,.0f}"
                print(f"| {facts} | {scored / learned:.2f} |", flush=True)


def rates(corpus: Corpus, settings: TrainConfig) -> tuple[float, float]:
    """Return characters a second of training and of scoring, with the same network."""
    config = fit_settings(settings, corpus)
    state = initial_state(corpus, config)
    events = Learner(state, corpus, config).events()
    model = LanguageModel(state.parameters, corpus.vocabulary)
    text = corpus.train.ids[excerpt_of(corpus.train.ids, SCORED)[0]]
    works: dict[str, Work] = {
        "training": lambda: list(islice(events, STEPS)),
        "scoring": lambda: nats_of(model, text),
    }
    seconds = {k: statistics.median(times) for k, times in in_turn(works, ROUNDS).items()}
    learned = STEPS * config.batch * config.bptt
    return learned / seconds["training"], len(text) / seconds["scoring"]


def report_drawing() -> None:
    """Print the speed of one stream, character by character, and of a thousand side by side."""
    text, names = sampler(Architecture(65, 256, 1), 1e6), sampler(Architecture(28, 256, 2), 8)
    pieces = (piece for number in count() for piece in text.stream(number))
    works: dict[str, Callable[[], int]] = {
        "one stream, 1 x 256": lambda: sum(1 for _ in islice(pieces, DRAWN)),
        "a thousand names, 2 x 256": lambda: sum(
            len(sample.text) + 1 for sample in names.samples(range(1000))
        ),
    }
    print("\n| drawing | characters/s |\n|---|---|")
    for name, seconds in in_turn({**works}, ROUNDS).items():
        print(f"| {name} | {works[name]() / statistics.median(seconds):,.0f} |")


def sampler(size: Architecture, mean_length: float) -> Sampler:
    """Return a random network whose texts have this mean length."""
    chances = np.full(size.symbols, (1 - 1 / mean_length) / (size.symbols - 2))
    chances[:2] = 1 / mean_length, 1e-9
    parameters = initial(size, np.log(chances), np.random.default_rng(0))
    vocabulary = Vocabulary("".join(map(chr, range(0x61, 0x61 + size.symbols - 2))), 0.001)
    return Sampler(LanguageModel(parameters, vocabulary), SampleConfig(seed=1))


def report_start() -> None:
    """Print the time of each command, and relative to an empty Python."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.npz")
        small = ["--hidden", "32", "--layers", "1", "--epochs", "1", "-q", "-m", model]
        subprocess.run([*CHARRNN, "train", "dinosaurs", *small], check=True, stdout=-3)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "charrnn --version": [*CHARRNN, "--version"],
            "charrnn --help": [*CHARRNN, "--help"],
            "charrnn sample, first character": [*CHARRNN, "sample", "-m", model],
        }
        works: dict[str, Work] = {name: first_byte(line) for name, line in commands.items()}
        seconds = in_turn(works, rounds=11)
    print("\n| command | time | times an empty Python |\n|---|---|---|")
    empty = statistics.median(seconds["python -c pass"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"| {name} | {1000 * median:.0f} ms | {median / empty:.1f} |")


def first_byte(command: list[str]) -> Work:
    """Return work that runs a command until its first byte of output, or its end."""

    def work() -> None:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            assert child.stdout is not None
            os.read(child.stdout.fileno(), 1)
            child.kill()

    return work

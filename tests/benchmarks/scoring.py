"""Speed of scoring relative to training."""

import os
import statistics
from itertools import islice
from pathlib import Path

from charrnn.network.parameters import LanguageModel
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import TrainConfig
from charrnn.system.packaged import path_of
from charrnn.text.corpus import Corpus, corpus_of
from charrnn.text.examples import excerpt_of
from charrnn.training.automatic_settings import fit_settings
from charrnn.training.loop import train
from charrnn.training.state import initial_state
from tests.benchmarks.measuring import Work, in_turn, median_ratio
from tests.networks import nats_of

STEPS = 12  # of training in a round
SCORED = 1 << 18  # symbols in a round
ROUNDS = 7
SIZES = ((256, 2), (128, 2), (512, 1))  # units, layers


def names() -> Corpus:
    """Return many short examples."""
    lines = Path(path_of("dinosaurs")).read_text("utf-8").splitlines()
    return corpus_of(lines * 25, CorpusConfig(holdout=0.0))


def book() -> Corpus:
    """Return one long example."""
    text = Path(path_of("verses")).read_text("utf-8")
    return corpus_of([text * 14], CorpusConfig(holdout=0.0))


def works(corpus: Corpus, hidden: int, layers: int, threads: int) -> tuple[dict[str, Work], int]:
    """Return functions that train and score with the same network, and the symbols of a step."""
    settings = TrainConfig(hidden=hidden, layers=layers, batch=64, bptt=64, cores=threads)
    config = fit_settings(settings, corpus)
    state = initial_state(corpus, config)
    events = train(state, corpus, config)
    model = LanguageModel(state.parameters, corpus.vocabulary)
    text = corpus.train.ids[excerpt_of(corpus.train.ids, SCORED)[0]]

    def learn() -> None:
        for _ in islice(events, STEPS):
            pass

    return {
        "training": learn,
        "scoring": lambda: nats_of(model, text),
    }, config.batch * config.bptt


def ratio(corpus: Corpus, hidden: int, layers: int, threads: int) -> tuple[float, float, float]:
    """Return characters a second of training and of scoring, and their ratio."""
    both, size = works(corpus, hidden, layers, threads)
    seconds = in_turn(both, ROUNDS)
    learned, scored = STEPS * size, len(excerpt_of(corpus.train.ids, SCORED)[0])
    times = median_ratio(seconds["scoring"], seconds["training"]) * scored / learned
    return (
        learned / statistics.median(seconds["training"]),
        scored / statistics.median(seconds["scoring"]),
        times,
    )


def report() -> None:
    """Print the speed of scoring relative to training."""
    workers = len(os.sched_getaffinity(0))
    print("| corpus | units, layers | cores | training, characters/s | scoring | times |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, corpus in (("names", names()), ("book", book())):
        for hidden, layers in SIZES:
            for threads in sorted({1, workers}):
                learned, scored, times = ratio(corpus, hidden, layers, threads)
                print(
                    f"| {name} | {hidden}, {layers} | {threads} | {learned:,.0f} "
                    f"| {scored:,.0f} | {times:.2f} |",
                    flush=True,
                )

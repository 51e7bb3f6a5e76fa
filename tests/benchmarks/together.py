"""Cost of n-gram counts beside the network: scoring, sampling, and counting."""

from __future__ import annotations

import statistics
from itertools import count
from pathlib import Path

from charrnn.corpus.corpus import Corpus, from_texts
from charrnn.corpus.files import path_of
from charrnn.counts.kneser_ney import Counts
from charrnn.network.parameters import LanguageModel
from charrnn.plan import fit_settings
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.scoring.predictor import Predictor, scorer_of
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import TrainConfig
from charrnn.training.state import start
from tests.benchmarks.measuring import Work, in_turn, median_ratio

ROUNDS = 5
DRAWN = 3000  # characters of one stream


def names() -> Corpus:
    """Return many short examples."""
    lines = Path(path_of("dinosaurs")).read_text("utf-8").splitlines()
    return from_texts(lines * 10, CorpusConfig(holdout=0.0))


def predictors(hidden: int, layers: int) -> tuple[Predictor, Predictor]:
    """Return a network alone, and the same with counts of the names."""
    corpus = names()
    config = fit_settings(TrainConfig(hidden=hidden, layers=layers), corpus)
    network = LanguageModel(start(corpus, config).parameters, corpus.vocabulary)
    counts = Counts(corpus.train.ids, corpus.vocabulary.symbols)
    return Predictor((network,)), Predictor((network,), counts)


def works(asked: Predictor) -> dict[str, Work]:
    """Return the work to measure."""
    corpus = names()
    sampler = Sampler(asked, SampleConfig(seed=1))

    def stream() -> None:
        drawn = 0
        for number in count():
            drawn += sum(1 for _ in sampler.stream(number))
            if drawn > DRAWN:
                return

    return {
        "one stream": stream,
        "a thousand names": lambda: sum(1 for _ in sampler.samples(range(1000))),
        "scoring": lambda: scorer_of(asked).read(corpus.train.ids),
    }


def report() -> None:
    """Print rates relative to the network alone, and the seconds to count a million symbols."""
    print("| units, layers | what | of the network's own rate |")
    for hidden, layers in ((128, 1), (256, 2)):
        alone, both = map(works, predictors(hidden, layers))
        for name in alone:
            seconds = in_turn({"alone": alone[name], "both": both[name]}, ROUNDS)
            share = median_ratio(seconds["both"], seconds["alone"])
            print(f"| {hidden}, {layers} | {name} | {share:.2f} |", flush=True)
    text = Path(path_of("verses")).read_text("utf-8")
    corpus = from_texts([text * (1_000_000 // len(text))], CorpusConfig(holdout=0.0))
    made = in_turn({"counts": lambda: Counts(corpus.train.ids, corpus.vocabulary.symbols)}, ROUNDS)
    seconds_made = statistics.median(made["counts"])
    print(f"| counts of {len(corpus.train.ids):,} symbols | {seconds_made:.2f} s |")

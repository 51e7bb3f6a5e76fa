"""What Python users hold: a model to draw and score with, and a run to watch, save and go on with.

model = charrnn.load("model.npz")
model.sample(count=3, temperature=0.8, seed=1)
model.score(["Tyrannosaurus"]).bits_per_character

run = charrnn.train(["anna", "bob", ...], TrainConfig(hidden=64))
next(run)
run.model.sample()
run.save("names.npz")
run = charrnn.resume("names.npz", ["anna", "bob", ...], epochs=200)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from charrnn.corpus.corpus import Corpus, CorpusConfig, from_texts
from charrnn.corpus.reading import Reading
from charrnn.errors import ResumeError
from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint, Trained, record_of
from charrnn.model_file.lock import locked
from charrnn.model_file.schema import CorpusRecord
from charrnn.network.model import LanguageModel
from charrnn.network.parameters import Array, Integers, Parameters
from charrnn.network.stepper import Stepper
from charrnn.presets import fitted
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.scoring.score import Score
from charrnn.scoring.scorer import Scorer
from charrnn.settings import Fitted, TrainConfig
from charrnn.training.loop import Event, start
from charrnn.training.loop import train as learn
from charrnn.vocabulary import END, Vocabulary


@dataclass(frozen=True)
class Model:
    """What a run has come to."""

    trained: Trained

    def __repr__(self) -> str:
        size, best = self.parameters.architecture, self.trained.best_nats_per_character
        loss = "" if best is None else f", {best:.3f} nats per character"
        layers = f"{size.layers} x {size.hidden} {size.cell_name} units"
        return f"<charrnn.Model: {layers}, {size.symbols} symbols{loss}>"

    @property
    def language_model(self) -> LanguageModel:
        """The network, its numbers and its vocabulary: what draws and scores."""
        return self.trained.model

    @property
    def parameters(self) -> Parameters:
        """The best that the run found."""
        return self.trained.model.parameters

    @property
    def vocabulary(self) -> Vocabulary:
        return self.trained.model.vocabulary

    @property
    def config(self) -> Fitted:
        return self.trained.config

    @property
    def corpus(self) -> CorpusRecord:
        return self.trained.corpus

    @property
    def reading(self) -> Reading:
        return self.trained.corpus.reading

    @property
    def carry(self) -> bool:
        return self.trained.config.carry

    @property
    def examples_are(self) -> str:
        return self.trained.corpus.examples_are

    def sample(
        self,
        count: int = 1,
        *,
        temperature: float = 1.0,
        prime: str = "",
        seed: int | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        max_characters: int = 2000,
    ) -> list[str]:
        """So many new texts, each with the prime that it goes on from."""
        config = SampleConfig(
            temperature=temperature,
            seed=seed,
            top_k=top_k,
            top_p=top_p,
            max_characters=max_characters,
        )
        sampler = Sampler(self.language_model, config, prime)
        return [prime + drawn.text for drawn in sampler.samples(range(count))]

    def stream(
        self,
        *,
        temperature: float = 1.0,
        prime: str = "",
        seed: int | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        max_characters: int = 2000,
    ) -> Iterator[str]:
        """The characters of one text as they are drawn, those of the prime left out."""
        config = SampleConfig(
            temperature=temperature,
            seed=seed,
            top_k=top_k,
            top_p=top_p,
            max_characters=max_characters,
        )
        sampler = Sampler(self.language_model, config, prime)
        return (piece.text for piece in sampler.stream() if piece.text)

    def score(self, texts: Iterable[str]) -> Score:
        """What these texts cost, each an example with an END: nats, characters, ends."""
        if isinstance(texts, str):
            texts = [texts]
        return Scorer(self.language_model).score_texts(texts)

    def logits(self, ids: Sequence[int] | Integers) -> Array:
        """What the network puts out after each of these ids, read from a zero state: o, (T, K)."""
        x = np.asarray(ids, np.intp)
        if x.ndim != 1 or (len(x) and not 0 <= x.min() <= x.max() < self.vocabulary.symbols):
            raise ValueError(f"ids are a row of numbers from 0 to {self.vocabulary.symbols - 1}")
        stepper = Stepper(self.parameters, 1)
        state, index = stepper.zeros(1), 0
        o: Array = np.empty((len(x), self.vocabulary.symbols))
        for t, symbol in enumerate(x):
            if symbol == END and not self.carry:
                state, index = stepper.zeros(1), 0
            o[t] = stepper.step(x[t : t + 1], state, index)[0]
            index += 1
        return o


class Run(Iterator[Event]):
    """Training as it goes on. Whoever stops asking for events stops it, and may go on later."""

    def __init__(self, corpus: Corpus, run: Checkpoint) -> None:
        self.checkpoint = run
        self._events = learn(run.state, corpus, run.config)

    def __next__(self) -> Event:
        return next(self._events)

    @property
    def model(self) -> Model:
        """The best model so far: that of the lowest held-out loss."""
        return Model(checkpoint.trained(self.checkpoint))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run into a model file, over what is there, for ``load`` and ``resume``."""
        with locked(path):
            checkpoint.save(path, self.checkpoint)


def train(
    texts: Iterable[str],
    config: TrainConfig | None = None,
    *,
    holdout: float = 0.1,
    seed: int | None = None,
) -> Run:
    """A run on these texts, each an example, that has not begun."""
    config = config or TrainConfig()
    cutting = CorpusConfig(holdout=holdout, seed=config.seed if seed is None else seed)
    corpus = from_texts(texts, cutting)
    plan = fitted(config, corpus)
    facts = record_of(corpus, cutting, {})
    return Run(corpus, Checkpoint(corpus.vocabulary, plan, facts, start(corpus, plan)))


def resume(path: str | PathLike[str], texts: Iterable[str], *, epochs: int | None = None) -> Run:
    """The run in a file, to go on with exactly; the texts have to be the same, in their order."""
    run = checkpoint.load(Path(path))
    corpus = from_texts(texts, run.corpus.config)
    if corpus.fingerprint != run.corpus.fingerprint:
        raise ResumeError(
            f"these texts are not those that {path} learned from",
            "Give it the same texts in the same order, or train anew.",
        )
    if epochs is not None:
        run.config = replace(run.config, epochs=epochs)
    return Run(corpus, run)


def fit(texts: Iterable[str], config: TrainConfig | None = None, *, holdout: float = 0.1) -> Model:
    """The model that a whole run on these texts comes to."""
    run = train(texts, config, holdout=holdout)
    for _ in run:
        pass
    return run.model


def load(path: str | PathLike[str] = "model.npz") -> Model:
    """The model in a file."""
    return Model(checkpoint.load_trained(path))

"""A trained network with its vocabulary, ready to draw text and to score it.

model = charrnn.load("model.npz")
model.sample(count=3, temperature=0.8, seed=1)
model.score(["Tyrannosaurus"]).bits_per_character
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from charrnn import checkpoint
from charrnn.checkpoint import Trained
from charrnn.claims import CorpusFacts
from charrnn.corpus.reading import Reading
from charrnn.network.parameters import Array, Integers, Parameters
from charrnn.network.stepping import Stepper
from charrnn.sampling import SampleConfig, Sampler
from charrnn.scoring import Scorer
from charrnn.scoring.score import Score
from charrnn.settings import Fitted
from charrnn.vocabulary import END, Vocabulary


@dataclass(frozen=True)
class Model:
    """What a run has come to."""

    trained: Trained

    def __repr__(self) -> str:
        size, best = self.parameters.size, self.trained.best_nats_per_character
        loss = "" if best is None else f", {best:.3f} nats per character"
        layers = f"{size.layers} x {size.hidden} units"
        return f"<charrnn.Model: {layers}, {size.symbols} symbols{loss}>"

    @property
    def parameters(self) -> Parameters:
        """The best that the run found."""
        return self.trained.parameters

    @property
    def vocabulary(self) -> Vocabulary:
        return self.trained.vocabulary

    @property
    def config(self) -> Fitted:
        return self.trained.config

    @property
    def corpus(self) -> CorpusFacts:
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
        sampler = Sampler(self.parameters, self.vocabulary, config, prime)
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
        sampler = Sampler(self.parameters, self.vocabulary, config, prime)
        return (piece.text for piece in sampler.stream() if piece.text)

    def score(self, texts: Iterable[str]) -> Score:
        """What these texts cost, each an example with an END: nats, characters, ends."""
        if isinstance(texts, str):
            texts = [texts]
        return Scorer(self.parameters, self.vocabulary, self.carry).score_texts(texts)

    def logits(self, ids: Sequence[int] | Integers) -> Array:
        """What the network puts out after each of these ids, read from a zero state: o, (T, K)."""
        x = np.asarray(ids, np.intp)
        if x.ndim != 1 or (len(x) and not 0 <= x.min() <= x.max() < self.vocabulary.symbols):
            raise ValueError(f"ids are a row of numbers from 0 to {self.vocabulary.symbols - 1}")
        stepper = Stepper(self.parameters, 1)
        state = stepper.zeros(1)
        o: Array = np.empty((len(x), self.vocabulary.symbols))
        for t, symbol in enumerate(x):
            if symbol == END and not self.carry:
                state = stepper.zeros(1)
            o[t] = stepper.step(x[t : t + 1], state)[0]
        return o


def load(path: str | PathLike[str] = "model.npz") -> Model:
    """The model in a file."""
    return Model(checkpoint.load_trained(path))

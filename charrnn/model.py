"""A trained network with its vocabulary, ready to draw text and to score it.

model = charrnn.load("model.npz")
model.sample(count=3, temperature=0.8, seed=1)
model.score(["Tyrannosaurus"]).bits_per_character
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from charrnn import checkpoint
from charrnn.checkpoint import CorpusFacts, Trained
from charrnn.network.parameters import Parameters
from charrnn.reading import Reading
from charrnn.settings import Fitted
from charrnn.vocabulary import Vocabulary


@dataclass(frozen=True)
class Model:
    """What a run has come to."""

    trained: Trained

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


def load(path: str | PathLike[str] = "model.npz") -> Model:
    """The model in a file."""
    return Model(checkpoint.load_trained(path))

"""A language model: a network with its numbers, the vocabulary that they speak of, how it reads."""

from __future__ import annotations

from dataclasses import dataclass

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, Parameters
from charrnn.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """All that it takes to draw a text and to score one."""

    parameters: Parameters
    vocabulary: Vocabulary
    carry: bool = False  # whether the state goes on from one example to the next, as in a book
    squares: Array | None = None  # (n,) usual squares of the gradient of a symbol's loss, if known

    @property
    def architecture(self) -> Architecture:
        """What the parameters are the numbers of."""
        return self.parameters.architecture

"""Fill in what is missing of a text: exactly where that can be, else with particles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from charrnn.errors import SettingError
from charrnn.filling.exact import exact
from charrnn.filling.particles import by_particles
from charrnn.filling.pattern import Pattern
from charrnn.filling.reading import NextSymbols
from charrnn.network.language_model import LanguageModel
from charrnn.prediction.predictor import Predictor, predictor_of
from charrnn.sampling.sampler import random_seed
from charrnn.settings.filling import FillConfig as FillConfig

Method = Literal["exact", "particles"]


@dataclass(frozen=True)
class Filling:
    """A whole text, and how probable it is among all that the blanks could stand for."""

    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """The likeliest fillings of a text."""

    text: str
    fillings: list[Filling]
    method: Method
    left_out: float | None  # share of the whole, at most; None where it is not known


class Filler:
    """A model that fills in one text after the other."""

    def __init__(
        self, model: LanguageModel | Predictor, config: FillConfig | None = None, workers: int = 1
    ) -> None:
        self.config = config or FillConfig()
        alone = predictor_of(model).alone
        if alone is not None and alone.architecture.head.lengths is not None:
            raise SettingError(
                "a model that draws the length before the text cannot fill in what is missing",
                "Train one with ends symbol or halt.",
                "fill",
            )
        self._vocabulary = model.vocabulary
        self._reader = NextSymbols(model, workers)
        self._seed = random_seed() if self.config.seed is None else self.config.seed

    def fill(self, text: str) -> Filled:
        """The likeliest fillings, likeliest first. What a text gets does not depend on others."""
        config = self.config
        pattern = Pattern(text, self._vocabulary, config.blank, config.gap, config.max_gap)
        found = exact(pattern, self._reader, config.count)
        method: Method = "exact" if found.is_exact else "particles"
        if not found.is_exact:
            how = config.count, config.particles, self._seed
            found = by_particles(pattern, self._reader, found, *how)
        fillings = [
            Filling(pattern.spelt(symbols), math.exp(log_p - found.log_total))
            for symbols, log_p in zip(found.texts, found.log_p, strict=True)
        ]
        left_out = found.left_out if method == "exact" else None
        return Filled(text, fillings, method, left_out)

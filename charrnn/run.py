"""A run from Python: iterate it for its events, look at its model, save it, go on with it.

run = charrnn.train(["anna", "bob", ...], TrainConfig(hidden=64))
next(run)
run.model.sample()
run.save("names.npz")
run = charrnn.resume("names.npz", ["anna", "bob", ...], epochs=200)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path

from charrnn import checkpoint
from charrnn.checkpoint import Checkpoint, facts_of
from charrnn.corpus import Corpus, CorpusConfig, from_texts
from charrnn.errors import ResumeError
from charrnn.lock import locked
from charrnn.model import Model
from charrnn.recipes import fitted
from charrnn.settings import TrainConfig
from charrnn.training import Event, start
from charrnn.training import train as learn


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
    facts = facts_of(corpus, cutting, {})
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

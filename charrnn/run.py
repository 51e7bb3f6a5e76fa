"""A run from Python: iterate it for its events, look at its model, save it, go on with it.

run = charrnn.train(["anna", "bob", ...], TrainConfig(hidden=64))
for event in run:
    print(event)
run.model.sample()
run.save("names.npz")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike

from charrnn import checkpoint
from charrnn.checkpoint import Checkpoint, facts_of
from charrnn.corpus import Corpus, CorpusConfig, from_texts
from charrnn.lock import locked
from charrnn.model import Model
from charrnn.plan import fitted
from charrnn.settings import TrainConfig
from charrnn.training import Event, start
from charrnn.training import train as learn


class Run(Iterator[Event]):
    """Training as it goes on. Whoever stops asking for events stops it, and may go on later."""

    def __init__(self, corpus: Corpus, config: TrainConfig, corpus_config: CorpusConfig) -> None:
        plan = fitted(config, corpus)
        facts = facts_of(corpus, corpus_config, {})
        self.checkpoint = Checkpoint(corpus.vocabulary, plan, facts, start(corpus, plan))
        self._events = learn(self.checkpoint.state, corpus, plan)

    def __next__(self) -> Event:
        return next(self._events)

    @property
    def model(self) -> Model:
        """The best model so far: that of the lowest held-out loss."""
        return Model(checkpoint.trained(self.checkpoint))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run into a model file, which the commands can use and go on with."""
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
    corpus_config = CorpusConfig(holdout=holdout, seed=config.seed if seed is None else seed)
    return Run(from_texts(texts, corpus_config), config, corpus_config)


def fit(texts: Iterable[str], config: TrainConfig | None = None, *, holdout: float = 0.1) -> Model:
    """The model that a whole run on these texts comes to."""
    run = train(texts, config, holdout=holdout)
    for _ in run:
        pass
    return run.model

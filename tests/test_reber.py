"""A grammar whose every string has a probability that is known: the network comes to know it too.

What comes last depends on what came second, and nothing between tells: a model that forgets loses
log 2 nats a string, a fifth of all there is to lose.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reber

from charrnn.corpus import read_files
from charrnn.network import Array64
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.plan import fit_settings
from charrnn.settings import CorpusConfig, TrainConfig
from charrnn.system import path_of
from charrnn.training.loop import train
from charrnn.training.state import start
from tests.networks import nats_of


@pytest.fixture(scope="module")
def losses() -> tuple[Array64, Array64]:
    """What each held-out string costs: the network, and whoever knows the grammar."""
    found = read_files([path_of("reber")], CorpusConfig())
    size = TrainConfig(hidden=64, layers=1, batch=16, bptt=32, lr=0.005, epochs=20)
    learning = replace(size, dropout=0.0, dropconnect=0.0, blank=0.0)  # each string is new enough
    config = fit_settings(learning, found)
    state = start(found, config)
    for _ in train(state, found, config):
        pass
    assert state.best is not None
    best = Parameters(state.parameters.architecture, state.best.flat)
    nats = nats_of(LanguageModel(best, found.vocabulary), found.held_out.ids)
    network = np.add.reduceat(nats, found.held_out.starts[:-1].astype(np.int64))
    strings = [found.vocabulary.decode(found.held_out.nth(i)) for i in range(len(found.held_out))]
    return network, np.array([reber.nats(string) for string in strings])


def test_the_network_loses_little_more_than_the_grammar_itself(
    losses: tuple[Array64, Array64],
) -> None:
    network, grammar = losses
    assert len(grammar) == 400
    assert network.sum() <= 1.02 * grammar.sum()


def test_nobody_can_lose_less_but_by_chance(losses: tuple[Array64, Array64]) -> None:
    network, grammar = losses
    more = network - grammar
    assert more.mean() > -3 * more.std() / np.sqrt(len(more))


def test_what_the_grammar_cannot_make_is_dear(losses: tuple[Array64, Array64]) -> None:
    _, grammar = losses
    assert np.isfinite(grammar).all()
    assert reber.nats("BTBPVVEPE") == np.inf

"""Which arrays a model file has, and of what shapes: it follows from its text.

U1 W1 b1 .. V c           the best parameters of a network, by held-out loss
last                      where its learning stands, all numbers in one row
adam.m  adam.v  ..        what the optimiser remembers
lane.1  lane.2  ..        the states that the next window starts from
2.U1 .. 2.last ..         the same of the second network, and so on, where there are several
counted                   the text that is counted, packed, where it is kept
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.packing import packed_size
from charrnn.model_file.container import Spec
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.settings.training import Fitted
from charrnn.training.optimizers import MOMENTS
from charrnn.training.state import TrainState

Arrays = Mapping[str, NDArray[Any]]

COUNTED = "counted"


def named(number: int, name: str) -> str:
    """The name of an array of one of several networks, which count from 1."""
    return name if number == 1 else f"{number}.{name}"


def specs(
    config: Fitted, architecture: Architecture, counted: int | None, *, slim: bool
) -> dict[str, Spec]:
    """Which arrays the file of such a run has."""
    shapes = dict(architecture.shapes)
    if not slim:
        every = (architecture.parameter_count,)
        shapes["last"] = every
        shapes |= {f"{config.optimizer}.{name}": every for name in MOMENTS[config.optimizer]}
        lane = (config.batch, config.hidden)
        shapes |= {f"lane.{name}": lane for name in architecture.state_names}
    found: dict[str, Spec] = {
        named(number, name): (shape, np.dtype(np.float32))
        for number in range(1, config.members + 1)
        for name, shape in shapes.items()
    }
    if counted is not None:
        found[COUNTED] = ((packed_size(counted, architecture.symbols),), np.dtype(np.uint8))
    return found


def of_networks(networks: list[Parameters]) -> dict[str, NDArray[Any]]:
    """The arrays of some networks."""
    return {named(i, name): p[name] for i, p in enumerate(networks, 1) for name in p}


def of_runs(states: list[TrainState], optimizer: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of some runs."""
    for number, state in enumerate(states, 1):
        p = state.parameters
        best = p if state.best is None else Parameters(p.architecture, state.best.flat)
        own = {name: best[name] for name in best} | {"last": p.flat}
        own |= {f"{optimizer}.{name}": m for name, m in state.moments.items()}
        names = p.architecture.state_names
        own |= {f"lane.{name}": h for name, h in zip(names, state.lanes, strict=True)}
        yield from ((named(number, name), array) for name, array in own.items())

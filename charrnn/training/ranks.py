"""What a run asks of the processes that learn with it, and the answers where there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from charrnn.corpus.corpus import Corpus, CorpusConfig, read_files
from charrnn.errors import CharrnnError, SettingError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, Parameters
from charrnn.network.threads import Parallel
from charrnn.network.unfolded import Masks, State, Window
from charrnn.scoring.score import Score
from charrnn.settings.training import TrainConfig

T = TypeVar("T")


class DismissedError(CharrnnError):
    """The first rank has found out that there is nothing to do, and has said why."""


class Learning(Protocol):
    """What a step asks for its gradient: a Parallel, or what is one on several ranks."""

    here: slice  # the lanes of the batch that this process has

    def start_from(self, state: State) -> None: ...
    def copy_state(self, state: State) -> None: ...
    def nats_and_gradient(
        self,
        p: Parameters,
        window: Window,
        gradient: Parameters,
        scale: float = 1.0,
        masks: Masks | None = None,
    ) -> float: ...


class Ranks:
    """One process alone: it is the first, and has all lanes."""

    number = 0
    count = 1

    def parallel(
        self,
        architecture: Architecture,
        steps: int,
        lanes: int,
        workers: int,
        dtype: DTypeLike = np.float32,
    ) -> Learning:
        """What finds the gradient over all lanes."""
        return Parallel(architecture, steps, lanes, workers, dtype)

    def load(self, sources: Sequence[str], config: CorpusConfig, valid: Sequence[str]) -> Corpus:
        """The corpus, which is the same everywhere; CorpusError where it is not."""
        return read_files(sources, config, valid)

    def of_first(self, value: T) -> T:
        """What the first rank has in this place."""
        return value

    def begin(self, value: T) -> T:
        """The same; and from here on they learn."""
        return value

    def end(self) -> None:
        """Nobody waits for anybody any more."""

    def total(self, score: Score) -> Score:
        """The sum over all ranks."""
        return score

    def align(self, p: Array, moments: Mapping[str, Array], lanes: State) -> None:
        """Let all have the first one's numbers, and the first one all lanes."""

    def are_to_stop(self, wish: bool = False) -> bool:
        """Whether all stop here. What the first one wishes, all do after the step to come."""
        return wish

    def first_has_all(self) -> bool:
        """Whether the first one has all lanes; it will after the step to come, if not."""
        return True


ALONE = Ranks()


def check_can_be_shared(config: TrainConfig) -> None:
    """Raise SettingError where several ranks could not do what one process does."""
    if config.members > 1:
        raise SettingError(
            f"members {config.members} do not go with ranks, which learn as one",
            "Let each learn in a run of its own, and name all of them where they are used.",
            "members",
        )
    for name in ("own_inputs", "free_running"):
        if getattr(config, name):
            raise SettingError(
                f"{name} {getattr(config, name):g} does not go with ranks: it draws for all lanes"
                " at once, and each has some of them",
                "Leave it out, or train with threads.",
                name,
            )

"""The interface of processes that train together, and the single process that trains alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from charrnn.corpus.corpus import Corpus, read_files
from charrnn.errors import CharrnnError, SettingError
from charrnn.network.parameters import Parameters
from charrnn.network.rounding import Array
from charrnn.network.threads import Parallel
from charrnn.network.unfolded import State
from charrnn.scoring.score import Score
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Fitted, TrainConfig

T = TypeVar("T")


class DismissedError(CharrnnError):
    """The first rank has ended the run before training, and has reported why."""


class Ranks:
    """A single process: it is the first rank and has all lanes."""

    number = 0
    count = 1

    def parallel(self, p: Parameters, config: Fitted) -> Parallel:
        """Return the object that computes the gradient over all lanes."""
        sizes = config.bptt, config.batch, config.workers
        return Parallel(p.architecture, *sizes, p.flat.dtype)

    def load(self, sources: Sequence[str], config: CorpusConfig, valid: Sequence[str]) -> Corpus:
        """Return the corpus; CorpusError if it differs between ranks."""
        return read_files(sources, config, valid)

    def of_first(self, value: T) -> T:
        """Return the value that the first rank passes."""
        return value

    def begin(self, value: T) -> T:
        """Return the value that the first rank passes, and begin to train."""
        return value

    def end(self) -> None:
        """Stop waiting for other ranks."""

    def total(self, score: Score) -> Score:
        """Return the sum over all ranks."""
        return score

    def align(self, p: Array, moments: Mapping[str, Array], lanes: State) -> None:
        """Copy the first rank's numbers to all ranks, and all lanes to the first."""

    def are_to_stop(self, wish: bool = False) -> bool:
        """Return True if all ranks stop now; a wish of the first takes effect a step later."""
        return wish

    def first_has_all(self) -> bool:
        """Return True if the first rank has all lanes; if not, it has them after the next step."""
        return True


ALONE = Ranks()


def check_can_be_shared(config: TrainConfig) -> None:
    """Raise SettingError for settings that several ranks cannot train with."""
    if config.members > 1:
        raise SettingError(
            f"members {config.members} cannot train on several ranks",
            "Train each network in a run of its own, and name all model files in later commands.",
            setting="members",
        )
    for name in ("own_inputs", "free_running"):
        if getattr(config, name):
            raise SettingError(
                f"{name} {getattr(config, name):g} cannot be used on several ranks: it samples for"
                " all lanes at once",
                "Leave it out, or train with threads.",
                name,
            )

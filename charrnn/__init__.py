"""A character-level text generator: the recurrent network of *Deep Learning*, chapter 10.2.

    import charrnn

    model = charrnn.fit(["Anna", "Bob", "Clara"])
    model.sample(count=3, temperature=0.8, seed=1)
    model.score(["Anna"]).bits_per_character

Importing it is fast: numpy is loaded with the first name that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from charrnn.display.figures import plot
    from charrnn.errors import CharrnnError
    from charrnn.filling.filler import Filled, Filling
    from charrnn.model import Model, Surprisal
    from charrnn.runs import Run, fit, load, resume, train
    from charrnn.scoring.score import Score
    from charrnn.settings.training import TrainConfig
    from charrnn.settings.using import SampleConfig
    from charrnn.sweeping.api import sweep
    from charrnn.training.checkup import Checkup
    from charrnn.training.loop import Done, Step

__version__ = "0.1.0"

__all__ = [
    "CharrnnError",
    "Checkup",
    "Done",
    "Filled",
    "Filling",
    "Model",
    "Run",
    "SampleConfig",
    "Score",
    "Step",
    "Surprisal",
    "TrainConfig",
    "fit",
    "load",
    "plot",
    "resume",
    "sweep",
    "train",
]

_MODULES = {
    "CharrnnError": "errors",
    "Checkup": "training.checkup",
    "Done": "training.loop",
    "Filled": "filling.filler",
    "Filling": "filling.filler",
    "Model": "model",
    "Run": "runs",
    "SampleConfig": "settings.using",
    "Score": "scoring.score",
    "Step": "training.loop",
    "Surprisal": "model",
    "TrainConfig": "settings.training",
    "fit": "runs",
    "load": "runs",
    "plot": "display.figures",
    "resume": "runs",
    "sweep": "sweeping.api",
    "train": "runs",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"charrnn.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

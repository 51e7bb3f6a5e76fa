"""A character-level text generator: the recurrent network of *Deep Learning*, chapter 10.2.

    import charrnn

    model = charrnn.fit(["Anna", "Bob", "Clara"])
    model.sample(count=3, temperature=0.8, seed=1)
    model.score(["Anna"]).bits_per_character

Importing it is light: numpy comes with the first thing that is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from charrnn.api import Model, Run, Surprisal, fit, load, resume, train
    from charrnn.errors import CharrnnError
    from charrnn.filling.filler import Filled, Filling
    from charrnn.scoring.score import Score
    from charrnn.settings import SampleConfig, TrainConfig
    from charrnn.training.loop import Checkup, Done, Step

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
    "resume",
    "train",
]

_MODULES = {
    "CharrnnError": "errors",
    "Checkup": "training.loop",
    "Done": "training.loop",
    "Filled": "filling.filler",
    "Filling": "filling.filler",
    "Model": "api",
    "Run": "api",
    "SampleConfig": "settings",
    "Score": "scoring.score",
    "Step": "training.loop",
    "Surprisal": "api",
    "TrainConfig": "settings",
    "fit": "api",
    "load": "api",
    "resume": "api",
    "train": "api",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"charrnn.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

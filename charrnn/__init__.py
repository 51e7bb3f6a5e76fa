"""A character-level text generator: the recurrent network of *Deep Learning*, chapter 10.2.

    import charrnn

    model = charrnn.fit(["Anna", "Bob", "Clara"])
    model.sample(count=3, temperature=0.8, seed=1)
    model.score(["Anna"]).bits_per_character

Importing it is fast: numpy is loaded with the first name that needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import charrnn.system.cores  # it notes whether numpy is there  # noqa: F401

if TYPE_CHECKING:
    from charrnn.errors import CharrnnError
    from charrnn.model import Model, load, mix
    from charrnn.notebook import Surprisal, plot
    from charrnn.prediction.filling import Filled, Filling
    from charrnn.prediction.losses import Score
    from charrnn.runs import Run, fit, resume, train
    from charrnn.settings.drawing import SampleConfig
    from charrnn.settings.training import TrainConfig
    from charrnn.training.loop import Checkup, Done, Step

__version__ = "1.0.0"
# Checkers of types read a list of strings alone.
__all__ = ["CharrnnError", "Checkup", "Done", "Filled", "Filling", "Model", "Run", "SampleConfig"]
__all__ += ["Score", "Step", "Surprisal", "TrainConfig"]
__all__ += ["fit", "load", "mix", "plot", "resume", "train"]

_NAMES = {
    "settings.drawing": "SampleConfig",
    "settings.training": "TrainConfig",
    "errors": "CharrnnError",
    "prediction.filling": "Filled Filling",
    "prediction.losses": "Score",
    "model": "Model load mix",
    "notebook": "Surprisal plot",
    "runs": "Run fit resume train",
    "training.loop": "Checkup Done Step",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a checker shall notice a name that is not there

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = globals()[name] = getattr(import_module(f"charrnn.{_MODULES[name]}"), name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

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
    from charrnn.errors import CharrnnError as CharrnnError
    from charrnn.model import Model as Model
    from charrnn.model import load as load
    from charrnn.model import mix as mix
    from charrnn.notebook import Surprisal as Surprisal
    from charrnn.notebook import plot as plot
    from charrnn.prediction.filling import Filled as Filled
    from charrnn.prediction.filling import Filling as Filling
    from charrnn.prediction.losses import Score as Score
    from charrnn.runs import Run as Run
    from charrnn.runs import fit as fit
    from charrnn.runs import resume as resume
    from charrnn.runs import train as train
    from charrnn.settings.drawing import SampleConfig as SampleConfig
    from charrnn.settings.training import TrainConfig as TrainConfig
    from charrnn.training.loop import Checkup as Checkup
    from charrnn.training.loop import Done as Done
    from charrnn.training.loop import Step as Step

__version__ = "1.0.0"

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
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = globals()[name] = getattr(import_module(f"charrnn.{_MODULES[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

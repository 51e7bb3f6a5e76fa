"""Corpora and models that are included in the package."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from charrnn.errors import SettingError

CORPORA: Final = ("dinosaurs", "given-names", "given-names-latin", "reber", "verses")
MODELS: Final = ("dinosaurs", "given-names", "latin", "reber", "verses")
HOMES: Final = list(Path(__file__).parents)[1:3]  # of data, installed or in a checkout


def path_of(source: str) -> str:
    """Return the path of an included corpus; any other name stays as it is."""
    return source if os.path.lexists(source) else corpus_at(source)  # a file comes first


def corpus_at(name: str) -> str:
    """Return the path of a corpus of the program, whatever files there are; or the name."""
    return _packaged(name, CORPORA, f"data/{name}.txt")


def model_at(path: str | os.PathLike[str]) -> str:
    """Return the path of an included model; any other path stays as it is."""
    name = os.fspath(path)
    return name if os.path.lexists(name) else _packaged(name, MODELS, f"models/{name}.npz")


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise SettingError for a file to write, if its name would stand for one of the package."""
    name = os.path.basename(path)
    if name in (*CORPORA, *MODELS):
        what = f"{os.fspath(path)} cannot be written: the package has a corpus or a model {name}"
        raise SettingError(what, f"Name another file, such as my-{name}.")


def _packaged(name: str, known: Sequence[str], file: str) -> str:
    paths = [home / file for home in HOMES if name in known]
    return next((str(path) for path in paths if path.is_file()), name)

"""Corpora and models that are included in the package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

CORPORA: Final = ("dinosaurs", "given-names", "given-names-latin", "reber", "verses")
MODELS: Final = ("dinosaurs", "given-names", "latin", "reber", "verses")
HOMES: Final = list(Path(__file__).parents)[1:3]  # of data, installed or in a checkout


def path_of(source: str) -> str:
    """Return the path of a corpus that comes with the program; any other name stays as it is."""
    return _packaged(source, CORPORA, f"data/{source}.txt")


def model_at(path: str | os.PathLike[str]) -> str:
    """Return the path of a model that comes with the program; any other path stays as it is."""
    name = os.fspath(path)
    return _packaged(name, MODELS, f"models/{name}.npz")


def _packaged(name: str, known: Sequence[str], file: str) -> str:
    if name in known and not os.path.lexists(name):  # a file of that name comes first
        return next((str(home / file) for home in HOMES if (home / file).is_file()), name)
    return name

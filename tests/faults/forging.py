"""Forged model files: any facts and numbers, with a correct seal."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from numpy.typing import NDArray

from charrnn.model_file import container, npz
from charrnn.model_file.checkpoint import Unpacker
from charrnn.model_file.container import JSON

Facts = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def opened(path: Path) -> tuple[Facts, Arrays]:
    """Return the facts and arrays of a model file."""
    file = Unpacker(path)
    read = container.load(path, file.expected)
    return dict(read.facts), read.arrays


def forge(
    path: Path, change: Callable[[Facts, Arrays], None], version: int = container.FORMAT
) -> None:
    """Change the facts and arrays of a model file, also to values that charrnn never writes."""
    facts, arrays = opened(path)
    facts = copy.deepcopy(facts)
    change(facts, arrays)
    write(path, facts, arrays, version)


def write(path: Path, facts: Facts, arrays: Arrays, version: int = container.FORMAT) -> None:
    """Write a model file without checking its facts."""
    with (
        mock.patch.object(npz, "is_finite", return_value=True),
        mock.patch.object(container, "FORMAT", version),
    ):
        container.save(path, arrays, facts)


def places(facts: JSON) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each value in the facts, nested ones included."""
    if isinstance(facts, dict):
        for name in facts:
            yield (name,)
            yield from ((name, *rest) for rest in places(facts[name]))
    elif isinstance(facts, list):
        for at in range(min(len(facts), 3)):
            yield (at,)
            yield from ((at, *rest) for rest in places(facts[at]))


def put(facts: Any, place: tuple[Any, ...], value: Any) -> None:
    """Replace the value at this path."""
    for step in place[:-1]:
        facts = facts[step]
    facts[place[-1]] = value

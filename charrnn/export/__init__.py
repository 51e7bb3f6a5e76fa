"""A model as a file for somebody who does not have charrnn: the kinds there are, chosen by suffix.

A kind is a module in this folder with one function, found when it is called for,

    def exported(trained: Trained, options: ExportOptions) -> bytes

and a line in KINDS. This file knows neither numpy nor any of them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple, cast

from charrnn.errors import ExportError, ModelExistsError, SettingError
from charrnn.settings.using import ExportOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from charrnn.model_file.checkpoint import Trained

    Exported = Callable[[Trained, ExportOptions], bytes]


class Kind(NamedTuple):
    """Where a kind is written, and which of the options are for it."""

    module: str
    suffix: str
    takes: frozenset[str]


KINDS = {
    "html": Kind("charrnn.export.html", ".html", frozenset({"bits", "title", "novel"})),
    "js": Kind("charrnn.export.js", ".mjs", frozenset({"bits"})),
    "c": Kind("charrnn.export.c_header", ".h", frozenset({"bits", "prefix"})),
    "safetensors": Kind("charrnn.export.torch", ".safetensors", frozenset()),
    "onnx": Kind("charrnn.export.onnx", ".onnx", frozenset()),
}


def kind_of(path: str | PathLike[str]) -> str:
    """The kind that goes with the suffix of a file; SettingError where none does."""
    suffix = PurePath(path).suffix.lower()
    for name, kind in KINDS.items():
        if kind.suffix == suffix:
            return name
    known = ", ".join(kind.suffix for kind in KINDS.values())
    what = f"no kind of file ends in {suffix}" if suffix else f"{PurePath(path)} has no suffix"
    raise SettingError(what, f"There are {known}.", "suffix")


def export_to(
    path: str | PathLike[str], trained: Trained, options: ExportOptions, *, force: bool = False
) -> None:
    """Write the file, whole or not at all; over what is there only by force."""
    from charrnn.model_file import saving

    content = exported(trained, kind_of(path), replace(options, name=PurePath(path).stem))
    if os.path.lexists(path) and not force:
        raise ModelExistsError(
            f"{os.fspath(path)} is there already", "Name another file, or say force=True."
        )
    saving.replace(path, len(content), [content])


def exported(trained: Trained, kind: str, options: ExportOptions) -> bytes:
    """The whole file."""
    options.check_for(kind, KINDS[kind].takes)
    check_alone(trained)
    module = import_module(KINDS[kind].module)
    return cast("Exported", module.exported)(trained, options)


def check_alone(trained: Trained) -> None:
    """Raise ExportError where the model is more than one network: a file would hold the first, and
    draw something else than the model does.
    """
    if trained.others_learned:
        raise ExportError(
            "a model of several networks cannot be exported: a file holds one",
            "Train one network alone.",
        )
    if trained.counted is not None:
        raise ExportError(
            "what a model counts cannot be exported, and it draws with it",
            "Export its network alone, made slim without counts.",
        )

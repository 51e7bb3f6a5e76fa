"""Export of a model to a file for people who do not have charrnn.

A kind of file is a module in this folder with one function, and a line in KINDS:

    def export(trained: Trained, options: ExportOptions) -> bytes
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

    Export = Callable[[Trained, ExportOptions], bytes]


class Kind(NamedTuple):
    """A kind of file."""

    module: str
    suffix: str
    takes: frozenset[str]  # names of options


KINDS = {
    "html": Kind("charrnn.export.html", ".html", frozenset({"bits", "title", "novel"})),
    "js": Kind("charrnn.export.js", ".mjs", frozenset({"bits"})),
    "c": Kind("charrnn.export.c_header", ".h", frozenset({"bits", "prefix"})),
    "safetensors": Kind("charrnn.export.torch", ".safetensors", frozenset()),
    "onnx": Kind("charrnn.export.onnx", ".onnx", frozenset()),
}


def kind_of(path: str | PathLike[str]) -> str:
    """Return the kind that goes with the suffix of a file. Raise SettingError if none does."""
    suffix = PurePath(path).suffix.lower()
    for name, kind in KINDS.items():
        if kind.suffix == suffix:
            return name
    known = ", ".join(kind.suffix for kind in KINDS.values())
    what = f"unknown format: {suffix}" if suffix else f"{PurePath(path)} has no suffix"
    raise SettingError(what, f"Use one of {known}.", "suffix")


def export_to(
    path: str | PathLike[str], trained: Trained, options: ExportOptions, *, force: bool = False
) -> None:
    """Write the file, whole or not at all. Raise ModelExistsError if it exists, unless forced."""
    from charrnn.model_file import saving

    content = export(trained, kind_of(path), replace(options, name=PurePath(path).stem))
    with saving.locked(path):
        if os.path.lexists(path) and not force:
            what = f"{os.fspath(path)} is there already"
            raise ModelExistsError(what, "Name another file, or say force=True.")
        saving.replace(path, len(content), [content])


def export(trained: Trained, kind: str, options: ExportOptions) -> bytes:
    """Return the content of the file. Raise ExportError if it would draw other texts."""
    options.check_for(kind, KINDS[kind].takes)
    if len(trained.networks) > 1:
        what = f"the model has {len(trained.networks)} networks, and an exported file holds one"
        raise ExportError(what, "Export a model of [members] 1.")
    if trained.counted is not None and not options.without_counts:
        what = "the model has n-gram counts, which an exported file cannot hold"
        hint = "Export its network alone with [without_counts]; it draws other texts."
        raise ExportError(what, hint)
    return cast("Export", import_module(KINDS[kind].module).export)(trained, options)

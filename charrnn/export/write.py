"""Export of a model to a file for people who do not have charrnn.

A kind of file is a module beside this one. Matrices are rounded to 16-bit floats, so that all files
draw the same texts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from charrnn.errors import CharrnnError, SaveError, SettingError
from charrnn.settings.values import Checked, Flag, Text, setting

if TYPE_CHECKING:
    from charrnn.files.model_contents import Trained
    from charrnn.network.parameters import Architecture

FILE = "File"  # a panel of help
SUFFIXES: Final = (".html", ".mjs", ".h", ".safetensors", ".npz")
KINDS: Final = {"title": ".html", "prefix": ".h", "without_counts": ".npz"}  # that use an option
EXPORTED_CELLS: Final = ("tanh", "gru", "lstm")  # of all but .npz
EXPORTED_HEADS: Final = ("symbol", "halt")
_named_like_file = partial(setting, panel=FILE, default_in_words="the name of the file")


@dataclass(frozen=True)
class ExportOptions(Checked):
    """Options of an exported file."""

    title: str | None = _named_like_file(Text(), short="Set the title of a page")
    prefix: str | None = _named_like_file(
        Text("NAME"), "Begin the names in a C header with this.", short="Begin names in C with this"
    )
    without_counts: bool = setting(
        Flag(),
        "Leave the training text that counts need out of a .npz file.",
        panel=FILE,
        short="Leave the training text out",
    )
    name: str = "charrnn"  # of the exported file, without folder and suffix

    def suffix_for(self, path: str | PathLike[str]) -> str:
        """Return the suffix that selects the format; SettingError if these options do not fit."""
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            what = f"unknown format: {suffix}" if suffix else f"{Path(path)} has no suffix"
            raise SettingError(what, f"Use one of {', '.join(SUFFIXES)}.", "suffix")
        for name, kind in KINDS.items():
            if getattr(self, name) and kind != suffix:
                raise SettingError(f"{name} does not apply to {suffix}", "Leave it out.", name)
        return suffix


def export_to(
    path: str | PathLike[str], trained: Trained, options: ExportOptions, *, force: bool = False
) -> None:
    """Write the file, whole or not at all. Raise SaveError if it exists, unless forced."""
    from charrnn.files import model_file, safe_writing

    suffix, options = options.suffix_for(path), replace(options, name=Path(path).stem)
    with safe_writing.locked(path):
        if os.path.lexists(path) and not force:
            what = f"{os.fspath(path)} is there already"
            raise SaveError(what, "Name another file, or say force=True.")
        if suffix == ".npz":
            model_file.save_slim(Path(path), slim(trained, without_counts=options.without_counts))
            return
        content = export(trained, suffix, options)
        with safe_writing.replaced(Path(os.path.realpath(path))) as file:
            file.write(content)


def misfit(size: Architecture, suffix: str) -> CharrnnError | None:
    """Return why a network does not fit into files but .npz, in words for one; None if it does."""
    names = ("cell", size.cell_name, EXPORTED_CELLS), ("ends", size.head_name, EXPORTED_HEADS)
    for name, value, known in names:
        if value not in known:
            hint = f"It takes [{name}] {', '.join(known[:-1])} or {known[-1]}."
            return CharrnnError(f"{name} {value} does not fit into {suffix}", hint, name)
    if size.inputs:
        return CharrnnError(f"clock does not fit into {suffix}", "Train without it.", "clock")
    return None


def export(trained: Trained, suffix: str, options: ExportOptions) -> bytes:
    """Return the content of a file of any kind but .npz."""
    from charrnn.export import c_header, html, torch

    error = misfit(trained.model.architecture, suffix)
    if error is not None:
        raise error
    if suffix == ".safetensors":
        return torch.export(trained)
    small = slim(trained)
    if suffix == ".html":
        return html.export(small, options.name if options.title is None else options.title)
    if suffix == ".h":
        return c_header.export(small, options.name, options.prefix)
    return html.module(small)


def slim(trained: Trained, *, without_counts: bool = False) -> Trained:
    """Return the model without its run, and with matrices of 16-bit floats."""
    p = trained.model.parameters.copy()
    for array in p.values():
        if array.ndim == 2:
            array[...] = array.astype("float16")
    slim = replace(trained, model=replace(trained.model, parameters=p), history=[])
    if without_counts:
        from charrnn.prediction.predictor import EVEN

        slim = replace(slim, config=replace(slim.config, counts=False))
        both = slim.oddest, slim.oddest_sums
        oddest, sums = ({use: nats for use, nats in of.items() if use == "network"} for of in both)
        slim = replace(slim, counted=None, mixture=EVEN, oddest=oddest, oddest_sums=sums)
    return slim

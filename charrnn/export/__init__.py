"""Export of a model to a file for people who do not have charrnn.

A kind of file is a module in this folder with one function, and a line in KINDS:

    def export(trained: Trained, options: ExportOptions) -> bytes
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from charrnn.errors import ExportError, ModelExistsError, SettingError
from charrnn.settings import fields
from charrnn.settings.fields import Checked, Flag, Text, Whole

if TYPE_CHECKING:
    from charrnn.model_file import Trained
    from charrnn.network.architecture import Architecture

FILE = "File"  # a panel of help
_named_like_file = partial(fields.setting, panel=FILE, default_in_words="the name of the file")


@dataclass(frozen=True)
class Bits(Whole):
    """The size of a number in a file."""

    least: int = 8
    most: int = 32
    metavar: str = "32|16|8"
    allowed: str = "32, 16 or 8"

    def plain(self, value: Any) -> int:
        fields.ensure(value in (32, 16, 8))
        return super().plain(value)


class Kind(NamedTuple):
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


class Exporting(TypedDict, total=False):
    """The export options of Python: the first fields of ExportOptions."""

    bits: int
    title: str | None
    prefix: str | None
    without_counts: bool


@dataclass(frozen=True)
class ExportOptions(Checked):
    """Options of an exported file; each is for some kinds, and refused for the others."""

    bits: int = fields.setting(
        Bits(),
        "Store numbers of html, js and c files in this many bits. 16 or 8 make the file smaller and"
        " change a few samples.",
        panel=FILE,
        default=32,
    )
    title: str | None = _named_like_file(Text(), "Set the title of a page.")
    prefix: str | None = _named_like_file(Text("NAME"), "Begin all names in a C header with this.")
    without_counts: bool = fields.setting(
        Flag(),
        "If the model has n-gram counts, export its network alone, which draws other texts.",
        panel=FILE,
        default=False,
    )
    novel: tuple[str, ...] = ()  # texts that a page does not write
    name: str = "charrnn"  # of the exported file, without folder and suffix
    model: str = "MODEL"  # the file name of the model, if it has one

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prefix is not None and not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", self.prefix):
            hint = "It may have letters, digits and _, and does not begin with a digit."
            raise SettingError(f"prefix cannot be {self.prefix!r}", hint, "prefix")

    def check_for(self, kind: str, takes: Collection[str]) -> None:
        """Raise SettingError if an option is set that this kind of file does not use."""
        for name in ("bits", "title", "prefix", "novel"):
            if getattr(self, name) != getattr(ExportOptions, name) and name not in takes:
                raise SettingError(f"{name} does not apply to {kind}", "Leave it out.", name)


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
    from charrnn import saving

    content = export(trained, kind_of(path), replace(options, name=PurePath(path).stem))
    with saving.locked(path):
        if os.path.lexists(path) and not force:
            what = f"{os.fspath(path)} is there already"
            raise ModelExistsError(what, "Name another file, or say force=True.")
        with saving.replaced(path) as file:
            file.write(content)


def export(trained: Trained, kind: str, options: ExportOptions) -> bytes:
    """Return the content of the file. Raise ExportError if it would draw other texts."""
    options.check_for(kind, KINDS[kind].takes)
    if trained.counted is not None and not options.without_counts:
        what = "the model has n-gram counts, which an exported file cannot hold"
        hint = "Export its network alone with [without_counts]; it draws other texts."
        raise ExportError(what, hint)
    content: bytes = import_module(KINDS[kind].module).export(trained, options)
    return content


def check_known(
    architecture: Architecture, kind: str, cells: Collection[str], heads: Collection[str]
) -> None:
    """Raise ExportError if such a file would compute something else than this network."""
    from charrnn.network.architecture import Architecture

    cell, head = architecture.cell_name, architecture.head_name
    for name, own, others in (("cell", cell, cells), ("ends", head, heads)):
        if own not in others:
            hint = f"It takes [{name}] {in_words(others)}."
            raise ExportError(f"{name} {own} does not fit into {kind}", hint, name)
    known = Architecture(architecture.symbols, architecture.hidden, architecture.layers, cell, head)
    if architecture.shapes != known.shapes:
        inputs = [name for name in architecture.inputs if name not in known.inputs]
        others = [name for name in architecture.shapes if name not in known.shapes]
        name = (*inputs, *others, "the network")[0]
        raise ExportError(f"{name} does not fit into {kind}", "Train without it.", name)


def in_words(names: Collection[str]) -> str:
    """Join the names by commas, the last by "or"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last

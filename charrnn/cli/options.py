"""The options that commands share, each written once, and how the others are written.

No default of the library is repeated here. An option that was not typed is None, and given()
leaves it out, so that the library's own stands; the help states it in words.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from charrnn.cli import values
from charrnn.cli.values import Kind

CORPUS_PANEL = "Corpus"
NETWORK_PANEL = "Network"
LEARNING_PANEL = "Learning"
OUTPUT_PANEL = "Output"

MODEL = Path("model.npz")


def given(**options: Any) -> dict[str, Any]:
    """Those that were typed: TrainConfig(**given(hidden=hidden, lr=lr))."""
    return {name: value for name, value in options.items() if value is not None}


def option(
    *names: str, kind: Kind, about: str, default: str = "", panel: str = "", envvar: str = ""
) -> Any:
    """An option that takes a value; default says in words what happens without it."""
    return typer.Option(
        *names,
        parser=kind.parse,
        metavar=kind.metavar,
        help=about,
        show_default=default or False,
        rich_help_panel=panel or None,
        envvar=envvar or None,
        autocompletion=_completion(kind) if kind.names else None,
    )


def _completion(kind: Kind) -> Any:
    def complete(incomplete: str) -> list[str]:
        return [name for name in kind.names if name.startswith(incomplete)]

    return complete


def flag(*names: str, about: str, panel: str = "") -> Any:
    """An option that takes none."""
    return typer.Option(*names, help=about, show_default=False, rich_help_panel=panel or None)


def sources(metavar: str, about: str) -> Any:
    """An argument that takes the names of texts: files, or "-" for standard input."""
    return typer.Argument(
        metavar=metavar,
        help=about,
        show_default=False,
        callback=_expanded,
        rich_help_panel=CORPUS_PANEL,
    )


def _expanded(names: list[str] | None) -> list[str] | None:
    """The files for a pattern on Windows, whose shells leave that to the program."""
    if names is None or os.name != "nt":
        return names
    return [file for name in names for file in sorted(glob.glob(name)) or [name]]


Model = Annotated[
    Path,
    option(
        "-m",
        "--model",
        kind=values.path(),
        about="The model file.",
        default=str(MODEL),
        panel=OUTPUT_PANEL,
        envvar="CHARRNN_MODEL",
    ),
]
Json = Annotated[bool, flag("--json", about="Write JSON, for programs.", panel=OUTPUT_PANEL)]
Quiet = Annotated[bool, flag("-q", "--quiet", about="Say only errors.", panel=OUTPUT_PANEL)]
Threads = Annotated[
    int | None,
    option(
        "--threads",
        kind=values.whole(1, 1024),
        about="How many threads work.",
        default="the cores there are, up to 4",
    ),
]
Examples = Annotated[
    str | None,
    option(
        "--examples",
        kind=values.one_of("auto", "lines", "paragraphs", "files"),
        about="What one example is; auto: lines, or paragraphs if many and short.",
        default="that of the model, else auto",
        panel=CORPUS_PANEL,
    ),
]
Encoding = Annotated[
    str | None,
    option(
        "--encoding",
        kind=values.text("NAME"),
        about="How the text is encoded: utf-8, latin-1, utf-16, ...",
        default="that of the model, else utf-8",
        panel=CORPUS_PANEL,
    ),
]
Newlines = Annotated[
    str | None,
    option(
        "--newlines",
        kind=values.one_of("translate", "keep"),
        about="Read every kind of line end as one, or keep them as they are.",
        default="that of the model, else translate",
        panel=CORPUS_PANEL,
    ),
]
Normalize = Annotated[
    str | None,
    option(
        "--normalize",
        kind=values.one_of("none", "NFC", "NFKC"),
        about="Write letters that can be written in several ways in one.",
        default="that of the model, else none",
        panel=CORPUS_PANEL,
    ),
]

"""How the options of a command are declared, and those that several commands have.

Options are a dataclass of settings. A field that is not typed keeps its default. A field made by
``nested`` holds the typed settings of a configuration, by name: TrainConfig(**options.learning).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from charrnn.settings.corpus import CorpusConfig, Reading, of_corpus
from charrnn.settings.drawing import DRAWING
from charrnn.settings.training import LEARNING, TrainConfig
from charrnn.settings.values import File, Flag, OneOf, Text, setting, settings_of
from charrnn.system.packaged import CORPORA, MODELS
from charrnn.system.visible import either

if TYPE_CHECKING:
    from charrnn.cli.console import Console
    from charrnn.text.corpus import Corpus

OUTPUT, WORKERS = "Output", "Workers"  # panels of help
MODEL = Path("model.npz")
LEARNED = "as in training"  # a default in words

Source = partial(Text, names=CORPORA)  # the name of a text: a file, a corpus of the package, or "-"
flag = partial(setting, Flag(), panel=OUTPUT)
repeatable = partial(setting, repeated=True)
sources_option = partial(repeatable, Source())
output_option = partial(setting, names=("-o", "--output"))
label_option = partial(setting, Text(), short="Take this label")


def nested(config: type, *only: str, **defaults: str) -> Any:
    """Return a field for the settings of a configuration, or for some, with defaults in words."""
    declared = settings_of(config)
    settings = {name: declared[name] for name in only or declared}
    for name, words in defaults.items():
        settings[name] = replace(declared[name], default_in_words=words)
    return field(default_factory=dict, metadata={"nested": settings})


def field_of(config: type, name: str, more: str = "", **changes: Any) -> Any:
    """Return a field for one setting, whose help gets more words; None if it is not typed."""
    declared = settings_of(config)[name]
    changes = {"default": None, "about": f"{declared.about} {more}".rstrip(), **changes}
    return field(default=changes["default"], metadata={"setting": replace(declared, **changes)})


def text_option(short: str, usual: str = "text that is piped in, else the held-out part") -> Any:
    about = f"Files to read, or - for standard input. Default: {usual} of the corpus."
    return sources_option(about, names=("TEXT",), short=short)


def force_option(file: str) -> Any:
    return flag(f"Replace {file} if it exists.", short="Replace an existing file")


def model_option(about: str = "", **details: Any) -> Any:
    usual = {"values": File(names=MODELS), "short": "Use this model", "default": MODEL}
    details = {**usual, "panel": OUTPUT, "variable": "CHARRNN_MODEL", **details}
    about = about or f"The model: a file, or {either(MODELS)}."
    return setting(about=about, names=("-m", "--model"), **details)


def typed_models(*models: Path) -> list[str]:
    """Return the words that name these models in a command to type; none for the usual model."""
    usual = Path(os.environ.get("CHARRNN_MODEL") or MODEL)
    return [] if models == (usual,) else [word for path in models for word in ("-m", str(path))]


def models_option(about: str, **details: Any) -> Any:
    details = {"default": (MODEL,), "default_in_words": str(MODEL), "repeated": True, **details}
    return model_option(f"The model: a file, or {either(MODELS)}. {about}", **details)


cores_option = partial(field_of, TrainConfig, "cores", panel=WORKERS)
examples_option = partial(field_of, CorpusConfig, "examples", default_in_words=LEARNED)


def use_option() -> Any:
    about, usual = "Use the network, the counts, or both together.", "both, if the model has counts"
    details = {"short": "Use network, counts or both", "default_in_words": usual}
    return setting(OneOf(("network", "counts", "both")), about, panel=DRAWING, **details)


def scheduler_option(panel: str = WORKERS) -> Any:
    about = "Work on a Dask scheduler: its address, such as tcp://HOST:8786, or its file."
    return setting(Text("ADDRESS|FILE"), about, short="Work on a Dask scheduler", panel=panel)


def not_one_of(typed: Any, allowed: str) -> str:
    return f"{repr(typed)[:50]} is not {allowed}"


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The options of each command, which come last in its help."""

    FIRST: ClassVar[str] = ""  # the fields of the options that -h shows; none: all
    as_json: bool = flag(short="Write JSON", names=("--json",))
    quiet: bool = flag(short="Only warnings and errors", names=("-q", "--quiet"))


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(CommandOptions):
    """The options of a command that trains on a corpus."""

    sources: tuple[str, ...] = sources_option(
        "Files to train on, - for standard input, or a corpus of the package:"
        f" {', '.join(CORPORA)}.",
        names=("CORPUS",),
        short="Train on these files",
    )
    valid: tuple[str, ...] = of_corpus(
        Source("FILE"),
        "Measure the held-out loss on this file. Repeatable.",
        short="Measure the loss on this file",
        default_in_words="a part of CORPUS",
        repeated=True,
    )
    cutting: dict[str, Any] = nested(CorpusConfig)
    reading: dict[str, Any] = nested(Reading)
    learning: dict[str, Any] = nested(TrainConfig)
    start_from: Path | None = setting(
        File("MODEL", names=MODELS),
        f"Start from the parameters, cell and sizes of this model: a file, or {either(MODELS)}.",
        short="Start from another model",
        panel=LEARNING,
        names=("--from",),
    )
    resume: bool = flag(
        "Continue the run in the model file exactly where it stopped.",
        short="Continue the saved run",
    )
    dry_run: bool = flag(
        "Show settings, memory, time and baselines, and exit.", short="Show settings and exit"
    )

    def read(self, known: str, console: Console) -> tuple[Corpus, CorpusConfig]:
        """Read the corpus; the vocabulary gets the known characters, too."""
        from charrnn.text.corpus import read_files

        config = CorpusConfig(reading=Reading(**self.reading), known=known, **self.cutting)
        console.note_if_waiting((*self.sources, *self.valid))
        return read_files(self.sources, config, self.valid), config

"""Options made from settings, and the options that commands share.

The options of a command are a dataclass. A field that is not typed keeps its default. A field made
by ``group`` holds the settings that are typed, by name: TrainConfig(**options.learning).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import typer

from charrnn.default_settings import (
    CORPUS,
    DRAWING,
    LEARNING,
    CorpusConfig,
    Flag,
    OneOf,
    Reading,
    Setting,
    Text,
    TrainConfig,
    Values,
    ensure,
    of_corpus,
    setting,
    settings_of,
)
from charrnn.errors import SettingError
from charrnn.system import MODELS, NAMES, OURS

OUTPUT, WORKERS = "Output", "Workers"  # panels of help
MODEL = Path("model.npz")
TYPED_AS = {
    "temperature": "--temp",
    "max_characters": "--max-chars",
    "start_from": "--from",
    "model": "-m",
    "path": "-m",
}

Source = partial(Text, names=NAMES)  # the name of a text: a file, a corpus of the package, or "-"


class File(Values):
    """Paths, with one of these suffixes, if any; "-" is not a path."""

    def __init__(self, metavar: str = "PATH", *suffixes: str, names: Sequence[str] = ()) -> None:
        self.suffixes = suffixes
        kinds = " or ".join(", ".join(suffixes).rsplit(", ", 1))
        super().__init__(metavar, f"a file name that ends in {kinds}" if kinds else "a path", names)

    def plain(self, value: Any) -> Path:
        ensure(not self.suffixes or value.suffix.lower() in self.suffixes)
        return Path(value)

    def read(self, typed: Any) -> Path:
        ensure(str(typed) not in ("", "-"))
        return Path(typed)


def flag(about: str, *, panel: str = OUTPUT, names: tuple[str, ...] | None = None) -> Any:
    return setting(Flag(), about, False, panel=panel, names=names)


def group(config: type, *only: str, **changes: Any) -> Any:
    """Return a field for the settings of a configuration, or for some, with changes to the help."""
    return field(default_factory=dict, metadata={"group": (config, only, changes)})


def like(config: type, name: str, **changes: Any) -> Any:
    """Return a field for one setting of a configuration; None if it is not typed."""
    declared = replace(settings_of(config)[name], default=None, **changes)
    return field(default=None, metadata={"setting": declared})


def sources(metavar: str, about: str, *, is_required: bool = False) -> Any:
    default = MISSING if is_required else ()
    return setting(Source(), about, default, panel=CORPUS, names=(metavar,), repeated=True)


def model(about: str = f"The model: a file, or {OURS}.", **details: Any) -> Any:
    details = {"values": File(names=MODELS), "panel": OUTPUT, "default": MODEL, **details}
    return setting(about=about, names=("-m", "--model"), variable="CHARRNN_MODEL", **details)


def models(about: str = "Repeatable, to compare models.", **details: Any) -> Any:
    details = {"default": (MODEL,), "default_in_words": str(MODEL), "repeated": True, **details}
    return model(f"The model: a file, or {OURS}. {about}", **details)


def use() -> Any:
    about = "Use the network, the n-gram counts of the training text, or a mixture of both."
    default = "both if the model has counts (train --counts), else network"
    kinds = OneOf(("network", "counts", "both"))
    return setting(kinds, about, panel=DRAWING, default_in_words=default)


def cores(**changes: Any) -> Any:
    return like(TrainConfig, "cores", panel=WORKERS, **changes)


def scheduler() -> Any:
    about = "Work on a Dask scheduler: its address, such as tcp://HOST:8786, or its file."
    return setting(Text("ADDRESS|FILE"), about, panel=WORKERS)


def option_for(name: str) -> str:
    """Return the option that is typed for a setting."""
    return TYPED_AS.get(name, "--" + name.replace("_", "-"))


def only_one(options: dict[str, Any]) -> None:
    """Raise SettingError if two of these options are typed."""
    typed = [name for name, value in options.items() if value]
    if len(typed) > 1:
        what = f"{typed[0]} and {typed[1]} exclude each other"
        raise SettingError(what, "Leave one of them out.")


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The options of each command, which come last in its help."""

    FIRST: ClassVar[tuple[str, ...]] = ()  # fields of the options that -h shows; (): all
    as_json: bool = flag("Write JSON.", names=("--json",))
    quiet: bool = flag("Show only errors on stderr.", names=("-q", "--quiet"))


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(CommandOptions):
    """The options of a command that trains on a corpus."""

    sources: tuple[str, ...] = sources(
        "CORPUS",
        f"Files to train on, - for standard input, or a corpus of the package: {', '.join(NAMES)}.",
    )
    valid: tuple[str, ...] = of_corpus(
        Source("FILE"),
        "Measure the held-out loss on this file. Repeatable.",
        default_in_words="a part of CORPUS",
        repeated=True,
    )
    cutting: dict[str, Any] = group(CorpusConfig)
    reading: dict[str, Any] = group(Reading)
    learning: dict[str, Any] = group(TrainConfig)
    start_from: Path | None = setting(
        File("MODEL", names=MODELS),
        "Start from the parameters of this model, to fine-tune it or after the corpus has grown:"
        f" a file, or {OURS}.",
        panel=LEARNING,
        names=("--from",),
    )

    def config(self, known: str) -> CorpusConfig:
        """Return how the corpus is cut; the vocabulary gets the known characters, too."""
        return CorpusConfig(reading=Reading(**self.reading), known=known, **self.cutting)


class Option(NamedTuple):
    """A setting as an option, and the field that its value goes to."""

    name: str
    setting: Setting
    group: str  # the field that holds the value in a dict; "" for a field of its own


def options_of(kind: type) -> Iterator[Option]:
    """Yield the options of a command: those of the first panel, the others, the common ones."""
    options: dict[str, Option] = {}
    common = {field.name for field in fields(CommandOptions)}
    for declared in sorted(fields(kind), key=lambda declared: declared.name in common):
        if "setting" in declared.metadata:
            options[declared.name] = Option(declared.name, declared.metadata["setting"], "")
            continue
        config, only, changes = declared.metadata["group"]
        for name, of_group in settings_of(config).items():
            if not only or name in only:
                options[name] = Option(name, replace(of_group, **changes), declared.name)
    options = {name: option for name, option in options.items() if option.setting.names != ()}
    for name in getattr(kind, "FIRST", ()) or tuple(options):
        option = options.pop(name)
        yield option._replace(setting=replace(option.setting, panel=""))
    yield from options.values()


def with_options(kind: type, act: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function for Typer, with a parameter for each option, that acts on the options."""
    options = list(options_of(kind))

    def called(**typed: Any) -> None:
        values: dict[str, Any] = {}
        for name, declared, group in options:
            value = typed.get(name)
            if not value and os.environ.get(declared.variable):  # Typer splits it into words
                value = declared.values.read(os.environ[declared.variable])
                value = [value] if declared.repeated else value
            if declared.repeated:
                value = tuple(value or ()) or None
            if value is not None:
                holder = values.setdefault(group, {}) if group else values
                holder[name] = value
        act(kind(**values))

    parameters = [parameter(option) for option in options]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {item.name: item.annotation for item in parameters}
    return called


def parameter(option: Option) -> Parameter:
    """Return the parameter of a function that Typer makes the option from."""
    setting, values = option.setting, option.setting.values
    names, about = setting.options(option.name), setting.about
    if setting.variable:
        about += f" (Or {setting.variable}.)"
    if setting.default_in_words:
        about += rf" [dim]\[default: {setting.default_in_words}][/dim]"
    what: dict[str, Any] = {"help": about, "metavar": values.metavar, "show_default": False}
    if not isinstance(values, Flag):
        what |= {"parser": parser_of(values), "autocompletion": completer_of(values)}
    if names[0].startswith("-"):
        info = typer.Option(*names, rich_help_panel=setting.panel or None, **what)
    else:
        info = typer.Argument(**what | {"metavar": names[0]})
    is_required = setting.default is MISSING
    kind: Any = list[str] if setting.repeated else bool if isinstance(values, Flag) else str
    annotation: Any = Annotated[kind if is_required else kind | None, info]
    default = Parameter.empty if is_required else None
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def parser_of(values: Values) -> Callable[[Any], Any]:
    """Return a parser that raises BadParameter for a value that is not allowed.

    Typer's own limits let ``inf`` through, and their messages change from version to version.
    """

    def parse(typed: Any) -> Any:
        with suppress(ValueError):
            return values.plain(values.read(typed))
        several = "; 'charrnn sweep --try' compares several" if "," in str(typed) else ""
        raise typer.BadParameter(not_one_of(typed, values.allowed) + several)

    return parse


def not_one_of(typed: Any, allowed: str) -> str:
    return f"{repr(typed)[:50]} is not {allowed}"


def completer_of(values: Values) -> Callable[[str], list[str]]:
    """Return a function for the shell: the names that begin so, with files beside ours."""

    def complete(incomplete: str) -> list[str]:
        names = [name for name in values.names if name.startswith(incomplete)]
        if names and values.names in (NAMES, MODELS):
            files = sorted(glob.glob(glob.escape(incomplete) + "*"))
            names += [file for file in files if file not in names]
        return names  # if there are none, the shell completes files

    return complete

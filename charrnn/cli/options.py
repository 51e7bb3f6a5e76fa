"""Options made from settings, the options that commands share, and rules between options.

The options of a command are a dataclass. A field that is not typed keeps its default. A field made
by ``group`` holds the settings that are typed, by name: TrainConfig(**options.learning).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import typer

from charrnn.cli.console import Console
from charrnn.errors import SettingError
from charrnn.settings import (
    CORPUS,
    SEED,
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
from charrnn.system import MODELS, NAMES, OURS

OUTPUT, WORKERS = "Output", "Workers"  # panels of help
MODEL = Path("model.npz")
MOST_SEEDS = 1 << 16


class File(Values):
    """Paths, with one of these suffixes, if any."""

    def __init__(self, metavar: str = "PATH", suffixes: Sequence[str] = ()) -> None:
        self.suffixes = suffixes
        kinds = " or ".join(", ".join(suffixes).rsplit(", ", 1))
        super().__init__(metavar, f"a file name that ends in {kinds}" if kinds else "a path")

    def plain(self, value: Any) -> Path:
        ensure(not self.suffixes or value.suffix.lower() in self.suffixes)
        return Path(value)

    def read(self, typed: Any) -> Path:
        ensure(bool(str(typed)))
        return Path(typed)


class NewFile(File):
    """Names of a file to write; "-" is not allowed."""

    def plain(self, value: Any) -> Path:
        ensure(str(value) != "-")
        return super().plain(value)


class ModelFile(File):
    """A model to read: a file, or a model of the package."""

    def complete(self, incomplete: str) -> list[str]:
        return with_files(MODELS, incomplete)


class Source(Text):
    """The name of a text: a file, a corpus of the package, or "-"."""

    def complete(self, incomplete: str) -> list[str]:
        return with_files(NAMES, incomplete)


def with_files(known: Iterable[str], incomplete: str) -> list[str]:
    """Return the names and files that begin so; nothing if the shell can do it alone."""
    names = [name for name in known if name.startswith(incomplete)]
    files = sorted(glob.glob(glob.escape(incomplete) + "*"))
    return [*names, *(file for file in files if file not in names)] if names else []


class Known(Text):
    """A text that may begin with one of these names."""

    def __init__(self, metavar: str, names: Callable[[], Iterable[str]]) -> None:
        self.names = names
        super().__init__(metavar)

    def complete(self, incomplete: str) -> list[str]:
        return [name for name in self.names() if name.startswith(incomplete)]


class Seeds(Values):
    """A number of seeds from 0, a range, or a list."""

    def __init__(self) -> None:
        examples = "a number of seeds such as 3, a range such as 0-4, or a list such as 1,5,7"
        super().__init__("N|N-N", examples)

    def plain(self, value: Any) -> tuple[int, ...]:
        ensure(0 < len(set(value)) == len(value) <= MOST_SEEDS)
        return tuple(map(SEED.plain, value))

    def read(self, typed: Any) -> tuple[int, ...]:
        if isinstance(typed, tuple):
            return typed
        first, dash, last = str(typed).partition("-")
        if "," in first:
            return tuple(map(int, first.split(",")))
        low, high = (int(first), int(last) + 1) if dash else (0, int(first))
        return tuple(range(low, min(high, low + MOST_SEEDS + 1)))


def words_to_try() -> dict[str, str]:
    """Return the settings that a sweep can try, by the words that are typed for them."""
    known = settings_of(TrainConfig)
    fixed = ("seed", "cores", "parts")  # which a sweep chooses itself
    typed = {name: known[name].options(name)[-1] for name in known if name not in fixed}
    return {option.partition("/")[0].lstrip("-"): name for name, option in typed.items()}


def flag(about: str, *, panel: str = OUTPUT, names: tuple[str, ...] | None = None) -> Any:
    return setting(Flag(), about, panel=panel, default=False, names=names)


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The options of each command, which come last in its help."""

    RULES: ClassVar[tuple[Rule, ...]] = ()
    FIRST: ClassVar[tuple[str, ...]] = ()  # fields of the options that -h shows; (): all
    as_json: bool = flag("Write JSON.", names=("--json",))
    quiet: bool = flag("Show only errors on stderr.", names=("-q", "--quiet"))

    @property
    def wanted_threads(self) -> int | None:
        """Return the value of --cores; 1 for a command without that option."""
        return cast("int | None", getattr(self, "cores", 1))

    def check(self) -> None:
        """Raise SettingError for what RULES cannot express."""


class Option(NamedTuple):
    """A setting as an option, and the field that its value goes to."""

    name: str
    setting: Setting
    group: str  # the field that holds the value in a dict; "" for a field of its own


def with_options(kind: type, act: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function for Typer, with a parameter for each option, that acts on the options."""
    options = list(options_of(kind))

    def called(**typed: Any) -> None:
        values: dict[str, Any] = {}
        for option in options:
            value = typed.get(option.name)
            if option.setting.repeated:
                value = tuple(value or _in_the_environment(option.setting)) or None
            if value is not None:
                holder = values.setdefault(option.group, {}) if option.group else values
                holder[option.name] = value
        act(kind(**values))

    parameters = [_parameter(option) for option in options]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def group(config: type, *only: str, **changes: Any) -> Any:
    """Return a field for the settings of a configuration, or for some, with changes to the help."""
    return field(default_factory=dict, metadata={"group": (config, only, changes)})


def like(config: type, name: str, **changes: Any) -> Any:
    """Return a field for one setting of a configuration; None if it is not typed."""
    one = replace(settings_of(config)[name], default=None, **changes)
    return field(default=None, metadata={"setting": one})


def sources(metavar: str, about: str, *, is_required: bool = False) -> Any:
    default = MISSING if is_required else ()
    return setting(Source(), about, panel=CORPUS, default=default, names=(metavar,), repeated=True)


def model(about: str = f"The model: a file, or {OURS}.", **details: Any) -> Any:
    details = {"values": ModelFile(), "panel": OUTPUT, "default": MODEL, **details}
    return setting(about=about, names=("-m", "--model"), variable="CHARRNN_MODEL", **details)


def models(about: str = "Repeatable, to compare models.", **details: Any) -> Any:
    details = {"default": (MODEL,), "default_in_words": str(MODEL), "repeated": True, **details}
    return model(f"The model: a file, or {OURS}. {about}", **details)


def use(panel: str) -> Any:
    about = "Use the network, the n-gram counts of the training text, or a mixture of both."
    default = "both if the model has counts (train --counts), else network"
    kinds = OneOf(("network", "counts", "both"))
    return setting(kinds, about, panel=panel, default_in_words=default)


def cores() -> Any:
    return like(TrainConfig, "cores", panel=WORKERS)


def scheduler() -> Any:
    about = (
        "Distribute the work to the workers of a Dask scheduler: its address, such as"
        " tcp://HOST:8786, or its scheduler file."
    )
    return setting(Text("ADDRESS|FILE"), about, panel=WORKERS)


class Rule:
    """A relation between options, named by field, by group, or by value: "sort=input"."""

    def __init__(self, kind: str, name: str, *others: str, hint: str = "") -> None:
        self.kind, self.name, self.others, self.hint = kind, name, others, hint

    def check(self, typed: Mapping[str, str], names: Mapping[str, str]) -> None:
        """Raise SettingError if the rule is broken. Both maps lead from fields to options."""
        if self.name and self.name not in typed:
            return
        listed = {name for name in typed if name in self.others}
        if self.kind == "needs":
            if not listed:
                wanted = [names[other] for other in self.others]
                what = f"{typed[self.name]} needs {' or '.join(wanted)}" if self.name else ""
                hint = self.hint or f"Add {wanted[0]}."
                raise SettingError(what or f"{wanted[0]} is missing", hint)
            return
        wrong = listed if self.kind == "excludes" else typed.keys() - listed - {self.name}
        for name in typed:
            if name in wrong:
                what = f"{typed[self.name]} and {typed[name]} exclude each other"
                raise SettingError(what, self.hint or "Leave one of them out.")


excludes = partial(Rule, "excludes")  # an option cannot be typed together with any of the others
needs = partial(Rule, "needs")  # an option makes sense only with one of the others
needs_one = partial(Rule, "needs", "")  # one of these must be typed, in any case

_NAME_ONE = f"Name a file, - or one of {', '.join(NAMES)}; see --help."
CORPUS_OR_RESUME = needs_one("sources", "resume", hint=_NAME_ONE)
_AS_IN_TRAINING = "Held-out text is read as in training."
_ROWS = "With --column, each row is an example."
TEXT_OR_HELD_OUT = (
    excludes("held_out", "sources"),
    needs("examples", "sources", hint=_AS_IN_TRAINING),
    needs("reading", "sources", hint=_AS_IN_TRAINING),
    excludes("column", "examples=paragraphs", "examples=files", hint=_ROWS),
)


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


@dataclass(frozen=True, kw_only=True)
class TextOptions(CommandOptions):
    """The options of a command that reads texts, or the held-out part of the training corpus."""

    sources: tuple[str, ...] = sources(
        "TEXT",
        "Files to read, or - for standard input. Without TEXT, text that is piped in is read, else"
        " the held-out part of the training corpus.",
    )
    held_out: bool = flag(
        "Read the held-out part of the training corpus, even if text is piped in.", panel=CORPUS
    )
    examples: str | None = like(CorpusConfig, "examples", default_in_words="as in training")
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")


def check(options: CommandOptions) -> None:
    """Raise SettingError if options break the rules of their command."""
    kind = type(options)
    names, typed = {}, {}
    sources: list[str] = []
    for one in options_of(kind):
        setting, value = one.setting, getattr(options, one.group or one.name)
        names[one.name] = option = setting.options(one.name)[-1].partition("/")[0]
        if option.startswith("-"):
            names[one.name] = f"{option} {setting.values.metavar}".rstrip()
        if isinstance(setting.values, Source) and value:
            sources.extend(value if setting.repeated else [value])
        if one.group:
            value = value.get(one.name)
        elif value in (setting.default, tuple(_in_the_environment(setting))):
            value = None
        if value is not None:
            shown = option
            if not option.startswith("-"):  # an argument is named by its value
                shown = str(value[0] if setting.repeated else value)
            typed[one.name] = shown
            if isinstance(value, str):
                typed[f"{one.name}={value}"] = f"{shown} {value}"
            if one.group:
                typed.setdefault(one.group, shown)
    for rule in kind.RULES:
        rule.check(typed, names)
    if sources.count("-") > 1:
        raise SettingError("standard input can be read only once", "Name one - at most.")
    options.check()


def note_own_models(options: CommandOptions, console: Console) -> None:
    """Report each model that is a file, though the package has a model of its name."""
    for one in options_of(type(options)):
        if isinstance(one.setting.values, ModelFile):
            value = getattr(options, one.name)
            for path in value if one.setting.repeated else [value]:
                if str(path) in MODELS and os.path.lexists(path):
                    console.note(f"{path} is a file here, not the model of the package")


def options_of(kind: type) -> Iterator[Option]:
    """Yield the options of a command, those of the first panel first."""
    first = getattr(kind, "FIRST", ())
    options = list(declared(kind))
    by_name = {option.name: option for option in options}
    for name in first or tuple(by_name):
        option = by_name.pop(name)
        yield option._replace(setting=replace(option.setting, panel=""))
    yield from by_name.values()


def declared(kind: type) -> Iterator[Option]:
    common = {one.name for one in fields(CommandOptions)}
    for one in sorted(fields(kind), key=lambda one: one.name in common):
        if "group" in one.metadata:
            config, only, changes = one.metadata["group"]
            for name, of_group in settings_of(config).items():
                if of_group.names != () and (not only or name in only):
                    yield Option(name, replace(of_group, **changes), one.name)
        elif one.metadata["setting"].names != ():
            yield Option(one.name, one.metadata["setting"], "")


def _in_the_environment(setting: Setting) -> list[Any]:
    """Return the value of an environment variable, whole: Typer would split it into words."""
    value = os.environ.get(setting.variable) if setting.variable else None
    return [setting.values.read(value)] if value else []


def _parameter(option: Option) -> Parameter:
    """Return the parameter of a function that Typer makes the option from."""
    setting = option.setting
    names = setting.options(option.name)
    is_flag = isinstance(setting.values, Flag)
    what: dict[str, Any] = {
        "help": setting.about,
        "show_default": False,
        "rich_help_panel": setting.panel or None,
    }
    if setting.default_in_words:
        what["help"] += rf" [dim]\[default: {setting.default_in_words}][/dim]"
    if is_flag:
        what["metavar"] = ""
    else:
        what["parser"] = _parser(setting.values)
        what["metavar"] = setting.values.metavar
        if setting.variable and setting.repeated:
            what["help"] += f" (Or {setting.variable}.)"
        else:
            what["envvar"] = setting.variable or None
        what["autocompletion"] = getattr(setting.values, "complete", None)
    if names[0].startswith("-"):
        info = typer.Option(*names, **what)
    else:
        what |= {"metavar": names[0], "rich_help_panel": None}
        info = typer.Argument(callback=_expanded if setting.repeated else None, **what)
    kind: Any = list[str] if setting.repeated else bool if is_flag else str
    is_required = setting.default is MISSING
    default = Parameter.empty if is_required else None
    kind = Annotated[kind if is_required else kind | None, info]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _parser(values: Values) -> Callable[[Any], Any]:
    """Return a parser that raises BadParameter for a value that is not allowed.

    Typer's own limits let ``inf`` through, and their messages change from version to version.
    """

    def parse(typed: Any) -> Any:
        with suppress(ValueError):
            return values.plain(values.read(typed))
        raise typer.BadParameter(not_one_of(typed, values.allowed))

    return parse


def not_one_of(typed: Any, allowed: str) -> str:
    shown = repr(typed)
    shown = shown if len(shown) <= 50 else f"{shown[:46]}...'"
    return f"{shown} is not {allowed}"


def _expanded(names: list[str] | None) -> list[str] | None:
    """Return the files that match patterns, on Windows, whose shells expand none."""
    if names is None or os.name != "nt":
        return names
    return [file for name in names for file in sorted(glob.glob(name)) or [name]]

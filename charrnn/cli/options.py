"""Options made from settings, the options that commands share, and rules between options.

    @dataclass(frozen=True, kw_only=True)
    class Options(CommandOptions):
        RULES = (excludes("per_example", "per_char"), needs("sort", "per_example", "top"))
        model: Path = model()                          # -m, --model
        learning: dict[str, Any] = group(TrainConfig)  # --hidden, --layers, ...

A field that is not typed keeps the default of the dataclass. A field made by ``group`` holds the
settings typed, by name: TrainConfig(**options.learning).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import typer

from charrnn.cli.console import Console, has_text
from charrnn.corpus.files import NAMES
from charrnn.errors import CharrnnError, MissingPackageError, SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import (
    CORPUS,
    File,
    Flag,
    OneOf,
    Setting,
    Text,
    Values,
    Whole,
    setting,
    settings_of,
)
from charrnn.settings.training import TrainConfig

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster


def with_piped_text(options: Any, console: Console) -> Any:
    """Return the options with "-" as their text, if none is named but one is piped in."""
    wants_text = getattr(options, "held_out", None) is False and not options.sources
    return replace(options, sources=("-",)) if wants_text and has_text(console) else options


def tried(incomplete: str) -> list[str]:
    """Return the settings that complete a word of --try."""
    from charrnn.settings.using import words_to_try

    return [f"{word}=" for word in words_to_try() if word.startswith(incomplete)]


def corpora(incomplete: str) -> list[str]:
    """Return the corpora and files that complete a word; nothing if the shell can do it alone."""
    names = [name for name in NAMES if name.startswith(incomplete)]
    files = sorted(glob.glob(glob.escape(incomplete) + "*"))
    return [*names, *(file for file in files if file not in names)] if names else []


OUTPUT, WORKERS = "Output", "Workers"  # panels of help
MODEL = Path("model.npz")


@dataclass(frozen=True)
class Source(Text):
    """The name of a text: a file, a corpus of the package, or "-"."""


@dataclass(frozen=True)
class NewFile(File):
    """The name of a file to write, which "-" is not."""

    allowed: str = "the name of a file"

    def read(self, typed: Any) -> Path:
        if str(typed) == "-":
            raise ValueError("not a file")
        return super().read(typed)


@dataclass(frozen=True)
class FigureName(NewFile):
    """The name of a file for --plot, whose suffix tells the kind of picture."""

    metavar: str = "FILE"
    allowed: str = "a file name that ends in .svg, .png or .pdf"

    def read(self, typed: Any) -> Path:
        path = super().read(typed)
        if path.suffix.lower() not in (".svg", ".png", ".pdf"):
            raise ValueError("no such picture")
        return path


@dataclass(frozen=True)
class Trying(Text):
    """A setting of training, and values to try."""

    metavar: str = "NAME=VALUE,VALUE"


class CommandOptions:
    """The base of the options of each command, a dataclass with a field for each option."""

    RULES: ClassVar[tuple[Rule, ...]] = ()
    quiet: bool

    @property
    def wanted_threads(self) -> int | None:
        """Return the value of --threads; 1 for a command without that option."""
        threads: int | None = getattr(self, "workers", 1)
        return threads

    def check(self) -> None:
        """Raise SettingError for what RULES cannot express."""


class Option(NamedTuple):
    """A setting as an option, and the field that its value goes to."""

    name: str
    setting: Setting
    group: str  # the field that holds the value in a dict; "" for a field of its own


def with_options(kind: type, act: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function for Typer, with a parameter for each option, that acts on the options."""
    found = list(_options_of(kind))

    def called(**typed: Any) -> None:
        act(_made(kind, found, typed))

    parameters = [_parameter(one) for one in found]
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
    """Return the argument that names texts."""
    default = MISSING if is_required else ()
    return setting(Source(), about, panel=CORPUS, default=default, names=(metavar,), repeated=True)


def model() -> Any:
    """Return the option for the model file."""
    return setting(
        File(),
        "The model file.",
        panel=OUTPUT,
        default=MODEL,
        names=("-m", "--model"),
        variable="CHARRNN_MODEL",
    )


def use(panel: str) -> Any:
    """Return the option that selects the network, the counts or both."""
    return setting(
        OneOf(("network", "counts", "both")),
        "Use the network, the n-gram counts of the training text, or a mixture of both.",
        panel=panel,
        default_in_words="both if the model has counts (train --counts), else network",
    )


def models(about: str = "The model file. Repeatable, to compare models.") -> Any:
    """Return the option for one model file or more."""
    return setting(
        File(),
        about,
        panel=OUTPUT,
        default=(MODEL,),
        default_in_words=str(MODEL),
        names=("-m", "--model"),
        repeated=True,
        variable="CHARRNN_MODEL",
    )


def plot(about: str) -> Any:
    """Return the option for a figure."""
    more = "Ends in .svg, .png or .pdf. Needs matplotlib: pip install 'charrnn[plot]'."
    return setting(FigureName(), f"{about} {more}", panel=OUTPUT, names=("--plot",))


def as_json() -> Any:
    """Return the option for JSON."""
    return flag("Write JSON.", names=("--json",))


def quiet() -> Any:
    """Return the option for quiet output."""
    return flag("Show only errors on stderr.", names=("-q", "--quiet"))


def threads() -> Any:
    """Return the option for threads."""
    return like(TrainConfig, "workers")


def workers(default_in_words: str = "none: this process alone") -> Any:
    """Return the option for workers on this machine."""
    return setting(
        Whole(1, 1 << 12),
        "Distribute the work to N processes on this machine. The result is the same. Needs Dask:"
        " pip install 'charrnn[cluster]'.",
        panel=WORKERS,
        names=("--workers",),
        default_in_words=default_in_words,
    )


def scheduler() -> Any:
    """Return the option for a Dask scheduler."""
    return setting(
        Text("ADDRESS|FILE"),
        "Distribute the work to the workers of a Dask scheduler: its address, such as"
        " tcp://HOST:8786, or its scheduler file.",
        panel=WORKERS,
    )


def flag(about: str, *, panel: str = OUTPUT, names: tuple[str, ...] | None = None) -> Any:
    """Return an option without a value."""
    return setting(Flag(), about, panel=panel, default=False, names=names)


class Rule(NamedTuple):
    """A relation between options, named by field, by group, or by value: "sort=input"."""

    kind: Literal["excludes", "allows only", "needs"]
    name: str  # "" for a rule that always applies
    others: tuple[str, ...]
    hint: str

    def check(self, typed: Mapping[str, str], names: Mapping[str, str]) -> None:
        """Raise SettingError if the rule is broken. Both maps lead from fields to options."""
        if self.name and self.name not in typed:
            return
        if self.kind == "needs":
            if not any(other in typed for other in self.others):
                wanted = [names[other] for other in self.others]
                what = f"{typed[self.name]} needs {' or '.join(wanted)}" if self.name else ""
                raise SettingError(
                    what or f"{wanted[0]} is missing", self.hint or f"Add {wanted[0]}."
                )
            return
        listed = {name for name in typed if name in self.others}
        wrong = listed if self.kind == "excludes" else typed.keys() - listed - {self.name}
        for name, option in typed.items():
            if name in wrong:
                raise SettingError(
                    f"{typed[self.name]} and {option} exclude each other",
                    self.hint or "Leave one of them out.",
                )


def excludes(name: str, *others: str, hint: str = "") -> Rule:
    """Return the rule that an option cannot be typed together with any of the others."""
    return Rule("excludes", name, others, hint)


def allows_only(name: str, *others: str, hint: str = "") -> Rule:
    """Return the rule that an option can be typed together with the others only."""
    return Rule("allows only", name, others, hint)


def needs(name: str, *others: str, hint: str = "") -> Rule:
    """Return the rule that an option makes sense only with one of the others."""
    return Rule("needs", name, others, hint)


def needs_one(*names: str, hint: str) -> Rule:
    """Return the rule that one of these must be typed."""
    return Rule("needs", "", names, hint)


CORPUS_OR_RESUME = needs_one(
    "sources", "resume", hint=f"Name a file, - or one of {', '.join(NAMES)}; see --help."
)
SHARED_WORK = (
    excludes("processes", "scheduler", "workers", "threads"),
    excludes("scheduler", "workers", "threads"),
)
_AS_IN_TRAINING = "Held-out text is read as in training."
TEXT_OR_HELD_OUT = (
    excludes("held_out", "sources"),
    needs("examples", "sources", hint=_AS_IN_TRAINING),
    needs("reading", "sources", hint=_AS_IN_TRAINING),
)


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
    for one in _options_of(kind):
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


def _options_of(kind: type) -> Iterator[Option]:
    for one in fields(kind):
        if "group" in one.metadata:
            config, only, changes = one.metadata["group"]
            for name, of_group in settings_of(config).items():
                if of_group.names != () and (not only or name in only):
                    yield Option(name, replace(of_group, **changes), one.name)
        else:
            yield Option(one.name, one.metadata["setting"], "")


def _made(kind: type, options: list[Option], typed: dict[str, Any]) -> Any:
    """Return the options from the values that Typer has parsed."""
    values: dict[str, Any] = {}
    for one in options:
        value = typed.get(one.name)
        if one.setting.repeated:
            value = tuple(value or _in_the_environment(one.setting)) or None
        if value is None:
            continue
        if one.group:
            values.setdefault(one.group, {})[one.name] = value
        else:
            values[one.name] = value
    return kind(**values)


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
        "show_default": setting.default_in_words or False,
        "rich_help_panel": setting.panel or None,
    }
    if not is_flag:
        what["parser"] = _parser(setting.values)
        what["metavar"] = setting.values.metavar
        if setting.variable and setting.repeated:
            what["help"] += f" [env: {setting.variable}]"
        else:
            what["envvar"] = setting.variable or None
        what["autocompletion"] = _completion(setting.values)
    if names[0].startswith("-"):
        info = typer.Option(*names, **what)
    else:
        what["metavar"] = names[0]
        info = typer.Argument(callback=_expanded if setting.repeated else None, **what)
    kind: Any = list[str] if setting.repeated else bool if is_flag else str
    default = Parameter.empty if setting.is_required else None
    kind = Annotated[kind if setting.is_required else kind | None, info]
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
    """Return the message for a value that is not allowed."""
    shown = repr(typed)
    shown = shown if len(shown) <= 50 else f"{shown[:46]}...'"
    return f"{shown} is not {allowed}"


def _completion(values: Values) -> Any:
    if isinstance(values, Source):
        return corpora
    if isinstance(values, Trying):
        return tried
    if not isinstance(values, OneOf):
        return None

    def complete(incomplete: str) -> list[str]:
        return [name for name in values.choices if name.startswith(incomplete)]

    return complete


def _expanded(names: list[str] | None) -> list[str] | None:
    """Return the files that match patterns, on Windows, whose shells expand none."""
    if names is None or os.name != "nt":
        return names
    return [file for name in names for file in sorted(glob.glob(name)) or [name]]


@contextmanager
def cluster_for(
    processes: int | None, scheduler: str | None, console: Console
) -> Iterator[Cluster | None]:
    """Yield the cluster of --workers or --scheduler; None without these options."""
    if processes is None and scheduler is None:
        yield None
        return
    from charrnn.cluster.opening import open_cluster

    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(open_cluster(processes, scheduler, console.note))
        except MissingPackageError as error:
            option = "--workers" if scheduler is None else "--scheduler"
            raise CharrnnError(f"{option} needs Dask", error.hint) from None
        yield cluster


def note_if_refused(console: Console) -> None:
    """Tell if the operating system did not start more threads."""
    from charrnn.network.threads import Threads

    if Threads.were_refused:
        console.note("could not start more threads; using one (same result, slower)")

"""Learn the spelling of a list of names, or of any text, and generate more like it.

A recurrent network learns which character comes next. It then generates new texts, and scores how
likely a given text is. Each line or paragraph of the corpus is one example.

# learn the names of dinosaurs, then generate ten new ones
charrnn train dinosaurs
charrnn sample -n 10

# show the options that most people use, then all options
charrnn train -h
charrnn train --help

# complete commands and options in the shell
charrnn --install-completion
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, partial
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup

from charrnn.cli.console import Console, print_examples, show_version
from charrnn.errors import USAGE, SettingError
from charrnn.settings.corpus import CORPUS, CorpusConfig, Reading, of_corpus
from charrnn.settings.drawing import DRAWING
from charrnn.settings.training import LEARNING, TrainConfig
from charrnn.settings.values import Flag, OneOf, Setting, Text, Values, ensure, setting, settings_of
from charrnn.system.packaged import CORPORA, MODELS
from charrnn.system.visible import either, visible

if TYPE_CHECKING:
    from charrnn.text.corpus import Corpus

OUTPUT, WORKERS = "Output", "Workers"  # panels of help
MODEL = Path("model.npz")

Source = partial(Text, names=CORPORA)  # the name of a text: a file, a corpus of the package, or "-"


# Options made from settings, and the options that commands share. The options of a command are a
# dataclass. A field that is not typed keeps its default. A field made by ``nested`` holds the
# settings that are typed, by name: TrainConfig(**options.learning).


class File(Values):
    """Paths, with one of these suffixes, if any; "-" is none. ``checked`` checks what was read."""

    def __init__(self, metavar: str = "PATH", *suffixes: str, names: Sequence[str] = ()) -> None:
        self.suffixes = suffixes
        allowed = f"a file name that ends in {either(suffixes)}" if suffixes else "a path"
        super().__init__(metavar, allowed, names)

    def checked(self, value: Any) -> Path:
        ensure(not self.suffixes or value.suffix.lower() in self.suffixes)
        return Path(value)

    def read(self, typed: Any) -> Path:
        ensure(str(typed) not in ("", "-"))
        return Path(typed)


def flag(about: str, *, panel: str = OUTPUT, names: tuple[str, ...] | None = None) -> Any:
    return setting(Flag(), about, False, panel=panel, names=names)


def nested(config: type, *only: str, **changes: Any) -> Any:
    """Return a field for the settings of a configuration, or for some, with changes to the help."""
    return field(default_factory=dict, metadata={"nested": (config, only, changes)})


def field_of(config: type, name: str, **changes: Any) -> Any:
    """Return a field for one setting of a configuration; None if it is not typed."""
    declared = replace(settings_of(config)[name], default=None, **changes)
    return field(default=None, metadata={"setting": declared})


def sources_option(metavar: str, about: str, *, is_required: bool = False) -> Any:
    default = MISSING if is_required else ()
    return setting(Source(), about, default, panel=CORPUS, names=(metavar,), repeated=True)


def model_option(about: str = f"The model: a file, or {either(MODELS)}.", **details: Any) -> Any:
    details = {"values": File(names=MODELS), "panel": OUTPUT, "default": MODEL, **details}
    return setting(about=about, names=("-m", "--model"), variable="CHARRNN_MODEL", **details)


def models_option(about: str = "Repeatable, to compare models.", **details: Any) -> Any:
    details = {"default": (MODEL,), "default_in_words": str(MODEL), "repeated": True, **details}
    return model_option(f"The model: a file, or {either(MODELS)}. {about}", **details)


def use_option() -> Any:
    about = "Use the network, the n-gram counts of the training text, or a mixture of both."
    default = "both if the model has counts (train --counts), else network"
    kinds = OneOf(("network", "counts", "both"))
    return setting(kinds, about, panel=DRAWING, default_in_words=default)


def cores_option(**changes: Any) -> Any:
    return field_of(TrainConfig, "cores", panel=WORKERS, **changes)


def scheduler_option() -> Any:
    about = "Work on a Dask scheduler: its address, such as tcp://HOST:8786, or its file."
    return setting(Text("ADDRESS|FILE"), about, panel=WORKERS)


def only_one(options: dict[str, Any]) -> None:
    """Raise SettingError if two of these options are typed."""
    typed = [name for name, value in options.items() if value]
    if len(typed) > 1:
        what = f"{typed[0]} and {typed[1]} exclude each other"
        raise SettingError(what, "Leave one of them out.")


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The options of each command, which come last in its help."""

    FIRST: ClassVar[str] = ""  # the fields of the options that -h shows; none: all
    as_json: bool = flag("Write JSON.", names=("--json",))
    quiet: bool = flag("Show only errors on stderr.", names=("-q", "--quiet"))


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(CommandOptions):
    """The options of a command that trains on a corpus."""

    sources: tuple[str, ...] = sources_option(
        "CORPUS",
        "Files to train on, - for standard input, or a corpus of the package:"
        f" {', '.join(CORPORA)}.",
    )
    valid: tuple[str, ...] = of_corpus(
        Source("FILE"),
        "Measure the held-out loss on this file. Repeatable.",
        default_in_words="a part of CORPUS",
        repeated=True,
    )
    cutting: dict[str, Any] = nested(CorpusConfig)
    reading: dict[str, Any] = nested(Reading)
    learning: dict[str, Any] = nested(TrainConfig)
    start_from: Path | None = setting(
        File("MODEL", names=MODELS),
        "Start from the parameters of this model, to fine-tune it or after the corpus has grown:"
        f" a file, or {either(MODELS)}.",
        panel=LEARNING,
        names=("--from",),
    )

    def read(self, known: str, console: Console) -> tuple[Corpus, CorpusConfig]:
        """Read the corpus; the vocabulary gets the known characters, too."""
        from charrnn.text.corpus import read_files

        config = CorpusConfig(reading=Reading(**self.reading), known=known, **self.cutting)
        console.note_if_waiting((*self.sources, *self.valid))
        return read_files(self.sources, config, self.valid), config


class Option(NamedTuple):
    """A setting as an option, and the field that its value goes to."""

    name: str
    setting: Setting
    holder: str  # the field that holds the value in a dict; "" for a field of its own


def options_of(kind: type[CommandOptions]) -> Iterator[Option]:
    """Yield the options of a command: those of the first panel, the others, the common ones."""
    options: dict[str, Option] = {}
    common = {field.name for field in fields(CommandOptions)}
    for declared in sorted(fields(kind), key=lambda declared: declared.name in common):
        if "setting" in declared.metadata:
            options[declared.name] = Option(declared.name, declared.metadata["setting"], "")
            continue
        config, only, changes = declared.metadata["nested"]
        for name, inner in settings_of(config).items():
            if not only or name in only:
                options[name] = Option(name, replace(inner, **changes), declared.name)
    # A setting without names is none of the command line.
    options = {name: option for name, option in options.items() if option.setting.names != ()}
    for name in kind.FIRST.split() or list(options):
        option = options.pop(name)
        yield option._replace(setting=replace(option.setting, panel=""))
    yield from options.values()


def with_options(kind: type[CommandOptions], act: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function for Typer, with a parameter for each option, that acts on the options."""
    options = list(options_of(kind))

    def called(**typed: Any) -> None:
        values: dict[str, Any] = {}
        for option in options:
            value = value_of(option.setting, typed.get(option.name))
            if value is not None:
                holder = values.setdefault(option.holder, {}) if option.holder else values
                holder[option.name] = value
        act(kind(**values))

    parameters = [parameter(option) for option in options]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {item.name: item.annotation for item in parameters}
    return called


def value_of(declared: Setting, typed: Any) -> Any:
    """Return what was typed or is in the environment; None for neither."""
    if not typed and os.environ.get(declared.variable):  # Typer would split it into words
        value = parser_of(declared.values, declared.variable)(os.environ[declared.variable])
        return (value,) if declared.repeated else value
    if not declared.repeated:
        return typed
    return tuple(typed) if typed else None


def parameter(option: Option) -> Parameter:
    """Return the parameter of a function that Typer makes the option from."""
    declared, values = option.setting, option.setting.values
    names, about = declared.options(option.name), declared.about
    if declared.variable:
        about += f" (Or {declared.variable}.)"
    if declared.default_in_words:
        about += rf" [dim]\[default: {declared.default_in_words}][/dim]"
    keywords: dict[str, Any] = {"help": about, "metavar": values.metavar, "show_default": False}
    kind: Any = list[str] if declared.repeated else str
    if isinstance(values, Flag):
        kind = bool
    else:
        keywords |= {"parser": parser_of(values), "autocompletion": completer_of(values)}
    if names[0].startswith("-"):
        info = typer.Option(*names, rich_help_panel=declared.panel or None, **keywords)
    else:
        keywords["metavar"] = names[0]
        info = typer.Argument(**keywords)
    is_required = declared.default is MISSING
    annotation: Any = Annotated[kind if is_required else kind | None, info]
    default = Parameter.empty if is_required else None
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def parser_of(values: Values, variable: str | None = None) -> Callable[[Any], Any]:
    """Return a parser that raises BadParameter for a value that is not allowed.

    Typer's own limits let ``inf`` through, and their messages change from version to version.
    """

    def parse(typed: Any) -> Any:
        try:
            return values.checked(values.read(typed))
        except ValueError:
            several = "; 'charrnn sweep --try' compares several" if "," in str(typed) else ""
            what = not_one_of(typed, values.allowed) + several
            raise typer.BadParameter(what, param_hint=variable) from None

    return parse


def not_one_of(typed: Any, allowed: str) -> str:
    return f"{repr(typed)[:50]} is not {allowed}"


def completer_of(values: Values) -> Callable[[str], list[str]]:
    """Return a function for the shell: the names that begin so, with files beside ours."""

    def complete(incomplete: str) -> list[str]:
        names = [name for name in values.names if name.startswith(incomplete)]
        if names and values.names in (CORPORA, MODELS):
            files = sorted(glob.glob(glob.escape(incomplete) + "*"))
            names += [file for file in files if file not in names]
        return names  # if there are none, the shell completes files

    return complete


# Typer


Context = Any  # of Click
# Typer carries Click under a name that changes from version to version: Click is never imported.
USAGE_ERROR: type[BaseException] = typer.BadParameter.__mro__[1]
SHORT_EXAMPLES = 2  # of a command
END_OF_CLAUSE = re.compile(r"[.,:;]? \[|[.,:;] |\.$")

COMMANDS = {
    "train": "Train a network on a corpus.",
    "sweep": "Train with every combination of some settings, and compare.",
    "sample": "Draw new text from a model.",
    "eval": "Measure how well a model predicts a text.",
    "fill": "Fill in missing characters of a text.",
    "embed": "Convert each text to a vector.",
    "reach": "Measure how far back in time gradients reach.",
    "unfold": "Show every step of the network on a text, with its equations.",
    "info": "Show the contents of a model file.",
    "export": "Export a model to HTML, JavaScript, C, PyTorch or a small model file.",
    "guide": "Show the manual, a page for each topic.",
}


def main(args: Sequence[str]) -> None:
    """Run a command line. Errors come out as exceptions, but wrong usage, which Typer explains."""
    if "_CHARRNN_COMPLETE" in os.environ:
        program().main(args=list(args), prog_name="charrnn")  # exits
    command: Any
    if args and args[0] in COMMANDS:
        command, name, words = load(args[0]), f"charrnn {args[0]}", args[1:]
    else:
        command, name, words = program(), "charrnn", args
    try:  # not through main() of Typer, which handles Ctrl-C and closed pipes in its own way
        with command.make_context(name, list(words), obj={"args": words}) as ctx:
            command.invoke(ctx)
    except typer.Exit as end:
        raise SystemExit(end.exit_code) from None
    except USAGE_ERROR as error:
        from typer.rich_utils import rich_format_error

        cast(Any, error).message = visible(getattr(error, "message", ""))  # for a terminal
        rich_format_error(cast(Any, error))
        raise SystemExit(USAGE) from None


@cache
def load(name: str) -> Command:
    """Return a command, with its options imported, but not numpy."""
    module = import_module(f"charrnn.cli.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    page = page_of(module.__doc__ or COMMANDS[name])

    def act(options: Any) -> None:
        module.run(options, Console(options.quiet))

    app.command(name, cls=Command, **page)(with_options(module.Options, act))
    return cast(Command, typer.main.get_command(app))


def program() -> Commands:
    app = typer.Typer(rich_markup_mode="rich")
    app.callback(cls=Commands, invoke_without_command=True, **page_of(__doc__ or ""))(show_program)
    for name, line in COMMANDS.items():
        app.command(name, help=line)(lambda: None)
    return cast(Commands, typer.main.get_command(app))


def show_program(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        show_version()
    elif ctx.invoked_subcommand is None:
        ctx.get_help()
        raise typer.Exit(USAGE)


def page_of(text: str) -> dict[str, Any]:
    """Return the help and the examples of a docstring, whose first example begins with a #."""
    about, comment, examples = text.partition("\n\n# ")
    paragraphs = [" ".join(part.split()) for part in about.strip().split("\n\n")]
    settings = {"help_option_names": ["-h", "--help"]}
    epilog = f"{comment}{examples}".strip()
    return {"help": "\n\n".join(paragraphs), "epilog": epilog, "context_settings": settings}


class Page:
    """Help: with -h the first panel and few examples, with --help all; after it the examples."""

    def format_help(self: Any, ctx: Context, formatter: Any) -> None:
        page, examples = copy(self), self.epilog
        page.epilog = None  # Typer shows a copy of this command, and the examples come after it
        if "--help" not in ctx.find_root().obj["args"]:
            page.help = self.help.partition("\n\n")[0]
            page.params = in_short(self.params)
            shown = 1 if isinstance(self, Commands) else SHORT_EXAMPLES
            examples = "\n".join(examples.split("\n\n")[:shown])
        super(Page, page).format_help(ctx, formatter)  # type: ignore[misc]
        lines = examples.splitlines()
        unshown = len(self.params) - len(page.params)
        if unshown and isinstance(self, Command):
            lines += ["", f"{unshown} more options: {ctx.command_path} --help"]
        print_examples(lines)


def in_short(params: Sequence[Any]) -> list[Any]:
    """Return the parameters of the first panel, each with the first clause of its help."""
    short = [copy(param) for param in params if not getattr(param, "rich_help_panel", None)]
    for param in short:
        param.help = END_OF_CLAUSE.split(param.help or "")[0]
    return [param for param in short if "completion" not in param.name]


class Command(Page, TyperCommand):
    """A command, whose values are parsed without pydantic: it is as slow to import as numpy."""

    def get_params(self, ctx: Context) -> list[Any]:
        params = super().get_params(ctx)
        for param in params:
            # Typer since 0.25 asks for an object with ``coerce``; another Typer is left alone.
            if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
                param.get_runtime_param = partial(Parser, param.type_descriptor.parameter_info)
        return params


class Parser:
    """Parses the values of an option."""

    def __init__(self, info: Any) -> None:
        self.parse = info.parser or (lambda value: value)

    def coerce(self, value: Any, param: Any, ctx: Context) -> Any:
        """Return the parsed value, or a tuple for an option that can be repeated."""
        if param.multiple or param.nargs == -1:
            return tuple(self.parse(item) for item in value or ())
        return None if value is None else self.parse(value)


class Commands(Page, TyperGroup):
    """All commands, each with its line of help; completion needs the options of one."""

    def get_command(self, ctx: Context, cmd_name: str) -> Any:
        is_completing = ctx.resilient_parsing and cmd_name in COMMANDS
        return load(cmd_name) if is_completing else super().get_command(ctx, cmd_name)

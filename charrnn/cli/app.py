"""Learn the spelling of names, or of any text, and generate more like it.

A recurrent network learns which character comes next. It then generates new texts, and scores how
likely a given text is. By default, each line or paragraph is an example.

# learn the names of dinosaurs, then generate ten more
charrnn train dinosaurs
charrnn sample -n 10

# show the options that most people use, then all options
charrnn train -h
charrnn train --help

# complete commands and options in the shell
charrnn --install-completion
"""

import glob
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from charrnn.cli.console import Console, show_version
from charrnn.cli.shared_options import CommandOptions, not_one_of
from charrnn.errors import USAGE, SettingError
from charrnn.settings.values import Flag, Setting, Values, settings_of
from charrnn.system.packaged import CORPORA, MODELS
from charrnn.system.signals import delayed
from charrnn.system.visible import did_you_mean

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
    "export": "Export a model to HTML, JavaScript, C, PyTorch or a small file.",
    "guide": "Show the manual, a page for each topic.",
}
Command = Any  # of Click, which Typer carries under a name that changes from version to version
keyword = partial(Parameter, kind=Parameter.KEYWORD_ONLY)


def main(args: Sequence[str]) -> None:
    """Run a command line: Typer reads the options, and the command runs after it has ended."""
    try:
        with delayed():  # signals: Typer would take each for Ctrl-C
            run, options = program().main(list(args), "charrnn", standalone_mode=False)
    except HelpAsked as asked:
        context, status = asked.args
        show_help(context, is_whole="--help" in args)
        raise SystemExit(status) from None
    except Exception as error:
        if getattr(error, "exit_code", 0) == USAGE and hasattr(error, "format_message"):
            raise SettingError(*usage_in_our_words(error, args)) from error
        raise
    run(options, Console(options.quiet))


def usage_in_our_words(error: Any, args: Sequence[str]) -> tuple[str, str]:
    """Return the message and the hint for an error of Typer about wrong usage."""
    command = [word for word in args if word[:1] != "-"][:1]
    hint = f"Try '{' '.join(['charrnn', *command, '--help'])}'."
    param, name = getattr(error, "param", None), getattr(error, "param_hint", None)
    if param is not None:
        name = param.metavar if param.param_type_name == "argument" else param.opts[-1]
    if hasattr(error, "possibilities"):
        typed, params = error.option_name, error.ctx.command.params
        if command and error.ctx.parent is None:
            return f"no option {typed} before the command", "Type it after the command."
        long = [name[2:] for param in params for name in param.opts if name.startswith("--")]
        return f"no option {typed}", did_you_mean(typed.lstrip("-"), long, "--") or hint
    if name:
        return f"{name}: {error.message}" if error.message else f"{name} is missing", hint
    message = error.format_message().rstrip(".")
    extra = message.rpartition(" (")[2].removesuffix(")")
    is_model = extra in MODELS or (extra.endswith(".npz") and "[" not in extra)  # [lr] is a setting
    option = "-m" if is_model else "-n" if extra.isdecimal() and command == ["sample"] else ""
    if "extra argument" in message and option:
        hint = f"Did you mean {option} {shlex.quote(extra)}?"
    return message[:1].lower() + message[1:], hint


class HelpAsked(BaseException):
    """A request for help, with a context and a status. It is shown after Typer has ended."""


def ask(ctx: typer.Context, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        raise HelpAsked(ctx, 0)


HELP_OPTION = typer.Option(
    "--help", "-h", help="Show this help and exit.", metavar="", is_eager=True, callback=ask
)
Help: TypeAlias = Annotated[bool, HELP_OPTION]
Version = Annotated[bool, typer.Option("--version", help="Show the version and exit.", metavar="")]


def begin(ctx: typer.Context, version: Version = False, wants_help: Help = False) -> None:
    if version:
        show_version()
        raise SystemExit
    if ctx.invoked_subcommand is None:
        raise HelpAsked(ctx, USAGE)


def program() -> Command:
    """Return the group of all commands, of which none is imported yet."""
    app = typer.Typer(rich_markup_mode="rich")
    app.callback(cls=Commands, invoke_without_command=True, **page_of(__doc__ or ""))(begin)
    for name, line in COMMANDS.items():
        app.command(name, help=line)(lambda: None)
    return without_pydantic(typer.main.get_command(app))


class Commands(TyperGroup):
    """All commands: help needs a line of each, and a command line the options of one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Command, list[str]]:
        """Return the name of a command, the command and the arguments after it."""
        name, *arguments = args
        if name in COMMANDS:
            return name, load(name), arguments
        if ctx.resilient_parsing:  # the shell completes words
            return None, None, arguments
        is_option = name in ("help", "version")
        hint = f"Did you mean --{name}?" if is_option else did_you_mean(name, COMMANDS)
        raise SettingError(f"no command {name or repr(name)}", hint or "Try 'charrnn --help'.")


def load(name: str) -> Command:
    """Return a command that returns its function and its options. Numpy is not imported."""
    module = import_module(f"charrnn.cli.{name}")

    def read(**values: Any) -> tuple[Callable[[Any, Console], None], Any]:
        return module.run, options_from(module.Options, values)

    settings = command_settings(module.Options)
    asked = keyword("wants_help", annotation=Help, default=False)
    signature = Signature([*map(parameter, settings, settings.values()), asked])
    read.__signature__ = signature  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    shorts = {name: setting.short for name, setting in settings.items()}
    page = page_of(f"{COMMANDS[name]}\n\n{module.__doc__}")
    app.command(name, context_settings={"obj": shorts}, **page)(read)
    return without_pydantic(typer.main.get_command(app))


def settings_in(declared: Field[Any]) -> dict[str, Setting]:
    """Return the settings that a field of options holds, by name; one without names is none."""
    details = declared.metadata
    settings = details["nested"] if "nested" in details else {declared.name: details["setting"]}
    return {name: setting for name, setting in settings.items() if setting.names != ()}


def command_settings(kind: type[CommandOptions]) -> dict[str, Setting]:
    """Return the settings of the first panel, then the others, then those of every command."""
    settings: dict[str, Setting] = {}
    for declared in fields(kind):
        settings |= settings_in(declared)
    common = settings_of(CommandOptions)
    names = sorted(settings, key=lambda name: name in common)
    first = {name: replace(settings[name], panel="") for name in kind.FIRST.split() or names}
    return first | {name: settings[name] for name in names if name not in first}


def options_from(kind: type[CommandOptions], read: Mapping[str, Any]) -> CommandOptions:
    """Return the options of a command, of which Typer has read these values."""
    values: dict[str, Any] = {}
    for declared in fields(kind):
        settings = settings_in(declared).items()
        typed = {name: typed_value(setting, read[name]) for name, setting in settings}
        typed = {name: value for name, value in typed.items() if value is not None}
        values |= {declared.name: typed} if "nested" in declared.metadata else typed
    return kind(**values)


def typed_value(setting: Setting, value: Any) -> Any:
    """Return what was typed, or else is in the environment, where it is one value; or None."""
    if not value and os.environ.get(setting.variable):
        value = parser_of(setting.values, setting.variable)(os.environ[setting.variable])
        value = [value] if setting.repeated else value
    if setting.repeated:
        return tuple(value or ()) or None
    return None if value is False else value


def parameter(name: str, setting: Setting) -> Parameter:
    """Return a parameter of a function that Typer makes the option from."""
    values, names, default = setting.values, setting.options(name), setting.default_in_words
    about = setting.about + (f" (Or {setting.variable}.)" if setting.variable else "")
    about += rf" [dim]\[default: {default}][/dim]" if default else ""
    details: dict[str, Any] = {"help": about, "show_default": False}
    if not isinstance(values, Flag):
        details |= {"parser": parser_of(values), "autocompletion": completer_of(values)}
    if names[0].startswith("-"):
        details |= {"metavar": values.metavar, "rich_help_panel": setting.panel or None}
        info = typer.Option(*names, **details)
    else:
        info = typer.Argument(metavar=names[0], **details)
    kind: Any = list[values.kind] if setting.repeated else values.kind  # type: ignore[name-defined]
    if setting.default is MISSING:
        return keyword(name, annotation=Annotated[kind, info])
    nothing = False if isinstance(values, Flag) else None
    return keyword(name, annotation=Annotated[kind | None, info], default=nothing)


def parser_of(values: Values, variable: str | None = None) -> Callable[[Any], Any]:
    """Return a parser by the setting: the limits of Typer let ``inf`` through."""

    def value(typed: Any) -> Any:  # a name that Typer before 0.29 shows beside an argument
        try:
            return values.checked(values.read(typed))
        except ValueError:
            what = not_one_of(typed, values.allowed)
            if "," in str(typed) and sys.argv[1:2] == ["train"]:
                what += "; 'charrnn sweep --try' compares several"
            raise typer.BadParameter(what, param_hint=variable) from None

    return value


def completer_of(values: Values) -> Callable[[str], list[str]]:
    """Return a function for the shell: the names that begin so, with files beside ours."""

    def complete(incomplete: str) -> list[str]:
        names = [name for name in values.names if name.startswith(incomplete)]
        if names and values.names in (CORPORA, MODELS):
            names += sorted({*glob.glob(glob.escape(incomplete) + "*")}.difference(names))
        return names  # if there are none, the shell completes files

    return complete


def without_pydantic(command: Any) -> Any:
    """Return a command that parses values without pydantic, which takes 75 ms to import.

    No other place uses inner names of Typer. A version that has not these is left alone.
    """

    def coerce(parse: Callable[[Any], Any], value: Any, param: Any, ctx: Any) -> Any:
        if param.multiple or param.nargs == -1:
            return [parse(item) for item in value or ()]
        return None if value is None else parse(value)

    for param in command.params:
        param.metavar = param.metavar or ""  # no type
        if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
            parse = param.type_descriptor.parameter_info.parser or (lambda value: value)
            param.get_runtime_param = partial(SimpleNamespace, coerce=partial(coerce, parse))
        if param.param_type_name == "argument" and hasattr(param, "display_type_rich"):
            param.display_type_rich = lambda ctx: None
    return command


def page_of(text: str) -> dict[str, Any]:
    """Return the help and the examples of a docstring, whose first example begins with a #."""
    about, comment, examples = text.partition("\n\n# ")
    about = "\n\n".join(" ".join(part.split()) for part in about.strip().split("\n\n"))
    return {"help": about, "epilog": f"{comment}{examples}".strip(), "add_help_option": False}


def show_help(ctx: Any, *, is_whole: bool) -> None:
    """Show the help by Typer and examples: all, or the first panel in short and two examples."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    command, shorts, output = ctx.command, ctx.obj or {}, RichConsole(highlight=False)
    examples, command.epilog = command.epilog.split("\n\n"), None  # which Typer would wrap
    if not is_whole:
        command.help = command.help.partition("\n\n")[0]
        for param in command.params:
            param.help = shorts.get(param.name) or param.help.rstrip(".")
            param.hidden = bool(param.rich_help_panel) or "completion" in param.name
        hidden = sum(param.hidden for param in command.params)
        note = [f"{hidden} more options: {ctx.command_path} --help"] if hidden else []
        examples = ["\n".join(examples[:2]), *note]
    try:
        ctx.get_help()  # which prints it
        for line in "\n\n".join(examples).split("\n"):
            style = "dim" if line.startswith("#") else ""
            output.print(Text(f"  {line}".rstrip(), style), soft_wrap=True)
    except SystemExit:  # by Rich
        raise BrokenPipeError from None

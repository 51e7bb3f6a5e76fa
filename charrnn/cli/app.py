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

import os
import shlex
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Signature
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from charrnn.cli.console import Console, show_version
from charrnn.cli.typer_options import (
    command_settings,
    keyword,
    options_from,
    parameter,
    without_pydantic,
)
from charrnn.errors import USAGE, SettingError, unbracketed
from charrnn.system.packaged import MODELS
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


def main(args: Sequence[str]) -> None:
    """Run a command line: Typer reads the options, and the command runs after it has ended."""
    try:
        with delayed():  # signals: Typer would take each for Ctrl-C
            read = program().main(list(args), "charrnn", standalone_mode=False)
    except HelpAsked as asked:
        context, status = asked.args
        show_help(context, is_whole="--help" in args)
        raise SystemExit(status) from None
    except Exception as error:
        if getattr(error, "exit_code", 0) == USAGE and hasattr(error, "format_message"):
            raise SettingError(*usage_in_our_words(error, args)) from error
        raise
    if isinstance(read, int):  # Typer has told why it has nothing for this shell
        raise SystemExit(read)
    run, options = read
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
    extra = message.partition(" (")[2].removesuffix(")")  # one argument or several
    is_model = extra in MODELS or extra.endswith(".npz")
    option = "-m" if is_model else "-n" if extra.isdecimal() and command == ["sample"] else ""
    if "extra argument" in message and option and extra in args:
        hint = f"Did you mean {option} {unbracketed(shlex.quote(extra))}?"
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
    page = page_of(f"{COMMANDS[name]}\n\n{module.__doc__ or ''}")
    app.command(name, context_settings={"obj": shorts}, **page)(read)
    return without_pydantic(typer.main.get_command(app))


def page_of(text: str) -> dict[str, Any]:
    """Return the help and the examples of a docstring, whose first example begins with a #."""
    about, comment, examples = text.partition("\n\n# ")
    about = "\n\n".join(" ".join(part.split()) for part in about.strip().split("\n\n"))
    return {"help": about, "epilog": f"{comment}{examples}".strip(), "add_help_option": False}


def show_help(ctx: Any, *, is_whole: bool) -> None:
    """Show the help by Typer and examples: all, or the first panel in short and two examples."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    if "COLUMNS" in os.environ:  # Rich would take 0, and show nothing
        os.environ["COLUMNS"] = str(Console().out.window)
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

"""The commands by name, each loaded when it is called for.

A command is a module beside this one: a dataclass of options; a function that takes it, whose
docstring is its help; and EXAMPLES, lines to copy with comments between them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from charrnn.cli import completion, usage
from charrnn.cli import help as page
from charrnn.cli.console import Console, show_version
from charrnn.cli.did_you_mean import meant_by_command
from charrnn.cli.exit_status import USAGE
from charrnn.errors import CharrnnError, SettingError
from charrnn.escaping import Raw

Context = Any  # Click's, which Typer does not let one name in every version


class Entry(NamedTuple):
    """Where a command is found, and what it does in one line: the first of its docstring."""

    where: str
    line: str


COMMANDS = {
    "train": Entry("charrnn.cli.train:train", "Train a network on a corpus."),
    "sweep": Entry(
        "charrnn.cli.sweep:sweep", "Train with every combination of some settings, and compare."
    ),
    "sample": Entry("charrnn.cli.sample:sample", "Draw new text from a model."),
    "eval": Entry("charrnn.cli.eval:evaluate", "Measure how well a model predicts a text."),
    "fill": Entry("charrnn.cli.fill:fill", "Fill in what is missing of a text."),
    "embed": Entry("charrnn.cli.embed:embed", "Turn each text into one vector."),
    "reach": Entry("charrnn.cli.reach:reach", "Show how far the gradient reaches back."),
    "info": Entry("charrnn.cli.info:info", "Show what a model file holds."),
    "export": Entry("charrnn.cli.export:export", "Write a model for somebody without charrnn."),
    "slim": Entry("charrnn.cli.slim:slim", "Write a model without what only training needs."),
}

EXAMPLES = """
# learn the names of dinosaurs, then make up ten of them
charrnn train dinosaurs
charrnn sample -n 10

# all there is to say about a command
charrnn train --help

# let the shell complete commands and options
charrnn --install-completion
"""


class Command(TyperCommand):
    """A command whose help is our page, and whose errors know by what name it was called."""

    def invoke(self, ctx: Context) -> Any:
        try:
            return super().invoke(ctx)
        except CharrnnError as error:
            error.details["command"] = self.name
            raise

    def get_params(self, ctx: Context) -> list[Any]:
        params = super().get_params(ctx)
        spare_pydantic(params)
        return params

    def format_help(self, ctx: Context, formatter: Any) -> None:
        page.write(self, ctx, formatter, {})

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        with usage.placed(ctx):
            return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """All commands: known by name, imported one by one."""

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Context, formatter: Any) -> None:
        page.write(self, ctx, formatter, {name: entry.line for name, entry in COMMANDS.items()})

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # a line that says nothing is answered by help
            Console().out.write(Raw(ctx.get_help() + "\n"))
            raise typer.Exit(USAGE)
        with usage.placed(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            meant = meant_by_command(args[0], COMMANDS)
            raise SettingError(f"no such command: {args[0]}", f"{meant}Try 'charrnn --help'.")
        return super().resolve_command(ctx, args)


def load(name: str) -> Command:
    """The command of that name, made from its function."""
    from charrnn.cli.options import with_options

    module_name, _, function_name = COMMANDS[name].where.partition(":")
    module = import_module(module_name)
    app = _typer()
    register = app.command(
        name, cls=Command, epilog=getattr(module, "EXAMPLES", None), context_settings=_settings()
    )
    register(with_options(getattr(module, function_name)))
    command = typer.main.get_command(app)
    assert isinstance(command, Command)
    return command


def program() -> Commands:
    """The whole program, ready for a command line."""
    with_completion = _completion_is_asked_for()
    if with_completion:
        completion.mend()
    app = _typer(with_completion=with_completion)
    register = app.callback(cls=Commands, epilog=EXAMPLES, context_settings=_settings())
    register(_charrnn)
    group = typer.main.get_command(app)
    assert isinstance(group, Commands)
    return group


def main(args: Sequence[str]) -> None:
    """Run one command line. Errors are raised, and reported by error_messages.py."""
    if "_CHARRNN_COMPLETE" in os.environ:
        program().main(args=list(args), prog_name="charrnn")
    command: Command | Commands
    if args and args[0] in COMMANDS:  # straight to it, past the options of the program
        command, name, rest = load(args[0]), f"charrnn {args[0]}", args[1:]
    else:
        command, name, rest = program(), "charrnn", args
    # Not through main(), which takes errors, Ctrl-C and closed pipes into its own hands.
    with command.make_context(name, list(rest)) as ctx:
        command.invoke(ctx)


def _charrnn(
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    """Learn how a text is spelt, character by character, and write more of its kind.

    A recurrent network learns from names, verses, words: a line or a paragraph each. It then
    makes up new ones, and says how likely any text is.
    """
    if version:
        show_version()
        raise typer.Exit


def _typer(*, with_completion: bool = False) -> typer.Typer:
    return typer.Typer(
        add_completion=with_completion, rich_markup_mode=None, pretty_exceptions_enable=False
    )


def _settings() -> dict[str, Any]:
    return {"help_option_names": ["-h", "--help"], "terminal_width": page.width()}


def _completion_is_asked_for() -> bool:
    """Its options cost an import of seventy milliseconds in some versions of Typer."""
    import sys

    return "_CHARRNN_COMPLETE" in os.environ or any(
        arg.startswith(("--install-completion", "--show-completion")) for arg in sys.argv
    )


class AsTyped:
    """What an option of Typer asks for its value: the parser's word for what was typed.

    Typer since 0.25 leaves that to pydantic, whose import takes as long as numpy's. Each of our
    options brings its own parser, or takes a string as it is, so nothing is left to do for it. A
    Typer that asks in another way is left alone.
    """

    def __init__(self, parse: Callable[[Any], Any] | None) -> None:
        self.parse = parse

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value, or each of several; nothing where nothing was typed."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if self.parse is None:
            return list(value) if several else value
        return [self.parse(one) for one in value] if several else self.parse(value)


def spare_pydantic(params: list[Any]) -> None:
    """Let these parameters of a command find their values themselves."""
    for param in params:
        if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
            found = AsTyped(param.type_descriptor.parameter_info.parser)
            param.get_runtime_param = lambda found=found: found

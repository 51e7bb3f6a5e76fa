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

import os
import re
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, partial
from importlib import import_module
from types import SimpleNamespace
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from charrnn import system
from charrnn.cli.console import Console, show_version
from charrnn.cli.options_from_settings import with_options
from charrnn.control_characters import visible
from charrnn.errors import USAGE

Context = Any  # of Click
# Typer carries Click under a name that changes from version to version: Click is never imported.
USAGE_ERROR: type[BaseException] = typer.BadParameter.__mro__[1]
SHORT_EXAMPLES = 2  # of a command

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
        program().main(args=list(args), prog_name="charrnn")
    is_command = bool(args) and args[0] in COMMANDS
    command = load(args[0]) if is_command else program()
    name, words = (f"charrnn {args[0]}", args[1:]) if is_command else ("charrnn", args)
    try:  # not through main() of Typer, which handles Ctrl-C and closed pipes in its own way
        with command.make_context(name, list(words), obj={"short": "--help" not in words}) as ctx:
            command.invoke(ctx)
    except typer.Exit as end:
        raise SystemExit(end.exit_code) from None
    except USAGE_ERROR as error:
        from typer.rich_utils import rich_format_error

        vars(error)["message"] = visible(getattr(error, "message", ""))
        rich_format_error(cast(Any, error))
        raise SystemExit(USAGE) from None


@cache
def load(name: str) -> Command:
    """Return a command, with its options imported, but not numpy."""
    module = import_module(f"charrnn.cli.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    page = page_of(module.__doc__ or COMMANDS[name])

    def act(options: Any) -> None:
        os.environ.update(system.ONE_THREAD)  # before numpy is imported
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

    def get_params(self: Any, ctx: Context) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        if "charrnn.short" not in ctx.meta:
            return list(params)
        first = [copy(param) for param in params if not getattr(param, "rich_help_panel", None)]
        for param in first:
            param.help = re.split(r"[.,:;]? \[|[.,:;] |\.$", param.help or "")[0]
        return [param for param in first if "completion" not in param.name]

    def format_help(self: Any, ctx: Context, formatter: Any) -> None:
        from rich.console import Console as Rich
        from rich.text import Text

        page, examples, hidden = copy(self), self.epilog, 0
        page.epilog = None
        if ctx.find_root().obj["short"]:
            ctx.meta["charrnn.short"] = True
            page.help = self.help.partition("\n\n")[0]
            shown = 1 if isinstance(self, Commands) else SHORT_EXAMPLES
            examples = "\n".join(examples.split("\n\n")[:shown])
            hidden = len(self.params) + 1 - len(self.get_params(ctx))  # with --help
        super(Page, page).format_help(ctx, formatter)  # type: ignore[misc]
        console = Rich(highlight=False, soft_wrap=True)
        for line in examples.splitlines():
            console.print(Text(f"  {line}".rstrip(), "dim" if line.startswith("#") else ""))
        if hidden and isinstance(self, Command):
            console.print(Text(f"\n  {hidden} more options: {ctx.command_path} --help"))


class Command(Page, TyperCommand):
    """A command, whose values are parsed without pydantic: it is as slow to import as numpy."""

    def get_params(self, ctx: Context) -> list[Any]:
        params = super().get_params(ctx)
        for param in params:
            # Typer since 0.25 calls this method; another Typer is left alone.
            if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
                parse = param.type_descriptor.parameter_info.parser or (lambda value: value)
                parser = SimpleNamespace(coerce=partial(coerce, parse))
                param.get_runtime_param = lambda parser=parser: parser
        return params


def coerce(parse: Callable[[Any], Any], value: Any, param: Any, ctx: Any) -> Any:
    """Return the parsed value, or a tuple for an option that can be repeated."""
    if param.multiple or param.nargs == -1:
        return tuple(parse(item) for item in value or ())
    return None if value is None else parse(value)


class Commands(Page, TyperGroup):
    """All commands, each with its line of help; completion needs the options of one."""

    def get_command(self, ctx: Context, cmd_name: str) -> Any:
        is_known = ctx.resilient_parsing and cmd_name in COMMANDS
        return load(cmd_name) if is_known else super().get_command(ctx, cmd_name)

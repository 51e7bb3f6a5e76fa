"""The commands: their help, usage errors, and the dispatcher that runs one command.

Typer raises the errors of Click, which it carries under a name that changes from version to
version. So errors are recognised by their attributes, and Click is never imported. Help is a page
of plain text: Rich would take 50 milliseconds to import, and read markup in plain text.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup

from charrnn import system
from charrnn.cli import console as streams
from charrnn.cli.console import BOLD, CYAN, DIM, INTERRUPTED, USAGE, Console, Fault
from charrnn.errors import SettingError
from charrnn.text import Raw, question, visible

Context = Any  # of Click

# Commands


class Entry(NamedTuple):
    """The modules of a command, the first line of its help, and the page of the guide about it."""

    options: str  # with Options, and help as its docstring; without numpy
    work: str  # with run(options, threads, console)
    line: str
    topic: str = ""


IN_FOLDERS = {
    "train": ("Train a network on a corpus.", "better"),
    "sample": ("Draw new text from a model.", "sampling"),
    "eval": ("Measure how well a model predicts a text.", "scoring"),
}
IN_FILES = {
    "sweep": ("Train with every combination of some settings, and compare.", "better"),
    "fill": ("Fill in missing characters of a text.", "sampling"),
    "embed": ("Convert each text to a vector.", "scoring"),
    "reach": ("Measure how far back in time gradients reach.", "book"),
    "unfold": ("Show every step of the network on a text, with its equations.", "book"),
    "info": ("Show the contents of a model file.", "formats"),
    "export": ("Export a model to HTML, JavaScript, C, PyTorch or ONNX.", "export"),
    "slim": ("Write a smaller model file, without the training state.", "export"),
    "guide": ("Show the manual, a page for each topic.", ""),
}
COMMANDS = {
    name: Entry(f"charrnn.cli.{name}{options}", f"charrnn.cli.{name}{work}", *about)
    for commands, options, work in ((IN_FOLDERS, ".options", ".run"), (IN_FILES, "", ""))
    for name, about in commands.items()
}

HELP = """
Learn the spelling of a list of names, or of any text, and generate more like it.

A recurrent network learns which character comes next. It then generates new texts, and scores how
likely a given text is. Each line or paragraph of the corpus is one example.

# learn the names of dinosaurs, then generate ten new ones
charrnn train dinosaurs
charrnn sample -n 10

# show all options of a command
charrnn train --help

# complete commands and options in the shell
charrnn --install-completion
"""
STATUSES = {
    "0": "Success.",
    "1": "Failure, such as a missing file.",
    "2": "Wrong usage.",
    "3": "charrnn eval --above has found something.",
    "130": "Ctrl-C.",
    "141": "The reader of standard output has left.",
    "128 + N": "Signal N, such as 143 for SIGTERM.",
}
VARIABLES = {
    "CHARRNN_MODEL": "The model file, in place of model.npz.",
    "CHARRNN_DEBUG=1": "Show the traceback of every error.",
    "NO_COLOR=1": "Use no colours.",
    "COLUMNS=N": "The width of the terminal.",
}
JSON = """
Each object of --json has a "schema", such as charrnn.eval/1. New keys may come; a key that changes
its meaning changes the number.
"""


def main(args: Sequence[str]) -> None:
    """Run a command line. All errors come out as exceptions."""
    if "_CHARRNN_COMPLETE" in os.environ:
        program().main(args=list(args), prog_name="charrnn")
    command: Command | Commands
    if args and args[0] in COMMANDS:  # without the detour through the options of the program
        command, name, rest = load(args[0]), f"charrnn {args[0]}", args[1:]
    else:
        command, name, rest = program(), "charrnn", args
    # Not through main() of Typer, which handles errors, Ctrl-C and closed pipes in its own way.
    size = shutil.get_terminal_size((Console().out.window, 24))
    width = max(streams.NARROW, min(size.columns, streams.WIDE))
    with command.make_context(name, list(rest), terminal_width=width) as ctx:
        command.invoke(ctx)


@cache
def load(name: str) -> Command:
    from charrnn.cli.options import with_options

    module = import_module(COMMANDS[name].options)
    act = with_options(module.Options, partial(dispatch, name))
    app = _typer()
    app.command(name, cls=Command, **_page(module.__doc__ or COMMANDS[name].line))(act)
    return cast(Command, typer.main.get_command(app))


def dispatch(name: str, options: Any) -> None:
    """Do what every command repeats, then import the module that does the work, and run it."""
    from charrnn.cli.console import has_text
    from charrnn.cli.options import check, note_own_models

    console = Console(options.quiet)
    sources = getattr(options, "sources", None)
    if getattr(options, "held_out", None) is False and not sources and has_text(console):
        options = replace(options, sources=("-",))
    check(options)
    note_own_models(options, console)
    threads = system.set_threads(options.wanted_threads)  # before numpy is imported
    import_module(COMMANDS[name].work).run(options, threads, console)


def program() -> Commands:
    flags = ("--install-completion", "--show-completion")
    completes = "_CHARRNN_COMPLETE" in os.environ or any(arg.startswith(flags) for arg in sys.argv)
    if completes:  # slow to import
        with suppress(ImportError, AttributeError):  # another Typer may keep its scripts elsewhere
            from typer import _completion_shared as shared

            shared._completion_scripts["zsh"] = ZSH
    app = _typer(add_completion=completes)
    app.callback(cls=Commands, **_page(HELP))(_charrnn)
    return cast(Commands, typer.main.get_command(app))


def _charrnn(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        streams.show_version()
        raise typer.Exit


def _typer(add_completion: bool = False) -> typer.Typer:
    return typer.Typer(
        add_completion=add_completion, rich_markup_mode=None, pretty_exceptions_enable=False
    )


def _page(text: str) -> dict[str, Any]:
    about, comment, examples = text.partition("\n\n# ")  # the first example begins so
    settings = {"help_option_names": ["-h", "--help"]}
    return {"help": about, "epilog": comment + examples, "context_settings": settings}


class Base:
    """A command with our page of help, named in each of its usage errors."""

    def format_help(self: Any, ctx: Context, formatter: Any) -> None:
        """Write the page of a command, or of the program with one line for each command."""
        is_program = isinstance(self, Commands)
        pieces, panels = ["[OPTIONS]"], dict[str, list[tuple[str, str]]]()
        if is_program:
            panels["Commands"] = [(_styled(name, CYAN), COMMANDS[name].line) for name in COMMANDS]
        for param in self.get_params(ctx):
            if getattr(param, "hidden", False):
                continue
            if param.param_type_name == "argument":
                name = (param.metavar or param.name.upper()) + "..." * (param.nargs == -1)
                panel, left = "Arguments", _styled(name, CYAN)
                pieces.append(name if param.required else f"[{name}]")
            else:
                panel, left = "Options", _option(param)
            about = [param.help or ""]
            about += [f"[default: {param.show_default}]"] * isinstance(param.show_default, str)
            about += [f"[env: {param.envvar}]"] * bool(param.envvar)
            panel = getattr(param, "rich_help_panel", None) or panel
            panels.setdefault(panel, []).append((left, " ".join(about).strip()))
        if "Options" in panels:  # last
            panels["Options"] = panels.pop("Options")
        if is_program:
            panels |= {"Exit status": [*STATUSES.items()], "Environment": [*VARIABLES.items()]}
            pieces.append("COMMAND ...")
        formatter.write_usage(ctx.command_path, " ".join(pieces))
        formatter.write_paragraph()
        formatter.write_text(self.help or "")
        for panel, rows in panels.items():
            with formatter.section(_styled(panel, BOLD)):
                formatter.write_dl(rows, col_max=min(30, formatter.width // 2))
        if is_program:
            with formatter.section(_styled("JSON", BOLD)):
                formatter.write_text(JSON.strip())
        if self.epilog:
            with formatter.section(_styled("Examples", BOLD)):
                for line in self.epilog.strip().splitlines():
                    shown = _styled(line, DIM) if line.startswith("#") else line
                    formatter.write(f"  {shown}\n" if line else "\n")
        if self.name in COMMANDS and (topic := COMMANDS[self.name].topic):
            formatter.write_paragraph()
            formatter.write_text(f"More: charrnn guide {topic}")

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        try:
            parsed: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except USAGE_ERROR as error:
            if getattr(error, "ctx", ctx) is None:  # some errors lack their command
                vars(error)["ctx"] = ctx
            raise
        return parsed


class Command(Base, TyperCommand):
    """A command, whose values are parsed without pydantic."""

    def get_params(self, ctx: Context) -> list[Any]:
        params: list[Any] = super().get_params(ctx)
        for param in params:
            # Typer since 0.25 calls this method; another Typer is left alone.
            if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
                parse = param.type_descriptor.parameter_info.parser or (lambda value: value)
                parser = SimpleNamespace(coerce=partial(coerce, parse))
                param.get_runtime_param = lambda parser=parser: parser
        return params


class Commands(Base, TyperGroup):
    """All commands, each imported when it is needed."""

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # `charrnn` alone shows its help
            Console().out.write(Raw(ctx.get_help() + "\n"))
            raise typer.Exit(USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing:
            close = get_close_matches(name, list(COMMANDS), 3, CLOSE)
            meant = question(COMMANDS_ELSEWHERE.get(name.lower(), close))
            raise SettingError(f"no such command: {name}", f"{meant}Try 'charrnn --help'.")
        return super().resolve_command(ctx, args)


def coerce(parse: Callable[[Any], Any], value: Any, param: Any, ctx: Any) -> Any:
    """Return the parsed value, or a list for an option that can be repeated.

    This takes the place of pydantic, which takes as long to import as numpy.
    """
    if param.multiple or param.nargs == -1:
        return () if value is None else [parse(one) for one in value]
    return None if value is None else parse(value)


# Usage errors

CLOSE = 0.75  # the similarity of a mistyped word to the right one; 1 for the same word
COMMANDS_ELSEWHERE = {  # commands of other programs
    "generate": ["sample"],
    "predict": ["sample", "eval"],
    "score": ["eval"],
    "test": ["eval"],
    "fit": ["train"],
    "finetune": ["train"],
    "tune": ["sweep"],
    "show": ["info"],
}
OPTIONS_ELSEWHERE = {  # options of other programs: the command, and our option
    "batch-size": ("train", "--batch"),
    "hidden-size": ("train", "--hidden"),
    "rnn-size": ("train", "--hidden"),
    "num-layers": ("train", "--layers"),
    "seq-length": ("train", "--bptt"),
    "max-epochs": ("train", "--epochs"),
    "learning-rate": ("train", "--lr"),
    "o": ("train", "-m"),
    "temperature": ("sample", "--temp"),
    "length": ("sample", "--max-chars"),
    "prompt": ("sample", "--prime"),
}
EXTRA = r"unexpected extra arguments?(?:\(s\))? \((.*)\)"
USAGE_ERROR: type[BaseException] = typer.BadParameter.__mro__[1]


def explain(error: BaseException) -> Fault | None:
    """Return the status and the message for an error of Typer; None for another error."""
    if isinstance(error, typer.Exit):
        return Fault(error.exit_code)
    if isinstance(error, typer.Abort):
        return Fault(INTERRUPTED)
    if isinstance(error, USAGE_ERROR):
        return _usage(error)
    return None


def _usage(error: Any) -> Fault:
    """Return the message and the hint for a usage error."""
    command = error.ctx.command_path if error.ctx is not None else "charrnn"
    message, meant = str(error.format_message()).rstrip("."), ""
    what = message[:1].lower() + message[1:]
    parameter = getattr(error, "param", None)
    if hasattr(error, "possibilities"):
        params = [] if error.ctx is None else error.ctx.command.get_params(error.ctx)
        names = [name for param in params for name in (*param.opts, *param.secondary_opts)]
        options = [name for name in names if name.startswith("-")]
        what = f"no such option: {error.option_name}"
        meant = meant_by_option(error.option_name, command.rpartition(" ")[2], options)
    elif parameter is not None:
        name = " or ".join(sorted(parameter.opts, key=len))  # -t or --temp
        if parameter.param_type_name == "argument":
            name = parameter.metavar or parameter.name.upper()
        what = f"{name} is missing" if hasattr(error, "param_type") else f"{name}: {error.message}"
    elif extra := re.search(EXTRA, message):
        what = f"unexpected argument: {extra[1] or repr('')}"
        if extra[1].partition(" ")[0].endswith(".npz"):
            meant = f"A model is named with -m: {command} -m {extra[1].partition(' ')[0]}. "
    elif re.search(r"requires an? (argument|value)", message):
        what = f"{error.option_name} needs a value"
    return Fault(USAGE, what, f"{meant}Try '{command} --help'.")


def meant_by_option(typed: str, command: str, options: Collection[str]) -> str:
    """Return a question or advice about an option that this command lacks; or nothing."""
    word = typed.lstrip("-").lower().replace("_", "-")
    if word in ("gpu", "cuda", "device"):
        return "charrnn needs no graphics card: leave that out. "
    owner, ours = OPTIONS_ELSEWHERE.get(word, ("", ""))
    if ours in options and owner == ("train" if command == "sweep" else command):
        return question([ours])
    names = {name.lstrip("-"): name for name in options if len(name) > 2}
    near = get_close_matches(word, list(names), 1, CLOSE) if len(word) > 1 else []
    if ours and not near:
        return question([f"{ours} of charrnn {owner}"])
    return question([names[name] for name in near])


def _option(param: Any) -> str:
    short = [name for name in param.opts if not name.startswith("--")]
    long = [name for name in param.opts if name.startswith("--")]
    names = ", ".join([*short, "/".join([*long, *param.secondary_opts])])
    metavar = "" if param.is_flag else f" {param.metavar or 'TEXT'}"
    return ("" if short else "    ") + _styled(names, CYAN) + metavar


def _styled(text: str, style: str) -> str:
    return Console().out.paint(visible(text), style)


# Completion

# Typer's own script for zsh completes nothing at the first Tab: it only defines a function.
ZSH = """
#compdef %(prog_name)s

_%(prog_name)s() {
  eval "$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" \
%(autocomplete_var)s=complete_zsh "${words[1]}" 2> /dev/null)"
}

if [[ "${funcstack[1]}" == "_%(prog_name)s" ]]; then
  _%(prog_name)s "$@"
else
  (( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit }
  compdef _%(prog_name)s %(prog_name)s
fi
"""

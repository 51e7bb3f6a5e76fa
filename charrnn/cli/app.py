"""The commands: their help, what is typed wrong, and the dispatcher that runs one of them.

Typer raises the errors of Click, which it carries under a name that changes from version to
version. So errors are recognised by their attributes, and Click is never imported. Help is a page
of plain text: Rich would take 50 milliseconds to import, and read markup in plain text.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from charrnn.cli import launcher
from charrnn.cli.console import BOLD, CYAN, DIM, INTERRUPTED, USAGE, Console, Fault, show_version
from charrnn.errors import SettingError
from charrnn.text import Raw, visible

if TYPE_CHECKING:
    from charrnn.cli.options import CommandOptions

Context = Any  # of Click

# Commands


class Entry(NamedTuple):
    """The modules of a command, and the first line of its help.

    ``options`` defines Options, HELP and EXAMPLES, and does not import numpy. ``work`` defines
    run(options, threads, console).
    """

    options: str
    work: str
    line: str


def _in_folder(name: str, line: str) -> Entry:
    return Entry(f"charrnn.cli.{name}.options", f"charrnn.cli.{name}.run", line)


def _in_file(name: str, line: str) -> Entry:
    return Entry(f"charrnn.cli.{name}", f"charrnn.cli.{name}", line)


COMMANDS = {
    "train": _in_folder("train", "Train a network on a corpus."),
    "sweep": _in_folder("sweep", "Train with every combination of some settings, and compare."),
    "sample": _in_folder("sample", "Draw new text from a model."),
    "eval": _in_folder("eval", "Measure how well a model predicts a text."),
    "fill": _in_file("fill", "Fill in missing characters of a text."),
    "embed": _in_file("embed", "Convert each text to a vector."),
    "reach": _in_file("reach", "Measure how far back in time gradients reach."),
    "info": _in_file("info", "Show the contents of a model file."),
    "export": _in_file("export", "Export a model to HTML, JavaScript, C, PyTorch or ONNX."),
    "slim": _in_file("slim", "Write a model without what only training needs."),
}

HELP = """
Learn the spelling patterns of a list of names, or of any text, and generate more of the kind.

A recurrent network learns which character comes next. It then generates new texts, and scores how
likely a given text is. Each line or paragraph of the corpus is one example.
"""
EXAMPLES = """
# learn the names of dinosaurs, then generate ten new ones
charrnn train dinosaurs
charrnn sample -n 10

# show all options of a command
charrnn train --help

# complete commands and options in the shell
charrnn --install-completion
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
    with command.make_context(name, list(rest)) as ctx:
        command.invoke(ctx)


def load(name: str) -> Command:
    """Return the command of that name, made from its options."""
    from charrnn.cli.options import with_options

    module = import_module(COMMANDS[name].options)
    app = _typer()
    settings = _settings()
    register = app.command(
        name, cls=Command, help=module.HELP, epilog=module.EXAMPLES, context_settings=settings
    )
    register(with_options(module.Options, partial(dispatch, name)))
    command = typer.main.get_command(app)
    assert isinstance(command, Command)
    return command


def dispatch(name: str, options: CommandOptions) -> None:
    """Do what every command repeats, then import the module that does the work, and run it."""
    from charrnn.cli.options import check, with_piped_text

    console = Console(options.quiet)
    options = with_piped_text(options, console)
    check(options)
    threads = launcher.set_threads(options.wanted_threads)  # before numpy is imported
    import_module(COMMANDS[name].work).run(options, threads, console)


def program() -> Commands:
    """Return the program with all its commands."""
    with_completion = _wants_completion()
    if with_completion:
        repair_completion()
    app = _typer(with_completion=with_completion)
    register = app.callback(cls=Commands, help=HELP, epilog=EXAMPLES, context_settings=_settings())
    register(_charrnn)
    group = typer.main.get_command(app)
    assert isinstance(group, Commands)
    return group


def _charrnn(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        show_version()
        raise typer.Exit


def _typer(*, with_completion: bool = False) -> typer.Typer:
    return typer.Typer(
        add_completion=with_completion, rich_markup_mode=None, pretty_exceptions_enable=False
    )


def _settings() -> dict[str, Any]:
    return {"help_option_names": ["-h", "--help"], "terminal_width": width()}


class Command(TyperCommand):
    """A command whose help is our page."""

    def get_params(self, ctx: Context) -> list[Any]:
        params = super().get_params(ctx)
        spare_pydantic(params)
        return params

    def format_help(self, ctx: Context, formatter: Any) -> None:
        write_help(self, ctx, formatter, {})

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        with usage_errors_in(ctx):
            return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """All commands, each imported when it is needed."""

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Context, formatter: Any) -> None:
        write_help(self, ctx, formatter, {name: entry.line for name, entry in COMMANDS.items()})

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # `charrnn` alone shows its help
            Console().out.write(Raw(ctx.get_help() + "\n"))
            raise typer.Exit(USAGE)
        with usage_errors_in(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing:
            close = get_close_matches(name, list(COMMANDS), 3, CLOSE)
            meant = question(COMMANDS_ELSEWHERE.get(name.lower(), close))
            raise SettingError(f"no such command: {name}", f"{meant}Try 'charrnn --help'.")
        return super().resolve_command(ctx, args)


class AsTyped:
    """A replacement for what Typer asks for the value of an option.

    Typer since 0.25 asks pydantic, which takes as long to import as numpy. Our options bring their
    own parsers or take a string, so pydantic has nothing to do. A Typer that works in another way
    is left alone.
    """

    def __init__(self, parse: Callable[[Any], Any] | None) -> None:
        self.parse = parse

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the parsed value, or a list for an option that can be repeated."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if self.parse is None:
            return list(value) if several else value
        return [self.parse(one) for one in value] if several else self.parse(value)


def spare_pydantic(params: list[Any]) -> None:
    """Let these parameters of a command parse their values without pydantic."""
    for param in params:
        if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
            parser = AsTyped(param.type_descriptor.parameter_info.parser)
            param.get_runtime_param = lambda parser=parser: parser


# Usage errors

CLOSE = 0.75  # the likeness of a slip of the finger to the right word; 1 for the same word
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
SAME_OPTIONS = {"sweep": "train"}
GRAPHICS = ("gpu", "cuda", "device")
MODEL_AS_TEXT = re.compile(r"unexpected extra arguments?(?:\(s\))? \((\S+\.npz)\b")
_USAGE_ERROR: type = typer.BadParameter.__mro__[1]


def explain(error: BaseException) -> Fault | None:
    """Return the status and the message for an error of Typer; None for another error."""
    if isinstance(error, typer.Exit):
        return Fault(error.exit_code)
    if isinstance(error, typer.Abort):
        return Fault(INTERRUPTED)
    if isinstance(error, _USAGE_ERROR):
        return Fault(USAGE, _what(error), _hint(error))
    return None


@contextmanager
def usage_errors_in(ctx: Context) -> Iterator[None]:
    """Note the command in usage errors that lack it."""
    try:
        yield
    except Exception as error:
        if isinstance(error, _USAGE_ERROR) and getattr(error, "ctx", ctx) is None:
            vars(error)["ctx"] = ctx
        raise


def _what(error: Any) -> str:
    parameter = getattr(error, "param", None)
    if hasattr(error, "possibilities"):
        return f"no such option: {error.option_name}"
    if parameter is not None:
        is_missing = hasattr(error, "param_type")
        name = max(parameter.opts, key=len)  # --temp rather than -t
        if parameter.param_type_name == "argument":
            name = parameter.metavar or parameter.name.upper()
        return f"{name} is missing" if is_missing else f"{name}: {error.message}"
    message = str(error.format_message()).rstrip(".")
    return message[:1].lower() + message[1:]


def _hint(error: Any) -> str:
    command = error.ctx.command_path if error.ctx is not None else "charrnn"
    meant = ""
    if model := MODEL_AS_TEXT.search(str(error.message)):
        meant = f"A model is named with -m: {command} -m {model[1]}. "
    if hasattr(error, "possibilities"):
        params = [] if error.ctx is None else error.ctx.command.get_params(error.ctx)
        options = [
            name
            for param in params
            if param.param_type_name == "option"
            for name in (*param.opts, *param.secondary_opts)
        ]
        meant = meant_by_option(error.option_name, command.rpartition(" ")[2], options)
    return f"{meant}Try '{command} --help'."


def meant_by_option(typed: str, command: str, options: Collection[str]) -> str:
    """Return a question or advice about an option that this command lacks; or nothing."""
    word = typed.lstrip("-").lower().replace("_", "-")
    if word in GRAPHICS:
        return "charrnn needs no graphics card: leave that out. "
    owner, ours = OPTIONS_ELSEWHERE.get(word, ("", ""))
    if ours in options and owner == SAME_OPTIONS.get(command, command):
        return question([ours])
    names = {name.lstrip("-"): name for name in options if len(name) > 2}
    near = get_close_matches(word, list(names), 1, CLOSE) if len(word) > 1 else []
    if ours and not near:
        return question([f"{ours} of charrnn {owner}"])
    return question([names[name] for name in near])


def question(names: Collection[str]) -> str:
    """Return the question whether one of these was meant; nothing without a name."""
    return f"Did you mean {' or '.join(names)}? " if names else ""


# Help


def width() -> int:
    """Return the columns of a page of help."""
    return max(20, min(shutil.get_terminal_size().columns, 100))


def write_help(command: Any, ctx: Any, formatter: Any, commands: Mapping[str, str]) -> None:
    """Write the page of a command, or of the program with one line for each command."""
    params = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    arguments = [
        _argument(param) if param.required else f"[{_argument(param)}]"
        for param in params
        if param.param_type_name == "argument"
    ]
    pieces = ["[OPTIONS]", *arguments, *(["COMMAND ..."] if commands else [])]
    formatter.write_usage(ctx.command_path, " ".join(pieces))
    formatter.write_paragraph()
    formatter.write_text(command.help or "")
    panels = {"Commands": [(_styled(k, CYAN), v) for k, v in commands.items()]} if commands else {}
    for param in params:
        is_argument = param.param_type_name == "argument"
        panel = getattr(param, "rich_help_panel", None) or ("Arguments", "Options")[not is_argument]
        left = _styled(_argument(param), CYAN) if is_argument else _option(param)
        panels.setdefault(panel, []).append((left, _about(param)))
    if "Options" in panels:  # last
        panels["Options"] = panels.pop("Options")
    for panel, rows in panels.items():
        with formatter.section(_styled(panel, BOLD)):
            formatter.write_dl(rows, col_max=min(30, width() // 2))
    if command.epilog:
        with formatter.section(_styled("Examples", BOLD)):
            for line in command.epilog.strip().splitlines():
                shown = _styled(line, DIM) if line.startswith("#") else line
                formatter.write(f"  {shown}\n" if line else "\n")


def _argument(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return f"{name}..." if param.nargs == -1 else name


def _option(param: Any) -> str:
    short = [name for name in param.opts if not name.startswith("--")]
    long = [name for name in param.opts if name.startswith("--")]
    names = ", ".join([*short, "/".join([*long, *param.secondary_opts])])
    metavar = "" if param.is_flag else f" {param.metavar or 'TEXT'}"
    return ("" if short else "    ") + _styled(names, CYAN) + metavar


def _about(param: Any) -> str:
    default = param.show_default
    if default is True and isinstance(param.default, (str, int, float, Path)):
        default = str(param.default) if not isinstance(param.default, bool) else ""
    asides = [f"[default: {default}]"] if isinstance(default, str) and default else []
    asides += [f"[env: {param.envvar}]"] if param.envvar else []
    return " ".join([param.help or "", *asides]).strip()


def _styled(text: str, style: str) -> str:
    return Console().out.paint(visible(text), style)


# Completion


def _wants_completion() -> bool:
    """Return True if Typer's completion is needed, which is slow to import."""
    return "_CHARRNN_COMPLETE" in os.environ or any(
        arg.startswith(("--install-completion", "--show-completion")) for arg in sys.argv
    )


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


def repair_completion() -> None:
    """Replace Typer's script for zsh; a Typer that keeps it elsewhere is left alone."""
    try:
        from typer import _completion_shared
    except ImportError:
        return
    scripts = getattr(_completion_shared, "_completion_scripts", None)
    if isinstance(scripts, dict) and "zsh" in scripts:
        scripts["zsh"] = ZSH

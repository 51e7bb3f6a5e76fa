"""The commands by name, each loaded when it is called for.

A command is a module beside this one: a dataclass of options; a function that takes it, whose
docstring is its help; and EXAMPLES, lines to copy with comments between them.

What was typed wrong, in our own words.

Typer raises the errors of Click, which it carries under a name that changes from version to
version. They are told apart by what they are seen to hold, and Click is never imported.

What was meant by a word that is not one of ours: a slip of the finger, or a word that other
programs of the kind use.

Rather nothing is guessed than something silly.

Help as a page of plain text: what it does, the options panel by panel, examples to copy.

Typer can draw this with Rich. That takes another fifty milliseconds to import, and reads markup
in what is meant as text; here every line of an example stays a line."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from charrnn.cli.console import BOLD, CYAN, DIM, INTERRUPTED, USAGE, Console, Fault, show_version
from charrnn.errors import SettingError
from charrnn.text import Raw, visible

if TYPE_CHECKING:
    from charrnn.cli.options import CommandOptions

CLOSE = 0.75  # how alike a slip and what was meant are; all alike is 1

COMMANDS_ELSEWHERE = {
    "sample": ("generate", "gen", "predict", "draw", "write", "inference"),
    "eval": ("score", "test", "evaluate", "predict", "perplexity", "validate"),
    "train": ("fit", "learn", "finetune", "fine-tune", "resume"),
    "sweep": ("grid", "search", "grid-search", "tune", "hyperopt"),
    "info": ("show", "inspect", "describe", "summary", "plot"),
}
OPTIONS = {
    ("train", "--hidden"): ("rnn-size", "hidden-size", "n-hidden", "num-units", "units", "width"),
    ("train", "--layers"): ("num-layers", "n-layers", "n-layer", "depth"),
    ("train", "--bptt"): ("seq-length", "seq-len", "sequence-length", "block-size", "max-length"),
    ("train", "--batch"): ("batch-size", "lanes"),
    ("train", "--epochs"): ("max-epochs", "num-epochs", "n-epochs", "max-iters", "steps"),
    ("train", "--lr"): ("learning-rate", "rate", "step-size"),
    ("train", "--clip"): ("grad-clip", "clip-grad", "max-norm"),
    ("train", "--cell lstm"): ("lstm",),
    ("train", "--cell gru"): ("gru",),
    ("train", "--cell"): ("rnn", "rnn-type", "cell-type"),
    ("train", "--holdout"): ("val-frac", "val-split", "validation-split", "test-frac"),
    ("train", "--valid"): ("val", "validation", "val-file", "dev"),
    ("train", "--check-every"): ("eval-interval", "eval-val-every", "print-every", "log-interval"),
    ("train", "--from"): ("init-from", "initialize-from", "pretrained", "finetune", "start-from"),
    ("train", "-m"): ("o", "output", "out", "save", "save-dir", "checkpoint", "checkpoint-dir"),
    ("train", "--threads"): ("workers", "num-workers", "jobs", "j", "cpus"),
    ("sample", "-m"): ("checkpoint", "load", "weights"),
    ("sample", "--max-chars"): ("length", "len", "max-length", "max-tokens", "max-new-tokens"),
    ("sample", "--temp"): ("temperature",),
    ("sample", "-n"): ("num-samples", "samples", "num"),
    ("sample", "--prime"): ("primetext", "prime-text", "prompt", "start", "start-text", "prefix"),
}
LIKE = {"sweep": "train"}  # which has its options
NO_NEED = ("gpu", "cuda", "device", "gpuid", "gpu-backend", "use-gpu")
ARGUMENT = re.compile(r"unexpected extra arguments?(?:\(s\))? \((\S+\.npz)\b")


def meant_by_command(typed: str, commands: Iterable[str]) -> str:
    """A question to ask about a command that there is not, or nothing."""
    known = [name for name, words in COMMANDS_ELSEWHERE.items() if typed.lower() in words]
    return question(known or get_close_matches(typed, list(commands), 3, CLOSE))


def meant_by_option(typed: str, command: str, options: Collection[str]) -> str:
    """What to say of an option that this command has not, or nothing."""
    word = typed.lstrip("-").lower().replace("_", "-")
    if word in NO_NEED:
        return "It needs no graphics card: leave that out. "
    found = {where: name for (where, name), words in OPTIONS.items() if word in words}
    own = found.get(command, found.get(LIKE.get(command, ""), ""))
    if own and (command in found or own.partition(" ")[0] in options):
        return question([own])
    bare = {name.lstrip("-"): name for name in options if len(name) > 2}
    near = get_close_matches(word, list(bare), 1, CLOSE) if len(word) > 1 else []
    if near or not found:
        return question([bare[one] for one in near])
    return question([f"{name} of charrnn {where}" for where, name in found.items()])


def meant_by_argument(message: str, command: str) -> str:
    """What to type for a model that stands where no text can, or nothing."""
    model = ARGUMENT.search(message)
    return f"A model is named with -m: {command} -m {model[1]}. " if model else ""


def question(names: Collection[str]) -> str:
    """Whether one of these was meant; nothing where there are none."""
    return f"Did you mean {' or '.join(names)}? " if names else ""


_USAGE_ERROR: type = typer.BadParameter.__mro__[1]


def explain(error: BaseException) -> Fault | None:
    """What a user is told of an error of Typer's; None if it is not one."""
    if isinstance(error, typer.Exit):
        return Fault(error.exit_code)
    if isinstance(error, typer.Abort):
        return Fault(INTERRUPTED)
    if isinstance(error, _USAGE_ERROR):
        return Fault(USAGE, _what(error), _hint(error))
    return None


@contextmanager
def placed(ctx: Any) -> Iterator[None]:
    """Note on errors of usage in which command they came up, where Typer does not."""
    try:
        yield
    except Exception as error:
        if isinstance(error, _USAGE_ERROR) and getattr(error, "ctx", ctx) is None:
            vars(error)["ctx"] = ctx
        raise


def _what(error: Any) -> str:
    option = getattr(error, "option_name", None)
    parameter = getattr(error, "param", None)
    if hasattr(error, "possibilities"):
        return f"no such option: {option}"
    if parameter is not None and hasattr(error, "param_type"):
        return f"{_name(parameter)} is missing"
    if parameter is not None:
        return f"{_name(parameter)}: {error.message}"
    message = str(error.format_message()).rstrip(".")
    return message[:1].lower() + message[1:]


def _hint(error: Any) -> str:
    command = error.ctx.command_path if error.ctx is not None else "charrnn"
    meant = meant_by_argument(str(error.message), command)
    if hasattr(error, "possibilities"):
        options = [] if error.ctx is None else _options_of(error.ctx)
        meant = meant_by_option(error.option_name, command.rpartition(" ")[2], options)
    return f"{meant}Try '{command} --help'."


def _options_of(ctx: Any) -> list[str]:
    """What can be typed as an option of that command."""
    return [
        name
        for parameter in ctx.command.get_params(ctx)
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]


def _name(parameter: Any) -> str:
    """The name that was most likely typed: --temp rather than -t, CORPUS for an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return str(max(parameter.opts, key=len))


ARGUMENTS = "Arguments"
OTHER = "Options"


def width() -> int:
    """The columns a page of help may take: those of the window, and no line too long to read."""
    return max(20, min(shutil.get_terminal_size().columns, 100))


def write(command: Any, ctx: Any, formatter: Any, commands: Mapping[str, str]) -> None:
    """Write the page for a command, or for the program with its commands, a line each."""
    parameters = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    pieces = [*_arguments(parameters), *(["COMMAND ..."] if commands else [])]
    formatter.write_usage(ctx.command_path, " ".join(["[OPTIONS]", *pieces]))
    formatter.write_paragraph()
    formatter.write_text(command.help or "")
    if commands:
        _section(formatter, "Commands", [(_styled(k, CYAN), v) for k, v in commands.items()])
    for panel, rows in _panels(parameters).items():
        _section(formatter, panel, rows)
    if command.epilog:
        _write_examples(formatter, command.epilog.strip().splitlines())


def _arguments(parameters: Iterable[Any]) -> list[str]:
    names = []
    for one in parameters:
        if one.param_type_name == "argument":
            name = _argument(one)
            names.append(name if one.required else f"[{name}]")
    return names


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return f"{name}..." if parameter.nargs == -1 else name


def _panels(parameters: Iterable[Any]) -> dict[str, list[tuple[str, str]]]:
    """The rows of each panel, panels in the order in which they are first met, Options last."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for one in parameters:
        is_argument = one.param_type_name == "argument"
        usual = ARGUMENTS if is_argument else OTHER
        panel = getattr(one, "rich_help_panel", None) or usual
        left = _styled(_argument(one), CYAN) if is_argument else _option(one)
        panels.setdefault(panel, []).append((left, _explained(one)))
    if OTHER in panels:
        panels[OTHER] = panels.pop(OTHER)
    return panels


def _option(parameter: Any) -> str:
    short = [name for name in parameter.opts if not name.startswith("--")]
    long = [name for name in parameter.opts if name.startswith("--")]
    names = ", ".join([*short, "/".join([*long, *parameter.secondary_opts])])
    metavar = "" if parameter.is_flag else f" {parameter.metavar or 'TEXT'}"
    return ("" if short else "    ") + _styled(names, CYAN) + metavar


def _explained(parameter: Any) -> str:
    asides = []
    default = parameter.show_default
    if default is True and isinstance(parameter.default, (str, int, float, Path)):
        default = str(parameter.default) if not isinstance(parameter.default, bool) else ""
    if isinstance(default, str) and default:
        asides.append(f"default: {default}")
    if parameter.envvar:
        asides.append(f"env: {parameter.envvar}")
    return " ".join([parameter.help or "", *(f"[{aside}]" for aside in asides)]).strip()


def _section(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:
    with formatter.section(_styled(heading, BOLD)):
        formatter.write_dl(rows, col_max=min(30, width() // 2))


def _write_examples(formatter: Any, lines: Iterable[str]) -> None:
    with formatter.section(_styled("Examples", BOLD)):
        for line in lines:
            shown = _styled(line, DIM) if line.startswith("#") else line
            formatter.write(f"  {shown}\n" if line else "\n")


def _styled(text: str, style: str) -> str:
    return Console().out.paint(visible(text), style)


Context = Any  # Click's, which Typer does not let one name in every version


class Entry(NamedTuple):
    """The modules of a command, and the first line of its help.

    The module of options defines Options, HELP and EXAMPLES, and is imported to read the command
    line: it must not import numpy. The module of the work defines run(options, threads, console).
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

    def get_params(self, ctx: Context) -> list[Any]:
        params = super().get_params(ctx)
        spare_pydantic(params)
        return params

    def format_help(self, ctx: Context, formatter: Any) -> None:
        write(self, ctx, formatter, {})

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        with placed(ctx):
            return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """All commands: known by name, imported one by one."""

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Context, formatter: Any) -> None:
        write(self, ctx, formatter, {name: entry.line for name, entry in COMMANDS.items()})

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # a line that says nothing is answered by help
            Console().out.write(Raw(ctx.get_help() + "\n"))
            raise typer.Exit(USAGE)
        with placed(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            meant = meant_by_command(args[0], COMMANDS)
            raise SettingError(f"no such command: {args[0]}", f"{meant}Try 'charrnn --help'.")
        return super().resolve_command(ctx, args)


def load(name: str) -> Command:
    """Return the command of that name, made from its options."""
    from charrnn.cli.options import with_options

    module = import_module(COMMANDS[name].options)
    app = _typer()
    register = app.command(
        name,
        cls=Command,
        help=module.HELP,
        epilog=module.EXAMPLES,
        context_settings=_settings(),
    )
    register(with_options(module.Options, partial(dispatch, name)))
    command = typer.main.get_command(app)
    assert isinstance(command, Command)
    return command


def dispatch(name: str, options: CommandOptions) -> None:
    """Do what every command repeats, then import the module that does the work, and run it."""
    from charrnn.cli.options import check, prepare, with_piped_text

    console = Console(options.quiet)
    options = with_piped_text(options, console)
    check(options)
    threads = prepare(options.wanted_threads)  # before numpy is imported
    import_module(COMMANDS[name].work).run(options, threads, console)


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


def mend() -> None:
    """Have Typer write our script for zsh; a Typer that keeps it elsewhere is left alone."""
    try:
        from typer import _completion_shared
    except ImportError:
        return
    scripts = getattr(_completion_shared, "_completion_scripts", None)
    if isinstance(scripts, dict) and "zsh" in scripts:
        scripts["zsh"] = ZSH


def program() -> Commands:
    """The whole program, ready for a command line."""
    with_completion = _completion_is_asked_for()
    if with_completion:
        mend()
    app = _typer(with_completion=with_completion)
    register = app.callback(cls=Commands, epilog=EXAMPLES, context_settings=_settings())
    register(_charrnn)
    group = typer.main.get_command(app)
    assert isinstance(group, Commands)
    return group


def main(args: Sequence[str]) -> None:
    """Run one command line. Errors are raised, and reported by cli/errors.py."""
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
    return {"help_option_names": ["-h", "--help"], "terminal_width": width()}


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

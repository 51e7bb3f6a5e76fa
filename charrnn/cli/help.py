"""Help as a page of plain text: what it does, the options panel by panel, examples to copy.

Typer can draw this with Rich. That takes another fifty milliseconds to import, and reads markup
in what is meant as text; here every line of an example stays a line.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from charrnn.cli.console import BOLD, CYAN, DIM, Console
from charrnn.escaping import visible

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

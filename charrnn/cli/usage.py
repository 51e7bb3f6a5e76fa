"""What was typed wrong, in our own words.

Typer raises the errors of Click, which it carries under a name that changes from version to
version. They are told apart by what they are seen to hold, and Click is never imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from charrnn.cli.did_you_mean import meant_by_argument, meant_by_option
from charrnn.cli.exit_status import INTERRUPTED, USAGE, Fault

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

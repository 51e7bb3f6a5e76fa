"""Typer's parameters from declared settings, and the options of a command from what was typed."""

import glob
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, replace
from functools import partial
from inspect import Parameter
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from charrnn.cli.shared_options import CommandOptions, not_one_of
from charrnn.settings.training import TrainConfig
from charrnn.settings.values import CORES, SEED, Flag, Setting, Values, settings_of
from charrnn.system.packaged import CORPORA, MODELS

OF_TRAINING = settings_of(TrainConfig)
keyword = partial(Parameter, kind=Parameter.KEYWORD_ONLY)


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
    names = sorted(settings, key=lambda name: name in settings_of(CommandOptions))
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
        is_tried = name in OF_TRAINING and values not in (SEED, CORES)
        parser = parser_of(values, is_tried=is_tried)
        details |= {"parser": parser, "autocompletion": completer_of(values)}
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


def parser_of(
    values: Values, variable: str | None = None, *, is_tried: bool = False
) -> Callable[[Any], Any]:
    """Return a parser by the setting: the limits of Typer let ``inf`` through."""

    def value(typed: Any) -> Any:  # a name that Typer before 0.29 shows beside an argument
        try:
            return values.checked(values.read(typed))
        except ValueError:
            what = not_one_of(typed, values.allowed)
            if is_tried and "," in str(typed) and sys.argv[1:2] == ["train"]:
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

"""From what was typed to values without a detour.

Typer since 0.25 leaves that to pydantic, whose import takes as long as numpy's. Each of our
options brings its own parser, or takes a string as it is, so nothing is left to do for pydantic.
A Typer that asks in another way is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class AsTyped:
    """What an option of Typer asks for its value: the parser's word for what was typed."""

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

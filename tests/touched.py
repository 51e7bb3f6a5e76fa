"""Which files are opened or looked at, whoever asks for them."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

from tests.child import HOME

EVENTS = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.truncate")
OF_PYTHON = (sys.prefix, os.path.dirname(os.__file__), str(HOME), "/proc", "/sys")
names_by_block: list[set[str]] = []


def note(event: str, given: tuple[Any, ...]) -> None:
    """Note the names that a call is about."""
    if names_by_block and event in EVENTS:
        for name in given[: 1 + (event == "os.rename")]:
            if isinstance(name, str | bytes | os.PathLike):
                path = os.path.abspath(os.fsdecode(name))
                names_by_block[-1].update([path] * (not path.startswith(OF_PYTHON)))


sys.addaudithook(note)  # of what is opened, listed or changed; it cannot be removed


@contextmanager
def touched() -> Iterator[set[str]]:
    """Yield the paths that are touched in this block, but for those of Python and the system."""

    def asked(usual: Any, name: Any, *how: Any, **more: Any) -> Any:
        note("open", (name,))
        return usual(name, *how, **more)

    with ExitStack() as stack:
        for function in ("stat", "lstat", "access", "readlink"):
            usual = getattr(os, function)
            stack.enter_context(mock.patch.object(os, function, partial(asked, usual)))
        names_by_block.append(set())
        stack.callback(names_by_block.pop)
        yield names_by_block[-1]

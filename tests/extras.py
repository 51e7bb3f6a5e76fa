"""Optional packages: hidden for a test, or imported when it runs."""

from __future__ import annotations

import builtins
from typing import Any

import pytest


def axes() -> Any:
    """Return axes of matplotlib, whose import takes half a second."""
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make imports of a package fail, as if it were not installed."""
    found = builtins.__import__

    def imported(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", imported)

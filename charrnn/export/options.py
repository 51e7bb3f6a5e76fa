"""What may be said of an exported file beside its name, in one small value."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields

from charrnn.errors import SettingError

BITS = (32, 16, 8)
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ExportOptions:
    """Each is for some kinds; whoever gives it to another is told so."""

    bits: int = 32  # a weight; with 32, what is drawn is what charrnn draws
    title: str | None = None  # of a page
    prefix: str | None = None  # of the names in a program
    novel: tuple[str, ...] = ()  # texts that a page is not to say
    model: str = "model.npz"  # what the file of the model is called, without its folder

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise SettingError(f"bits cannot be {self.bits}", "It may be 32, 16 or 8.", "bits")
        if self.prefix is not None and not _IDENTIFIER.fullmatch(self.prefix):
            raise SettingError(
                f"prefix cannot be {self.prefix!r}",
                "It may have letters, digits and _, and begins with no digit.",
                "prefix",
            )

    def check_for(self, kind: str, takes: Collection[str]) -> None:
        """Raise SettingError where something was said that this kind has no use for."""
        said = (one.name for one in fields(self) if getattr(self, one.name) != one.default)
        for name in said:
            if name not in takes and name != "model":
                raise SettingError(
                    f"{name} is not for {kind}", "Leave it out.", "not for", setting=name
                )

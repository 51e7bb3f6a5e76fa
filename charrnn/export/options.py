"""What may be said of an exported file beside its name, in one small value."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import TypedDict

from charrnn.errors import SettingError
from charrnn.settings.fields import Checked, Text, Whole, setting

FILE = "File"  # a panel of help
BITS = (32, 16, 8)
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_FOR_ALL = {"name", "model"}


class Exporting(TypedDict, total=False):
    """What somebody may say of it: the first fields of ExportOptions."""

    bits: int
    title: str | None
    prefix: str | None


@dataclass(frozen=True)
class ExportOptions(Checked):
    """Each is for some kinds; whoever gives it to another is told so."""

    bits: int = setting(
        Whole(BITS[-1], BITS[0], "|".join(map(str, BITS))),
        "Bits a number, for html, js and c: with 16 or 8 the file is smaller, and a sample now and"
        " then another.",
        panel=FILE,
        default=32,
    )
    title: str | None = setting(
        Text(), "The title of a page.", panel=FILE, default_in_words="the name of FILE"
    )
    prefix: str | None = setting(
        Text("NAME"),
        "What names in C begin with.",
        panel=FILE,
        default_in_words="the name of FILE",
    )
    novel: tuple[str, ...] = ()  # texts that a page is not to say
    name: str = "charrnn"  # of the file that is written, without folder and suffix
    model: str = "MODEL"  # the name of the model's file, without its folder, where there is one

    def __post_init__(self) -> None:
        super().__post_init__()
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
            if name not in takes and name not in _FOR_ALL:
                raise SettingError(f"{name} is not for {kind}", "Leave it out.", name)

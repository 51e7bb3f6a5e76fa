"""Which letters a terminal can be trusted with: all of Unicode, or ASCII alone."""

from __future__ import annotations

import os
from typing import TextIO

SAMPLE = "⣿█"


def are_plain(stream: TextIO) -> bool:
    """Whether pictures are to be made of ASCII: by the stream's encoding, the locale, TERM."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
    if locale in ("C", "POSIX") or os.environ.get("TERM", "") in ("dumb", "unknown", "linux"):
        return True
    return fitting(SAMPLE, stream) != SAMPLE


def fitting(text: str, stream: TextIO) -> str:
    """The text with a ? for each character that the stream's encoding has not."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)

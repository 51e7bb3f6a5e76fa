"""Everything that is written: the result to stdout, the conversation about it to stderr.

A result goes to a file or a pipe as it is. On its way to a terminal its control characters are
made visible. Nothing here takes ``[b]`` or ``:smile:`` for more than the letters they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TextIO

from charrnn import escaping

RED = "31"
YELLOW = "33"


def write_result(text: str, *, raw: bool = False) -> None:
    """Write text to stdout as it is, but visibly if that is a terminal.

    raw is for --raw, and for text that was made visible before and coloured since.
    """
    if not raw and sys.stdout.isatty():
        text = escaping.visible(text)
    sys.stdout.write(escaping.encodable(text))
    sys.stdout.flush()  # text appears as it is drawn, and a reader who left is noticed


def write_json(name: str, fields: Mapping[str, object]) -> None:
    """Write one JSON object on one line of stdout, led by its schema; NaN and infinity are null."""
    import json

    whole = {"schema": f"charrnn.{name}/1", **fields}
    line = json.dumps(_finite(whole), ensure_ascii=False, allow_nan=False)
    write_result(escaping.visible_json(line) + "\n", raw=True)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None  # NaN is less than nothing
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


class Talk:
    """What is said on stderr beside the result; with --quiet, nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    def note(self, text: str) -> None:
        """Say something, on a line of its own."""
        if not self.quiet:
            say(text)

    def warn(self, text: str) -> None:
        """Say that something may not be as it was meant."""
        if not self.quiet:
            say(f"charrnn: warning: {text}", YELLOW)

    def note_if_waiting(self, sources: Iterable[str]) -> None:
        """Say so where a text is to be typed, lest it look as if nothing happened."""
        if "-" in sources and sys.stdin.isatty():
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
            self.note(f"waiting for text from the keyboard; {end} ends it")

    @property
    def animated(self) -> bool:
        """Whether a progress bar may be drawn: that takes a terminal which moves its cursor."""
        return not self.quiet and sys.stderr.isatty() and not _is_dumb()


def say(text: str, colour: str = "") -> None:
    """Write one line to stderr, above the progress bar if there is one."""
    line = escaping.visible_line(text)
    if colour and takes_colour(sys.stderr):
        line = f"\x1b[{colour}m{line}\x1b[0m"
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(line + "\n", file=sys.stderr, end="")  # at once: others write there as well
    else:
        sys.stderr.write(line + "\n")


def takes_colour(stream: TextIO) -> bool:
    """Whether colour belongs there: a terminal that has some, of a user who wants it."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or _is_dumb():
        return False
    return os.name != "nt" or "WT_SESSION" in os.environ or "ANSICON" in os.environ


def _is_dumb() -> bool:
    term = os.environ.get("TERM", "")
    return term in ("dumb", "unknown") or (not term and os.name != "nt")

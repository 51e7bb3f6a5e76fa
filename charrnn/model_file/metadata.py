"""The JSON text of a model file: facts to bytes and back, in one way only.

    format 1   the first
    format 2   settings have a cell and what ends a text; a corpus has how each file was cut, where
               they differ, what became of wrong bytes, a digest, where the files are, and what
               was known before; a file may be slim
    format 3   settings say what is fed back, whose draws are read, how far windows lie apart, and
               whether there is a clock; a file may hold several networks, and the text that is
               counted

A file of any earlier format is read; one that is newer is told as such. Whoever adds to what a file
says raises FORMAT, and gives what is new a default, which is what files without it mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

FORMAT = 3
LARGEST = 64 << 20  # bytes: all of Unicode as a vocabulary is 13 MB, the rest is for the history


class NewerFormatError(ValueError):
    """The text says that it is of a format that we do not know yet."""


class Document(NamedTuple):
    """What a text says, and in which format."""

    version: int
    facts: dict[str, JSON]


def compose(facts: Mapping[str, JSON], version: int | None = None) -> bytes:
    """The one text for these facts: sorted, no NaN, and ASCII, so that no terminal obeys it."""
    document = {"facts": facts, "format": FORMAT if version is None else version}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def parse(text: bytes) -> Document:
    """The document that composes to this text; ValueError where there is none."""
    try:
        document = json.loads(text.decode("ascii"))
        version = document["format"]
        if type(version) is not int or version < 1:
            raise TypeError(version)
        if version > FORMAT:
            raise NewerFormatError
        facts = dict(document["facts"])
        # To compose it again finds every liberty that JSON leaves: a key that stands twice, NaN,
        # spaces.
        if compose(facts, version) == text:
            return Document(version, facts)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("not a text of ours") from error
    raise ValueError("not a text of ours")

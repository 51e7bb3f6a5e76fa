"""The JSON text of a model file: facts to bytes and back, in one way only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

FORMAT = 1
LARGEST = 64 << 20  # bytes: all of Unicode as a vocabulary is 13 MB, the rest is for the history


class NewerFormatError(ValueError):
    """The text says that it is of a format that we do not know yet."""


def compose(facts: Mapping[str, JSON]) -> bytes:
    """The one text for these facts: sorted, no NaN, and ASCII, so that no terminal obeys it."""
    document = {"facts": facts, "format": FORMAT}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def parse(text: bytes) -> dict[str, JSON]:
    """The facts that compose to this text; ValueError where there are none."""
    try:
        document = json.loads(text.decode("ascii"))
        version = document["format"]
        if type(version) is int and version > FORMAT:
            raise NewerFormatError
        facts = dict(document["facts"])
        # To compose it again finds every liberty that JSON leaves: a key that stands twice, NaN,
        # spaces, another format.
        if compose(facts) == text:
            return facts
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("not a text of ours") from error
    raise ValueError("not a text of ours")

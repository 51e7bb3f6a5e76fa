"""One list of facts, shown as text to people or as JSON to programs.

Report([Fact("bytes", 5210, "size", "5,210 bytes"), Fact("kind", "html")])

size       5,210 bytes                                    for people
{"schema": "charrnn.export/1", "bytes": 5210, "kind": "html"}   with --json
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from charrnn.cli.console import Console
from charrnn.cli.terminal.tables import entries
from charrnn.text import Visible


class Fact(NamedTuple):
    """A result: a key and a value for JSON, a label and a text for people; either may be empty."""

    key: str = ""
    value: object = None
    label: str = ""  # without one, the text continues the fact above
    text: str = ""


class Report(list[Fact]):
    """The facts that a command reports, in the order of the JSON keys."""

    def json(self) -> dict[str, object]:
        """Return the values by key."""
        return {fact.key: fact.value for fact in self if fact.key}

    def show(
        self, schema: str, console: Console, *, as_json: bool, below: Iterable[Visible] = ()
    ) -> None:
        """Write the facts to stdout: one JSON object, or a list with these lines below it."""
        if as_json:
            console.json(schema, self.json())
            return
        shown = ((fact.label, fact.text) for fact in self if fact.text)
        console.out.write_lines(entries(shown, console.out))
        console.out.write_lines(below)

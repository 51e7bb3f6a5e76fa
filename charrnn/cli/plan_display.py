"""Where the plan of a run goes, a part at a time.

It is part of the conversation on stderr, but for a dry run, whose result it is. What takes a moment
to find out, how fast this machine is and what counting alone can do, is shown as soon as it is
known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from charrnn.cli import plan
from charrnn.cli.console import Console
from charrnn.cli.table import Entry, entries
from charrnn.corpus.corpus import Corpus
from charrnn.scoring.markov import Baseline

if TYPE_CHECKING:
    from charrnn.cli.train import Options


class PlanDisplay:
    """The plan while it is made."""

    def __init__(self, options: Options, console: Console) -> None:
        self._is_shown = not console.quiet
        is_result = options.dry_run and not options.as_json
        self._output = console.out if is_result else console.err

    def show(self, what: Iterable[Entry]) -> None:
        """Show a part of it."""
        if self._is_shown:
            self._output.write_lines(entries(what, self._output))

    def show_baselines(self, found: Iterable[Baseline], corpus: Corpus) -> None:
        """Show what there is to beat: the simplest as soon as it is there, in the end the best."""
        losses: dict[str, float] = {}
        last = None
        for last in found:
            if not losses:
                self.show([("to beat", plan.simplest_in_words(last))])
            losses[last.name] = last.nats_per_character
        if last is not None:
            part = plan.part_in_words(last, corpus)
            lines = [plan.best_in_words(losses), *([part] if part else [])]
            self.show([("", line) for line in lines])

"""``charrnn info``: what a model file holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from charrnn.cli import options, thread_count
from charrnn.cli.console import Console

EXAMPLES = """
# what is in it, how well did it learn, and can it go on?
charrnn info

# the loss at every check-up
charrnn info --json | jq -r '.history[] | [.step, .train, .held_out] | @tsv'
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    model: Path = options.model()
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()  # it has nothing to say beside the result


def info(options: Options) -> None:
    """Show what a model file holds.

    Its network, its vocabulary, what it learned from and how, how the loss fell from check-up to
    check-up, and whether the run can go on: that takes the corpus, unchanged. One of more than
    64 MB is only looked for, not compared.
    """
    thread_count.prepare(1)

    from charrnn.cli import model_summary  # numpy comes with it, and must find the threads set

    model_summary.show(options.model, Console(options.quiet), as_json=options.as_json)

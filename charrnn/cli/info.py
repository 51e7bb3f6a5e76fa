"""``charrnn info``: what a model file holds."""

from __future__ import annotations

from charrnn.cli import options, threads
from charrnn.cli.options import MODEL

EXAMPLES = """
# what is in it, how well did it learn, and can it go on?
charrnn info

# the loss at every check-up
charrnn info --json | jq -r '.history[] | [.step, .train, .held_out] | @tsv'
"""


def info(
    model: options.Model = MODEL,
    as_json: options.Json = False,
    quiet: options.Quiet = False,  # it has nothing to say beside the result
) -> None:
    """Show what a model file holds.

    Its network, its vocabulary, what it learned from and how, how the loss fell from check-up to
    check-up, and whether the run can go on: that takes the corpus, unchanged. One of more than
    64 MB is only looked for, not compared.
    """
    threads.prepare(1)

    from charrnn.cli import model_summary  # numpy comes with it, and must find the threads set

    model_summary.show(model, as_json=as_json)

"""``charrnn eval``: how well a model foretells a text."""

from __future__ import annotations

from charrnn.cli import eval_options as own
from charrnn.cli import options, threads
from charrnn.cli.console import Talk
from charrnn.cli.options import MODEL, given
from charrnn.cli.scoring.arguments import Asked

EXAMPLES = """
# how good is it, on what it was not trained on? and is that good?
charrnn eval --baselines

# which names do not belong?
charrnn eval names.txt --per-example | head
sort -R lines.txt | charrnn eval - --per-example --sort input --json

# where did the text surprise it?
charrnn eval letter.txt --per-char
charrnn eval letter.txt --html letter.html

# let it get used to the text
charrnn eval play.txt --dynamic 0.0002
"""


def evaluate(
    text: own.Text = None,
    examples: options.Examples = None,
    encoding: options.Encoding = None,
    newlines: options.Newlines = None,
    normalize: options.Normalize = None,
    baselines: own.Baselines = False,
    dynamic: own.Dynamic = None,
    per_example: own.PerExample = False,
    sort: own.Sort = None,
    per_char: own.PerChar = False,
    html: own.Html = None,
    model: options.Model = MODEL,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    workers: options.Threads = None,
) -> None:
    """Measure how well a model foretells a text.

    Each example costs the nats of its characters and of its end, and the mean over both is the
    loss. A character that the model has never seen costs what naming it among all of Unicode
    costs, so no text is impossible. The result does not depend on threads or on how the text
    arrives.

    With --json there is one object; with --per-example or --per-char one a line, and there the
    character of an end is null. A rank of 1 means that nothing was more likely.
    """
    useful = threads.prepare(workers)

    from charrnn.cli.scoring import run  # numpy comes with it, and must find the threads set

    run.run(
        Asked(
            sources=tuple(text or ()),
            examples=examples,
            reading=given(encoding=encoding, newlines=newlines, normalize=normalize),
            baselines=baselines,
            dynamic=dynamic,
            per_example=per_example,
            sort=sort,
            per_char=per_char,
            html=html,
            model=model,
            as_json=as_json,
        ),
        useful,
        Talk(quiet),
    )

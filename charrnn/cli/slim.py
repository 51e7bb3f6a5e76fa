"""``charrnn slim``: a model file to give away."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile
from charrnn.cli.options import OUTPUT, CommandOptions, NewFile, flag
from charrnn.settings.fields import setting

HELP = """
Write a model without what only training needs.

It draws and scores the same, and cannot be gone on with: the state of the run and the loss at
each check-up are left out. Only eval --dynamic differs a little: it begins without what
training knew of gradients. Of the corpus it names files, and no folders. It has about a quarter
of the size.

A model of train --counts needs the text that it learned from to draw and score the same, and
who is given the file has that text; --without-counts leaves it out.
"""
EXAMPLES = """
# a small file of the model in model.npz, to send to a friend
charrnn slim names.npz

# the same of a model of train --counts, without the text that it learned from
charrnn slim names.npz --without-counts

# which draws as the large one does
charrnn sample -m names.npz -n 10
"""


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """The options of charrnn slim."""

    out: Path = setting(
        NewFile(), "The file to write.", panel=OUTPUT, default=MISSING, names=("OUT",)
    )
    model: Path = options.model()
    without_counts: bool = flag(
        "Leave out the text that a model of train --counts counts; the network is all that is left."
    )
    force: bool = flag("Replace a file that is there.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()


def run(options: Options, _threads: int, console: Console) -> None:
    """Write the small file."""
    from charrnn.runs import load

    model = load(options.model)
    file = OutputFile(options.out, "OUT", force=options.force)
    file.check(options.model, corpus=model.corpus.files)
    before = options.model.stat().st_size
    slim = model.slim(without_counts=options.without_counts)
    slim.save(options.out)
    if slim.trained.counted is not None:
        console.note(f"{options.out} holds the text that it learned from (--without-counts)")
    if options.without_counts and model.trained.counted is None:
        console.note(f"{options.model} has no counts that could be left out")
    show(options, before, console)


def show(options: Options, before: int, console: Console) -> None:
    """Say what was written, and how large it is, on stdout."""
    size = options.out.stat().st_size
    if options.as_json:
        sizes = {"bytes": size, "bytes_before": before}
        console.json("slim", {"model": str(options.out), "from": str(options.model), **sizes})
        return
    from charrnn.cli.terminal.tables import entries

    words = f"{size:,} bytes, {size / before:.0%} of {options.model}"
    lines = entries([("model", str(options.out)), ("size", words)], console.out)
    console.out.write_lines(lines)

"""``charrnn slim``: a model file to give away."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from charrnn.cli import options, thread_count
from charrnn.cli.console import Console
from charrnn.cli.options import OUTPUT, flag
from charrnn.errors import ModelExistsError
from charrnn.settings.fields import File, setting

EXAMPLES = """
# a small file of the model in model.npz, to send to a friend
charrnn slim names.npz

# which draws as the large one does
charrnn sample -m names.npz -n 10
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    out: Path = setting(File(), "The file to write.", panel=OUTPUT, default=MISSING, names=("OUT",))
    model: Path = options.model()
    force: bool = flag("Replace a file that is there.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()  # it has nothing to say beside the result


def slim(options: Options) -> None:
    """Write a model without what only training needs.

    It draws and scores the same, and cannot be gone on with: the state of the run and the loss at
    each check-up are left out. Of the corpus it names files, and no folders. It has about a quarter
    of the size.
    """
    thread_count.prepare(1)
    if options.out.exists() and not options.force:
        raise ModelExistsError(
            f"{options.out} is there already",
            "Name another file; it is read from the one that -m names. Or replace it with --force.",
        )

    from charrnn.runs import load  # numpy comes with it, and must find the threads set

    model = load(options.model)
    before = options.model.stat().st_size
    model.slim().save(options.out)
    show(options, before, Console(options.quiet))


def show(options: Options, before: int, console: Console) -> None:
    """Say what was written, and how large it is, on stdout."""
    size = options.out.stat().st_size
    if options.as_json:
        sizes = {"bytes": size, "bytes_before": before}
        console.json("slim", {"model": str(options.out), "from": str(options.model), **sizes})
        return
    from charrnn.cli.table import entries  # which help can do without

    words = f"{size:,} bytes, {size / before:.0%} of {options.model}"
    lines = entries([("model", str(options.out)), ("size", words)], console.out)
    console.out.write_lines(lines)

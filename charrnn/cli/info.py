"""``charrnn info``: what a model file holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from charrnn.cli import options
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.files import FigureFile
from charrnn.cli.options import OUTPUT, flag
from charrnn.errors import SettingError
from charrnn.settings.fields import File, setting

EXAMPLES = """
# what is in it, how well did it learn, and can it go on?
charrnn info

# the loss at every check-up
charrnn info --json | jq -r '.history[] | [.step, .train, .held_out] | @tsv'

# the learning curve as a figure, and those of two runs in one
charrnn info --plot curve.svg
charrnn info --plot curves.pdf --beside lstm.npz
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    model: Path = options.model()
    plot: Path | None = options.plot("Draw the learning curve into this file as well.")
    beside: tuple[Path, ...] = setting(
        File(),
        "A model whose curve is drawn beside it; several times for several.",
        panel=OUTPUT,
        default=(),
        names=("--beside",),
        repeated=True,
    )
    force: bool = flag("Replace the file of --plot if it is there.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()

    def check(self) -> None:
        """Raise SettingError where the options lead nowhere."""
        for name, given in (("beside", self.beside), ("force", self.force)):
            if given and self.plot is None:
                raise SettingError(
                    f"--{name} is for a --plot, and there is none", "Add --plot FILE."
                )


def info(options: Options) -> None:
    """Show what a model file holds.

    Its network, its vocabulary, what it learned from and how, how the loss fell from check-up to
    check-up, and whether the run can go on: that takes the corpus, unchanged. One of more than
    64 MB is only looked for, not compared.
    """
    options.check()
    file = None if options.plot is None else FigureFile(options.plot, force=options.force)
    thread_count.prepare(1)

    from charrnn.cli import run_info  # numpy comes with it, and must find the threads set

    console = Console(options.quiet)
    if file is not None:
        run_info.plot((options.model, *options.beside), file, console)
    run_info.show(options.model, console, as_json=options.as_json)

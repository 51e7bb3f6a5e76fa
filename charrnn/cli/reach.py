"""``charrnn reach``: how far back through time the gradient of a trained network reaches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli import options as standard_input
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.files import FigureFile
from charrnn.cli.options import check_read_once, flag, group, like
from charrnn.errors import SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import CORPUS

EXAMPLES = """
# is --bptt as long as it has to be?
charrnn reach

# does an LSTM reach further?
charrnn train verses --cell lstm -m lstm.npz
charrnn train verses -m tanh.npz
charrnn reach -m lstm.npz -m tanh.npz --plot reach.svg

# the norms, for another program
charrnn reach --json | jq -r '.norms[]'
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    sources: tuple[str, ...] = options.sources(
        "TEXT",
        "What to read: files, or - for standard input, which is read as well where it is a pipe or"
        " a file and no TEXT is named. Else it is what was held out in training.",
    )
    held_out: bool = flag("Read what was held out in training, whatever is piped.", panel=CORPUS)
    examples: str | None = like(CorpusConfig, "examples", default_in_words="as in training")
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    models: tuple[Path, ...] = options.models()
    plot: Path | None = options.plot("Draw the norms into this file as well.")
    force: bool = flag("Replace the file of --plot if it is there.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()

    def check(self) -> None:
        """Raise SettingError where the options lead nowhere."""
        if self.held_out and self.sources:
            raise SettingError(
                f"--held-out and {self.sources[0]} exclude each other", "Leave one of them out."
            )
        given = [*(["examples"] if self.examples else []), *self.reading]
        if given and not self.sources:
            raise SettingError(
                f"--{given[0]} is for a TEXT, and there is none",
                "What was held out is read as it was in training.",
            )
        if self.force and self.plot is None:
            raise SettingError("--force is for a --plot, and there is none", "Add --plot FILE.")
        check_read_once(self.sources)
        if "-" in self.sources and len(self.models) > 1:
            raise SettingError(
                "standard input can be read only once, and there are several models",
                "Name a file as the text, or take what was --held-out.",
            )


def reach(options: Options) -> None:
    """Show how far the gradient reaches back.

    The loss at a step depends on the state k steps before: less and less, if gradients vanish, and
    more and more, if they explode. Shown are the mean norm of that gradient against k, by what it
    is multiplied with each step, and beside it the spectral radius of the recurrent weights; what
    --bptt cuts off; and how well the gradient that is left points where the whole one does, its
    cosine, for horizons of 1, 2, 4, ... steps, up to 200 or to the beginning of the example. Of
    several networks (train --members), it is the first.

    With --json there is an object a line for each model.
    """
    console = Console(options.quiet)
    if not options.sources and not options.held_out and standard_input.has_text(console):
        options = replace(options, sources=("-",))
    options.check()
    file = None if options.plot is None else FigureFile(options.plot, force=options.force)
    thread_count.prepare(1)

    from charrnn.cli.run_reach import run  # numpy comes with it, and must find the threads set

    run(options, file, console)

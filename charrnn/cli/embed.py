"""``charrnn embed``: one vector for each text."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli import options as standard_input
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.options import OUTPUT, check_read_once, flag, group, like
from charrnn.errors import SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import CORPUS, File, setting

EXAMPLES = """
# a line of JSON for each name
charrnn embed names.txt | head -n 2

# an array for NumPy, a row for each
charrnn embed names.txt -o names.npy

# one text alone
echo Tyrannosaurus | charrnn embed | jq -c .vector
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
    model: Path = options.model()
    output: Path | None = setting(
        File("FILE.npy"),
        "Write an array into this file, for numpy.load, and nothing to stdout.",
        panel=OUTPUT,
        names=("-o", "--output"),
    )
    force: bool = flag("Replace that file if it is there.")
    as_json: bool = flag("Write JSON, which is what it does without -o.", names=("--json",))
    quiet: bool = options.quiet()

    def check(self) -> None:
        """Raise SettingError where the options contradict each other, or lead nowhere."""
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
        if self.output is not None and self.as_json:
            raise SettingError("--output and --json exclude each other", "Leave one of them out.")
        if self.output == Path("-"):
            raise SettingError(
                "--output names a file, and - is none",
                "Without it, JSON goes to standard output.",
            )
        if self.force and self.output is None:
            raise SettingError("--force is for the file of --output", "Add -o FILE.npy.")
        check_read_once(self.sources)

    @property
    def model_as_a_source(self) -> str:
        """The model as a file that must not be written over: no corpus of that name is meant."""
        return os.path.join(os.curdir, self.model)


def embed(options: Options) -> None:
    """Turn each text into one vector.

    The vector is the state of the network's top layer when it has read the whole text, the one
    from which it predicts the end: as many numbers as a layer has units. Texts that would go on
    alike are near each other. A text has the same vector alone and among thousands. Of several
    networks (train --members), it is the first.

    There is a line of JSON for each example, with its text and its vector; with -o there is an
    array (examples, units) of 32-bit numbers instead. Blank lines are no examples.
    """
    console = Console(options.quiet)
    if not options.sources and not options.held_out and standard_input.has_text(console):
        options = replace(options, sources=("-",))
    options.check()
    thread_count.prepare(1)

    from charrnn.cli.run_embed import run  # numpy comes with it, and must find the threads set

    run(options, console)

"""``charrnn fill``: the characters that are missing in the middle of a text."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.options import check_read_once, group
from charrnn.errors import SettingError
from charrnn.settings.corpus import Reading
from charrnn.settings.fields import FILLING, Text, setting
from charrnn.settings.using import FillConfig

EXAMPLES = """
# which letters are missing? quotes keep the shell from taking * for files
charrnn fill "Tyr_nnosa_rus"
charrnn fill "*raptor" -n 10

# an underscore that belongs to the text
charrnn fill "snake_c%se" --blank %

# many at once, for another program
charrnn fill - --json < damaged.txt | jq -r '.fillings[0].text'
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    texts: tuple[str, ...] = setting(
        Text(),
        "A text in which something is missing; - for standard input, a text a line.",
        panel=FILLING,
        default=MISSING,
        names=("TEXT",),
        repeated=True,
    )
    filling: dict[str, Any] = group(FillConfig)
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    model: Path = options.model()
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()
    workers: int | None = options.threads()

    def check(self) -> None:
        """Raise SettingError where the options contradict each other."""
        FillConfig(**self.filling)
        Reading(**self.reading)
        of_bytes = [name for name in ("encoding", "errors") if name in self.reading]
        if of_bytes and "-" not in self.texts:
            raise SettingError(
                f"--{of_bytes[0]} is for standard input, and no TEXT is -",
                "What is typed is read as the terminal has it.",
            )
        check_read_once(self.texts)


def fill(options: Options) -> None:
    """Fill in what is missing of a text.

    In TEXT, _ is one missing character and * any number of them, up to --max-gap. Shown are the
    likeliest fillings and their probabilities: that of the whole text, what comes after and the end
    included, among all texts that the blanks could stand for. Only characters that the model knows
    are put in.

    Where it can be, the answer is exact: all beginnings that matter are gone through, and less
    than a thousandth of the probability is left out. Else the probabilities are estimated with
    texts that are drawn, particles, and there may be likelier fillings that none of them has found.
    """
    options.check()
    useful = thread_count.prepare(options.workers)

    from charrnn.cli.run_fill import run  # numpy comes with it, and must find the threads set

    run(options, useful, Console(options.quiet))

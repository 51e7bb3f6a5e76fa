"""``charrnn sample``: new text from a model file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli.options import (
    SHARED_WORK,
    CommandOptions,
    Source,
    excludes,
    flag,
    group,
    like,
    needs,
)
from charrnn.errors import SettingError
from charrnn.settings.corpus import Reading
from charrnn.settings.fields import COUNT, DRAWING, Several, Text, Whole, setting, settings_of
from charrnn.settings.using import TEMPERATURE, SampleConfig

PRIME = "Prime"  # panels of help
AGAIN = "Drawing again"
BEST_OF = 10

HELP = """
Draw new text from a model.

It draws character after character until the end of the text is drawn, and shows it meanwhile.
Each sample ends in a newline; where samples have newlines of their own, a blank line stands
between two.

With --json there is a line for each sample. Its characters and nats are those of its text, the
prime included unless that is hidden. Nats are what the model itself would say of the text,
whatever the temperature and the filters, and cover the end of the text where it was drawn: they
are those of charrnn eval. (A model of train --carry evaluates many texts as one stream, each
going on from the one before; a sample begins anew, so there the nats are those of eval where
it reads that text alone.) Where fewer samples are found than were asked for, the status is 1.
"""
EXAMPLES = """
# ten new names, bolder than usual
charrnn sample -n 10 -t 1.2

# a million, drawn by eight processes, or by a cluster; the sixth thousand of them alone
charrnn sample -n 1000000 --seed 1 --workers 8 > names.txt
charrnn sample -n 1000000 --seed 1 --scheduler tcp://head:8786 > names.txt
charrnn sample -n 1000 --seed 1 --first 5000

# go on from here, the same way each time
charrnn sample -p "Ty" --seed 1
echo "It was a dark and stormy night" | charrnn sample --prime-file -

# a thousand that nobody has had before, no two alike
charrnn sample -n 1000 --novel dinosaurs --ignore-case --unique

# short ones; the best of a hundred; three tries to find the right temperature
charrnn sample -n 10 --shortest 4 --longest 8
charrnn sample -n 5 --best --of 100 --unique
charrnn sample -n 5 -t 0.5,0.8,1.2

# are they as long as those of the corpus?
charrnn sample -n 1000 --plot lengths.svg > samples.txt

# by two models together; by what a model of train --counts has counted alone
charrnn sample -m one.npz -m two.npz
charrnn sample --use counts

# what surprised the model itself
charrnn sample --surprise

# for another program
charrnn sample -n 100 --json | jq -r 'select(.ended == "end") | .text'
charrnn sample -n 100 -0 | xargs -0 -n 1 echo
"""


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """The options of charrnn sample."""

    RULES = (
        *SHARED_WORK,
        excludes(
            *("unique", "processes", "scheduler"),
            hint="Each worker sees its own samples only: pipe them to sort -u instead.",
        ),
        excludes(
            *("first", "unique"),
            hint="--unique compares a sample with all samples before it, which --first skips.",
        ),
        excludes("prime", "prime_file"),
        needs("ignore_case", "novel"),
        needs("of", "best"),
        needs("force", "plot"),
    )

    count: int = setting(
        COUNT,
        "How many samples; they are drawn side by side.",
        panel=DRAWING,
        default=1,
        names=("-n", "--count"),
    )
    temperatures: tuple[float, ...] | None = like(
        SampleConfig,
        "temperature",
        values=Several(TEMPERATURE),
        about=f"{settings_of(SampleConfig)['temperature'].about} Of several, each has -n samples.",
    )
    sampling: dict[str, Any] = group(SampleConfig, "top_k", "top_p", "max_characters", "seed")
    first: int = setting(
        Whole(0, 1 << 40),
        "The number of the first sample, counted from 0: -n 5 --first 100 draws those that -n 105"
        " ends with.",
        panel=DRAWING,
        default=0,
    )
    best: bool = flag(
        "Draw more than -n, and show the likeliest, by nats per character, first.", panel=DRAWING
    )
    of: int | None = setting(
        COUNT, "How many to draw for --best.", panel=DRAWING, default_in_words=f"{BEST_OF} x -n"
    )
    prime: str | None = setting(
        Text(), "Read this first and go on from there.", panel=PRIME, names=("-p", "--prime")
    )
    prime_file: str | None = setting(
        Source("FILE"),
        "Read this file first, - for standard input. Where examples are lines, its last newline"
        " does not count.",
        panel=PRIME,
    )
    hide_prime: bool = flag("Write only what was drawn.", panel=PRIME)
    reading: dict[str, Any] = group(
        Reading,
        "encoding",
        about="How the prime file and the --novel corpus are encoded.",
        panel=PRIME,
        default_in_words="as in training",
    )
    novel: tuple[str, ...] = setting(
        Source("CORPUS"),
        "Draw again what stands in this corpus word for word; may be repeated.",
        panel=AGAIN,
        default=(),
        repeated=True,
    )
    ignore_case: bool = flag(
        "For --novel, capital letters are as small ones, and spaces at either end are none.",
        panel=AGAIN,
    )
    unique: bool = flag("Draw again what was drawn before.", panel=AGAIN)
    shortest: int | None = setting(
        COUNT,
        "Draw again what has fewer characters, the prime counted.",
        panel=AGAIN,
        default_in_words="any",
    )
    longest: int | None = setting(
        COUNT,
        "Draw again what has more characters, or was cut off.",
        panel=AGAIN,
        default_in_words="any",
    )
    processes: int | None = options.workers()
    scheduler: str | None = options.scheduler()
    models: tuple[Path, ...] = options.models(
        "The model file; of several, the mean of their probabilities is drawn from."
    )
    use: str | None = options.use(DRAWING)
    null: bool = flag("End samples with NUL, not with a newline.", names=("-0", "--null"))
    surprise: bool = flag("Colour each character by how little it was expected, in a terminal.")
    raw: bool = flag("Let a terminal obey the control characters that come up.")
    plot: Path | None = options.plot(
        "Draw how long the samples are into this file, beside the corpus if that is at hand."
    )
    force: bool = flag("Replace the file of --plot if it is there.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()
    workers: int | None = options.threads()

    def check(self) -> None:
        """Raise SettingError where the options contradict each other."""
        if self.drawn < self.count:
            raise SettingError(
                f"--of {self.drawn} is less than -n {self.count}", "Draw as many as are shown."
            )
        if self.longest is not None and (self.shortest or 0) > self.longest:
            raise SettingError(
                f"nothing has at least {self.shortest} and at most {self.longest} characters",
                "Let --longest be no less than --shortest.",
            )

    @property
    def drawn(self) -> int:
        """How many samples are drawn at each temperature, as far as they are wanted."""
        if not self.best:
            return self.count
        return BEST_OF * self.count if self.of is None else self.of

    @property
    def numbers(self) -> range:
        """Their numbers: a sample is known by its own, whatever else is drawn."""
        return range(self.first, self.first + self.drawn)

    @property
    def files(self) -> list[str]:
        """The texts that are to be read."""
        return [*([] if self.prime_file is None else [self.prime_file]), *self.novel]

"""Draw new text from a model.

Text appears as it is drawn, character by character, until its end is drawn. Each sample ends in a
newline. If samples may contain newlines, a blank line separates them.

With --json, each sample is a JSON object on one line. Its text, characters and nats include the
prime, except with --hide-prime. Nats are the negative log-likelihood at temperature 1, without
--top-k and --top-p; they include the end, if drawn. charrnn eval gives the same figure.
--show-copied adds
copied_longest, the length of the longest run that stands in a training text, and copied_median,
the median length of all such runs. The exit status is 1 if fewer samples are found than requested.

# ten new names, at a higher temperature
charrnn sample -n 10 -t 1.2

# only samples 5001 to 6000
charrnn sample -n 1000 --seed 1 --first 5000

# continue a text, the same way each time
charrnn sample -p "Ty" --seed 1
echo "It was a dark and stormy night" | charrnn sample --prime-file -

# only Latin letters, from a model of many scripts
charrnn sample -n 10 --script latin

# a thousand names that are not in the corpus, all different
charrnn sample -n 1000 --novel dinosaurs --ignore-case --unique

# how much of each is copied from the training text?
charrnn sample -n 10 --show-copied

# short ones; the best of a hundred; three temperatures to compare
charrnn sample -n 10 --shortest 4 --longest 8
charrnn sample -n 5 --best --of 100 --unique
charrnn sample -n 5 -t 0.5,0.8,1.2

# plot the lengths of samples beside those of the corpus
charrnn sample -n 1000 --plot lengths.svg > samples.txt

# mix two models; use only the n-gram counts of a model of train --counts
charrnn sample -m one.npz -m two.npz
charrnn sample --use counts

# colour characters by surprisal
charrnn sample --surprise

# for another program
charrnn sample -n 100 --json | jq -r 'select(.ended == "end") | .text'
charrnn sample -n 100 -0 | xargs -0 -n 1 echo
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli.options import CommandOptions, Source, excludes, flag, group, like, needs
from charrnn.errors import SettingError
from charrnn.settings import fields
from charrnn.settings.corpus import Reading
from charrnn.settings.fields import COUNT, DRAWING, Several, Text, Whole, of_drawing, setting
from charrnn.settings.sampling import TEMPERATURE, SampleConfig

PRIME, AGAIN = PANELS = "Prime", "Rejecting samples"  # of help
of_prime, of_rejecting = (partial(setting, panel=panel) for panel in PANELS)
BEST_OF = 10
USUAL = Path("given-names")  # of the package; drawn from if a folder has no model.npz


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    FIRST = (
        *("count", "temperatures", "prime", "seed", "novel", "unique", "shortest", "longest"),
        *("best", "models"),
    )
    RULES = (
        excludes(
            *("first", "unique"),
            hint="--unique compares a sample with all samples before it, which --first skips.",
        ),
        excludes("prime", "prime_file"),
        excludes("as_json", "null", "raw", "surprise"),
        needs("hide_prime", "prime", "prime_file"),
        needs("encoding", "prime_file", "novel"),
        needs("ignore_case", "novel"),
        needs("of", "best"),
        needs("force", "plot"),
        excludes("show_copied", "surprise", "raw", "null"),
    )

    count: int = of_drawing(
        COUNT, "Draw this many samples, in parallel.", default=1, names=("-n", "--count")
    )
    temperatures: tuple[float, ...] | None = like(
        SampleConfig,
        "temperature",
        values=Several(TEMPERATURE),
        about=f"{fields.settings_of(SampleConfig)['temperature'].about} Several values, separated"
        " by commas, give -n samples each.",
    )
    sampling: dict[str, Any] = group(
        *(SampleConfig, "top_k", "top_p", "script", "max_characters", "seed")
    )
    first: int = of_drawing(
        Whole(0, 1 << 40),
        "Skip the first N samples: -n 5 --first 100 draws the same as the last 5 of -n 105.",
        default=0,
    )
    best: bool = flag(
        "Draw more samples than -n and show the likeliest (fewest nats per character) first.",
        panel=DRAWING,
    )
    of: int | None = of_drawing(
        COUNT, "Draw this many samples for --best.", default_in_words=f"{BEST_OF} x -n"
    )
    prime: str | None = of_prime(
        Text(), "Begin each sample with this text.", names=("-p", "--prime")
    )
    prime_file: str | None = of_prime(
        Source("FILE"),
        "Begin each sample with the text of this file; - is standard input. If examples are lines,"
        " a final newline is ignored.",
    )
    hide_prime: bool = flag("Leave the prime out of the output.", panel=PRIME)
    reading: dict[str, Any] = group(
        Reading,
        "encoding",
        about="Decode the prime file and the --novel corpus by this encoding.",
        panel=PRIME,
        default_in_words="as in training",
    )
    novel: tuple[str, ...] = of_rejecting(
        Source("CORPUS"),
        "Reject exact copies of examples in this corpus and draw again. Repeatable.",
        repeated=True,
    )
    ignore_case: bool = flag(
        "Ignore case and surrounding spaces when checking --novel.", panel=AGAIN
    )
    unique: bool = flag("Reject duplicates and draw again.", panel=AGAIN)
    shortest: int | None = of_rejecting(
        COUNT, "Reject samples with fewer characters, including the prime.", default_in_words="any"
    )
    longest: int | None = of_rejecting(
        COUNT,
        "Reject samples with more characters, including the prime, or without an end.",
        default_in_words="any",
    )
    models: tuple[Path, ...] = options.models(
        "Several are mixed: the mean of their probabilities is used. Repeatable.",
        default=(),
        default_in_words=f"{options.MODEL} if that exists, else {USUAL}",
    )
    use: str | None = options.use(DRAWING)
    show_copied: bool = flag(
        "Show, before each sample, the length of its longest run of characters that stands in an"
        " example of the training text, or of the --novel corpus."
    )
    null: bool = flag("End samples with NUL in place of a newline.", names=("-0", "--null"))
    surprise: bool = flag("Colour each character by its surprisal, on a terminal.")
    raw: bool = flag("Write control characters to the terminal unescaped.")
    plot: Path | None = options.plot(
        "Plot the lengths of the samples into this file, beside those of the corpus."
    )
    force: bool = flag("Replace the file of --plot if it exists.")
    cores: int | None = options.cores()

    def check(self) -> None:
        if self.drawn < self.count:
            what = f"--of {self.drawn} is less than -n {self.count}"
            raise SettingError(what, "Draw at least as many samples as -n.")

    @property
    def drawn(self) -> int:
        """Return the number of samples to draw at each temperature."""
        if not self.best:
            return self.count
        return BEST_OF * self.count if self.of is None else self.of

    @property
    def numbers(self) -> range:
        """Return the numbers of the samples; each number always gives the same sample."""
        return range(self.first, self.first + self.drawn)

    @property
    def files(self) -> list[str]:
        return [*([] if self.prime_file is None else [self.prime_file]), *self.novel]

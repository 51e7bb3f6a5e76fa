"""Measure how well a model predicts a text.

The loss is the mean negative log-likelihood per character, ends of examples included, in nats (or
bits). All characters of Unicode that are not in the vocabulary share one probability, so the loss
is always finite. The result is exact: it does not depend on threads, workers or how the text is
read in (except with --fast). A model of train --carry carries its state across examples, so its
nats for a text differ from those that charrnn sample reports.

With --json the output is one object; with --per-example or --per-char, each row is an object on
one line. The number of an example is the line of its file on which it begins (not counting lines
that --errors skip leaves out), or its position in the held-out text. The character of an end is
null, and so are undefined values. Rank 1 is the likeliest symbol. A difference is the loss of the
model less the other: a baseline, a part of the model, or the first of several models.

# the loss on held-out text, beside simple baselines
charrnn eval --baselines

# a short list: the loss on all of it, from ten more networks
charrnn eval --held-out --folds 10

# the least likely names, or lines of a log
charrnn eval names.txt --per-example | head
cat *.log | charrnn eval --top 10

# report unlikely lines as they arrive; the exit status is 3 if there are any
tail -f server.log | charrnn eval - --per-example --sort input --above 4
charrnn eval today.log --quantile 0.999 --reference yesterday.log --per-example

# add the surprisal of a column to a table
charrnn eval names.csv --column name --per-example --csv > scored.csv

# are drawn texts like the corpus?
charrnn eval --drawn 1000

# colour the characters by surprisal
charrnn eval letter.txt --per-char
charrnn eval letter.txt --html letter.html

# shared by local processes, by a cluster, or by four independent jobs (2/4 is the second)
charrnn eval huge.txt --workers 8
charrnn eval huge.txt --scheduler tcp://head:8786
charrnn eval huge.txt --part 2/4 --json > 2.json
charrnn eval --add 1.json 2.json 3.json 4.json

# compare two models; let a model adapt to the text
charrnn eval play.txt -m small.npz -m large.npz
charrnn eval play.txt --dynamic auto
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from charrnn.cli import options
from charrnn.cli.options import OUTPUT, Source, TextOptions, allows_only, excludes, flag, needs
from charrnn.errors import SettingError
from charrnn.settings import fields
from charrnn.settings.corpus import Part, Parts
from charrnn.settings.fields import COUNT, DYNAMIC_RATE, File, OneOf, Real, Values, Whole, setting

SCORING, ROWS, SHARING = PANELS = "Scoring", "Rows and colours", options.WORKERS  # of help
of_scoring, of_rows, of_sharing = (partial(setting, panel=panel) for panel in PANELS)
SORTS = ("surprise", "nats", "input")


class Threshold(NamedTuple):
    """A surprisal per character, in the unit in which it was typed."""

    number: float
    unit: str = "bits"

    @property
    def bits(self) -> float:
        return self.number if self.unit == "bits" else self.number / math.log(2)

    def __str__(self) -> str:
        nats = self.bits * math.log(2)
        other = f"{nats:.4g} nats" if self.unit == "bits" else f"{self.bits:.4g} bits"
        return f"{self.number:g} {self.unit} ({other})"


@dataclass(frozen=True)
class Thresholds(Values):
    """A threshold as it is typed: 6, 6bits or 4nats."""

    metavar: str = "BITS"
    allowed: str = "a number of at least 0, of bits, or with a unit: 6bits or 4nats"

    def plain(self, value: Any) -> Any:
        fields.ensure(isinstance(value, Threshold) and 0 <= value.number < math.inf)
        return value

    def read(self, typed: Any) -> Threshold:
        if isinstance(typed, Threshold):
            return typed
        unit = "nats" if str(typed).endswith("nats") else "bits"
        return Threshold(float(str(typed).removesuffix(unit)), unit)


@dataclass(frozen=True)
class Rates(Values):
    """A learning rate, or auto."""

    metavar: str = f"{DYNAMIC_RATE.metavar}|auto"
    allowed: str = f"{DYNAMIC_RATE.allowed}, or auto"

    def plain(self, value: Any) -> Any:
        return value if value == "auto" else DYNAMIC_RATE.plain(value)

    def read(self, typed: Any) -> Any:
        return typed if typed == "auto" else DYNAMIC_RATE.read(typed)


@dataclass(frozen=True, kw_only=True)
class Options(TextOptions):
    RULES = (
        allows_only(
            *("add", "sources", "as_json", "quiet", "threads"),
            hint="The parts contain the options of the scoring.",
        ),
        needs("add", "sources", hint="Name the files that the parts wrote."),
        *options.TEXT_OR_HELD_OUT,
        excludes("per_example", "per_char", "baselines"),
        excludes("top", "per_char", "baselines", "sort=input"),
        excludes("per_char", "baselines"),
        excludes("drawn", "sources", "per_example", "per_char", "top"),
        excludes("part", "baselines", "drawn"),
        excludes("as_csv", "top", "sort=surprise", "sort=nats", "part", "as_json"),
        needs("as_csv", "per_example"),
        excludes("quantile", "above", "part"),
        needs("reference", "quantile"),
        excludes("folds", "sources", "part", "per_example", "per_char", "top"),
        excludes("fast", "dynamic"),
        excludes(
            *("dynamic", "part", "workers", "scheduler"),
            hint="--dynamic learns from all of the text before: score the text in one piece.",
        ),
        needs("sort", "per_example", "top"),
        needs("force", "html"),
        *options.SHARED_WORK,
    )

    baselines: bool = flag("Compare with n-gram models, xz and bzip2.", panel=SCORING)
    dynamic: float | str | None = of_scoring(
        Rates(),
        "Keep learning while reading, at this learning rate, such as 0.0005; auto takes a rate that"
        " suits the cell. Counts are updated too. The model file does not change.",
    )
    folds: int | None = options.folds(SCORING)
    drawn: int | None = of_scoring(
        Whole(1, 100_000),
        "Also draw N texts, and show the loss of a 5-character Markov model (markov-5) on them and"
        " on held-out text: close values mean similar texts. At most 131,072 characters are"
        " scored.",
    )
    part: Part | None = of_sharing(
        Parts(),
        "Score part I of N, as one of N jobs; --add adds up their --json output. Parts consist of"
        " pieces of about 250,000 characters: a shorter text is scored by part N/N, and the others"
        " are empty.",
        default_in_words="the whole text",
    )
    add: bool = flag(
        "Read the --json output of --part from each TEXT, and show the result for the whole text.",
        panel=SHARING,
    )
    workers: int | None = options.workers()
    scheduler: str | None = options.scheduler()
    use: str | None = options.use(SCORING)
    fast: bool = flag(
        "Compute in 32 bits, as in training: faster, but the last digits depend on threads and on"
        " how the text is read in.",
        panel=SCORING,
    )
    above: Threshold | None = of_scoring(
        Thresholds(),
        "Exit with status 3 if an example has more bits per character than this, or more nats:"
        " 4nats. Show only rows of such examples, in that unit. With --per-char, test single"
        " characters, and show only rows of such characters.",
    )
    quantile: float | None = of_scoring(
        Real(0, 1, below=True),
        "Set --above to this quantile of the reference. At 0.999, a thousandth of its examples are"
        " above.",
    )
    reference: tuple[str, ...] = of_scoring(
        Source("TEXT"),
        "Texts to take the --quantile of. Repeatable.",
        default_in_words="the held-out part of the training corpus",
        repeated=True,
    )
    per_example: bool = flag("Show a row for each example, most surprising first.", panel=ROWS)
    sort: str | None = of_rows(
        OneOf(SORTS),
        "Sort rows by nats per character (surprise), by total nats, or not at all (input). In input"
        " order, rows appear as soon as they are scored, and blank lines count. Otherwise rows are"
        " kept until the end, and repeated examples share one row.",
        default_in_words=SORTS[0],
    )
    top: int | None = of_rows(
        COUNT,
        "Show only the first N rows, in little memory.",
        default_in_words="all, with --per-example",
    )
    as_csv: bool = flag(
        "Write CSV, a row for each line in their order, blank lines too: the whole line, or the"
        " whole row of a table (--column), then nats, nats_per_character and unknown.",
        panel=ROWS,
        names=("--csv",),
    )
    per_char: bool = flag(
        "Show the text coloured by surprisal; without colours, a row for each character with its"
        " nats and rank.",
        panel=ROWS,
    )
    html: Path | None = setting(File(), "Also write the coloured text as a web page.", panel=OUTPUT)
    force: bool = flag("Let --html replace any file, not only pages that charrnn wrote.")
    models: tuple[Path, ...] = options.models(
        "Several are compared with each other and with the mean of their probabilities. Repeatable."
    )
    threads: int | None = options.threads()

    @property
    def shows_examples(self) -> bool:
        return self.per_example or self.top is not None

    @property
    def keeps_order(self) -> bool:
        """Return True if rows have the order of the input."""
        return self.as_csv or self.sort == "input"

    @property
    def shows_rows(self) -> bool:
        return self.shows_examples or self.per_char

    @property
    def has_workers(self) -> bool:
        return self.workers is not None or self.scheduler is not None

    @property
    def needs_one_distribution(self) -> str:
        """Return an option given that shows the figures of a single distribution, if any."""
        for name in ("per_example", "top", "per_char", "above", "quantile", "html"):
            given = getattr(self, name)
            if given is not None and given is not False:  # 0.0 is given
                return fields.option_of(name)
        return ""

    def check(self) -> None:
        if "-" in self.sources and self.has_workers and self.keeps_order:
            option = "--csv" if self.as_csv else "--sort input"
            what = f"{option} shows each line of a stream as it comes, and workers take many"
            raise SettingError(what, "Read a file, or leave the workers out.")
        if "-" in self.sources and self.part is not None:
            what = "standard input can be read only once, and not by each part"
            raise SettingError(what, "Name a file.")

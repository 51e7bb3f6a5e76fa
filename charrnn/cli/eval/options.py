"""``charrnn eval``: how well a model predicts a text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli.options import (
    OUTPUT,
    SHARED_WORK,
    TEXT_OR_HELD_OUT,
    CommandOptions,
    allows_only,
    excludes,
    flag,
    group,
    like,
    needs,
)
from charrnn.errors import SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import (
    CORPUS,
    COUNT,
    DYNAMIC_RATE,
    File,
    OneOf,
    Real,
    Whole,
    setting,
)
from charrnn.settings.using import Part, Parts

SCORING, ROWS, SHARING = "Scoring", "Rows and colours", options.WORKERS  # panels of help
SORTS = ("surprise", "nats", "input")

HELP = """
Measure how well a model predicts a text.

Each example costs the nats of its characters and of its end, and the mean over both is the
loss. A character that the model has never seen costs what naming it among all of Unicode
costs, so no text is impossible. The result is the same to the last bit whatever the threads
are and however the text arrives, but with --fast. A model of train --carry reads the examples
as one stream, each going on from the one before: what it costs is not what charrnn sample says
of the same text, which begins anew.

With --json there is one object; with --per-example or --per-char one a line. There the number
of an example is the line of its file on which it begins (lines that --errors skipped are not
counted), or its place among those held out; the character of an end is null; a rank of 1 means
that nothing was more likely. A figure that does not exist is null.
"""
EXAMPLES = """
# how good is it, on what it was not trained on? and is that good?
charrnn eval --baselines

# which names do not belong? which ten lines of a log are the oddest?
charrnn eval names.txt --per-example | head
cat *.log | charrnn eval --top 10

# raise an alarm, line by line; the exit status is 3 if there was one
tail -f server.log | charrnn eval - --per-example --sort input --above 4

# does it go astray when it reads its own writing?
charrnn eval --drawn 1000

# where did the text surprise it?
charrnn eval letter.txt --per-char
charrnn eval letter.txt --html letter.html

# shared out: to processes here, to a cluster, or to four jobs that know nothing of each other
charrnn eval huge.txt --workers 8
charrnn eval huge.txt --scheduler tcp://head:8786
charrnn eval huge.txt --part 2/4 --json > 2.json
charrnn eval --add 1.json 2.json 3.json 4.json

# which of two models is better? and if it gets used to the text?
charrnn eval play.txt -m small.npz -m large.npz
charrnn eval play.txt --dynamic 0.0002
"""


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """The options of charrnn eval."""

    RULES = (
        allows_only(
            *("add", "sources", "as_json", "quiet", "workers"),
            hint="The parts say what was scored, and how.",
        ),
        needs("add", "sources", hint="Name the files that the parts wrote."),
        *TEXT_OR_HELD_OUT,
        excludes("per_example", "per_char", "baselines"),
        excludes("top", "per_char", "baselines", "sort=input"),
        excludes("per_char", "baselines"),
        excludes("drawn", "sources", "per_example", "per_char", "top"),
        excludes("part", "baselines", "drawn"),
        excludes("fast", "dynamic"),
        excludes(
            *("dynamic", "part", "processes", "scheduler"),
            hint="--dynamic learns from all of the text before: score the text in one piece.",
        ),
        needs("sort", "per_example", "top"),
        needs("force", "html"),
        *SHARED_WORK,
    )

    sources: tuple[str, ...] = options.sources(
        "TEXT",
        "What to score: files, or - for standard input, which is read as well where it is a pipe"
        " or a file and no TEXT is named. Else it is what was held out in training.",
    )
    held_out: bool = flag("Score what was held out in training, whatever is piped.", panel=CORPUS)
    examples: str | None = like(CorpusConfig, "examples", default_in_words="as in training")
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    baselines: bool = flag(
        "Set the loss beside that of models that count, of xz and of bzip2.", panel=SCORING
    )
    dynamic: float | None = setting(
        DYNAMIC_RATE,
        "Keep learning while reading, at this rate: 0.0002, say; counts, if the model has any,"
        " count on. The model file stays as it is.",
        panel=SCORING,
    )
    drawn: int | None = setting(
        Whole(1, 100_000),
        "Draw so many texts as well, and set what a Markov model of five characters makes of them"
        " beside what it makes of those held out: is what it writes like what it read?",
        panel=SCORING,
    )
    part: Part | None = setting(
        Parts(),
        "Score one of N parts of the text, as one of N jobs: with --json, --add adds up what they"
        " write. It is cut every quarter of a million characters, where an example ends: of fewer,"
        " one part has all.",
        panel=SHARING,
        default_in_words="all of it",
    )
    add: bool = flag(
        "Each TEXT is what --part wrote with --json, a part or more: show what the whole comes to.",
        panel=SHARING,
    )
    processes: int | None = options.workers()
    scheduler: str | None = options.scheduler()
    use: str | None = options.use(SCORING)
    fast: bool = flag(
        "Compute in 32 bits, as training does: sooner, and the last digits depend on threads and"
        " on how the text arrives.",
        panel=SCORING,
    )
    above: float | None = setting(
        Real(0, metavar="BITS"),
        "End with status 3 if an example has more bits per character than this, and show only"
        " such rows; with --per-char, if a character has more bits.",
        panel=SCORING,
    )
    per_example: bool = flag("A row for each example, odd ones out first.", panel=ROWS)
    sort: str | None = setting(
        OneOf(SORTS),
        "Rows by nats per character, by nats, or in the order of the input: then each comes as"
        " soon as it is read, and blank lines have theirs. Sorted rows are kept until the end,"
        " and repeated ones told once.",
        panel=ROWS,
        default_in_words=SORTS[0],
    )
    top: int | None = setting(
        COUNT,
        "The first so many of the sorted rows; only those are kept.",
        panel=ROWS,
        default_in_words="all, with --per-example",
    )
    per_char: bool = flag(
        "The text coloured by surprisal; where there are no colours, a row for each character: it,"
        " its nats, its rank.",
        panel=ROWS,
    )
    html: Path | None = setting(File(), "Write the coloured text as a web page too.", panel=OUTPUT)
    force: bool = flag("Let --html replace any file.")
    models: tuple[Path, ...] = options.models(
        "The model file; several are set side by side, and beside the mean of their probabilities."
    )
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()
    workers: int | None = options.threads()

    @property
    def shows_examples(self) -> bool:
        """Whether there is a row for each of them."""
        return self.per_example or self.top is not None

    @property
    def of_one(self) -> str:
        """The option that shows what one distribution says, if there is one."""
        asked = {
            "--per-example": self.per_example,
            "--top": self.top is not None,
            "--per-char": self.per_char,
            "--above": self.above is not None,
            "--html": self.html is not None,
        }
        return next((option for option, is_so in asked.items() if is_so), "")

    @property
    def shows_rows(self) -> bool:
        """Whether stdout is taken by more than the sums."""
        return self.shows_examples or self.per_char

    @property
    def is_shared_out(self) -> bool:
        """Whether the text is cut into pieces that are scored apart."""
        return self.part is not None or self.has_workers

    @property
    def has_workers(self) -> bool:
        """Whether others are to do the work."""
        return self.processes is not None or self.scheduler is not None

    def check(self) -> None:
        """Raise SettingError if a stream cannot be shared out, or the page would replace a text."""
        if "-" in self.sources and self.has_workers and self.sort == "input":
            raise SettingError(
                "--sort input shows each line of a stream as it comes, and workers take many",
                "Read a file, or leave the workers out.",
            )
        if "-" in self.sources and self.part is not None:
            raise SettingError(
                "standard input can be read only once, and not by each part", "Name a file."
            )

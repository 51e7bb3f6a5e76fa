"""``charrnn train``: from a corpus to a model file."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import launcher, options
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.options import (
    MODEL,
    OUTPUT,
    check_exclusive,
    check_read_once,
    flag,
    group,
    would_replace,
)
from charrnn.corpus.files import NAMES
from charrnn.errors import SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import CORPUS, LEARNING, File, Text, Whole, setting
from charrnn.settings.training import TrainConfig

EXAMPLES = """
# learn a corpus that comes with the program, then make up ten more of its kind
charrnn train dinosaurs
charrnn sample -n 10

# what would be done, and what is there to beat?
charrnn train names.txt --dry-run

# a whole book, whose paragraphs follow each other, for twenty minutes
charrnn train book.txt.gz -m book.npz --carry --minutes 20

# names whose length is drawn first, and counted down
charrnn train names.txt --ends length

# go on after Ctrl-C, or for longer
charrnn train --resume
charrnn train --resume --epochs 200

# names of your own, from a model that has read many
charrnn train mine.txt --from given-names.npz -m mine.npz

# on four cores of any machines that share this folder
mpiexec -n 4 charrnn train book.txt.gz -m book.npz --mpi

# from another program, with a record of every step
cat *.txt | charrnn train - -m all.npz --metrics all.jsonl --json
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    sources: tuple[str, ...] = options.sources(
        "CORPUS",
        "Texts to learn from: files, - for standard input, or a corpus that comes with the"
        f" program: {', '.join(NAMES)}.",
    )
    valid: tuple[str, ...] = setting(
        Text("FILE"),
        "Hold out this text; may be repeated.",
        panel=CORPUS,
        default=(),
        default_in_words="a part of the corpus",
        repeated=True,
    )
    cutting: dict[str, Any] = group(CorpusConfig)
    reading: dict[str, Any] = group(Reading)
    learning: dict[str, Any] = group(TrainConfig)
    model: Path = options.model()
    start_from: Path | None = setting(
        File("MODEL"),
        "Start from the parameters of this model, for a list that has grown or one of its kind.",
        panel=LEARNING,
        names=("--from",),
    )
    mpi: bool = flag(
        "Learn as one of the processes that mpiexec starts. Needs mpi4py: pip install"
        " 'charrnn[mpi]'.",
        panel=LEARNING,
    )
    resume: bool = flag("Go on with the run in the model file.")
    force: bool = flag("Replace a model file that is there.")
    metrics: Path | None = setting(
        File(),
        "Append a line of JSON to this file for each step and each check-up.",
        panel=OUTPUT,
    )
    preview: int = setting(
        Whole(0, 100), "How many samples to show at a check-up.", panel=OUTPUT, default=1
    )
    dry_run: bool = flag("Show the plan, and leave it at that.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()

    def check(self) -> None:
        """Raise SettingError where the options contradict each other."""
        if not self.sources and not self.resume:
            ours = ", ".join(NAMES)
            raise SettingError(
                "CORPUS is missing",
                f"Name a file, - for standard input, or one of {ours}. Try 'charrnn train --help'.",
            )
        check_exclusive(resume=self.resume, force=self.force)
        if not self.mpi:
            launcher.check_alone()
        elif "workers" in self.learning:
            raise SettingError(
                "--mpi and --threads exclude each other: each rank has one thread",
                "Leave --threads out, and start as many ranks as there are cores.",
            )
        if self.resume and self.start_from is not None:
            raise SettingError("--resume and --from exclude each other", "Leave one of them out.")
        check_exclusive(valid=self.valid, holdout="holdout" in self.cutting)
        named = [*self.sources, *self.valid]
        check_read_once(named)
        if any(would_replace(self.model, source) for source in named):
            raise SettingError(
                f"the model would be written over {self.model}", "Name another file with -m."
            )
        self.check_metrics(os.path.join(os.curdir, self.model), *named)  # no shipped corpus

    def check_metrics(self, *taken: str) -> None:
        """Raise SettingError where the metrics would be written into one of these."""
        if self.metrics is not None and any(would_replace(self.metrics, one) for one in taken):
            raise SettingError(
                f"--metrics would write into {self.metrics}", "Name a file of its own."
            )

    def line(self, command: str, *options: str) -> str:
        """A line to type next, that speaks of the same model."""
        usual = Path(os.environ.get("CHARRNN_MODEL") or MODEL)
        which = [] if self.model == usual else ["-m", str(self.model)]
        line = ["charrnn", command, *options, *which]
        if self.mpi and command == "train":
            count = launcher.processes()
            line = [*(["mpiexec", "-n", str(count)] if count > 1 else []), *line, "--mpi"]
        return shlex.join(line)


def train(options: Options) -> None:
    """Train a network on a corpus.

    It reads the corpus over and over, and learns which character comes next. A part is held out to
    see how well. Sizes that are not given are made to fit, so that a few names train as well as a
    library; the plan says what was chosen, and what simple counting makes of the same text.

    Ctrl-C saves what was learned, and --resume goes on as if nothing had been.
    """
    options.check()
    useful = thread_count.prepare(options.learning.get("workers"))

    # numpy comes with these, and must find the threads set
    if not options.mpi:
        from charrnn.cli.train.run import run

        run(options, useful, Console(options.quiet))
        return
    from charrnn.cli.train.run import assist, joined, run

    with joined() as ranks:
        if ranks.number:
            assist(ranks)
        else:
            run(options, ranks.count, Console(options.quiet), ranks)

"""Train a network on a corpus.

The network reads the corpus again and again, and learns to predict the next character. A part of
the corpus is held out to measure the loss. charrnn chooses the sizes that you do not
set. The plan shows these sizes, and the loss of n-gram baselines on the held-out text.

Ctrl-C saves the run, and --resume continues exactly where it stopped.

# train on a corpus of the package, then draw ten samples
charrnn train dinosaurs
charrnn sample -n 10

# show the plan and the baselines to beat, without training
charrnn train names.txt --dry-run

# train on a book for twenty minutes
charrnn train book.txt.gz -m book.npz --minutes 20

# draw the length of each name first, and count it down
charrnn train names.txt --ends length

# resume after Ctrl-C, or train for longer
charrnn train --resume
charrnn train --resume --epochs 200

# fine-tune a model of many names on your own names
charrnn train mine.txt --from given-names -m mine.npz

# read text from another program, and log every step
cat *.txt | charrnn train - -m all.npz --metrics all.jsonl --json
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from charrnn.cli import options
from charrnn.cli.files import check_not_an_input
from charrnn.cli.options import OUTPUT, CommandOptions, Rule, Source, excludes, flag, group
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import File, Whole, of_corpus, of_learning, setting
from charrnn.settings.training import TrainConfig
from charrnn.system import NAMES, OURS


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(CommandOptions):
    RULES: ClassVar[tuple[Rule, ...]] = (options.CORPUS_OR_RESUME, excludes("valid", "holdout"))

    sources: tuple[str, ...] = options.sources(
        "CORPUS",
        f"Files to train on, - for standard input, or a corpus of the package: {', '.join(NAMES)}.",
    )
    valid: tuple[str, ...] = of_corpus(
        Source("FILE"),
        "Measure the held-out loss on this file. Repeatable.",
        default_in_words="a part of CORPUS",
        repeated=True,
    )
    cutting: dict[str, Any] = group(CorpusConfig)
    reading: dict[str, Any] = group(Reading)


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions):
    FIRST = (
        *("sources", "minutes", "epochs", "cell", "hidden", "layers", "counts", "start_from"),
        *("seed", "resume", "force"),
    )
    RULES = (
        *CorpusOptions.RULES,
        excludes("resume", "force", "start_from"),
    )

    learning: dict[str, Any] = group(TrainConfig)
    model: Path = options.model("The model file to write.", values=File())
    start_from: Path | None = of_learning(
        options.ModelFile("MODEL"),
        "Start from the parameters of this model, to fine-tune it or after the corpus has grown:"
        f" a file, or {OURS}.",
        names=("--from",),
    )
    resume: bool = flag("Continue the run in the model file exactly where it stopped.")
    force: bool = flag("Replace an existing model file.")
    metrics: Path | None = setting(
        File(), "Append a JSON line to this file for each step and each check-up.", panel=OUTPUT
    )
    preview: int = setting(
        Whole(0, 100), "Show this many samples at some check-ups.", panel=OUTPUT, default=1
    )
    dry_run: bool = flag("Show the plan and exit.")

    @property
    def wanted_threads(self) -> int | None:
        return self.learning.get("cores")

    def check(self) -> None:
        texts = (*self.sources, *self.valid)
        check_not_an_input(self.model, "-m", *texts)
        self.check_metrics(self.model, *texts)

    def check_metrics(self, *inputs: Path | str) -> None:
        if self.metrics is not None:
            check_not_an_input(self.metrics, "--metrics", *inputs)

    def line(self, command: str, *arguments: str) -> str:
        """Return a command for the same model."""
        usual = Path(os.environ.get("CHARRNN_MODEL") or options.MODEL)
        model = [] if self.model == usual else ["-m", str(self.model)]
        return shlex.join(["charrnn", command, *arguments, *model])

"""``charrnn sweep``: every combination of some settings, from a few seeds each.

What ``--try NAME=VALUE,VALUE`` says: the values of a setting, checked as its option is."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli import options as shared_work
from charrnn.cli import options as thread_count
from charrnn.cli.app import meant_by_option
from charrnn.cli.console import Console
from charrnn.cli.options import (
    WORKERS,
    Trying,
    check_exclusive,
    check_read_once,
    flag,
    group,
    like,
    not_one_of,
)
from charrnn.corpus.files import NAMES
from charrnn.errors import SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import (
    CORPUS,
    LEARNING,
    File,
    Flag,
    Setting,
    Text,
    setting,
    settings_of,
)
from charrnn.settings.training import TrainConfig
from charrnn.settings.using import Seeds, words_to_try

SAID = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
HELP = "Try 'charrnn sweep --help'."


def values_tried(typed: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """The values by the names of their settings; SettingError where one is none."""
    settings = settings_of(TrainConfig)
    known = {f"--{word}": (name, settings[name]) for word, name in words_to_try().items()}
    found: dict[str, tuple[Any, ...]] = {}
    for one in typed:
        word, equals, values = one.partition("=")
        option = "--" + word.strip().lstrip("-").replace("_", "-")
        if not equals or not word.strip():
            raise SettingError(
                f"--try {one} names no values", f"Write --try NAME=VALUE,VALUE. {HELP}"
            )
        if option not in known:
            raise no_such(option, known)
        name, setting = known[option]
        if name in found:
            raise SettingError(
                f"{option} is tried twice",
                "Write all of its values in one --try, with commas between.",
            )
        found[name] = tuple(value_of(option, setting, value) for value in values.split(","))
        for place, value in enumerate(found[name]):
            if value in found[name][:place]:
                raise SettingError(
                    f"--try {option.lstrip('-')}: {values.split(',')[place]} is there twice",
                    "Leave one of them out.",
                )
    return found


def no_such(option: str, known: Iterable[str]) -> SettingError:
    """What to say of an option that cannot be tried."""
    word = option.lstrip("-")
    if option in ("--seed", "--seeds"):
        return SettingError(f"--try {word}: seeds have an option", "Write --seeds 0-4.")
    if option == "--threads":
        return SettingError(
            "--try threads: each run has one thread", "How many go on at once is --threads."
        )
    of_corpus = {
        option
        for config in (CorpusConfig, Reading)
        for name, one in settings_of(config).items()
        for option in one.options(name)
    }
    if option in of_corpus or option in ("--valid", "--from"):
        return SettingError(
            f"--try {word}: that is the same for all runs, or their losses could not be compared",
            f"Make a sweep for each value, into a folder of its own: {option} VALUE -o FOLDER.",
        )
    meant = meant_by_option(option, "train", [*known])
    return SettingError(f"--try {word}: train has no such option", f"{meant}{HELP}")


def value_of(option: str, setting: Setting, typed: str) -> Any:
    """The value; SettingError where it is none."""
    word = typed.strip()
    with suppress(ValueError, KeyError):
        if isinstance(setting.values, Flag):
            return SAID[word.lower()]
        return setting.values.plain(setting.values.read(word))
    allowed = "yes or no" if isinstance(setting.values, Flag) else setting.values.allowed
    raise SettingError(f"--try {option.lstrip('-')}: {not_one_of(typed, allowed)}", HELP)


EXAMPLES = """
# two sizes and two learning rates, from five seeds each: twenty runs
charrnn sweep dinosaurs --try hidden=64,128 --try lr=0.002,0.004 --seeds 0-4 -o sizes

# what would be done, and how long would it take?
charrnn sweep dinosaurs --try cell=tanh,gru,lstm --seeds 0-2 -o cells --dry-run

# go on after Ctrl-C, or with more seeds
charrnn sweep --resume -o sizes
charrnn sweep --resume -o sizes --seeds 0-9

# on the workers of Dask, whose machines need neither the corpus nor a common disk
charrnn sweep dinosaurs --try cell=tanh,gru --seeds 0-9 -o cells --scheduler scheduler.json

# draw from one of the models; each row of sweep.jsonl names its own
charrnn sample -m sizes/hidden=64,lr=0.004,seed=0.npz -n 10

# the last rows, for another program
tail -n 3 sizes/sweep.jsonl
"""
SWEEP = "Sweep"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be typed after the name of the command."""

    sources: tuple[str, ...] = options.sources(
        "CORPUS",
        "Texts to learn from: files, - for standard input, or a corpus that comes with the"
        f" program: {', '.join(NAMES)}.",
    )
    tried: tuple[str, ...] = setting(
        Trying(),
        "Try these values of an option of the network or of learning, such as hidden=64,128; may be"
        " repeated, and every combination is tried.",
        panel=SWEEP,
        default=(),
        names=("--try",),
        repeated=True,
    )
    seeds: tuple[int, ...] | None = setting(
        Seeds(),
        "The seeds that each combination is run from.",
        panel=SWEEP,
        default_in_words="0",
    )
    output: Path | None = setting(
        File("FOLDER"),
        "Where the models and sweep.jsonl go; it is made if it is not there.",
        panel=SWEEP,
        names=("-o", "--output"),
    )
    resume: bool = flag("Go on with the sweep in the folder: make what is missing.", panel=SWEEP)
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
    learning: dict[str, Any] = group(TrainConfig, *words_to_try().values())
    start_from: Path | None = setting(
        File("MODEL"),
        "Start each run from the parameters of this model.",
        panel=LEARNING,
        names=("--from",),
    )
    threads: int | None = like(
        TrainConfig,
        "workers",
        about="How many runs go on at once, each in a process of one thread.",
        default_in_words="the cores there are",
        panel=WORKERS,
    )
    processes: int | None = options.workers("processes without Dask: see --threads")
    scheduler: str | None = options.scheduler()
    dry_run: bool = flag("Show the plan, and leave it at that.")
    as_json: bool = options.as_json()
    quiet: bool = options.quiet()

    def check(self) -> dict[str, tuple[Any, ...]]:
        """What is tried; SettingError where the options contradict each other."""
        if not self.sources and not self.resume:
            ours = ", ".join(NAMES)
            raise SettingError(
                "CORPUS is missing",
                f"Name a file, - for standard input, or one of {ours}. Try 'charrnn sweep --help'.",
            )
        if self.output is None:
            raise SettingError(
                "-o is missing", "Name a folder for the models and the rows: -o FOLDER."
            )
        shared_work.check(self.processes, self.scheduler, self.threads)
        check_exclusive(valid=self.valid, holdout="holdout" in self.cutting)
        check_read_once((*self.sources, *self.valid))
        tried = values_tried(self.tried)
        for name in tried:
            if name in self.learning:
                option = settings_of(TrainConfig)[name].options(name)[-1].partition("/")[0]
                raise SettingError(
                    f"{option} is tried, and given one value as well", "Leave one of them out."
                )
        if not tried and self.seeds is None and not self.resume:
            raise SettingError(
                "nothing is tried",
                "Say which values, such as --try hidden=64,128, or which seeds: --seeds 0-4.",
            )
        return tried


def sweep(options: Options) -> None:
    """Train with every combination of some settings, and compare.

    Each value of each --try is combined with each of the others, and each combination is run from
    every seed. A run is that of charrnn train with one thread, to the last byte; as many go on at
    once as there are cores. FOLDER gets a model file for each, and sweep.jsonl a row as each ends.

    The table ranks the combinations by the mean of their held-out loss. Its spread is the standard
    deviation from seed to seed, which also hold out other examples: a difference that is smaller
    than that tells little.

    Ctrl-C saves what was learned, and --resume goes on as if nothing had been. A run that fails
    does not stop the others; in the end the exit status is 1.
    """
    tried = options.check()
    thread_count.prepare(1)

    from charrnn.cli.sweep.run import run  # numpy comes with it, and must find the threads set

    at_once = options.threads or options.processes or thread_count.cores()
    run(options, tried, at_once, Console(options.quiet))

"""Train with every combination of some settings, and compare.

Each combination of --try values is run once per seed. The model files go to FOLDER, and a row is
added to FOLDER/sweep.jsonl when a run ends. One run uses one core, and gives the same model file
as charrnn train --threads 1.

The table ranks combinations by their mean held-out loss. The spread is the standard deviation over
seeds. The difference is from the best combination, on the same text. Below two
standard errors it is not clear.

Ctrl-C saves all runs, and --resume continues exactly where they stopped. A run that fails does not
stop the others, but the exit status is then 1.

# two sizes and two learning rates, from five seeds each: twenty runs
charrnn sweep dinosaurs --try hidden=64,128 --try lr=0.002,0.004 --seeds 0-4 -o sizes

# show the plan and its duration, without training
charrnn sweep dinosaurs --try cell=tanh,gru,lstm --seeds 0-2 -o cells --dry-run

# resume after Ctrl-C, or add seeds
charrnn sweep --resume -o sizes
charrnn sweep --resume -o sizes --seeds 0-9

# run on the workers of a Dask scheduler; they need no copy of the corpus
charrnn sweep dinosaurs --try cell=tanh,gru --seeds 0-9 -o cells --scheduler scheduler.json

# draw from one of the models; each row of sweep.jsonl names its model
charrnn sample -m sizes/hidden=64,lr=0.004,seed=0.npz -n 10

# read the last rows in another program
tail -n 3 sizes/sweep.jsonl
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from charrnn.cli import options
from charrnn.cli.app import meant_by_option
from charrnn.cli.options import Known, flag, group, needs_one, not_one_of
from charrnn.cli.train.options import CorpusOptions
from charrnn.errors import SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import File, Flag, Setting, of_learning, setting, settings_of
from charrnn.settings.training import Seeds, TrainConfig, words_to_try
from charrnn.system import cores

FLAGS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
SEE_HELP = "Try 'charrnn sweep --help'."


def values_tried(typed: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """Return values by the names of their settings. Raise SettingError for a wrong one."""
    settings = settings_of(TrainConfig)
    known = {f"--{word}": (name, settings[name]) for word, name in words_to_try().items()}
    tried: dict[str, tuple[Any, ...]] = {}
    for text in typed:
        word, equals, values = text.partition("=")
        option = "--" + word.strip().lstrip("-").replace("_", "-")
        if not equals or not word.strip():
            hint = f"Write --try NAME=VALUE,VALUE. {SEE_HELP}"
            raise SettingError(f"--try {text} has no values", hint)
        if option not in known:
            raise unknown_option(option, known)
        name, setting = known[option]
        if name in tried:
            hint = "Write all of its values in one --try, separated by commas."
            raise SettingError(f"{option} is tried twice", hint)
        tried[name] = tuple(value_of(option, setting, value) for value in values.split(","))
    return tried


def unknown_option(option: str, known: Iterable[str]) -> SettingError:
    of_corpus = {
        option
        for config in (CorpusConfig, Reading)
        for name, setting in settings_of(config).items()
        for option in setting.options(name)
    }
    if option in ("--seed", "--seeds"):
        why, hint = "seeds have their own option", "Use --seeds, such as --seeds 0-4."
    elif option == "--threads":
        why, hint = "each run has one thread", "--threads sets the number of runs at once."
    elif option in of_corpus or option in ("--valid", "--from"):
        why = "runs on different texts cannot be compared"
        hint = f"Run one sweep for each value, in separate folders: {option} VALUE -o FOLDER."
    else:
        why = "train has no such option"
        hint = f"{meant_by_option(option, 'train', [*known])}{SEE_HELP}"
    return SettingError(f"--try {option.lstrip('-')}: {why}", hint)


def value_of(option: str, setting: Setting, typed: str) -> Any:
    word = typed.strip()
    with suppress(ValueError, KeyError):
        if isinstance(setting.values, Flag):
            return FLAGS[word.lower()]
        return setting.values.plain(setting.values.read(word))
    allowed = "yes or no" if isinstance(setting.values, Flag) else setting.values.allowed
    raise SettingError(f"--try {option.lstrip('-')}: {not_one_of(typed, allowed)}", SEE_HELP)


of_sweep = partial(setting, panel="Sweep")
TRIED = Known("NAME=VALUE,VALUE", names=lambda: [f"{word}=" for word in words_to_try()])


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions):
    RULES = (
        *CorpusOptions.RULES,
        needs_one("output", hint="Name a folder for the models and the rows: -o FOLDER."),
        needs_one(
            *("tried", "seeds", "resume"),
            hint="Name values, such as --try hidden=64,128, or seeds, such as --seeds 0-4.",
        ),
        *options.SHARED_WORK,
    )

    tried: tuple[str, ...] = of_sweep(
        TRIED,
        "Try these values of an option of train, such as hidden=64,128. Repeatable: every"
        " combination is run.",
        names=("--try",),
        repeated=True,
    )
    seeds: tuple[int, ...] | None = of_sweep(
        Seeds(), "Run each combination once per seed.", default_in_words="0"
    )
    output: Path | None = of_sweep(
        File("FOLDER"),
        "Write the models and sweep.jsonl to this folder; it is created if needed.",
        names=("-o", "--output"),
    )
    resume: bool = flag("Run what is missing in the sweep of the folder.", panel="Sweep")
    learning: dict[str, Any] = group(TrainConfig, *words_to_try().values())
    start_from: Path | None = of_learning(
        options.ModelFile("MODEL"),
        "Start each run from the parameters of this model.",
        names=("--from",),
    )
    threads: int | None = options.like(
        TrainConfig,
        "workers",
        about="Run N trainings at once, each in a process of one thread.",
        default_in_words="the number of cores",
        panel=options.WORKERS,
    )
    workers: int | None = options.workers("processes without Dask: see --threads")
    scheduler: str | None = options.scheduler()
    dry_run: bool = flag("Show the plan and exit.")

    @property
    def at_once(self) -> int:
        return self.threads or self.workers or cores()

    def check(self) -> None:
        for name in values_tried(self.tried):
            if name in self.learning:
                option = settings_of(TrainConfig)[name].options(name)[-1].partition("/")[0]
                raise SettingError(f"{option} is set, and also in --try", "Leave one of them out.")

"""Train with every combination of some settings, and compare.

Each combination of --try values is run once per seed, several runs at once, each on one core. All
runs are compared on the same held-out text. FOLDER gets a model file and a row of sweep.jsonl for
each run. The table ranks the combinations by their mean loss over the seeds. A difference below two
standard errors is not clear.

Ctrl-C keeps the runs that have ended; the same command with --resume makes the others.

# two sizes and two learning rates, from three seeds each: twelve runs
charrnn sweep dinosaurs --try hidden=64,128 --try lr=0.002,0.004 --seeds 3 -o sizes

# show the runs without training
charrnn sweep dinosaurs --try cell=tanh,gru,lstm --seeds 0-2 --dry-run

# make the runs that are missing, on the workers of a Dask scheduler
charrnn sweep dinosaurs --try cell=tanh,gru --seeds 10 -o cells --resume --scheduler cluster.json
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.options import (
    CorpusOptions,
    File,
    Known,
    Seeds,
    exclusive,
    flag,
    group,
    not_one_of,
    words_to_try,
)
from charrnn.errors import CharrnnError, ClusterError, SettingError
from charrnn.settings import (
    CorpusConfig,
    Flag,
    Reading,
    Setting,
    TrainConfig,
    Whole,
    setting,
    settings_of,
)
from charrnn.settings import learning as of_learning
from charrnn.system import cores
from charrnn.text import Visible, visible_line

if TYPE_CHECKING:
    from charrnn.sweep import Material, Row, Standing, Trial

Tried = dict[str, tuple[Any, ...]]

FLAGS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
MOST_CORES = 8
SEE_HELP = "Try 'charrnn sweep --help'."
PANEL = "Sweep"


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions):
    FIRST = ("sources", "tried", "seeds", "output", "resume", "cores", "scheduler", "dry_run")

    sources: tuple[str, ...] = options.sources(
        "CORPUS", "Files to train on, as for charrnn train.", is_required=True
    )
    tried: tuple[str, ...] = setting(
        Known("NAME=VALUE,VALUE", names=lambda: [f"{word}=" for word in words_to_try()]),
        "Try these values of an option of train, such as hidden=64,128. Repeatable: every"
        " combination is run.",
        names=("--try",),
        panel=PANEL,
        repeated=True,
    )
    seeds: tuple[int, ...] | None = setting(
        Seeds(), "Run each combination once per seed.", panel=PANEL, default_in_words="0"
    )
    output: Path | None = setting(
        File("FOLDER"),
        "Write the models and sweep.jsonl to this folder.",
        panel=PANEL,
        names=("-o", "--output"),
        default_in_words="sweep, or sweep-2 and so on if that exists",
    )
    resume: bool = flag("Make only the runs that are missing in the folder.", panel=PANEL)
    learning: dict[str, Any] = group(TrainConfig, *words_to_try().values())
    start_from: Path | None = of_learning(
        options.ModelFile("MODEL"),
        "Start each run from the parameters of this model.",
        names=("--from",),
    )
    cores: int | None = setting(
        Whole(1, 1 << 12),
        "Make this many runs at once.",
        panel=PANEL,
        default_in_words=f"the number of cores, up to {MOST_CORES}",
    )
    scheduler: str | None = options.scheduler()
    dry_run: bool = flag("Show the runs and exit.")

    def check(self) -> None:
        if self.valid and "holdout" in self.cutting:
            raise exclusive("--valid", "--holdout")
        if self.cores is not None and self.scheduler is not None:
            raise exclusive("--cores", "--scheduler")
        if not self.tried and not self.seeds:
            hint = "Name values, such as --try hidden=64,128, or seeds, such as --seeds 3."
            raise SettingError("--try NAME=VALUE,VALUE is missing", hint)
        for name in values_tried(self.tried):
            if name in self.learning:
                option = settings_of(TrainConfig)[name].options(name)[-1].partition("/")[0]
                raise SettingError(f"{option} is set, and also in --try", "Leave one of them out.")


def values_tried(typed: Iterable[str]) -> Tried:
    """Return values by the names of their settings. Raise SettingError for a wrong one."""
    settings = settings_of(TrainConfig)
    known = {f"--{word}": (name, settings[name]) for word, name in words_to_try().items()}
    tried: Tried = {}
    for text in typed:
        word, equals, values = text.partition("=")
        option = "--" + word.strip().lstrip("-").replace("_", "-")
        if option not in known:
            raise unknown_option(option, known)
        if not equals or not values.strip():
            raise SettingError(f"--try {text} has no values", f"Write {text.rstrip('=')}=A,B.")
        name, one = known[option]
        if name in tried:
            raise SettingError(f"{option} is tried twice", "Write all values in one --try.")
        tried[name] = tuple(value_of(option, one, value.strip()) for value in values.split(","))
        if len(set(tried[name])) < len(tried[name]):
            raise SettingError(f"--try {text} repeats a value", "Leave it out.")
    return tried


def unknown_option(option: str, known: Iterable[str]) -> SettingError:
    """Return the error for an option that cannot be tried, with the one that may be meant."""
    word = option.lstrip("-")
    of_corpus = [name for kind in (CorpusConfig, Reading) for name in settings_of(kind)]
    if word in ("size", "units"):
        return SettingError(f"there is no --{word} to try", "Try hidden=64,128 or layers=1,2.")
    if word in ("seed", "seeds"):
        return SettingError("seeds have their own option", "Use --seeds 3, or --seeds 0-4.")
    if word.replace("-", "_") in (*of_corpus, "valid", "from"):
        hint = "Make a sweep for each value: runs on different texts cannot be compared."
        return SettingError(f"{option} cannot be tried", hint)
    near = get_close_matches(option, known, 1)
    hint = f"Did you mean {near[0].lstrip('-')}? {SEE_HELP}" if near else SEE_HELP
    return SettingError(f"--try {word}: train has no such option", hint)


def value_of(option: str, one: Setting, word: str) -> Any:
    """Return the value of a typed word. Raise SettingError if it is not allowed."""
    with suppress(ValueError, KeyError):
        if isinstance(one.values, Flag):
            return FLAGS[word.lower()]
        return one.values.plain(one.values.read(word))
    allowed = "yes or no" if isinstance(one.values, Flag) else one.values.allowed
    raise SettingError(f"--try {option.lstrip('-')}: {not_one_of(word, allowed)}", SEE_HELP)


def run(options: Options, console: Console) -> None:
    """Make all runs that are missing, and show the table. Raise CharrnnError if one failed."""
    from charrnn.cluster import open_executor
    from charrnn.runs import compute_baselines
    from charrnn.sweep import counting_rows, free_folder, open_folder, rank, trials_of

    options.check()
    tried, seeds = values_tried(options.tried), options.seeds or (0,)
    trials = trials_of(tried, seeds)
    path = options.output or (Path("sweep") if options.resume else free_folder())
    material = read_material(options, console)
    at_once = check_plans(material, trials, options.cores or min(cores(), MOST_CORES))
    show_plan(material, trials, at_once, console)
    if options.dry_run:
        if options.as_json:
            names = [trial.name for trial in trials]
            console.json("sweep.plan", {"folder": str(path), "runs": names, "at_once": at_once})
        return
    baselines = list(compute_baselines(material.corpus, material.record))
    with open_folder(path, resume=options.resume) as folder:
        folder.check(material, trials)
        try:
            with open_executor(material, at_once, options.scheduler) as executor:
                show_runs(
                    folder.run(executor, material, trials), len(folder.missing(trials)), console
                )
        except (ClusterError, KeyboardInterrupt) as error:
            line = resume_line(path)
            if isinstance(error, ClusterError):
                error.hint_pattern += f" To resume: {line}"
            else:
                console.note(f"{len(folder.rows):,} runs are done; to resume: {line}")
            raise
        rows = [folder.rows[trial.name] for trial in trials]
    best = min(baselines, key=lambda baseline: baseline.nats_per_character)
    ranking = rank([*rows, *counting_rows(best, seeds)], tried)
    show_ranking(ranking, path, options, console)
    failed = [row for row in rows if row["error"] is not None]
    if failed:
        first = f"{failed[0]['name']}: {failed[0]['error']}"
        what = f"{len(failed):,} of {len(rows):,} runs failed; {first}"
        raise CharrnnError(what, "--resume repeats failed runs, except those that diverged.")


def read_material(options: Options, console: Console) -> Material:
    """Read the corpus and the model to start from."""
    from charrnn.checkpoint import record_of
    from charrnn.corpus import read_files
    from charrnn.model_file import load_trained
    from charrnn.sweep import Material

    start = None if options.start_from is None else load_trained(options.start_from)
    model = None if start is None else start.model
    known = "" if model is None else model.vocabulary.characters
    reading = Reading(**options.reading)
    cutting = CorpusConfig(reading=reading, known=known, **options.cutting)
    console.note_if_waiting((*options.sources, *options.valid))
    corpus = read_files(options.sources, cutting, options.valid)
    if not len(corpus.held_out):
        what = "nothing is held out, and a sweep compares held-out losses"
        raise SettingError(what, "Hold out some text with [holdout] or [valid].")
    typed = {**options.reading, **options.cutting}
    if options.start_from is not None:
        typed["from"] = str(options.start_from)
    record = record_of(corpus, cutting)
    return Material(corpus, record, cutting, typed, options.learning, model)


def check_plans(material: Material, trials: list[Trial], at_once: int) -> int:
    """Raise an error if settings contradict each other; return how many runs fit into memory."""
    from charrnn import system
    from charrnn.plan import check_memory, fit_settings, memory_bytes
    from charrnn.runs import configure
    from charrnn.sweep import name_of

    corpus, largest = material.corpus, 1
    for trial in trials:
        if trial.seed != trials[0].seed:
            break
        try:
            config = configure({**material.learning, **trial.tried}, material.start_from)
            fitted = fit_settings(config, corpus, material.start_from)
        except SettingError as error:
            what, hint = f"{name_of(trial.tried)}: {error.what}", error.hint_pattern
            raise SettingError(what, hint) from error
        largest = max(largest, memory_bytes(fitted, corpus))
    available = system.available()
    check_memory(largest, available)
    fitting = at_once if available is None else available // largest
    return max(1, min(at_once, fitting, len(trials)))


def show_plan(material: Material, trials: list[Trial], at_once: int, console: Console) -> None:
    corpus = material.corpus
    names = ", ".join(corpus.sources)
    examples = f"{len(corpus.train):,} examples, and {len(corpus.held_out):,} that are held out"
    console.say(
        visible_line(f"corpus    {names}: {examples}"),
        Visible(f"runs      {len(trials):,}, {at_once:,} at once, each on one core"),
    )


def show_runs(rows: Iterable[Row], total: int, console: Console) -> None:
    """Show a line for each run as it ends, and a bar over all runs."""
    from charrnn.cli.console import clock
    from charrnn.sweep import loss_of

    what = "{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} runs, {remaining} left"
    bar = console.bar(total=total, bar_format=what) if console.is_animated and total else None
    try:
        for row in rows:
            loss = f"{loss_of(row):8.3f}" if row["best"] else "  failed"
            console.say(visible_line(f"{loss}  {clock(row['seconds']):>8}  {row['name']}"))
            if bar is not None:
                bar.update()
    finally:
        if bar is not None:
            bar.close()


def resume_line(path: Path) -> str:
    """Return the command that was typed, with what it needs to resume."""
    typed = [arg for arg in sys.argv[1:] if arg != "--resume"]
    folder = [] if {"-o", "--output"} & {arg[:8] for arg in typed} else ["-o", str(path)]
    return shlex.join(["charrnn", *typed, *folder, "--resume"])


def show_ranking(ranking: list[Standing], path: Path, options: Options, console: Console) -> None:
    """Show a row for each combination, with marks and samples, and a command to copy the best."""
    table = [described(standing, path) for standing in ranking]
    mark(table)
    trained = [entry for entry in table if entry["model"]]
    best = trained[0] if trained else None
    if options.as_json:
        console.json("sweep", {"folder": str(path), "best": best, "ranking": table})
        return
    show_table(table, console)
    if best is not None:
        console.note(f"keep the best: cp {shlex.quote(best['model'])} model.npz")


def described(standing: Standing, path: Path) -> dict[str, Any]:
    """Return the facts about a combination, with two samples of its best run."""
    from charrnn.runs import load
    from charrnn.sweep import COUNTING

    entry: dict[str, Any] = {"settings": standing.name, "nats_per_character": standing.loss}
    entry |= {"difference": standing.difference, "standard_error": standing.standard_error}
    entry |= {"clearly_worse": standing.is_clearly_worse, "runs": len(standing.rows)}
    entry |= {"seconds": standing.seconds, "parameters": None, "model": None, "samples": []}
    if standing.rows and standing.name != COUNTING:
        file = path / f"{standing.rows[0]['name']}.npz"
        model = load(file)
        entry |= {"model": str(file), "samples": model.sample(2, seed=0)}
        entry["parameters"] = model.parameters.architecture.parameter_count
    return entry


def mark(table: list[dict[str, Any]]) -> None:
    """Mark the best, and the smallest and the fastest of those that are no clearly worse."""
    good = [entry for entry in table if entry["model"] and not entry["clearly_worse"]]
    for entry in table:
        entry["marks"] = []
    if good:
        good[0]["marks"].append("best")
        min(good, key=lambda entry: float(entry["parameters"]))["marks"].append("smallest")
        min(good, key=lambda entry: float(entry["seconds"]))["marks"].append("fastest")


def show_table(table: list[dict[str, Any]], console: Console) -> None:
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    from charrnn.cli.console import clock

    shown = Table(box=None, pad_edge=False, header_style="cyan")
    for name in ("held-out", "difference", "std error", "time", "size"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("settings", no_wrap=True)
    shown.add_column("samples", no_wrap=True, overflow="ellipsis")
    for entry in table:
        difference, error = entry["difference"], entry["standard_error"]
        name = " ".join([entry["settings"], *(f"({word})" for word in entry["marks"])])
        cells = [f"{entry['nats_per_character']:.3f}", f"{difference:+.3f}" if difference else ""]
        cells.append(f"{error:.3f}" if error > 0 else "")
        if entry["parameters"] is None:
            cells += ["", ""]
        else:
            cells += [clock(entry["seconds"]), f"{entry['parameters']:,}"]
        cells += [visible_line(name), visible_line("  ".join(entry["samples"]))]
        style = "bold" if "best" in entry["marks"] else ""
        shown.add_row(*(Text(cell, style) for cell in cells))
    width = console.out.window if console.out.is_terminal else 160
    RichConsole(file=console.out.stream, width=width, highlight=False).print(shown)

"""Each combination of --try values is run once per seed, several runs at once, each on one core.
All runs are compared on the same held-out text. FOLDER gets a row of sweep.jsonl for each run, and
a model file unless it failed. The table ranks all combinations in FOLDER by their mean loss over
the seeds. A difference below two standard errors is not clear.

Ctrl-C keeps the runs that have ended; the same command with -o FOLDER --resume makes the others.
With other values or seeds, --resume adds to those that are there.

# two sizes and two learning rates, from three seeds each: twelve runs
charrnn sweep dinosaurs --try hidden=64,128 --try lr=0.002,0.004 --seeds 3

# make the runs that are missing, on the workers of a Dask scheduler
charrnn sweep dinosaurs --try cell=tanh,gru --resume --scheduler cluster.json
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import MISSING, dataclass
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import shared_options as shared
from charrnn.cli.console import TIME_LEFT, Console, clock, only_one
from charrnn.cli.shared_options import flag, not_one_of, repeatable
from charrnn.errors import CharrnnError, SettingError
from charrnn.settings.training import TrainConfig
from charrnn.settings.values import SEED, File, Flag, Text, Values, ensure, setting, settings_of
from charrnn.system.cores import cores_for
from charrnn.system.packaged import CORPORA
from charrnn.system.visible import Visible, count, did_you_mean, visible_line

if TYPE_CHECKING:
    from charrnn.files.model_contents import CorpusRecord
    from charrnn.spread.workers import Executor
    from charrnn.sweep_and_ranking import Folder, Material, Row, Trial

FLAGS = {"yes": True, "no": False}
MOST_SEEDS = 1 << 16
SEE_HELP = "Try 'charrnn sweep --help'."
KNOWN = settings_of(TrainConfig)
CHOSEN = ("seed", "cores", "shards")  # by the sweep itself
TRIED = {name.replace("_", "-"): name for name in KNOWN if name not in CHOSEN}  # as it is typed


class Seeds(Values):
    """A number of seeds from 0, a range, or a list."""

    def checked(self, value: Any) -> tuple[int, ...]:
        ensure(0 < len(set(value)) == len(value) <= MOST_SEEDS)
        return tuple(map(SEED.checked, value))

    def read(self, typed: Any) -> Any:
        first, dash, last = typed.partition("-")
        if "," in typed:
            return [int(seed) for seed in typed.split(",")]
        seeds = range(int(first), int(last) + 1) if dash else range(int(first))
        return seeds[: MOST_SEEDS + 1]


@dataclass(frozen=True, kw_only=True)
class Options(shared.CorpusOptions):
    FIRST = "sources tried seeds same_size output resume cores scheduler dry_run"
    sources: tuple[str, ...] = shared.sources_option(
        "Files to train on, as for charrnn train.",
        default=MISSING,
        names=("CORPUS",),
        short="Train on these files",
    )
    tried: tuple[str, ...] = repeatable(
        Text("NAME=VALUE,VALUE", names=[f"{word}=" for word in TRIED]),
        "Try these values of an option| of network or learning, such as hidden=64,128. Repeatable:"
        " every combination is run.",
        names=("--try",),
    )
    seeds: tuple[int, ...] | None = setting(
        Seeds("N|N-N", "a number of seeds such as 3, a range such as 0-4, or a list such as 1,5,7"),
        "Run each combination once per seed.",
        default_in_words="1: seed 0",
        short="Run each with these seeds",
    )
    same_size: bool = flag(
        "Give each cell the units that bring it nearest to the size of the first.",
        short="Give all cells the same size",
    )
    output: Path | None = shared.output_option(
        File("FOLDER"),
        "Write the models and sweep.jsonl to this folder.",
        default_in_words="sweep, or sweep-2 and so on if that exists",
        short="Write to this folder",
    )
    resume: bool = flag(
        "Make only the runs that are missing in the folder.", short="Make only the missing runs"
    )
    learning: dict[str, Any] = shared.nested(TrainConfig, *TRIED.values())
    cores: int | None = shared.cores_option(
        about="Make this many runs at once.", short="Make this many runs at once"
    )
    scheduler: str | None = shared.scheduler_option()
    dry_run: bool = flag(short="Show the runs and exit")


def check(options: Options) -> dict[str, tuple[Any, ...]]:
    """Return the values to try by setting. Raise SettingError if options exclude or need others."""
    only_one({"--valid": options.valid, "--holdout": "holdout" in options.cutting})
    only_one({"--cores": options.cores, "--scheduler": options.scheduler})
    if not options.tried and not options.seeds:
        hint = "Name values, such as --try hidden=64,128, or seeds, such as --seeds 3."
        raise SettingError("--try NAME=VALUE,VALUE is missing", hint)
    tried: dict[str, tuple[Any, ...]] = {}
    for text in options.tried:
        word, _, typed = text.partition("=")
        word = word.strip().lstrip("-").replace("_", "-")
        if word not in TRIED:
            hint = did_you_mean(word, TRIED) or SEE_HELP
            raise SettingError(f"--try {word}: train has no such option that can be tried", hint)
        name = TRIED[word]
        only_one({f"--{word}": name in options.learning, f"--try {text}": True})
        values = [value_of(word, name, value.strip()) for value in typed.split(",")]
        tried[name] = tuple(dict.fromkeys([*tried.get(name, ()), *values]))
    if options.same_size:
        if "cell" not in tried:
            raise SettingError("--same-size needs cells to try", "Add --try cell=tanh,gru.")
        sizes = {f"--try {name}": name in tried for name in ("hidden", "layers")}
        only_one({"--same-size": True, **sizes, "--from": options.start_from})
    return tried


def value_of(word: str, name: str, typed: str) -> Any:
    """Return the value of a setting that is typed. Raise SettingError if it is not allowed."""
    values = KNOWN[name].values
    is_flag = isinstance(values, Flag)
    with suppress(ValueError, KeyError):
        return FLAGS[typed] if is_flag else values.checked(values.read(typed))
    allowed = "yes or no" if is_flag else values.allowed
    raise SettingError(f"--try {word}: {not_one_of(typed, allowed)}", SEE_HELP)


def run(options: Options, console: Console) -> None:
    """Make all runs that are missing, and show the table. Raise CharrnnError if one failed."""
    from charrnn import sweep_and_ranking as sweep
    from charrnn.runs import compute_baselines
    from charrnn.spread.workers import open_executor
    from charrnn.text.reading import name_of

    tried, seeds = check(options), options.seeds or (0,)
    trials = sweep.trials_of(tried, seeds)
    path = options.output or (Path("sweep") if options.resume else sweep.free_folder())
    sweep.check_folder(path, resume=options.resume)  # before the work, and in a dry run
    material = read_material(options, console)
    corpus, at_once = material.corpus, min(cores_for(options.cores), len(trials))
    held_out = f"{len(corpus.held_out):,} that {'is' if len(corpus.held_out) == 1 else 'are'}"
    examples = f"{count(len(corpus.train), 'example')}, and {held_out} held out"
    console.note(f"corpus    {', '.join(map(name_of, corpus.sources))}: {examples}")
    if options.same_size:
        trials = sweep.with_same_size(trials, material)
        tried["hidden"] = ()
    how = "by a scheduler" if options.scheduler else f"{at_once:,} at once"
    console.note(f"runs      {len(trials):,}, {how}, each on one core")
    for trial in trials:
        with suppress(SettingError):
            sweep.size_of(trial.tried, material)
            break
    else:
        sweep.size_of(trials[0].tried, material)  # an error, as each run would end with one
    if options.dry_run:
        if options.resume:
            with sweep.open_folder(path, resume=True, only_read=True) as folder:
                folder.check(material, tried)
                trials = folder.missing(folder.named(trials))
        names = [trial.name for trial in trials]
        if options.as_json:
            console.json("sweep.plan", {"folder": str(path), "runs": names, "at_once": at_once})
        else:
            sizes = [f"   {count(t.parameters, 'parameter')}" * (t.parameters > 0) for t in trials]
            console.out.write_lines(map(visible_line, map(add, names, sizes)))
        return
    baselines = compute_baselines(corpus, material.record)
    counting = min(baselines, key=lambda baseline: baseline.nats_per_character)
    with (
        open_executor(material, at_once, options.scheduler) as executor,
        sweep.open_folder(path, resume=options.resume, note=console.note) as folder,
    ):
        folder.check(material, tried)
        trials = folder.named(trials)
        make_runs(folder, executor, folder.missing(trials), console)
    names = [trial.name for trial in trials]
    rows = [folder.rows[name] for name in dict.fromkeys([*names, *folder.rows])]
    all_seeds = dict.fromkeys(row["seed"] for row in rows)
    ranking = sweep.rank([*rows, *sweep.counting_rows(counting, all_seeds)])
    show_ranking(ranking, path, material.record, options, console)
    failed = [f"{n}: {error}" for n in names if (error := folder.rows[n]["error"]) is not None]
    if failed:
        what = f"{len(failed):,} of {count(len(names), 'run')} failed; {failed[0]}"
        raise CharrnnError(what, "--resume repeats failed runs, except those that diverged.")


def read_material(options: Options, console: Console) -> Material:
    """Read the corpus and the model to start from."""
    from charrnn.files.model_contents import record_of
    from charrnn.files.model_file import load_trained
    from charrnn.sweep_and_ranking import Material

    model, known, typed = None, "", {**options.reading, **options.cutting}
    if options.start_from is not None:
        model = load_trained(options.start_from, "start_from").model
        known, typed["from"] = model.vocabulary.characters, str(options.start_from)
    corpus, cutting = options.read(known, console)
    if not len(corpus.held_out):
        what = "nothing is held out, and a sweep compares held-out losses"
        raise SettingError(what, "Hold out some text with [holdout] or [valid].")
    return Material(corpus, record_of(corpus, cutting), cutting, typed, options.learning, model)


def make_runs(folder: Folder, executor: Executor, trials: list[Trial], console: Console) -> None:
    """Make these runs, and show a line for each as it ends, and a bar over all."""
    what = "{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} runs, " + TIME_LEFT
    try:
        with console.bar(total=len(trials), bar_format=what) as bar:
            for row in folder.run(executor, trials):
                loss = f"{row['best']['nats_per_character']:8.3f}" if row["best"] else "  failed"
                console.note(f"{loss}  {clock(row['seconds']):>8}  {row['name']}")
                bar.update()
    except (Exception, KeyboardInterrupt):
        again = shlex.join(["-o", str(folder.path), "--resume"])
        console.note(f"runs done: {len(folder.rows):,}; to resume, add {again}")
        raise


def show_ranking(
    ranking: list[Row], path: Path, record: CorpusRecord, options: Options, console: Console
) -> None:
    """Show a row for each combination, with marks and samples, and a command to copy the best."""
    from rich.cells import set_cell_size

    from charrnn.sweep_and_ranking import COLUMNS, add_marks, differing

    add_marks(ranking)
    best = next((row for row in ranking if row["model"]), None)
    if options.as_json:
        console.json("sweep", {"folder": str(path), "best": best, "ranking": ranking})
        return
    out, names = console.out, differing(ranking)
    heads = ["held-out", "difference", "std error", "time", "size"]
    heads += [COLUMNS[name] for name in names]
    rows = [figures(row, names) for row in ranking]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    settings = [" ".join([r["name"], *(f"({mark})" for mark in r["marks"])]) for r in ranking]
    wide, room = max(map(len, settings)), out.window if out.is_terminal else None
    while room and len(widths) > 1 and sum(widths) + 2 * len(widths) + wide > room:
        widths.pop()  # the settings stay whole

    def line(cells: list[str], name: str, *samples: str) -> Visible:
        cells = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False)]
        whole = visible_line("  ".join([*cells, f"{name:{wide}}", *samples]))
        return Visible((set_cell_size(whole, room) if room else whole).rstrip())

    lines = [out.paint(line(heads, "settings", "samples"), "cyan")]
    for row, cells, name in zip(ranking, rows, settings, strict=True):
        shown = line(cells, name, *row["samples"])
        lines.append(out.paint(shown, "bold") if row is best else shown)
    out.write_lines(lines)
    if best is not None:
        model, *texts = [f"./{n}" if n[0] == "-" else n for n in (best["model"], *options.sources)]
        command = shlex.join(["cp", "-i", model, str(shared.MODEL)])
        files = {*record.names}
        if "-" not in files and files.difference(CORPORA):  # which a copy finds once it is resumed
            valid = [f"--valid={name}" for name in options.valid]
            again = ["charrnn", "train", *texts, *valid, "--resume", "-q"]
            command += f" && {shlex.join([*again, *shared.typed_models(shared.MODEL)])}"
        console.note(f"keep the best: {command}")


def figures(row: Row, names: list[str]) -> list[str]:
    """Return loss, difference from the best, error, time and parameters, and these settings."""
    difference = f"{row['difference']:+.3f}" if abs(row["difference"]) > 0 else ""  # not NaN
    error = f"{row['standard_error']:.3f}" if row["standard_error"] > 0 else ""
    time, size = (clock(row["seconds"]), f"{row['parameters']:,}") if row["model"] else ("", "")
    chosen = [f"{row['chosen'][name]:.4g}" if row["chosen"] else "" for name in names]
    return [f"{row['nats_per_character']:.3f}", difference, error, time, size, *chosen]

"""``charrnn train``: its options, its screen, its files, and runs that stop and go on."""

import json
import os
import re
import signal
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

import charrnn
from charrnn import runs
from charrnn.cli import train_screen
from charrnn.files import model_file
from charrnn.files.safe_writing import LineFile
from charrnn.settings.training import Fitted
from charrnn.training.loop import Event
from tests import program as programs
from tests.child import CHARRNN
from tests.networks import COIN, independent, saved, speller
from tests.program import BRIEF, NAMES, SIZE, SMALL, Program, plan_of, saved_by, summary_of

RUN = ("train", "names.txt", *SIZE, "--epochs", "3", "--check-every", "20", "--preview", "0")
LONG = ("train", "names.txt", *SIZE, "--epochs", "20", "--check-every", "3")


def rows_of(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_where_nothing_is_held_out_there_is_no_loss_to_compare(program: Program) -> None:
    nothing = summary_of(program, "--holdout", "0")
    assert nothing["baselines"] == {}
    assert nothing["best"] == dict.fromkeys(nothing["best"]) | {"step": nothing["steps"]}
    assert "nothing is held out" in program.run("train", "--resume").out


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The parameters that the usual settings lead to."""
    return saved_by(Program(tmp_path_factory.mktemp("usual"))).state.parameters.flat.tobytes()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("cell", "gru"), ("cell", "output"), ("ends", "halt"), ("hidden", 5), ("layers", 2)),
        *(("dropout", 0.5), ("dropconnect", 0.5), ("blank", 0.5), ("init_radius", 0.5)),
        *(("bptt", 5), ("batch", 3), ("lr", 0.5), ("optimizer", "sgd"), ("schedule", "linear")),
        *(("warmup", 4), ("clip", 1e-9), ("weight_decay", 0.5), ("own_inputs", 0.5)),
        *(("free_running", 2), ("seed", 6), ("clock", True), ("counts", True)),
    ],
)
def test_a_setting_has_its_effect(program: Program, usual: bytes, option: str, value: Any) -> None:
    typed = [f"--{option.replace('_', '-')}", *([] if value is True else [str(value)])]
    changed = saved_by(program, *typed)
    assert getattr(changed.config, option) == value
    assert (changed.state.parameters.flat.tobytes() == usual) == (option == "counts")


@pytest.mark.parametrize(
    ("limits", "why", "raised", "steps"),
    [
        ("--epochs 2 --minutes 9", "epochs", "--epochs 4", 26),
        ("--minutes 0.003", "minutes", "", 0),
        ("--epochs 40 --patience 1 --lr 1e-12", "patience", "--patience 3", 10),
    ],
)
def test_the_first_limit_that_is_reached_ends_a_run_and_may_be_raised(
    program: Program, limits: str, why: str, raised: str, steps: int
) -> None:
    line = ("train", "names.txt", *SIZE, "--check-every", "5", *limits.split())
    ran = program.run(*line, "--json")
    assert (ran.json["stopped"], "at most " in ran.err) == (why, "--epochs" in limits)
    assert ("ended early: the last check-ups were no better" in ran.err) == (why == "patience")
    for more, further in (("", 0), (raised, steps)):
        again = program.run("train", "--resume", *more.split(), "--json").json
        assert (again["stopped"], again["steps"]) == (why, ran.json["steps"] + further)


def test_the_same_seed_gives_the_same_bytes_whatever_is_shown(program: Program) -> None:
    files: list[bytes] = []
    for options in ((), ("-q", "--json"), ("--preview", "3"), ("--metrics", "m.jsonl")):
        assert program.run(*RUN[:-2], *options, "-m", f"{len(files)}.npz").status == 0
        files.append((program / f"{len(files)}.npz").read_bytes())
    assert len(set(files)) == 1


def test_a_run_of_any_length_takes_at_most_25_lines(program: Program) -> None:
    program.write("list.txt", "".join(f"{n}. name{n},\n" for n in range(60)) * 2)
    ran = program.run("train", "list.txt", *LONG[2:])
    screen = (ran.err + ran.out).splitlines()
    assert len(screen) <= 25
    assert all(len(line) < 80 for line in screen if "charrnn train" not in line)  # to be copied
    assert "\x1b" not in ran.err + ran.out
    assert "\r" not in ran.err
    rows = re.findall(r"^ +(\d+) % +\d\.\d{3} +\d\.\d{3}( \*)?   ", ran.err, re.MULTILINE)
    assert 9 <= len(rows) <= 12
    assert (rows[-1][0], "best at 100 %" in ran.out) == ("100", True)


@pytest.mark.parametrize("columns", [60, 71, 72])
def test_on_a_terminal_lines_fit_and_there_is_a_bar(program: Program, columns: int) -> None:
    program.write("names.txt", "Änne\u202e\nB\x1b[31mob\n[red]Zoë[/red]\n" * 20)
    status, screen = program.terminal(*LONG, columns=columns, env={"TERM": "xterm-256color"})
    assert status == 0
    assert "\x1b[31mob" not in screen
    assert "\u202e" not in screen
    assert re.search(r"100%\|.*\| held-out \d\.\d{3} \(best\), .*left", screen)
    assert ("characters/s" in screen) == (columns >= 72)
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", screen)
    lines = [line for line in re.split(r"[\r\n]+", plain) if "charrnn train" not in line]
    assert max(map(len, lines)) <= columns


def test_counting_is_compared_on_symbols_both_scored(program: Program, monkeypatch: Any) -> None:
    monkeypatch.setattr("charrnn.text.counts.baselines.__defaults__", (10**6, 200))
    monkeypatch.setattr("charrnn.prediction.losses.SCORED", 200)
    program.write("names.txt", "ab\n" * 300 + NAMES * 5)
    apart = summary_of(program, "--holdout", "0.5")["by_use"]["network"]["difference"]
    assert f": {apart:.3f} worse (" in program.run("train", "--resume").out


def test_samples_stand_beside_a_check_up_and_below_it(program: Program) -> None:
    err = program.run(*RUN[:-2], "--preview", "3").err
    rows = err[err.index("done") : err.index("next")].splitlines()
    assert sum(bool(re.match(r" {30}\S", row)) for row in rows) >= 2
    assert "a new line" not in program.run(*RUN, "--force").err
    accents = "a" + "".join(map(chr, range(0x300, 0x30C)))  # many characters in one column
    words = "abcdefghi", "abcdefghij", accents
    shown = [next(train_screen.preview(speller(word), 1, 0, 9)) for word in words]
    assert shown == ["abcdefghi", "abcdef...", f"{accents[:10]}..."]


def test_the_book_is_kept_and_counts_clipped_steps(program: Program) -> None:
    line = ("train", "names.txt", "--book", "--hidden", "3", "--epochs", "2")
    ended = program.run(*line, "--clip", "0.1", "--metrics", "steps.jsonl")
    norms = [row["gradient_norm"] for row in rows_of("steps.jsonl") if "gradient_norm" in row]
    above = sum(norm > 0.1 for norm in norms)
    assert above > 0
    ended.says(f"clipped at 0.1 in {above} of {len(norms)} steps")
    assert b'"book":true' in (program / "model.npz").read_bytes()
    unclipped = program.run(*line, "--clip", "0", "-m", "x.npz")
    unclipped.says(f"clipped at 0 in 0 of {len(norms)} steps")
    assert "clipped" not in program.run("train", "--resume", "--counts", "-m", "x.npz").err
    resumed = program.run("train", "--resume", "--book", "--epochs", "3", "--json").json
    assert resumed["settings"]["book"] is True
    program.train("names.txt", "--force")
    assert b'"book"' not in (program / "model.npz").read_bytes()


def test_a_dry_run_has_all_else_and_touches_nothing(program: Program) -> None:
    before, line = program.files(), ("train", "names.txt", "--dry-run", "--metrics")
    ran, quiet = program.run(*line, "run.jsonl"), program.run(*line, os.devnull, "-q")
    assert (ran.status, ran.err) == (quiet.status, quiet.err) == (0, "")
    names = [[row[:9] for row in of.lines if row[0] != " "] for of in (ran, quiet)]
    assert names[0] == names[1]
    assert program.files() == before
    plan, summary = plan_of(program, *BRIEF), summary_of(program)
    assert plan["steps"] == 2 * plan["steps_per_epoch"] == summary["steps"]
    more = program.run("train", "--resume", "--epochs", "6", "--dry-run", "--json").json
    left = more["seconds"] * more["characters_per_second"]
    assert left == pytest.approx(2 * summary["characters_seen"])  # of the first two epochs
    losses = (summary["best"], summary["by_use"]["network"])
    assert losses[0]["perplexity"] == pytest.approx(losses[1]["perplexity"], rel=1e-9)
    assert {*plan["settings"], "cores"} == set(Fitted.__dataclass_fields__)
    timed = plan_of(program, "--minutes", "0.01", "--hidden", "4")
    assert (timed["steps"], timed["seconds"]) == (None, pytest.approx(0.6))


def test_a_second_training_keeps_the_old_model(program: Program) -> None:
    before = saved_by(program) and (program / "model.npz").read_bytes()
    (program / "model.1.npz").symlink_to("nowhere")
    for wrong in (("nowhere.txt",), ("names.txt", "--dry-run")):
        program.run("train", *wrong)
        assert not (program / "model.2.npz").exists()
    for number in ("2", "3"):
        ran = program.run("train", "names.txt", *BRIEF, "--seed", number)
        assert ran.err.count(f"the old model is model.{number}.npz now\n") == 1
    assert (program / "model.2.npz").read_bytes() == before
    assert (program / "model.1.npz").is_symlink()
    summary_of(program, "--force")
    program.run("train", "--resume", "--epochs", "3")
    assert not (program / "model.4.npz").exists()


@pytest.fixture
def stopped_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A signal comes after so many events: a number for each run, SIGINT where it is odd."""
    plans: list[int] = []
    seen: list[Event] = []
    show = train_screen.Progress.show

    def shown(self: train_screen.Progress, event: Event) -> None:
        show(self, event)
        seen.extend([event] if plans else [])
        if plans and len(seen) == plans[0]:
            seen.clear()
            signal.raise_signal(signal.SIGINT if plans.pop(0) % 2 else signal.SIGTERM)

    monkeypatch.setattr(train_screen.Progress, "show", shown)
    yield plans
    assert not plans, "a run ended before it could be stopped"


@pytest.mark.parametrize("more", ["", "--dropout 0.4 --counts", "--optimizer sgd", "--cell lstm"])
def test_stops_change_no_byte(program: Program, stopped_after: list[int], more: str) -> None:
    line = (*RUN, *more.split())
    assert program.run(*line, "-m", "straight.npz", "--metrics", "straight.jsonl").status == 0
    metrics = ("--metrics", "broken.jsonl", "-m", "broken.npz")
    stopped_after += [5, 1, 16, 1, 8, 10]  # the last one at the last check-up
    again: tuple[str, ...] = ()
    while stopped_after:
        status = 130 if stopped_after[0] % 2 else 143
        ran = program.run(*line, *metrics, *again)
        how = "to resume: charrnn train --resume --metrics broken.jsonl -m broken.npz"
        assert (ran.status, how in ran.err) == (status, bool(stopped_after))
        with open("broken.jsonl", "a") as file:  # ahead of the model, as after a kill
            file.write('{"schema": "charrnn.step/3", "step": 9999}\n{"schema": "ch')
        again = ("--resume",)
    program.run("train", "--resume", *metrics).says("already finished")
    assert Path("broken.npz").read_bytes() == Path("straight.npz").read_bytes()
    texts = [Path(f"{name}.jsonl").read_text() for name in ("broken", "straight")]
    runs = [json.loads(text.partition("\n")[0])["run"] for text in texts]
    assert texts[0].replace(runs[0], runs[1]) == texts[1]
    assert runs[0] != runs[1]  # the model files have other names


def test_a_signal_in_the_last_check_up_puts_off_what_takes_long(
    program: Program, stopped_after: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charrnn.cli.train.QUICK_WORK", 0)
    stopped_after += [41]  # after the last step, and its check-up
    assert "to resume: charrnn train --resume" in program.run(*RUN).err


def test_fault_25_metrics_have_a_line_for_each_step_and_check_up(program: Program) -> None:
    summary_of(program, "--metrics", "run.jsonl", "--check-every", "7")
    run, *lines = rows_of("run.jsonl")
    assert run["schema"] == "charrnn.run/3"
    steps = [line for line in lines if line["schema"] == "charrnn.step/3"]
    examined = [line for line in lines if line["schema"] == "charrnn.checkup/3"]
    assert [line["step"] for line in steps] == list(range(1, len(steps) + 1))
    assert examined[0]["step"] == 7
    names = ["step", "train", "train_with_noise", "held_out"]
    history = [[row[name] for name in names] for row in charrnn.load("model.npz").trained.history]
    assert [[line[name] for name in names] for line in examined] == history
    nats = [line["characters"] * line["train_with_noise"] for line in steps[7:14]]
    mean = sum(nats) / sum(line["characters"] for line in steps[7:14])
    assert examined[1]["train_with_noise"] == pytest.approx(mean)
    program.run("train", "names.txt", *BRIEF, "--metrics", "run.jsonl", "--seed", "4")
    assert rows_of("run.jsonl")[: len(lines) + 1] == [run, *lines]
    line = ("train", "names.txt", *BRIEF, "--metrics", "/dev/full", "-m", "b.npz")  # endless
    program.refuses(*line, what="/dev/full cannot be written", hint="", by=CHARRNN)


def test_fault_46_only_lines_of_a_run_are_cut(program: Program, stopped_after: list[int]) -> None:
    line, metrics = ("train", "names.txt", *BRIEF), ("--metrics", "m.jsonl")
    program.run(*line, "-m", "a.npz", *metrics).says()
    first = rows_of("m.jsonl")
    stopped_after += [3]
    assert program.run(*line, "-m", "a.npz", "--force", *metrics).status == 130
    last = rows_of("m.jsonl")[-1]
    with open("m.jsonl", "a") as file:  # ahead of the model, as after a kill
        for ahead in ({"schema": "charrnn.checkup/3"}, {"step": 4}):
            file.write(json.dumps(last | ahead) + "\n")
    program.run(*line, "-m", "b.npz", *metrics).says()
    a, b = first[0]["run"], rows_of("m.jsonl")[-1]["run"]
    of_b = [row for row in rows_of("m.jsonl") if row["run"] == b]
    program.run("train", "--resume", "-m", "a.npz", *metrics).says()
    again = rows_of("m.jsonl")
    assert [row for row in again if row["run"] == b] == of_b
    of_a = [row for row in again if row["run"] == a]
    assert of_a == first + first  # the earlier run of this name, and the one that was resumed
    assert (again[: len(first)], {row["run"] for row in again}) == (first, {a, b})


def test_fault_46_a_run_is_told_by_its_corpus_settings_and_model_file(program: Program) -> None:
    lines = ["-m a.npz", "-m x/a.npz --cores 1 --counts --patience 9", "-m b.npz"]
    lines += ["-m a.npz --force --seed 1", "-m a.npz --force --holdout 0.2"]
    (program / "x").mkdir()
    for line in lines:
        program.run("train", "names.txt", *BRIEF, *line.split(), "--metrics", "m.jsonl").says()
    runs = [row["run"] for row in rows_of("m.jsonl") if row["schema"] == "charrnn.run/3"]
    assert runs[0] == runs[1]
    assert len(set(runs)) == 4


@pytest.mark.parametrize("begun", ["-", "names.txt", "names.txt --valid=-"])
def test_a_run_on_a_pipe_is_resumed(program: Program, stopped_after: list[int], begun: str) -> None:
    texts = "-" if begun == "names.txt" else begun
    stopped_after += [3, 3]
    program.run("train", *begun.split(), *BRIEF, stdin=NAMES.encode())
    ran = program.run("train", *texts.split(), "--resume", stdin=NAMES.encode())
    assert f"; to resume, with the same text: charrnn train {texts} --resume\n" in ran.err
    for more, epochs in (((), 2), (("--epochs", "3"), 3)):
        ran = program.run("train", *texts.split(), "--resume", *more, stdin=NAMES.encode()).says()
        assert (" held out: standard input\n" in ran.err) is ("valid" in begun)
        assert model_file.load("model.npz").state.epoch == epochs


@pytest.mark.parametrize("recovers", [True, False])
def test_fault_46_a_full_disk_is_no_end(program: Program, monkeypatch: Any, recovers: bool) -> None:
    usual, number, bad = LineFile.append, count(), {5} if recovers else {5, 6}

    def append(file: LineFile, row: Any) -> None:
        if next(number) in bad:
            raise OSError(28, "No space left on device")
        usual(file, row)

    monkeypatch.setattr(LineFile, "append", append)
    ran = program.run("train", "names.txt", *BRIEF, "--metrics", "m.jsonl", "--json")
    what = "m.jsonl cannot be written: No space left on device"
    assert ran.err.count(f"charrnn: warning: {what}; training continues") == 1
    assert ran.json["steps"] == charrnn.load("model.npz").trained.counters.step == 26
    steps = [row["step"] for row in rows_of("m.jsonl") if row["schema"] == "charrnn.step/3"]
    assert steps == list(range(1, 27 if recovers else 5))
    assert ran.status == (0 if recovers else 1)
    if not recovers:
        hint = "or name another file with --metrics. The last lines are missing."
        programs.assert_refusal(ran, what, hint)


def test_metrics_are_on_the_disk_before_the_model(program: Program, disk_calls: list[str]) -> None:
    summary_of(program, "--metrics", "run.jsonl")
    assert disk_calls[:3] == ["fsync", "fsync", "replace"]  # metrics, the model, its name


def test_fault_16_a_resumed_run_is_the_same_run(program: Program) -> None:
    assert program.run(*RUN).status == 0
    before = (program / "model.npz").read_bytes()
    assert "nothing was left to do" in program.run("train", "--resume").err
    assert (program / "model.npz").read_bytes() == before
    os.rename(program / "names.txt", program / "moved.txt")
    more = ("--epochs", "4", "--examples", "auto")
    assert program.run("train", "moved.txt", "--resume", *more).status == 0
    program.write("moved.txt", "other\nnames\n" * 9)
    hint = "Type the texts: charrnn train CORPUS --resume."
    program.refuses("train", "--resume", what="moved.txt has changed", hint=hint)


RUINOUS = [
    *("--check-every 1", "--check-every 1 --holdout 0", "--clip 0 --warmup 0"),
    *("--optimizer sgd --clip 0", "--optimizer rmsprop", "--optimizer adagrad"),
    "--optimizer sgd --clip 1e12 --weight-decay 1e6 --lr 0.005",
    "--init-radius 6 --clip 0 --optimizer sgd --lr 100 --hidden 32 --warmup 0",
    *(f"--cell {cell} {more}" for cell in ("gru", "lstm") for more in ("", "--clip 0")),
]


@pytest.mark.parametrize("line", RUINOUS)
def test_fault_22_a_loss_out_of_bounds_names_a_smaller_rate(trained: Program, line: str) -> None:
    ruinous = ("train", "names.txt", *SMALL, "--epochs", "20", "--lr", "1e6", "--force", "-q")
    rate = "0.001" if line.endswith("0.005") else "0.002"
    hint = f"Try a smaller learning rate, such as --lr {rate}. model.npz is unchanged."
    what = "the loss diverged at step "
    ended = trained.refuses(*ruinous, *line.split(), what=what, hint=hint)
    assert int(ended.err.splitlines()[0].rpartition(" ")[2]) <= 20
    ended = trained.run(*ruinous, *line.split(), "-m", "new.npz")  # a new one is saved
    assert "new.npz holds the run at step" in ended.err


def test_fault_22_a_run_that_is_ruined_late_keeps_what_was_good(trained: Program) -> None:
    """Its weights were carried off by somebody else: it stops, and the best are still there."""
    before, ruined = (model_file.load(trained / "model.npz") for _ in range(2))
    ruined.state.parameters.flat[...] *= 1e6
    model_file.save(trained / "model.npz", ruined)
    trained.refuses(
        *("train", "--resume", "--epochs", "50", "-q"),
        what=f"the loss diverged at step {before.state.step}",
        hint=f"model.npz holds the run at step {before.state.step}.",
    )
    assert before.state.best is not None
    best = charrnn.load(trained / "model.npz").parameters.flat
    assert best.tobytes() == before.state.best.flat.tobytes()


def test_fault_19_failures_lose_nothing(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call that brings data to the disk fails by chance; the old model or the new is whole."""
    for name in ("SAVE_INTERVAL", "RETRY_INTERVAL", "SAVE_COST_FACTOR"):
        monkeypatch.setattr(f"charrnn.files.saves_and_metrics.{name}", 0)
    chosen, ends = programs.chance(), set()
    program.run(*RUN, "-m", "new.npz").says()
    program.run(*RUN, "-m", "old.npz", "--seed", "9").says()
    old, new = ((program / f"{name}.npz").read_bytes() for name in ("old", "new"))
    for share in (0.0, 0.1, 0.3, 0.6, 0.9, 1.0):
        program.write("model.npz", old)
        with monkeypatch.context() as patch:
            for name in ("fsync", "replace", "link"):
                patch.setattr(os, name, partial(or_full, getattr(os, name), chosen, share))
            ran = program.run(*RUN)
            if share == 1:
                assert "Nothing was saved.\n" in program.run(*RUN, "-m", "none.npz").err
        kept = program / "model.1.npz"
        found = [path.read_bytes() for path in (program / "model.npz", kept) if path.exists()]
        assert old in found
        assert found[0] == new if ran.status == 0 else "cannot be saved: No space" in ran.err
        assert charrnn.load(program / "model.npz").sample(1, seed=1)
        programs.assert_no_temporary_files(program)
        ends.add(ran.status)
        is_told = "; training continues\n" in ran.err and "model.npz is unchanged.\n" in ran.err
        assert is_told or share < 1
        kept.unlink(missing_ok=True)
    assert ends == {0, 1}


def or_full(usual: Any, chosen: Random, share: float, *arguments: Any, **how: Any) -> Any:
    """Call a function of the system, or fail as on a full disk, as chance has it."""
    if chosen.random() < share:
        raise OSError(28, "No space left on device")
    return usual(*arguments, **how)


def test_what_is_valid_is_no_novel_text(program: Program) -> None:
    """Texts of --valid were held out: a copy of one is a copy all the same."""
    program.write("a.txt", "a\n" * 20)
    program.write("b.txt", "b\nbb\n")
    line = ("train", "a.txt", "--valid", "b.txt", "--from", "odd.npz", "--epochs", "1", "-q")
    saved(independent(COIN), program / "odd.npz")
    program.run(*line, "--lr", "1e-12").says()
    sample = ("sample", "-n", "60", "--seed", "1")
    drawn, novel = program.run(*sample), program.run(*sample, "--novel", "-q").lines
    copies = [text for text in drawn.lines if text in ("a", "b", "bb")]
    assert {*copies} == {"a", "b", "bb"}
    drawn.says(f"copies of training texts: {len(copies)} of 60 samples")
    assert (len(novel), {*novel} & {*copies}) == (60, set())


def test_the_loss_with_counts_is_told_and_its_command(program: Program, monkeypatch: Any) -> None:
    line = ("dinosaurs", "--epochs", "2", "--hidden", "8")
    told = re.search(r"with counting ([\d.]+): charrnn (.*)$", program.train(*line).err, re.M)
    assert told
    assert told[2] == "train --resume --counts"
    before = model_file.load(program / "model.npz")
    added = program.run(*told[2].split(" "), "--json", "--epochs", "2")  # which are done
    after = model_file.load(program / "model.npz")
    assert f"{added.json['by_use']['both']['nats_per_character']:.3f}" == told[1]
    assert "with counting" not in added.err
    assert "nothing was left to do" not in added.err
    assert after.state.parameters.flat.tobytes() == before.state.parameters.flat.tobytes()
    program.train(*line, "--counts", "--force")
    anew = model_file.load(program / "model.npz")
    assert (after.mixture, after.oddest, after.config) == (anew.mixture, anew.oddest, anew.config)
    assert "nothing was left to do" in program.run("train", "--resume", "--counts").err
    assert "with counting" not in program.train(*line, "--ends", "length", "--force").err
    for gain in (1e-2, 1e-6):  # the latter is as clear, and not to be seen
        monkeypatch.setattr(runs, "nats_with_counts", lambda run, d=gain: run._nats["network"] - d)
        assert ("with counting" in program.train(*line, "--force").err) == (gain > 1e-3)


def test_counts_are_added_to_an_interrupted_run_which_can_go_on(program: Program) -> None:
    steps = program.train("names.txt", "--epochs", "2", "--json").json["steps"]
    line = ("train", "--resume", "--json")
    ran = program.run(*line, "--counts", "--epochs", "4")  # which asks for both
    assert (ran.json["stopped"], ran.json["steps"]) == ("epochs", 2 * steps)
    assert "both" in ran.json["by_use"]
    run = charrnn.train(program / "names.txt", epochs=4, hidden=2)
    next(run)
    run.save(program / "model.npz")
    ran = program.run(*line, "--counts")
    assert "to resume: charrnn train --resume" in ran.err
    assert ran.json["stopped"] == "interrupted"
    assert program.run(*line).json["steps"] > ran.json["steps"] == 1
    program.run("sample", "--use", "counts").says()

"""``charrnn train``: what is planned, told, saved and left alone."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

import charrnn
from charrnn import model_file as checkpoint
from charrnn.cli.terminal import progress
from charrnn.cli.terminal.tables import epochs_in_words
from charrnn.cli.train import prepare
from charrnn.cli.train.summary import Outcome
from charrnn.settings.training import Fitted
from tests.corpora import NAMES
from tests.program import Program
from tests.runs import BRIEF, SIZE, plan_of, summary_of


def test_the_model_goes_where_it_is_told(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    summary_of(program, "-m", "a.npz")
    monkeypatch.setenv("CHARRNN_MODEL", "b.npz")
    summary_of(program)
    assert sorted(path.name for path in Path().iterdir()) == ["a.npz", "b.npz", "names.txt"]


def test_a_model_is_never_lost_unasked(program: Program) -> None:
    summary_of(program)
    before = Path("model.npz").read_bytes()
    program.write("bad.txt", b"\xff")
    for wrong in (("bad.txt",), ("nowhere.txt",), ("names.txt", "--dry-run")):
        program.run("train", *wrong)
        assert Path("model.npz").read_bytes() == before
        assert not Path("model.1.npz").exists()
    for seed in ("1", "2"):
        ran = program.run("train", "names.txt", *BRIEF, "--seed", seed)
        assert f"the old model is model.{seed}.npz now" in ran.err
    assert Path("model.1.npz").read_bytes() == before
    summary_of(program, "--seed", "9", "--force")
    program.run("train", "--resume", "--epochs", "3")
    assert not Path("model.3.npz").exists()


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_file_that_holds_no_metrics_is_refused(program: Program, more: tuple[str, ...]) -> None:
    program.write("list.txt", "no metrics\n")
    line = ("train", "names.txt", "--metrics", "list.txt", *more)
    what = "list.txt holds lines that are not metrics of charrnn"
    program.refuses(*line, what=what, hint="Name another file")


def test_the_note_on_overfitting_names_the_step_of_the_best_loss(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Outcome, "best_step", 1)
    ran = program.train("names.txt", "--epochs", "9")
    assert "overfitting: the best check-up was at step 1 of " in " ".join(ran.err.split())


def test_a_dry_run_tells_the_plan_and_touches_nothing(program: Program) -> None:
    summary_of(program)
    before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
    ran = program.run("train", "names.txt", "--dry-run", "--metrics", "run.jsonl")
    assert (ran.status, ran.err) == (0, "")
    for word in ("corpus", "held out", "network", "memory", "steps", "time", "to beat"):
        assert f"\n{word} " in f"\n{ran.out}"
    assert {path: path.stat().st_mtime_ns for path in Path().iterdir()} == before


def test_the_plan_as_json(program: Program) -> None:
    found = plan_of(program, *BRIEF)
    assert found["schema"] == "charrnn.plan/1"
    assert set(found["baselines"]) == {
        "uniform",
        "unigram",
        *(f"markov-{order}" for order in range(1, 7)),
    }
    assert found["steps"] == 2 * found["steps_per_epoch"]
    assert found["seconds"] > 0
    assert {*found["settings"], "cores"} == {*Fitted.__dataclass_fields__}
    found = plan_of(program, "--minutes", "0.01", "--hidden", "4")
    assert found["steps"] is found["settings"]["epochs"] is None


@pytest.mark.parametrize("more", ["", "--seed=6"])
def test_the_plan_counts_the_windows_of_lanes_that_end_with_whole_examples(
    program: Program, more: str
) -> None:
    draws = random.Random(45)
    names = ["".join(draws.choices("abcdefgh", k=draws.randint(3, 12))) for _ in range(45)]
    Path("names.txt").write_text("\n".join(names))
    sizes = ("--batch", "8", "--bptt", "16", "--epochs", "1", *more.split())
    planned = plan_of(program, *BRIEF, *sizes)
    summary = summary_of(program, *sizes)
    assert planned["steps"] == summary["steps"]


def test_the_summary_has_the_keys_that_were_promised(program: Program) -> None:
    summary = summary_of(program)
    assert list(summary) == [
        *("schema", "model", "corpus", "parameters", "hidden", "layers", "epochs", "steps"),
        *("characters_seen", "seconds", "characters_per_second", "best", "baselines", "stopped"),
        "warnings",
    ]
    assert list(summary["corpus"])[:6] == [
        *("examples", "characters", "symbols", "held_out_examples", "held_out_characters"),
        "examples_are",
    ]
    best = summary["best"]
    figures = ("step", "nats_per_character", "bits_per_character", "perplexity")
    assert list(best) == [*figures, "baseline", "difference", "standard_error"]
    assert best["perplexity"] == pytest.approx(2 ** best["bits_per_character"])
    assert checkpoint.load("model.npz").state.step == summary["steps"]


def test_without_json_stdout_is_a_short_table(program: Program) -> None:
    ran = program.run("train", "names.txt", *BRIEF)
    names = [line.split()[0] for line in ran.out.splitlines() if line[:1] != " "]
    assert names == ["model", "best", "trained", "time", "stopped"]
    assert "charrnn sample -n 10" in ran.err
    assert "charrnn eval" in ran.err


def test_lines_to_type_next_name_the_model_where_they_must(program: Program) -> None:
    ran = program.run("train", "names.txt", *BRIEF, "-m", "my model.npz")
    assert "charrnn sample -n 10 -m 'my model.npz'" in ran.err


def test_quiet_is_quiet(program: Program) -> None:
    ran = program.run("train", "names.txt", *BRIEF, "-q")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert program.run("train", "names.txt", "--dry-run", "-q").out == ""
    again = program.run("train", "names.txt", *BRIEF, "-q", "--json", "--force")
    assert (again.json["schema"], again.err) == ("charrnn.train/1", "")


def test_what_is_doubtful_about_a_corpus_is_in_json_too(program: Program) -> None:
    program.write("names.txt", "anna\nbob\nclara\n" * 20)
    (doubt,) = plan_of(program, *BRIEF)["warnings"]
    assert doubt["kind"] == "repeated"
    assert doubt["count"] == doubt["of"] == 6
    assert summary_of(program)["warnings"] == [doubt]
    program.write("names.txt", "".join(f"{a}{b}\n" for a in "abcdef" for b in "ghijkl"))
    assert plan_of(program, *BRIEF)["warnings"] == []


def test_a_plan_and_what_the_file_holds_have_one_name_for_one_thing(program: Program) -> None:
    gated = ("--cell", "gru", "--ends", "halt")
    plan, summary = plan_of(program, *BRIEF, *gated), summary_of(program, *gated)
    held = program.run("info", "--json").json
    same = ("corpus", "parameters", "hidden", "layers", "baselines")
    for name in (*same, "symbols", "settings"):
        assert plan[name] == held[name], name
    for name in same:
        assert summary[name] == held[name], name
    assert list(plan["baselines"]) == list(held["baselines"])


def test_of_eight_baselines_a_plan_shows_the_simplest_and_the_best(program: Program) -> None:
    told = program.run("train", "names.txt", *BRIEF, "--dry-run").out
    losses = plan_of(program, *BRIEF)["baselines"]
    best = min(losses, key=lambda name: losses[name])
    assert len(losses) == 8
    assert f"to beat    uniform {losses['uniform']:.3f} nats (random guessing)" in told
    assert f"           {best} {losses[best]:.3f} nats (" in told
    assert [name for name in losses if f"{name} {losses[name]:.3f}" in told] == ["uniform", best]


def test_the_end_of_a_run_is_told_in_nats_in_bits_and_as_a_perplexity(program: Program) -> None:
    ran = program.run("train", "names.txt", *BRIEF)
    best = charrnn.load().trained.best
    assert best is not None
    assert f"{best[1]:.3f} nats or " in ran.out
    perplexity = program.run("info", "--json").json["best"]["perplexity"]
    assert f"perplexity {perplexity:.2f}," in ran.out


def test_one_is_no_plural_and_an_epoch_that_is_not_over_is_not_none(program: Program) -> None:
    ran = program.run("train", "names.txt", *SIZE, "--epochs", "1")
    assert re.search(r"steps?, 1 epoch,", ran.out)
    assert (
        "1 minute (--minutes)"
        in program.run("train", "names.txt", "--minutes", "1", "--dry-run").out
    )
    timed = ("--minutes", "0.001", "--force", "--check-every", "1")
    program.run("train", "names.txt", *SIZE, *timed).says()
    assert not re.search(r"\b0 epochs", program.run("info").out)
    assert epochs_in_words(0) == "less than 1 epoch"


# What to type next


def test_what_came_through_a_pipe_is_not_offered_for_evaluation(program: Program) -> None:
    names = Path("names.txt").read_bytes()
    ran = program.run("train", "-", *BRIEF, stdin=names)
    assert ran.status == 0
    assert "charrnn sample -n 10" in ran.err
    assert "charrnn eval" not in ran.err


def test_nothing_held_out_is_not_offered_for_evaluation(program: Program) -> None:
    ran = program.run("train", "names.txt", *BRIEF, "--holdout", "0")
    assert "charrnn eval" not in ran.err


def test_to_learn_for_longer_is_offered_unless_the_best_was_early(program: Program) -> None:
    ran = program.run("train", "names.txt", *SIZE, "--epochs", "4")
    assert "--resume --epochs 8" in ran.err
    program.write("other.txt", NAMES[::-1])  # names backwards are soon predicted worse
    far = ("--epochs", "20", "--lr", "0.1", "--check-every", "5", "--dropout", "0")
    ran = program.run("train", "names.txt", *SIZE, *far, "--valid", "other.txt", "--force")
    assert "# train for longer" not in ran.err
    assert re.search(
        r"the best check-up was at step \d+ of \d+, and .* Try more --dropout", ran.err
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_samples_are_shown_at_check_ups(program: Program, count: int) -> None:
    ran = program.run(
        "train", "names.txt", *BRIEF, "--check-every", "1000000", "--preview", str(count)
    )
    lines = ran.err.splitlines()
    row = next(at for at, line in enumerate(lines) if line.startswith("      step")) + 1
    after = lines[row + 1 : lines.index("", row) if "" in lines[row:] else lines.index("next:")]
    assert len([line for line in after if line.startswith("            ")]) == count


def test_a_log_file_has_a_row_for_every_check_up_and_stars_the_best(program: Program) -> None:
    ran = program.run("train", "names.txt", *SIZE, "--epochs", "12", "--check-every", "3")
    rows = re.findall(
        r"^ +([\d,]+) +\d+\.\d\d +\d.*?(\*)?(?:  (?:better|to beat).*)?$", ran.err, re.MULTILINE
    )
    history = charrnn.load().trained.history
    assert [int(step) for step, _ in rows] == [row["step"] for row in history]
    best = math.inf
    for (_, star), row in zip(rows, history, strict=True):
        assert bool(star) == (row["held_out"] < best)
        best = min(best, row["held_out"])


def test_a_log_file_gets_plain_lines_and_a_sign_of_life(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REFRESH", "HEARTBEAT"):
        monkeypatch.setattr(progress, name, 0.0)
    ran = program.run("train", "names.txt", *BRIEF, "--check-every", "1000000")
    assert re.search(r"^step \d+   \d\.\d+ nats   .* chars/s   .* left   \d+%$", ran.err, re.M)
    assert not re.search(r"[\r\x1b]", ran.err)


def test_the_history_is_within_the_room_that_is_asked_for(program: Program) -> None:
    summary_of(program, "--epochs", "10", "--check-every", "1")
    whole = checkpoint.load("model.npz")
    needed = checkpoint.room_needed(
        "model.npz", replace(whole, state=replace(whole.state, history=[]))
    )
    room = needed + prepare.CHECKUP * whole.state.step
    assert needed < Path("model.npz").stat().st_size < room


def test_more_check_ups_than_a_model_can_hold_are_refused_with_a_number_that_is_not(
    program: Program,
) -> None:
    endless = ("train", "names.txt", *SIZE, "--dry-run", "--epochs", "1000000", "--check-every")
    ran = program.run(*endless, "1")
    assert ran.status == 2
    assert "check-ups are too many; a model file holds 319,566" in ran.err
    found = re.search(r"^Try --check-every (\d+) or more\.$", ran.err, re.M)
    assert found
    assert program.run(*endless, found[1]).status == 0
    assert program.run(*endless, str(int(found[1]) - 1)).status == 2
    assert program.run(*endless, "1", "--patience", "9").status == 0
    assert program.run(*endless, "1", "--minutes", "0.01").status == 0


def test_options_that_a_short_run_does_not_come_to_use_are_noted(program: Program) -> None:
    line = ("train", "names.txt", "--epochs", "1", "--dry-run")
    shown = program.run(*line, "--warmup", "1000", "--check-every", "90000", "--lr", "0.01").out
    flat = " ".join(shown.split())
    assert "note --warmup 1000 is longer than the run: the learning rate ends below --lr" in flat
    assert "note --check-every 90000 is longer than the run: the loss is measured only at" in flat
    assert "note" not in program.run(*line, "--warmup", "1", "--check-every", "2").out


def test_a_baseline_is_named_once(program: Program) -> None:
    program.write("two.txt", "anna\nbob\n")
    shown = program.run("train", "two.txt", "--dry-run").out
    assert shown.count("uniform") == 1
    assert "markov" not in shown

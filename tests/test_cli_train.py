"""``charrnn train``: every option has its effect, and nothing is lost."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn import plan, settings
from charrnn.cli import app, threads, values
from charrnn.cli.training import baselines, progress, setup
from charrnn.corpus.bundled import path_of
from charrnn.corpus.corpus import CorpusConfig, from_texts
from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.scoring.markov import Baseline
from tests.running import CHARRNN, PLAIN, Here, in_a_child

NAMES = (
    *("anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna"),
    *("ida", "jo", "karl", "lena", "max", "nora", "otto", "paul"),
)
SMALL = ("--hidden", "6", "--layers", "1", "--bptt", "6", "--batch", "4", "--threads", "1")
BRIEF = (*SMALL, "--epochs", "2")
LONG = (*SMALL, "--epochs", "100000")


@pytest.fixture
def here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Here:
    """Command lines run in a folder of their own, with a corpus in it."""
    for name in threads.BLAS:
        monkeypatch.setenv(name, "1")  # and put back what was there
    monkeypatch.setattr(plan, "TRIAL", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("\n".join(NAMES * 4) + "\n")
    return Here(capsys)


def trained(here: Here, *options: str | Path) -> dict[str, Any]:
    """The summary of a run that must succeed."""
    ran = here("train", "names.txt", *BRIEF, "--force", "--json", *options)
    assert ran.status == 0, ran.err
    return ran.json


def planned(here: Here, *options: str | Path, corpus: str = "names.txt") -> dict[str, Any]:
    """The plan of a run that is not made."""
    ran = here("train", corpus, "--dry-run", "--json", *options)
    assert ran.status == 0, ran.err
    return ran.json


def saved(here: Here, *options: str | Path) -> Checkpoint:
    """What a run leaves."""
    trained(here, *options)
    return checkpoint.load("model.npz")


def measured(here: Here, *options: str | Path) -> list[dict[str, Any]]:
    """The metrics of a run, line by line."""
    Path("run.jsonl").unlink(missing_ok=True)
    trained(here, "--metrics", "run.jsonl", *options)
    return [json.loads(line) for line in Path("run.jsonl").read_text().splitlines()]


# Corpus


@pytest.mark.parametrize(
    ("kind", "are", "examples"),
    [("auto", "lines", 5), ("lines", "lines", 5), ("paragraphs", "paragraphs", 3)],
)
def test_examples_are_what_they_are_said_to_be(
    here: Here, kind: str, are: str, examples: int
) -> None:
    Path("verses.txt").write_text("a\nb\n\nc\n\nd\ne\n")
    corpus = planned(here, "--examples", kind, "--holdout", "0", corpus="verses.txt")["corpus"]
    assert (corpus["examples_are"], corpus["examples"]) == (are, examples)


def test_auto_says_what_it_found(here: Here) -> None:
    assert (
        "a line each, for no blank line parts them" in here("train", "names.txt", "--dry-run").err
    )


def test_files_are_examples(here: Here) -> None:
    Path("more.txt").write_text("x\n\ny\n")
    ran = here("train", "names.txt", "more.txt", "--examples", "files", "--dry-run", "--json")
    corpus = ran.json["corpus"]
    assert corpus["examples_are"] == "files"
    assert corpus["examples"] + corpus["held_out_examples"] == 2


def test_files_to_validate_with_are_what_is_held_out(here: Here) -> None:
    Path("v1.txt").write_text("anna\nzoe\n")
    Path("v2.txt").write_text("bob\n")
    corpus = planned(here, "--valid", "v1.txt", "--valid", "v2.txt")["corpus"]
    assert (corpus["examples"], corpus["held_out_examples"]) == (64, 3)
    assert corpus["held_out_characters"] == len("annazoebob")


def test_a_share_is_held_out(here: Here) -> None:
    corpus = planned(here, "--holdout", "0.5")["corpus"]
    assert (corpus["examples"], corpus["held_out_examples"]) == (32, 32)


def test_nothing_has_to_be_held_out(here: Here) -> None:
    summary = trained(here, "--holdout", "0")
    assert summary["corpus"]["held_out_examples"] == 0
    assert summary["baselines"] == {}
    assert summary["best"] == {
        "step": summary["steps"],
        "nats_per_character": None,
        "bits_per_character": None,
        "perplexity": None,
    }


def test_the_encoding_is_taken_at_its_word(here: Here) -> None:
    Path("latin.txt").write_bytes("grün\nblöd\n".encode("latin-1") * 9)
    assert here("train", "latin.txt", "--dry-run").status == 1
    assert planned(here, "--encoding", "latin-1", corpus="latin.txt")["corpus"]["symbols"] == 10


def test_newlines_are_translated_or_kept(here: Here) -> None:
    Path("dos.txt").write_bytes(b"ab\r\ncd\r\n" * 9)
    symbols = {
        way: planned(here, "--newlines", way, corpus="dos.txt")["corpus"]["symbols"]
        for way in ("translate", "keep")
    }
    assert symbols["keep"] == symbols["translate"] + 1


def test_letters_are_normalised(here: Here) -> None:
    Path("both.txt").write_text("\u00e9\ne\u0301\n" * 9)
    symbols = {
        form: planned(here, "--normalize", form, corpus="both.txt")["corpus"]["symbols"]
        for form in ("none", "NFC")
    }
    assert symbols == {"none": 5, "NFC": 3}


def test_the_state_is_carried_on_where_that_is_asked_for(here: Here) -> None:
    carried, reset, usual = (saved(here, *options) for options in (("--carry",), ("--reset",), ()))
    assert (carried.config.carry, reset.config.carry, usual.config.carry) == (True, False, False)
    assert carried.state.nats != reset.state.nats or not np.array_equal(
        carried.state.parameters.flat, reset.state.parameters.flat
    )


def test_a_corpus_may_be_packed_come_through_a_pipe_or_come_along(tmp_path: Path) -> None:
    text = "\n".join(NAMES * 4).encode()
    (tmp_path / "names.gz").write_bytes(gzip.compress(text))
    packed = in_a_child("train", "names.gz", "--dry-run", "--json", cwd=tmp_path)
    piped = in_a_child("train", "-", "--dry-run", "--json", cwd=tmp_path, typed=text)
    assert packed.json["corpus"] == piped.json["corpus"]
    ran = in_a_child("train", "dinosaurs", "--dry-run", "--json", cwd=tmp_path)
    assert ran.json["corpus"]["examples"] > 1000


# Network


def test_sizes_are_what_was_asked_for(here: Here) -> None:
    summary = trained(here, "--hidden", "5", "--layers", "2")
    symbols = summary["corpus"]["symbols"]
    assert (summary["hidden"], summary["layers"]) == (5, 2)
    assert summary["parameters"] == symbols * 5 * 2 + symbols + 3 * 25 + 2 * 5
    with np.load("model.npz") as file:
        assert file["W2"].shape == (5, 5)


def test_sizes_that_are_not_given_fit_the_corpus_and_are_told(here: Here) -> None:
    ran = here("train", "names.txt", "--dry-run", "--json", "--batch", "4096")
    chosen = ran.json["settings"]
    for name in ("hidden", "layers", "dropout"):
        assert f"--{name} {chosen[name]}" in ran.err.replace("\n           ", " ")
    corpus = ran.json["corpus"]
    assert chosen["batch"] * chosen["bptt"] <= corpus["characters"] + corpus["examples"]
    assert f"--batch 4096 to {chosen['batch']}: the corpus fills no more" in ran.err


@pytest.mark.parametrize("option", ["--dropout", "--dropconnect", "--blank"])
def test_noise_changes_what_is_learned(here: Here, option: str) -> None:
    none = ("--dropout", "0", "--dropconnect", "0", "--blank", "0")
    quiet, noisy = (saved(here, *none, *more) for more in ((), (option, "0.5")))
    assert getattr(noisy.config, option[2:]) == 0.5
    assert not np.array_equal(quiet.state.parameters.flat, noisy.state.parameters.flat)


# Learning


def test_horizon_and_batch_decide_how_much_a_step_sees(here: Here) -> None:
    steps = [
        line["characters"] for line in measured(here, "--bptt", "5", "--batch", "3") if "lr" in line
    ]
    assert max(steps) == 15


def test_a_horizon_of_none_is_the_longest_example(here: Here) -> None:
    assert planned(here, "--bptt", "0")["settings"]["bptt"] == len("gustav") + 1


@pytest.mark.parametrize("rule", ["adam", "rmsprop", "adagrad", "sgd"])
def test_the_optimizer_is_the_one_named(here: Here, rule: str) -> None:
    run = saved(here, "--optimizer", rule)
    assert run.config.optimizer == rule
    with np.load("model.npz") as file:
        assert {name.split(".")[0] for name in file if "." in name} <= {rule, "lane", "charrnn"}


def test_the_learning_rate_falls_by_its_schedule(here: Here) -> None:
    rates = {}
    for schedule in ("constant", "linear", "cosine"):
        lines = measured(here, "--lr", "0.5", "--schedule", schedule, "--warmup", "0")
        rates[schedule] = [line["lr"] for line in lines if "lr" in line]
    count = len(rates["linear"])
    assert rates["constant"] == [0.5] * count
    for schedule in ("linear", "cosine"):
        assert rates[schedule][0] == 0.5
        assert rates[schedule] == sorted(rates[schedule], reverse=True)
        assert rates[schedule][-1] < 0.05
    assert rates["cosine"][count // 4] > rates["linear"][count // 4]


def test_the_learning_rate_rises_at_first(here: Here) -> None:
    lines = measured(here, "--lr", "0.5", "--warmup", "4", "--schedule", "constant")
    assert [round(line["lr"], 3) for line in lines if "lr" in line][:5] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_gradients_are_clipped(here: Here) -> None:
    options = ("--optimizer", "sgd", "--lr", "0.1", "--schedule", "constant", "--warmup", "0")
    first = saved(here, *options, "--clip", "1e-9", "--epochs", "1")
    free = saved(here, *options, "--clip", "0", "--epochs", "1")
    moved = [np.abs(run.state.parameters["W1"]).max() for run in (first, free)]
    assert moved[0] != moved[1]


def test_weights_decay(here: Here) -> None:
    options = ("--optimizer", "sgd", "--clip", "1e-9", "--lr", "0.5", "--schedule", "constant")
    kept, gone = (saved(here, *options, "--weight-decay", decay) for decay in ("0", "0.5"))
    norms = [float(np.linalg.norm(run.state.parameters["W1"])) for run in (kept, gone)]
    assert norms[1] < norms[0] / 2


def test_epochs_are_counted(here: Here) -> None:
    one, three = (trained(here, "--epochs", number) for number in ("1", "3"))
    assert (one["epochs"], three["epochs"]) == (1, 3)
    assert three["characters_seen"] == 3 * one["characters_seen"]
    assert (one["stopped"], three["stopped"]) == ("epochs", "epochs")


@pytest.mark.parametrize("epochs", [(), ("--epochs", "1000000")])
def test_minutes_end_a_run(
    here: Here, epochs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TRIAL", 0.1)
    ran = here("train", "names.txt", *SMALL, *epochs, "--minutes", "0.005", "--json")
    assert ran.json["stopped"] == "minutes"
    assert 0.2 < ran.json["seconds"] < 3
    assert 1 < len(checkpoint.load("model.npz").state.history) < 100, "check-ups suit the time"


def test_epochs_may_end_a_run_before_its_minutes_are_over(here: Here) -> None:
    assert trained(here, "--minutes", "60")["stopped"] == "epochs"


def test_patience_ends_a_run_that_gets_no_better(here: Here) -> None:
    ran = here(
        *("train", "names.txt", *LONG, "--patience", "2", "--check-every", "5"),
        *("--lr", "1e-12", "--json"),
    )
    assert ran.json["stopped"] == "patience"
    assert ran.json["steps"] == ran.json["best"]["step"] + 10


def test_check_ups_come_as_often_as_asked(here: Here) -> None:
    lines = measured(here, "--check-every", "7")
    examined = [line["step"] for line in lines if line["schema"] == "charrnn.checkup/1"]
    assert examined[:2] == [7, 14]


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(here: Here) -> None:
    files = []
    for seed in ("5", "5", "6"):
        trained(here, "--seed", seed)
        files.append(Path("model.npz").read_bytes())
    assert files[0] == files[1] != files[2]


def test_threads_are_those_asked_for(here: Here) -> None:
    assert saved(here, "--threads", "2").config.workers == 2


# Output


def test_the_model_goes_where_it_is_told(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(here, "-m", "a.npz")
    monkeypatch.setenv("CHARRNN_MODEL", "b.npz")
    trained(here)
    assert sorted(path.name for path in Path().iterdir()) == ["a.npz", "b.npz", "names.txt"]


def test_a_model_is_never_lost_unasked(here: Here) -> None:
    trained(here)
    before = Path("model.npz").read_bytes()
    ran = here("train", "nothing.txt")
    assert (ran.status, Path("model.npz").read_bytes()) == (1, before)
    assert ran.err == (
        "charrnn: error: model.npz is there already\n"
        "Go on with it: charrnn train --resume. Or replace it with --force, or name another file"
        " with -m.\n"
    )
    trained(here, "--seed", "9", "--force")
    assert Path("model.npz").read_bytes() != before


def test_what_cannot_be_written_is_said_before_anything_is_read(here: Here) -> None:
    for model, said in (("no/m.npz", "there is no folder"), (".", "it is a folder")):
        ran = here("train", "nothing.txt", "-m", model)
        assert ran.status == 1
        assert said in ran.err


def test_a_dry_run_tells_the_plan_and_touches_nothing(here: Here) -> None:
    trained(here)
    before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
    ran = here("train", "names.txt", "--dry-run", "--metrics", "run.jsonl")
    assert (ran.status, ran.out) == (0, "")
    for word in ("corpus", "held out", "network", "memory", "steps", "time", "to beat"):
        assert f"\n{word} " in f"\n{ran.err}"
    assert {path: path.stat().st_mtime_ns for path in Path().iterdir()} == before


def test_the_plan_as_json(here: Here) -> None:
    found = planned(here, *BRIEF)
    assert found["schema"] == "charrnn.plan/1"
    assert set(found["baselines"]) == {
        "uniform",
        "unigram",
        *(f"markov-{order}" for order in range(2, 8)),
    }
    assert found["steps"] == 2 * found["steps_per_epoch"]
    assert found["seconds"] > 0
    assert set(found["settings"]) == set(settings.Fitted.__dataclass_fields__)
    assert planned(here, "--minutes", "1")["steps"] is None
    assert planned(here, "--minutes", "1")["settings"]["epochs"] is None


def test_the_summary_has_the_keys_that_were_promised(here: Here) -> None:
    summary = trained(here)
    assert list(summary) == [
        *("schema", "model", "corpus", "parameters", "hidden", "layers", "epochs", "steps"),
        *("characters_seen", "seconds", "characters_per_second", "best", "baselines", "stopped"),
    ]
    assert list(summary["corpus"]) == [
        *("examples", "characters", "symbols", "held_out_examples", "held_out_characters"),
        "examples_are",
    ]
    best = summary["best"]
    assert list(best) == ["step", "nats_per_character", "bits_per_character", "perplexity"]
    assert best["perplexity"] == pytest.approx(2 ** best["bits_per_character"])
    assert checkpoint.load("model.npz").state.step == summary["steps"]


def test_without_json_stdout_is_a_short_table(here: Here) -> None:
    ran = here("train", "names.txt", *BRIEF)
    names = [line.split()[0] for line in ran.out.splitlines() if line[:1] != " "]
    assert names == ["model", "best", "learned", "time", "stopped"]
    assert "charrnn sample -n 10" in ran.err
    assert "charrnn eval" in ran.err


def test_lines_to_type_next_name_the_model_where_they_must(here: Here) -> None:
    ran = here("train", "names.txt", *BRIEF, "-m", "my model.npz")
    assert "charrnn sample -n 10 -m 'my model.npz'" in ran.err


def test_quiet_is_quiet(here: Here) -> None:
    ran = here("train", "names.txt", *BRIEF, "-q")
    assert ran.err == ""
    assert ran.out.startswith("model ")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_samples_are_shown_at_check_ups(here: Here, count: int) -> None:
    ran = here("train", "names.txt", *BRIEF, "--check-every", "1000000", "--preview", str(count))
    lines = ran.err.splitlines()
    row = next(at for at, line in enumerate(lines) if line.startswith("      step")) + 1
    after = lines[row + 1 : lines.index("", row) if "" in lines[row:] else lines.index("next:")]
    assert len([line for line in after if line.startswith("            ")]) == count


def test_a_log_file_gets_plain_lines_and_a_sign_of_life(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    monkeypatch.setattr(progress, "HEARTBEAT", 0.0)
    ran = here("train", "names.txt", *BRIEF, "--check-every", "1000000")
    assert re.search(r"^step \d+   \d\.\d+ nats   .* chars/s   .* left   \d+%$", ran.err, re.M)
    assert not re.search(r"[\r\x1b]", ran.err)


def test_the_history_is_within_the_room_that_is_asked_for(here: Here) -> None:
    trained(here, "--epochs", "40", "--check-every", "1")
    whole = checkpoint.load("model.npz")
    needed = checkpoint.room_needed(replace(whole, state=replace(whole.state, history=[])))
    room = needed + setup.CHECKUP * whole.state.step
    assert needed < Path("model.npz").stat().st_size < room


def test_more_check_ups_than_a_model_can_hold_are_refused_with_a_number_that_is_not(
    here: Here,
) -> None:
    endless = ("train", "names.txt", *SMALL, "--dry-run", "--epochs", "1000000", "--check-every")
    ran = here(*endless, "1")
    assert ran.status == 2
    assert "check-ups are more than the 419,430 that a model file can hold" in ran.err
    found = re.search(r"^Try --check-every (\d+) or more\.$", ran.err, re.M)
    assert found
    assert here(*endless, found[1]).status == 0
    assert here(*endless, str(int(found[1]) - 1)).status == 2
    assert here(*endless, "1", "--patience", "9").status == 0
    assert here(*endless, "1", "--minutes", "0.01").status == 0


# Corpora of every size


@pytest.mark.parametrize("text", ["a", "ab", "aaaa", "a\nb", "\n\nx\n\n", "ab\n" * 3, "é" * 300])
def test_whatever_is_there_trains(here: Here, text: str) -> None:
    Path("tiny.txt").write_text(text)
    ran = here("train", "tiny.txt", "--epochs", "2", "--json")
    assert ran.status == 0
    assert ran.json["steps"] >= 2


def test_an_empty_corpus_is_refused(here: Here) -> None:
    Path("empty.txt").write_text("\n\n")
    ran = here("train", "empty.txt")
    assert (ran.status, ran.err.splitlines()[0]) == (1, "charrnn: error: empty.txt is empty")


def test_a_network_that_memory_cannot_hold_is_refused(here: Here) -> None:
    ran = here("train", "names.txt", "--hidden", "1048576")
    assert ran.status == 1
    assert "GiB of memory" in ran.err


def test_a_large_corpus_is_counted_in_parts_and_says_so() -> None:
    corpus = from_texts(["abcdefgh"] * 100, CorpusConfig(holdout=0.5))
    whole, part = (Baseline("unigram", 2.0, "none", size, size) for size in (450, 45))
    assert baselines.part_in_words(whole, corpus) == ""
    assert baselines.part_in_words(part, corpus).startswith("counted on 10.0% of what is learned")


# Wrong usage


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("--lr 3", "CORPUS is missing"),
        ("x --resume --force", "--resume and --force exclude each other"),
        ("x --valid y --holdout 0.5", "--valid and --holdout exclude each other"),
        ("- --valid -", "standard input can be read only once"),
        ("x -m a.npz --metrics a.npz", "--metrics would write into a.npz"),
        ("x --metrics ./x", "--metrics would write into x"),
        ("names.txt -m ./names.txt", "the model would be written over names.txt"),
        ("names.txt -m names.txt --dry-run", "the model would be written over names.txt"),
        ("x --valid names.txt -m names.txt", "the model would be written over names.txt"),
        ("names.txt -m names.txt --resume", "the model would be written over names.txt"),
        ("verses -m verses", "the model would be written over verses"),
        ("verses --metrics verses", "--metrics would write into verses"),
        ("x --encoding klingon", "'klingon' is not an encoding"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(here: Here, line: str, what: str) -> None:
    ran = here("train", *line.split())
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == f"charrnn: error: {what}"
    assert os.listdir() == ["names.txt"]


@pytest.mark.parametrize("option", ["-m", "--metrics"])
@pytest.mark.parametrize("how", ["plainly", "linked", "hard linked", "typed"])
def test_a_corpus_is_never_replaced(here: Here, option: str, how: str) -> None:
    source = file = Path("names.txt")
    before = file.read_bytes()
    if how.endswith("linked"):
        file = Path("other.txt")
        file.hardlink_to(source) if how == "hard linked" else file.symlink_to(source)
    with source.open("rb") as typed:
        done = subprocess.run(
            [*CHARRNN, "train", "-" if how == "typed" else source, *BRIEF, "--force", option, file],
            stdin=typed,
            capture_output=True,
            env=PLAIN,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b" would " in done.stderr
    assert source.read_bytes() == before
    assert file.read_bytes() == before


def test_a_corpus_that_comes_along_is_never_replaced(here: Here, tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(path_of("verses"))  # a link, lest a fault costs us the corpus
    ran = here("train", "verses", "--dry-run", "--force", "-m", link)
    assert ran.status == 2
    assert "the model would be written over" in ran.err


def test_with_nothing_at_all_there_is_help(here: Here) -> None:
    ran = here("train")
    assert (ran.status, ran.err) == (2, "")
    assert ran.out == here("train", "--help").out


@pytest.mark.parametrize("name", [name for name in settings.RANGES if name != "workers"])
def test_the_limits_are_those_of_the_library(here: Here, name: str) -> None:
    low, high, _ = settings.RANGES[name]
    whole = isinstance(low, int) and isinstance(high, int) and name not in ("clip", "dropout")
    option = "--" + name.replace("_", "-")
    inside = [low, high]
    outside = [low - 1, high + 1 if whole else 2 * high, "inf", "nan", "x", ""]
    for value in outside:
        ran = here("train", "no.txt", option, str(value))
        assert (ran.status, ran.out) == (2, ""), value
        assert ran.err.startswith(f"charrnn: error: {option}: ")
    for value in inside:
        ran = here("train", "no.txt", option, str(value))
        assert "no.txt does not exist" in ran.err, value


def test_every_option_is_tried_somewhere() -> None:
    tests = [Path(__file__), Path(__file__).with_name("test_cli_train_resume.py")]
    text = "".join(file.read_text(encoding="utf-8") for file in tests)
    for parameter in app.load("train").params:
        names = [*parameter.opts, *parameter.secondary_opts]
        long = [name for name in names if name.startswith("--")]
        assert not long or any(f'"{name}"' in text for name in names), names


def test_a_share_to_hold_out_is_less_than_all() -> None:
    parse = values.real(0, 1, below=True).parse
    assert parse("0") == 0
    with pytest.raises(Exception, match="below 1"):
        parse("1")

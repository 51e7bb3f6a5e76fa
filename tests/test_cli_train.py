"""``charrnn train``: every option has its effect on what is read, built and learned."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from charrnn import model_file as checkpoint
from tests.program import Program
from tests.runs import SIZE, metrics_of, plan_of, saved_by, summary_of

# Corpus


@pytest.mark.parametrize(
    ("kind", "are", "examples"),
    [("auto", "lines", 5), ("lines", "lines", 5), ("paragraphs", "paragraphs", 3)],
)
def test_examples_are_what_they_are_said_to_be(
    program: Program, kind: str, are: str, examples: int
) -> None:
    Path("verses.txt").write_text("a\nb\n\nc\n\nd\ne\n")
    corpus = plan_of(program, "--examples", kind, "--holdout", "0", corpus="verses.txt")["corpus"]
    assert (corpus["examples_are"], corpus["examples"]) == (are, examples)


def test_files_are_examples(program: Program) -> None:
    Path("more.txt").write_text("x\n\ny\n")
    ran = program.run(
        "train", "names.txt", "more.txt", "--examples", "files", "--dry-run", "--json"
    )
    corpus = ran.json["corpus"]
    assert corpus["examples_are"] == "files"
    assert corpus["examples"] + corpus["held_out_examples"] == 2


def test_files_to_validate_with_are_what_is_held_out(program: Program) -> None:
    Path("v1.txt").write_text("anna\nzoe\n")
    Path("v2.txt").write_text("bob\n")
    corpus = plan_of(program, "--valid", "v1.txt", "--valid", "v2.txt")["corpus"]
    assert (corpus["examples"], corpus["held_out_examples"]) == (64, 3)
    assert corpus["held_out_characters"] == len("annazoebob")


def test_a_share_is_held_out(program: Program) -> None:
    corpus = plan_of(program, "--holdout", "0.5")["corpus"]
    assert (corpus["examples"], corpus["held_out_examples"]) == (32, 32)


def test_nothing_has_to_be_held_out(program: Program) -> None:
    summary = summary_of(program, "--holdout", "0")
    assert summary["corpus"]["held_out_examples"] == 0
    assert summary["baselines"] == {}
    assert summary["best"] == {
        "step": summary["steps"],
        "nats_per_character": None,
        "bits_per_character": None,
        "perplexity": None,
    }


def test_the_encoding_is_taken_at_its_word(program: Program) -> None:
    Path("latin.txt").write_bytes("grün\nblöd\n".encode("latin-1") * 9)
    assert program.run("train", "latin.txt", "--dry-run").status == 1
    assert plan_of(program, "--encoding", "latin-1", corpus="latin.txt")["corpus"]["symbols"] == 10


def test_letters_are_normalised(program: Program) -> None:
    Path("both.txt").write_text("\u00e9\ne\u0301\n" * 9)
    symbols = {
        form: plan_of(program, "--normalize", form, corpus="both.txt")["corpus"]["symbols"]
        for form in ("none", "NFC")
    }
    assert symbols == {"none": 5, "NFC": 3}


def test_a_corpus_may_be_packed_come_through_a_pipe_or_come_along(
    program: Program,
) -> None:
    text = (program / "names.txt").read_bytes()
    (program / "names.gz").write_bytes(gzip.compress(text))
    packed = program.run("train", "names.gz", "--dry-run", "--json")
    piped = program.run("train", "-", "--dry-run", "--json", stdin=text)
    corpora = [ran.json["corpus"] | {"sources": []} for ran in (packed, piped)]
    assert corpora[0] == corpora[1]
    ran = program.run("train", "dinosaurs", "--dry-run", "--json")
    assert ran.json["corpus"]["examples"] > 1000


# Network


def test_sizes_are_what_was_asked_for(program: Program) -> None:
    summary = summary_of(program, "--hidden", "5", "--layers", "2")
    symbols = summary["corpus"]["symbols"]
    assert (summary["hidden"], summary["layers"]) == (5, 2)
    assert summary["parameters"] == symbols * 5 * 2 + symbols + 3 * 25 + 2 * 5
    with np.load("model.npz") as file:
        assert file["W2"].shape == (5, 5)


def test_sizes_that_are_not_given_fit_the_corpus_and_are_told(program: Program) -> None:
    ran = program.run("train", "names.txt", "--dry-run", "--json", "--batch", "4096")
    chosen = ran.json["settings"]
    for name in ("hidden", "layers", "dropout"):
        assert f"--{name} {chosen[name]}" in ran.err.replace("\n           ", " ")
    corpus = ran.json["corpus"]
    assert chosen["batch"] * chosen["bptt"] <= corpus["characters"] + corpus["examples"]
    assert f"--batch from 4096 to {chosen['batch']}: the corpus is too small for more" in ran.err


@pytest.mark.parametrize("option", ["--dropout", "--dropconnect", "--blank"])
def test_noise_changes_what_is_learned(program: Program, option: str) -> None:
    none = ("--dropout", "0", "--dropconnect", "0", "--blank", "0")
    quiet, noisy = (saved_by(program, *none, *more) for more in ((), (option, "0.5")))
    assert getattr(noisy.config, option[2:]) == 0.5
    assert not np.array_equal(quiet.state.parameters.flat, noisy.state.parameters.flat)


# Learning


def test_horizon_and_batch_decide_how_much_a_step_sees(program: Program) -> None:
    steps = [
        line["characters"]
        for line in metrics_of(program, "--bptt", "5", "--batch", "3")
        if "lr" in line
    ]
    assert max(steps) == 15


def test_a_horizon_of_none_is_the_longest_example(program: Program) -> None:
    assert plan_of(program, "--bptt", "0")["settings"]["bptt"] == len("gustav") + 1


@pytest.mark.parametrize("rule", ["adam", "rmsprop", "adagrad", "sgd"])
def test_the_optimizer_is_the_one_named(program: Program, rule: str) -> None:
    run = saved_by(program, "--optimizer", rule)
    assert run.config.optimizer == rule
    with np.load("model.npz") as file:
        assert {name.split(".")[0] for name in file if "." in name} <= {rule, "lane", "charrnn"}


def test_the_learning_rate_falls_by_its_schedule(program: Program) -> None:
    rates = {}
    for schedule in ("constant", "linear", "cosine"):
        lines = metrics_of(program, "--lr", "0.5", "--schedule", schedule, "--warmup", "0")
        rates[schedule] = [line["lr"] for line in lines if "lr" in line]
    count = len(rates["linear"])
    assert rates["constant"] == [0.5] * count
    for schedule in ("linear", "cosine"):
        assert rates[schedule][0] == 0.5
        assert rates[schedule] == sorted(rates[schedule], reverse=True)
        assert rates[schedule][-1] < 0.05
    assert rates["cosine"][count // 4] > rates["linear"][count // 4]


def test_the_learning_rate_rises_at_first(program: Program) -> None:
    lines = metrics_of(program, "--lr", "0.5", "--warmup", "4", "--schedule", "constant")
    assert [round(line["lr"], 3) for line in lines if "lr" in line][:5] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_gradients_are_clipped(program: Program) -> None:
    options = ("--optimizer", "sgd", "--lr", "0.1", "--schedule", "constant", "--warmup", "0")
    first = saved_by(program, *options, "--clip", "1e-9", "--epochs", "1")
    free = saved_by(program, *options, "--clip", "0", "--epochs", "1")
    moved = [np.abs(run.state.parameters["W1"]).max() for run in (first, free)]
    assert moved[0] != moved[1]


def test_weights_decay(program: Program) -> None:
    options = ("--optimizer", "sgd", "--clip", "1e-9", "--lr", "0.5", "--schedule", "constant")
    kept, gone = (saved_by(program, *options, "--weight-decay", decay) for decay in ("0", "0.5"))
    norms = [float(np.linalg.norm(run.state.parameters["W1"])) for run in (kept, gone)]
    assert norms[1] < norms[0] / 2


def test_epochs_are_counted(program: Program) -> None:
    one, three = (summary_of(program, "--epochs", number) for number in ("1", "3"))
    assert (one["epochs"], three["epochs"]) == (1, 3)
    assert three["characters_seen"] == 3 * one["characters_seen"]
    assert (one["stopped"], three["stopped"]) == ("epochs", "epochs")


@pytest.mark.usefixtures("millisecond_a_step")
@pytest.mark.parametrize("epochs", [(), ("--epochs", "1000000")])
def test_minutes_end_a_run(program: Program, epochs: tuple[str, ...]) -> None:
    ran = program.run("train", "names.txt", *SIZE, *epochs, "--minutes", "0.005", "--json")
    checkups = len(checkpoint.load("model.npz").state.history)
    assert ran.json["stopped"] == "minutes"
    assert ran.json["steps"] + checkups == pytest.approx(300, abs=2)
    assert 1 < checkups < 100, "check-ups suit the time"


def test_epochs_may_end_a_run_before_its_minutes_are_over(program: Program) -> None:
    assert summary_of(program, "--minutes", "60")["stopped"] == "epochs"


def test_patience_ends_a_run_that_gets_no_better(program: Program) -> None:
    ran = program.run(
        *(
            "train",
            "names.txt",
            *SIZE,
            "--epochs",
            "100000",
            "--patience",
            "2",
            "--check-every",
            "5",
        ),
        *("--lr", "1e-12", "--json"),
    )
    assert ran.json["stopped"] == "patience"
    assert ran.json["steps"] == ran.json["best"]["step"] + 10


def test_check_ups_come_as_often_as_asked(program: Program) -> None:
    lines = metrics_of(program, "--check-every", "7")
    examined = [line["step"] for line in lines if line["schema"] == "charrnn.checkup/1"]
    assert examined[:2] == [7, 14]


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(program: Program) -> None:
    files = []
    for seed in ("5", "5", "6"):
        summary_of(program, "--seed", seed)
        files.append(Path("model.npz").read_bytes())
    assert files[0] == files[1] != files[2]


def test_cores_are_not_part_of_the_file(program: Program) -> None:
    assert saved_by(program, "--cores", "2").config.parts == 1

"""Each name of a loss stands for one measurement, wherever it is shown, printed or kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import charrnn
from charrnn import model_file as checkpoint
from charrnn.display import curve_of
from charrnn.scoring.predictor import as_predictor, scorer_of
from charrnn.texts import rebuild_corpus
from tests.program import Program
from tests.runs import SIZE

LINE = ("train", "names.txt", *SIZE, "--epochs", "6", "--dropconnect", "0.6", "--blank", "0.3")


@pytest.mark.parametrize("more", [(), ("--holdout", "0")])
def test_the_training_loss_of_the_rows_is_that_of_metrics_info_history_and_curve(
    program: Program, more: tuple[str, ...]
) -> None:
    ran = program.run(*LINE, "--check-every", "5", "--metrics", "m.jsonl", *more)
    head = next(line for line in ran.err.splitlines() if line.startswith("      step"))
    at = head.split().index("train")
    cells = [line.split() for line in re.findall(r"^ +\d+ +\d+\.\d\d .*", ran.err, re.MULTILINE)]
    rows = [json.loads(line) for line in Path("m.jsonl").read_text().splitlines()]
    checkups = [row for row in rows if row["schema"] == "charrnn.checkup/1"]
    assert [row[at] for row in cells] == [f"{c['train_nats_per_character']:.3f}" for c in checkups]
    hidden = checkups[-1]["train_while_hidden_nats_per_character"]
    assert hidden != checkups[-1]["train_nats_per_character"]
    history = program.run("info", "--json").json["history"]
    model = charrnn.load()
    assert history == model.trained.history
    for name in ("train", "train_while_hidden"):
        kept = [row[name] for row in history]
        assert kept == [checkup[f"{name}_nats_per_character"] for checkup in checkups]
    curve = curve_of(model.trained)
    assert curve is not None
    assert curve.learning[-len(history) :] == [row["train"] for row in history]
    assert curve.learning_name == "training"


def test_the_last_training_loss_is_that_of_the_latest_parameters(program: Program) -> None:
    program.run(*LINE)
    model, run = charrnn.load(), checkpoint.load("model.npz")
    corpus = rebuild_corpus(model.corpus, model.vocabulary)
    nats, _ = scorer_of(as_predictor(run.latest)).read(corpus.train.ids)
    assert nats.mean() == pytest.approx(run.state.history[-1]["train"], abs=1e-4)

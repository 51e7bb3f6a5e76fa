"""--folds: each example is scored by a network that has not seen it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import charrnn
from charrnn import folds
from charrnn.corpus.corpus import from_texts
from charrnn.errors import DivergedError
from charrnn.folds import Fold, corpora_of, cross_validate, join, validate
from charrnn.plan import fit_settings
from charrnn.scoring.baselines import counting_baselines
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import TrainConfig
from tests.corpora import NAMES
from tests.program import Program
from tests.runs import SIZE

LINE = ("train", "names.txt", *SIZE, "--epochs", "2", "--folds", "3")


def test_each_example_is_held_out_once_and_then_not_trained_on() -> None:
    corpus = from_texts(NAMES.split(), CorpusConfig(holdout=0.1))
    whole = sorted(
        corpus.vocabulary.decode(part.nth(i))
        for part in (corpus.train, corpus.held_out)
        for i in range(len(part))
    )
    seen: list[str] = []
    for fold in corpora_of(corpus, 4, 0):
        train, held_out = (
            [corpus.vocabulary.decode(part.nth(i)) for i in range(len(part))]
            for part in (fold.train, fold.held_out)
        )
        assert sorted(train + held_out) == whole
        assert abs(len(held_out) - len(whole) / 4) < 1
        seen += held_out
    assert sorted(seen) == whole


def test_the_loss_is_that_of_all_folds_scored_by_their_own_networks() -> None:
    corpus = from_texts(NAMES.split(), CorpusConfig(holdout=0.1))
    config = fit_settings(TrainConfig(hidden=3, layers=1, epochs=2), corpus)
    folds = [fold for fold in cross_validate(corpus, config, 3) if isinstance(fold, Fold)]
    found = join(folds)
    symbols = len(corpus.train.ids) + len(corpus.held_out.ids)
    costs = np.concatenate([fold.nats for fold in folds])
    assert len(costs) == symbols
    assert found.loss.nats_per_character == pytest.approx(costs.mean())
    assert 0 < found.loss.standard_error < 1
    parts = corpora_of(corpus, 3, config.seed)
    sums: dict[str, float] = {}
    for part in parts:
        for one in counting_baselines(part, part.held_out.ids):
            size = len(part.held_out.ids)
            sums[one.name] = sums.get(one.name, 0) + size * one.nats_per_character
    assert found.baseline == min(sums, key=lambda name: sums[name])
    counting = sums[found.baseline] / symbols
    assert found.difference.nats_per_character == pytest.approx(costs.mean() - counting)


def test_train_and_eval_show_the_same_loss_and_leave_the_model_alone(program: Program) -> None:
    ran = program.run(*LINE, "--json")
    folds = ran.json["folds"]
    assert folds["folds"] == 3
    keys = ["nats_per_character", "bits_per_character", "error", "baseline"]
    assert list(folds)[1:] == [*keys, "difference", "standard_error"]
    assert "fold 3 of 3: " in ran.err
    file = program / "model.npz"
    with_folds = file.read_bytes()
    assert program.run("eval", "--folds", "3", "--held-out", "--json").json["folds"] == folds
    assert program.run("eval", "--folds", "2", "--json").json["folds"] != folds
    assert (
        f"folds      {folds['nats_per_character']:.3f} nats"
        in program.run("eval", "--folds", "3").out
    )
    assert "folds" not in program.run("eval", "--json").json
    assert program.run(*LINE[:-2], "--force").status == 0
    assert file.read_bytes() == with_folds
    shown = program.run("train", "--resume", "--epochs", "3", "--folds", "3").out
    assert "per character of the whole corpus" in " ".join(shown.split())


def test_the_plan_says_what_folds_cost(program: Program) -> None:
    cost = "3 more networks, each trained from its beginning, about as long as a whole run"
    said = " ".join(program.run(*LINE).err.split())
    assert cost in said
    assert cost in " ".join(program.run("train", "--resume", "--folds", "3").err.split())
    assert "more networks" not in program.run(*LINE[:-2], "--force").err


def test_folds_that_cannot_be_are_refused_before_training(program: Program) -> None:
    program.write("two.txt", "anna\nbob\n")
    program.refuses(
        *("train", "two.txt", "--folds", "3"),
        what="2 examples cannot be cut into 3 folds",
        hint="Use fewer --folds.",
        status=2,
    )
    assert program.run("train", "names.txt", *SIZE, "--epochs", "1", "-q").status == 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("charrnn.cli.eval.run.score", None)  # refused before anything is scored
        program.refuses(
            *("eval", "--folds", "999"),
            what="examples cannot be cut into 999 folds",
            hint="Use fewer --folds.",
            status=2,
        )
    program.refuses(
        *("eval", "--folds", "3", "-m", "model.npz", "-m", "model.npz"),
        what="--folds trains one model again",
        hint="Name a single model",
        status=2,
    )
    for other in ("--dry-run", "--from=model.npz"):
        assert program.run(*LINE, other, "--force").status == 2
    assert charrnn.load().config.epochs == 1


def test_folds_measure_the_part_of_the_model_that_is_used(program: Program) -> None:
    assert program.run(*LINE[:-2], "--counts", "-q").status == 0
    line = ("eval", "--held-out", "--folds", "2", "--json")
    uses = ("network", "counts", "both")
    losses = [program.run(*line, "--use", use).json["folds"]["nats_per_character"] for use in uses]
    assert len({*losses}) == 3
    assert losses[2] == program.run(*line).json["folds"]["nats_per_character"]
    assert program.run(*LINE[:-2], "--force", "-q").status == 0
    assert losses[0] == program.run(*line).json["folds"]["nats_per_character"]


def test_a_fold_that_diverges_leaves_the_run_that_has_ended(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(*_: object) -> Iterator[Fold]:
        raise DivergedError("the loss diverged at step 3", "Try a smaller [lr].")
        yield

    monkeypatch.setattr(folds, "cross_validate", diverge)
    ended = program.run(*LINE)
    ended.says(
        "warning: cross-validation ended: in fold 1 of 3 the loss diverged at step 3. Train with",
        "next:",
    )
    assert "of the whole corpus" not in ended.out + ended.err
    program.refuses(
        *("eval", "--held-out", "--folds", "3"),
        what="in fold 1 of 3 the loss diverged at step 3",
        hint="Train with a smaller --lr.",
    )
    told = program.run(*LINE, "--force", "--quiet").err
    assert "at step 3. Train with a smaller --lr." in told


def test_folds_that_a_signal_stops_are_told_of() -> None:
    corpus = from_texts(NAMES.split())
    config = fit_settings(TrainConfig(hidden=3, layers=1, epochs=1), corpus)
    notes: list[str] = []
    assert validate(corpus, config, 2, notes.append, lambda: True) is None
    assert notes[-1] == "cross-validation stopped after 0 of 2 folds"

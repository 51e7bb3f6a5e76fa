"""What a model that counts makes of what a network writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.analysis import drawn_texts
from charrnn.corpus.corpus import from_texts
from charrnn.counts.markov import Budget, surprisals
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.runs import load
from charrnn.sampling.sampler import SampleConfig
from charrnn.settings.corpus import CorpusConfig
from charrnn.vocabulary import END
from tests.program import Program
from tests.speaking import independent

NAMES = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna", "ida", "jo"] * 4


def test_who_writes_at_random_is_less_likely_than_what_is_held_out() -> None:
    corpus = from_texts(NAMES, CorpusConfig(holdout=0.2))
    size = Architecture(corpus.vocabulary.symbols, 3, 1)
    babbler = LanguageModel(Parameters.zeros(size), corpus.vocabulary)
    found = drawn_texts(babbler, corpus, 300)
    assert found is not None
    assert found.texts == 300
    assert found.nats_per_character > 2 * found.held_out
    assert found == drawn_texts(babbler, corpus, 300)


def test_who_has_learned_to_write_is_likelier_than_who_has_not() -> None:
    config = charrnn.TrainConfig(hidden=32, layers=1, lr=0.01, epochs=40, seed=1)
    corpus = from_texts(NAMES, CorpusConfig(holdout=0.1, seed=1))
    run = charrnn.train(NAMES, config)
    before = drawn_texts(run.model.language_model, corpus, 300)
    for _ in run:
        pass
    after = drawn_texts(run.model.language_model, corpus, 300)
    assert before is not None
    assert after is not None
    assert after.nats_per_character < before.nats_per_character - 1


def test_an_end_that_was_not_drawn_is_not_counted() -> None:
    """Who never ends is cut off, and only what it said is scored."""
    corpus = from_texts(["a" * n for n in range(1, 30)] * 3, CorpusConfig(holdout=0.2, seed=1))
    endless = independent({"a": 1.0})
    found = drawn_texts(endless, corpus, 3)
    assert found is not None
    assert found.characters == 3 * SampleConfig.max_characters
    said = corpus.vocabulary.encode("a" * SampleConfig.max_characters)
    ids = np.concatenate([np.append(said, END)] * 3).astype(np.uint8)
    *_, by_markov = surprisals(corpus.train.ids, ids, corpus.vocabulary.symbols, 6)
    each = by_markov.kneser_ney, by_markov.witten_bell
    without, with_ends = ({float(one[of].mean()) for one in each} for of in (ids != END, ...))
    assert found.nats_per_character in without
    assert not without & with_ends


def test_where_nothing_is_held_out_there_is_nothing_to_set_it_beside() -> None:
    corpus = from_texts(NAMES, CorpusConfig(holdout=0.0))
    size = Architecture(corpus.vocabulary.symbols, 3, 1)
    assert drawn_texts(LanguageModel(Parameters.zeros(size), corpus.vocabulary), corpus, 3) is None


def test_eval_sets_it_beside_the_baseline_of_the_plan(well_trained: Program) -> None:
    ran = well_trained.run("eval", "--drawn", "200", "--json").json
    drawn = ran["drawn"]
    assert drawn["texts"] == 200
    baseline = load(well_trained / "model.npz").corpus.baselines["markov-5"]
    assert drawn["markov-5"]["held_out"]["nats_per_character"] == pytest.approx(baseline)
    told = well_trained.run("eval", "--drawn", "200").out
    assert "markov-5 on 200 drawn texts" in told
    assert f"{drawn['markov-5']['drawn']['nats_per_character']:.3f}" in told
    assert well_trained.run("eval", "--json").json["drawn"] is None


def test_two_models_are_set_side_by_side(well_trained: Program) -> None:
    line = ("train", "names.txt", "--own-inputs", "0.5", "--hidden", "6", "--epochs", "1")
    well_trained.run(*line, "--seed", "1", "-m", "own.npz", "-q").says()
    both = ("-m", "model.npz", "-m", "own.npz")
    ran = well_trained.run("eval", "--drawn", "50", "--json", *both).json["models"]
    told = well_trained.run("eval", "--drawn", "50", *both).out
    for name in ("model.npz", "own.npz"):
        nats = ran[name]["drawn"]["markov-5"]["drawn"]["nats_per_character"]
        assert any(name in line and f"{nats:.3f}" in line for line in told.splitlines())
    assert told.count("held-out text") == 1  # for both have learned from the same
    assert "held out, " not in told


def test_what_is_held_out_of_each_corpus_stands_above_those_who_learned_from_it(
    well_trained: Program,
) -> None:
    Path("more.txt").write_text("anna\nbob\nclara\n" * 9, encoding="utf-8")
    for corpus, name in (("more.txt", "more.npz"), ("names.txt", "other.npz")):
        well_trained.train(corpus, "--seed", "1", "-m", name).says()
    three = [word for name in ("model", "more", "other") for word in ("-m", f"{name}.npz")]
    ran = well_trained.run("eval", "--drawn", "20", "--json", *three).json["models"]
    told = well_trained.run("eval", "--drawn", "20", *three).out.split("drawn texts\n")[1]
    expected = []
    for whose, names in (("model", ["model", "other"]), ("more", ["more"])):
        held_out = ran[f"{whose}.npz"]["drawn"]["markov-5"]["held_out"]["nats_per_character"]
        expected.append([f"held out, {whose}.npz", f"{held_out:.3f}"])
        for name in names:
            nats = ran[f"{name}.npz"]["drawn"]["markov-5"]["drawn"]["nats_per_character"]
            expected.append([f"{name}.npz", f"{nats:.3f}"])
    found = [[line[:21].strip(), line[21:].split()[0]] for line in told.splitlines()]
    assert found == expected
    assert expected[0][1] != expected[3][1]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("names.txt --drawn 5", "--drawn and names.txt exclude each other"),
        ("--drawn 5 --per-example", "--drawn and --per-example exclude each other"),
        ("--drawn 0", "--drawn"),
    ],
)
def test_what_cannot_be_set_beside_each_other_is_refused(
    trained: Program, line: str, what: str
) -> None:
    ran = trained.run("eval", *line.split())
    assert ran.status == 2
    assert what in ran.err


def test_a_part_of_many_drawn_texts_is_scored_and_that_is_said(
    well_trained: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "first" not in well_trained.run("eval", "--drawn", "9").out
    monkeypatch.setattr("charrnn.analysis.BUDGET", Budget(held_out=40))
    ran = well_trained.run("eval", "--drawn", "50")
    assert "scored on the first 40 characters of them, ends included" in ran.out
    assert well_trained.run("eval", "--drawn", "50", "--json").json["drawn"]["scored"] == 40
    limit = f"At most {Budget().held_out:,} characters are scored."
    assert limit in " ".join(well_trained.run("eval", "--help").out.split())

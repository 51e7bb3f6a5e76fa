"""Labels, from training to telling kinds: all cells and ends; what is exact and what stays."""

import json
import math
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.errors import CharrnnError, CorpusError, SettingError
from charrnn.model import Model
from charrnn.prediction import scoring
from charrnn.prediction.losses import oddest
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import Group, accuracy_of, score_by_label, score_texts
from charrnn.runs import add_counts
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.text.corpus import corpus_of, read_files
from charrnn.text.counts import Ngrams, baselines
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import END
from tests.program import Program

NORTH = [f"{a}{b}" for a in "abcde" for b in ("orn", "und", "ik")]
SOUTH = [f"{a}{b}" for a in "vwxyz" for b in ("illa", "ona", "etto", "aro")]
TEXTS, LABELS = NORTH + SOUTH, ["north"] * len(NORTH) + ["south"] * len(SOUTH)
SMALL: dict[str, Any] = {"hidden": 6, "layers": 1, "epochs": 2, "batch": 2, "bptt": 6}


def small(**how: Any) -> Model:
    return charrnn.fit(TEXTS, None, False, LABELS, **{**SMALL, **how})


@pytest.fixture(scope="module")
def model() -> Model:
    return charrnn.fit(TEXTS, labels=LABELS, **{**SMALL, "hidden": 16, "epochs": 60}, counts=True)


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm", "output"])
@pytest.mark.parametrize("ends", ["symbol", "halt", "length"])
def test_every_cell_and_end_learns_draws_scores_and_tells(cell: str, ends: str) -> None:
    made = small(cell=cell, ends=ends, clock=True, blank=0.1, own_inputs=0.2)
    assert made.labels == ["north", "south"]
    assert len(made.sample(3, label="south", seed=1)) == 3
    np.testing.assert_allclose(made.label_probabilities(TEXTS).sum(1), 1)
    given = [made.score([text], [label]).nats for text, label in zip(TEXTS, LABELS, strict=True)]
    assert made.score(TEXTS, LABELS).nats == pytest.approx(sum(given))
    with pytest.raises(SettingError, match="draws the length" if ends == "length" else "none was"):
        made.fill("v_lla")  # which asks for a label only where that helps
    if ends == "symbol":
        made.parameters["c"][END] += 9
        for label in (None, "south"):
            assert made.sample(2, label=label, seed=1, shortest=0) == ["", ""]
            assert all(made.sample(2, label=label, seed=1))


@pytest.mark.parametrize("use", ["network", "counts", "both"])
def test_telling_kinds_is_the_rule_of_bayes(model: Model, use: Any) -> None:
    counts = np.array([*model.vocabulary.labels.values()])
    nats = [model.score(["vona"], [label], use=use).nats for label in model.labels]
    each = model.scores(["vona"] * 2, labels=model.labels, use=use)
    assert [score.nats for score in each] == pytest.approx(nats)
    joint = counts / counts.sum() * np.exp(np.negative(nats))
    chances = model.label_probabilities(["vona"], use=use)
    np.testing.assert_allclose(chances[0], joint / joint.sum(), rtol=1e-12)
    assert model.score(["vona"], use=use).nats == pytest.approx(-np.log(joint.sum()), rel=1e-12)
    assert model.classify([], use=use) == []
    told = model.classify(TEXTS, use=use)
    assert [label for label, _ in told] == LABELS
    assert all(chance > 0.5 for _, chance in told)


def test_a_vector_has_the_label_that_network_and_counts_tell_together(model: Model) -> None:
    (label, _), (of_network, _) = (model.classify("wuk", use=use)[0] for use in (None, "network"))
    assert label != of_network
    fresh = replace(model)
    np.testing.assert_array_equal(model.embed("wuk"), fresh.embed("wuk", label=label))
    assert "counts" not in vars(fresh)  # which take a moment


def test_the_mean_over_labels_is_over_those_that_occur() -> None:
    figures = accuracy_of(["x", "x", "y"], ["x", "y", "y"], {"x": 9, "y": 7, "z": 8})
    assert (figures["mean_over_labels"], figures["commonest"]) == (0.75, "x")
    assert figures["accuracy"] == figures["accuracy_of_commonest"] == 2 / 3
    assert figures["standard_error"] == pytest.approx(math.sqrt(2 / 27))
    assert figures["confusions"] == {"x": {"x": 1, "y": 1}, "y": {"y": 1}}


@pytest.mark.parametrize("use", ["network", "counts"])
def test_a_label_draws_its_kind_and_a_text_is_the_same_alone(model: Model, use: Any) -> None:
    south = model.sample(20, label="south", seed=3, temperature=0.5, use=use)
    assert [label for label, _ in model.classify(south)].count("south") > 18
    assert model.sample(5, label="south", seed=3, temperature=0.5, use=use) == south[:5]
    mixed = model.sample(200, seed=3, temperature=0.5)
    assert mixed[:7] == model.sample(7, seed=3, temperature=0.5)
    streamed = ["".join(model.stream(seed=seed)) for seed in range(4)]
    assert streamed == [model.sample(seed=seed)[0] for seed in range(4)]
    share = [label for label, _ in model.classify(mixed)].count("south") / 200
    assert share == pytest.approx(len(SOUTH) / len(TEXTS), abs=0.12)


def test_counts_never_say_a_label() -> None:
    corpus = corpus_of(TEXTS, labels=LABELS)
    ngrams = Ngrams(corpus.train.labelled, corpus.vocabulary.symbols, labels=2)
    state = ngrams.empty_contexts(2)
    ngrams.read(corpus.vocabulary.label_ids(["north", "south"]), state)
    np.testing.assert_allclose(ngrams.probabilities(state).sum(1), 1)


def test_each_label_has_its_share_held_out_but_for_rare_ones(tmp_path: Path) -> None:
    many = [f"{i:03}" for i in range(300)]
    labels = ["a"] * 100 + ["b"] * 200 + ["rare"] * 9 + ["ten"] * 10
    corpus = corpus_of(many + ["x"] * 19, labels=labels)
    assert corpus.vocabulary.labels == {"a": 90, "b": 180, "rare": 9, "ten": 9}
    held_out = corpus.held_out.labels
    assert held_out is not None
    assert np.bincount(held_out - corpus.vocabulary.symbols).tolist() == [10, 20, 0, 1]


def files(folder: Path) -> list[str]:
    for name, texts in (("north.txt", NORTH), ("south.txt", SOUTH)):
        (folder / name).write_text("\n".join(texts) + "\n")
    return [str(folder / "north.txt"), str(folder / "south.txt")]


def labels_in(sources: list[str], **reading: Any) -> dict[str, int]:
    config = CorpusConfig(holdout=0.0, reading=Reading(**reading))
    return read_files(sources, config).vocabulary.labels


def test_labels_are_names_of_files_or_a_column(tmp_path: Path) -> None:
    names = files(tmp_path)
    assert labels_in(names, label_by="file") == {"north": 15, "south": 20}
    rows = [f"{text},{label} \n" for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "table.csv").write_text("word,kind\n" + "".join(rows))
    table = [str(tmp_path / "table.csv")]
    for kind in ("kind", "2"):
        assert labels_in(table, column="word", label_by=kind) == {"north": 15, "south": 20}
    (tmp_path / "table.csv").write_text("".join(rows))
    assert labels_in(table, column="1", label_by="2") == {"north": 15, "south": 20}
    (tmp_path / "table.csv").write_text("".join(rows[:16]) + "odd,\n" + "".join(rows[16:]))
    with pytest.raises(CorpusError, match=r"line 17 of .*table.csv has a text and no label"):
        labels_in(table, column="1", label_by="2")
    with pytest.raises(CorpusError, match="has no column files;") as error:
        labels_in(table, column="1", label_by="files")
    assert error.value.hint.startswith("Did you mean file?")
    for wrong, column in product(("column", "label_by"), ("0", "")):
        with pytest.raises(SettingError, match=f"{wrong} cannot be {column or 'empty'}"):
            labels_in(table, **{"column": "1", "label_by": "2", wrong: column})
    with pytest.raises(SettingError, match="that of the texts is not known"):
        labels_in(table, label_by="2")
    Path(names[1]).write_text("- villa\n- villa\n- aorn\n")  # repeats within a label are dropped
    assert labels_in(names, label_by="file", tidy=True) == {"north": 15, "south": 2}
    names[1] = str(Path(names[1]).rename(tmp_path / "St.East.TXT"))
    assert labels_in(names, label_by="file") == {"St.East": 3, "north": 15}


def test_odd_labels_are_refused(tmp_path: Path) -> None:
    names = files(tmp_path)
    with pytest.raises(CorpusError, match="all examples have the label north"):
        labels_in(names[:1], label_by="file")
    for labels in (["x"] * 1001, list(map(str, range(1001)))):
        with pytest.raises(CorpusError, match=r"label x|1,001 labels") as error:
            corpus_of(["a"] * 1001, labels=labels)
        assert error.value.hint == "Give 2 to 1,000 labels."  # there are no files
    with pytest.raises(SettingError, match="a character in two halves"):
        corpus_of(["a", "b"], labels=["\ud83d\ude00", "b"])
    other = tmp_path / "valid" / "east.txt"
    other.parent.mkdir()
    other.write_text("east\n")
    config = CorpusConfig(reading=Reading(label_by="file"))
    with pytest.raises(CorpusError, match="the label east is only in the held-out part"):
        read_files(names, config, [str(other)])
    with pytest.raises(SettingError, match="labels differ in number: 34 and 35"):
        charrnn.fit(TEXTS[1:], labels=LABELS)
    paths = [*map(Path, names)]
    charrnn.fit(paths, **SMALL).save(tmp_path / "m.npz")
    for texts in (paths, None):
        with pytest.raises(CharrnnError, match=r"labels are for texts|the corpus is empty"):
            charrnn.resume(tmp_path / "m.npz", texts, labels=["x", "y"])


def test_a_label_that_is_not_there_is_named_with_those_that_are(model: Model) -> None:
    wrong: Any
    meant = "Did you mean north? "
    for wrong, near in (("nort", meant), (Path("north"), meant), (np.array(["nort", ""]), "")):
        with pytest.raises(SettingError, match=r"there is no label .*nort") as error:
            model.sample(label=wrong)
        assert error.value.hint == f"{near}There are north, south."
    with pytest.raises(SettingError, match="has labels, and none was given"):
        model.fill("v_lla")
    plain = charrnn.fit(NORTH, **SMALL)
    for refused in (partial(plain.sample, label="north"), partial(plain.classify, NORTH)):
        with pytest.raises(SettingError, match="the model has no labels") as error:
            refused()
        assert error.value.hint.startswith("Train one with labels")
    stream, score = partial(model.stream, prime="a"), partial(model.score, TEXTS[:1])
    for wrong in (("north",), 5, b"x"):
        for refuse in (model.surprisal, model.embed, model.fill):
            with pytest.raises(SettingError, match="label"):
                refuse("a_na", label=wrong)
        for act in (partial(stream, label=wrong), partial(score, [wrong])):
            with pytest.raises(SettingError, match="label"):
                act()
    with pytest.raises(SettingError, match="a label cannot be int") as error:
        charrnn.fit(TEXTS, labels=range(len(TEXTS)))  # type: ignore[arg-type]
    assert error.value.hint == "Give str(label) for each."


def test_a_run_with_labels_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.npz", tmp_path / "part.npz"
    run = charrnn.train(TEXTS, labels=LABELS, **SMALL, counts=True)
    next(run)
    run.save(part)
    assert list(run)
    run.save(whole)
    again = charrnn.resume(part, TEXTS, labels=np.array(LABELS))
    assert list(again)
    again.save(part)
    assert part.read_bytes() == whole.read_bytes()
    for labels, said in ((LABELS[::-1], "was trained on texts from"), (None, "texts with labels$")):
        with pytest.raises(CharrnnError, match=said):
            charrnn.resume(part, TEXTS, labels=labels)
    what = "part.npz was trained on texts with labels from Python"
    for more in ((), (__file__,)):
        line = ("train", *more, "--resume", "--epochs", "9", "-m", "part.npz")
        Program(tmp_path).refuses(*line, what=what, hint="Resume it there")
    assert charrnn.load(whole).sample(4, seed=1) == run.model.sample(4, seed=1)


def test_counts_that_are_added_to_a_run_have_its_labels() -> None:
    run = charrnn.train(TEXTS, labels=LABELS, **SMALL)
    assert add_counts(run.checkpoint, run._corpus)
    counted = charrnn.train(TEXTS, labels=LABELS, **SMALL, counts=True).checkpoint.counted
    np.testing.assert_array_equal(run.checkpoint.counted, counted)


def test_known_labels_keep_their_column() -> None:
    labelled = small()
    kept = charrnn.train(TEXTS, labels=LABELS, start_from=labelled, epochs=1).checkpoint.state
    np.testing.assert_array_equal(kept.parameters["U1"][-2:], labelled.parameters["U1"][-2:])
    with pytest.raises(SettingError, match="has labels, and the corpus has none") as error:
        charrnn.train(TEXTS, start_from=labelled)
    assert error.value.hint == "Add labels."


def test_the_command_line_trains_draws_scores_and_tells(program: Program) -> None:
    sources = files(program.folder)
    how = "--label-by file --hidden 16 --layers 1 --epochs 40 --batch 2 --counts"
    program.run("train", "north.txt", "south.txt", *how.split()).says()
    told = program.run("info", "--json").rows[0]["corpus"]["labels"]
    assert told == {"north": 13, "south": 18}
    sample = ("sample", "--seed", "1", "--label", "north")
    drawn = program.run(*sample, "--label", "south", "-n", "2", "--json").rows
    assert [row["label"] for row in drawn] == ["north", "north", "south", "south"]
    alone = program.run(*sample, "-n", "2", "--json").rows
    assert [row["text"] for row in alone] == [row["text"] for row in drawn[:2]]
    free = program.run(*sample[:3], "-n", "30", "--json", "--unique", "--novel").rows
    assert {row["label"] for row in free} == {"north", "south"}
    shown = program.run(*sample, "--label", "south")
    assert shown.err.splitlines()[:2] == ["label north", "label south"]
    assert "label" not in program.run(*sample).err
    what, hint = "there is no label 'west'", "There are north, south."
    assert not program.refuses(*sample, "--label", "west", what=what, hint=hint, status=2).out
    row = program.run("eval", "--json").rows[0]
    assert row["labels"]["confusions"].keys() == {"north", "south"}
    assert 0 <= row["labels"]["standard_error"] < 1
    assert row["labels"]["commonest"] == "south"
    odd = program.run("eval", "-", "--per-example", "--json", stdin=b"villa\nborn\n").rows
    assert [line["label"] for line in odd] == ["south", "north"]
    assert all(0.5 < line["label_probability"] <= 1 for line in odd)
    held_out = [program.run("eval", "--label", label, "--json").rows[0] for label in LABELS[::20]]
    assert held_out[0]["nats"] != held_out[1]["nats"]
    each = ("eval", "north.txt", "--per-example")
    heads = [program.terminal(*each, *by)[1] for by in ([], ["--label", "north"])]
    assert ["label  prob." in head for head in heads] == [True, False]
    right = program.run("eval", "north.txt", "south.txt", "--label-by", "file", "--json").rows[0]
    assert right["labels"]["accuracy"] > 0.9
    told = program.run("eval", "north.txt", "south.txt", "--label-by", "file").out
    assert f"right label {100 * right['labels']['accuracy']:.1f}% ± " in told
    assert "south taken for south" not in told
    corpus = read_files(sources, CorpusConfig(reading=Reading(label_by="file")))
    ids = corpus.vocabulary.encode_codes(join_examples(NORTH))
    counting = baselines(corpus.train.ids, ids, corpus.vocabulary)[-1]  # no label is given
    found = program.run("eval", "north.txt", "--baselines", "--json").json["baselines"]["markov-6"]
    assert found["nats_per_character"] == pytest.approx(counting.nats_per_character)
    assert program.run("fill", "v_lla").status == 2
    assert program.run("fill", "v_lla", "--label", "south").out.split()[1] == "villa"
    for more in ([], ["--dry-run"]):  # at once, and not in each run
        start = ("sweep", "north.txt", "--from", "model.npz", "--seeds", "2", *more)
        what, hint = "the model to start from has labels", "Add --label-by."
        program.refuses(*start, what=what, hint=hint, status=2)
    again = ("train", program.write("n.txt", "\n".join(NORTH)), "south.txt", "--resume")
    program.refuses(*again, what="was trained on north.txt", hint="in files of the same names")
    embed = ("embed", "-", "--label")
    assert len({program.run(*embed, label, stdin=b"a\n").out for label in LABELS[::20]}) == 2


def test_a_label_that_is_no_text_is_called_alike_in_all_json(program: Program) -> None:
    charrnn.fit(["a", "b"], labels=["a", "\udcff"], **SMALL).save(program / "model.npz")
    told = program.run("info", "--json").json["corpus"]["labels"].keys()
    assert {row["label"] for row in program.run("sample", "-n", "30", "--json").rows} == told


def test_the_plan_counts_labels_and_warns_of_rare_ones(program: Program) -> None:
    files(program.folder)
    program.write("east.txt", "east\n")
    line = ("train", "north.txt", "south.txt", "east.txt", "--label-by", "file", "--dry-run")
    shown = program.run(*line).out
    assert "labels     3: south 18, north 13, east 1" in shown
    assert "1 of 3 labels train on fewer than ten examples, such as east" in shown
    labels = program.run(*line, "--json").json["corpus"]["labels"]
    assert labels == {"east": 1, "north": 13, "south": 18}
    for few in ("a", "b", "c"):
        program.write(f"{few}.txt", "x\n")
    five = program.run("train", "a.txt", "b.txt", *line[1:]).out
    assert "labels     5: south 18, north 13, a 1, b 1, east 1\n" in five
    six = program.run("train", "a.txt", "b.txt", "c.txt", *line[1:]).out
    assert "labels     6: south 18, north 13, a 1, ..., east 1\n" in six
    told = program.run(*line[:-1], "--epochs", "1", "--hidden", "4").err.partition("next ")[2]
    assert "charrnn sample -n 30 --best --label=east " in told
    assert "charrnn export model.html " in told  # of the model, where there are several files
    assert program.run("sample", "-n", "3", "--best", "--label=east").status == 0


@pytest.mark.parametrize("forced", [False, True])
def test_with_new_labels_a_network_scores_as_before(forced: bool) -> None:
    plain = charrnn.fit(TEXTS, cell="output", teacher_forcing=forced, **SMALL)
    run = charrnn.train(TEXTS, labels=LABELS, start_from=plain, epochs=1)
    before = score_texts(Predictor([plain.language_model]), Group(TEXTS))
    after = score_texts(Predictor([run.checkpoint.latest]), Group(TEXTS, LABELS))
    np.testing.assert_allclose(after.nats, before.nats, atol=1e-3)


@pytest.mark.parametrize("counts", [False, True])
def test_the_oddest_sum_is_one_of_all_sums(counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SUMMED_AT_ONCE", 3)
    monkeypatch.setattr(scoring, "MOST_SUMMED", len(set(LABELS)))
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS * 30)]  # none is as odd
    run = charrnn.train(texts, labels=LABELS * 30, holdout=0.4, counts=counts, **SMALL)
    assert list(run)
    held_out, predictor = run._corpus.held_out, run.model.predictor()
    sums, _ = score_by_label(predictor, held_out.ids, split=len(held_out.ids) // 2)
    found = run.checkpoint.trained.oddest_sums
    assert found == pytest.approx(oddest(held_out.ids, sums), rel=1e-9)


def test_a_label_of_a_table_is_read_alike_in_training_and_in_scoring(program: Program) -> None:
    rows = ["ab,cafe\u0301", "cd,[y]", "ba,cafe\u0301", "dc,[y]"] * 6
    how = ("--column", "name", "--label-by", "kind", "--normalize", "NFC")
    small = ("--hidden", "6", "--layers", "1", "--epochs", "1", "--batch", "2")
    for name, more in (("a.npz", ["ba,cafe\u0301"] * 6), ("b.npz", ["dc,[y]"] * 24)):
        program.write("t.csv", "\n".join(["name,kind", *rows, *more, ""]))
        assert program.run("train", "t.csv", *how, *small, "-m", name).status == 0
    found = program.run("eval", "t.csv", "--label-by", "kind", "-m", "a.npz", "--json")
    assert set(json.loads(found.out)["labels"]["confusions"]) == {"caf\u00e9", "[y]"}
    line = ("eval", "t.csv", "--label-by", "kind", "-m", "a.npz", "-m", "b.npz")
    several, told = program.run(*line).out, list[str]()
    for row in program.run(*line, "--json").rows:
        names = ("accuracy", "standard_error", "accuracy_of_commonest")
        right, error, always = (100 * row["labels"][name] for name in names)
        shares = f"{right:.1f}% ± {error:.1f} (always [y]: {always:.1f}%)"  # of both together
        told.append(f"{row['model']}: right label {shares}")
    assert told == [line for line in several.splitlines() if "right label" in line]
    assert [line.split(":")[0] for line in told] == ["mixture", "a.npz", "b.npz"]
    odd = ("cafe\u0301", "Copy caf\u00e9. ")  # which looks the same
    for label, near in (odd, ("", ""), ("[x]", "Did you mean [y]? ")):  # which names no setting
        what, hint = f"there is no label '{label}'", f"{near}There are [y], caf\u00e9."
        refused = ("eval", "t.csv", "--label", label, "-m", "a.npz")
        program.refuses(*refused, what=what, hint=hint, status=2)

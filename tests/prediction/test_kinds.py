"""Labels where they meet other options: the network to start from, large texts, odd values."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.errors import CharrnnError, SettingError
from charrnn.prediction import scoring
from charrnn.prediction.losses import oddest
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import score_by_label, score_texts
from tests.program import Program

TEXTS = ["ab", "abab", "ba", "cd", "cdcd", "dcd"] * 4
LABELS = ["x", "x", "x", "y", "y", "y"] * 4
SMALL: dict[str, Any] = {"hidden": 6, "layers": 1, "epochs": 2, "batch": 2, "bptt": 6}


@pytest.mark.parametrize("forced", [False, True])
def test_with_new_labels_a_network_scores_as_before(forced: bool) -> None:
    plain = charrnn.fit(TEXTS, cell="output", teacher_forcing=forced, **SMALL)
    run = charrnn.train(TEXTS, labels=LABELS, start_from=plain, epochs=1)
    before = score_texts(Predictor([plain.language_model]), TEXTS)
    after = score_texts(Predictor([run.checkpoint.latest]), TEXTS, LABELS)
    np.testing.assert_allclose(after.nats, before.nats, atol=1e-3)


@pytest.mark.parametrize("counts", [False, True])
def test_the_oddest_sum_is_one_of_all_sums(counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SUMMED_AT_ONCE", 3)
    run = charrnn.train(TEXTS * 30, labels=LABELS * 30, holdout=0.4, counts=counts, **SMALL)
    assert list(run)
    trained, held_out = run.checkpoint.trained, run._corpus.held_out
    predictor = run.model.predictor()
    sums = score_by_label(predictor, held_out.ids, split=len(held_out.ids) // 2).sums
    assert trained.oddest_sums == pytest.approx(oddest(held_out.ids, sums), rel=1e-9)
    assert set(trained.oddest_sums) == set(predictor.uses)


@pytest.mark.parametrize("label", [5, ("x",), b"x"])
def test_a_label_that_is_no_text_is_not_there(label: Any) -> None:
    model = charrnn.fit(TEXTS, labels=LABELS, **SMALL)
    for use in (model.stream, partial(model.surprisal, "ab"), partial(model.fill, "a_")):
        with pytest.raises(SettingError, match="there is no label"):
            use(label=label)


def test_labels_beside_files_are_refused(tmp_path: Path) -> None:
    for name in "xy":
        (tmp_path / f"{name}.txt").write_text(f"a{name}\n" * 20)
    paths = [tmp_path / "x.txt", tmp_path / "y.txt"]
    charrnn.fit(paths, **SMALL).save(tmp_path / "m.npz")
    for texts in (paths, None):
        with pytest.raises(CharrnnError, match=r"labels are for texts|the corpus is empty"):
            charrnn.resume(tmp_path / "m.npz", texts, labels=["x", "y"])


def test_a_label_of_a_table_is_read_alike_in_training_and_in_scoring(program: Program) -> None:
    rows = [f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    program.write("t.csv", "\n".join(["name,kind", *rows, ""]).replace(",x", ",cafe\u0301"))
    how = ("--column", "name", "--label-by", "kind", "--normalize", "NFC")
    small = ("--hidden", "6", "--layers", "1", "--epochs", "1", "--batch", "2")
    for name in ("a.npz", "b.npz"):
        assert program.run("train", "t.csv", *how, *small, "-m", name).status == 0
    found = program.run("eval", "t.csv", "--label-by", "kind", "-m", "a.npz", "--json")
    assert set(json.loads(found.out)["labels"]["confusions"]) == {"caf\u00e9", "y"}
    several = program.run("eval", "t.csv", "--label-by", "kind", "-m", "a.npz", "-m", "b.npz").out
    told = [line.split(":")[0] for line in several.splitlines() if "right label" in line]
    assert told == ["mixture", "a.npz", "b.npz"]
    program.write("bad.csv", "name,kind\nab,y\ncd,\n")
    what, hint = "line 3 of bad.csv has a text and no label", "Fill that field, or leave the line"
    program.refuses("eval", "bad.csv", "--label-by", "kind", "-m", "a.npz", what=what, hint=hint)
    what, hint = "there is no label ''", "There are caf\u00e9, y."
    program.refuses("eval", "t.csv", "--label", "", "-m", "a.npz", what=what, hint=hint, status=2)

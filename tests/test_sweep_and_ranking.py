"""Sweeps: the grid, the rows of runs, resuming, and the ranking."""

import json
import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn import sweep_and_ranking as sweep
from charrnn.errors import ResumeError, SaveError
from charrnn.files import model_file
from charrnn.files.model_contents import record_of
from charrnn.network.parameters import Architecture
from charrnn.settings.corpus import CorpusConfig
from charrnn.spread.workers import open_executor
from charrnn.sweep_and_ranking import Material, Row
from charrnn.text.corpus import corpus_of
from charrnn.text.counts import Baseline
from tests.program import NAMES

SIZE = {"layers": 1, "epochs": 2, "batch": 4}
TRIED = {"hidden": (2, 3), "lr": (0.01, 1e6)}


def material(**learning: Any) -> Material:
    cutting = CorpusConfig()
    corpus = corpus_of(NAMES.split("\n"), cutting)
    record = record_of(corpus, cutting)
    return Material(corpus, record, cutting, {"holdout": 0.1}, {**SIZE, **learning})


def test_the_grid_is_every_combination_from_one_seed_after_the_other() -> None:
    names = [trial.name for trial in sweep.trials_of({"hidden": (2, 3), "lr": (0.5, 1.0)}, (4, 7))]
    grid = [f"hidden={h},lr={lr}" for h in (2, 3) for lr in ("0.5", "1")]
    assert names == [f"{one},seed={seed}" for seed in (4, 7) for one in grid]
    assert [trial.name for trial in sweep.trials_of({}, (0, 1))] == ["seed=0", "seed=1"]
    name = sweep.name_of({"teacher_forcing": True, "own_inputs": 0.0})
    assert name == "teacher-forcing=yes,own-inputs=0"


def run(folder: Path, material: Material, seeds: tuple[int, ...], **how: Any) -> dict[str, Row]:
    trials = sweep.trials_of(TRIED, seeds)
    with sweep.open_folder(folder, resume=how.pop("resume", False)) as opened:
        opened.check(material, TRIED)
        with open_executor(material, **how) as executor:
            list(opened.run(executor, opened.missing(trials)))
        assert not opened.missing(trials)
        return dict(sorted(opened.rows.items()))


def untimed(rows: dict[str, Row]) -> list[Any]:
    return [{**row, "seconds": 0, "model": Path(row["model"] or "").name} for row in rows.values()]


def test_a_run_has_a_row_and_a_model(tmp_path: Path) -> None:
    shared = material()
    rows = run(tmp_path / "a", shared, (0, 1))
    good, bad = rows["hidden=2,lr=0.01,seed=0"], rows["hidden=2,lr=1000000,seed=0"]
    assert (bad["stopped"], bad["best"], bad["model"]) == ("diverged", None, None)
    assert "diverged" in bad["error"]
    assert (good["stopped"], good["error"], good["seed"]) == ("epochs", None, 0)
    assert 0 < good["seconds"] < 99
    assert good["settings"] == {"holdout": 0.1, **SIZE, "hidden": 2, "lr": 0.01}
    assert good["fingerprint"] == shared.corpus.fingerprint
    loss = good["best"]["nats_per_character"]
    assert np.mean(good["held_out_blocks"]) == pytest.approx(loss, 0.1)
    assert loss != round(loss, 6)  # or close runs would tie
    assert model_file.load(good["model"]).config.epochs == 2
    lines = (tmp_path / "a/sweep.jsonl").read_text().splitlines()
    assert {json.loads(line)["name"] for line in lines} == set(rows)


def test_fault_25_resuming_makes_only_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    first = run(folder, material(), (0,))
    rows = folder / "sweep.jsonl"
    rows.write_bytes(rows.read_bytes() + b'{"schema": "charrnn.sweep.run/3", "na')  # torn by a kill
    (folder / "hidden=3,lr=0.01,seed=0.npz").unlink()
    again = run(folder, material(), (0, 1), resume=True)
    names = [json.loads(line)["name"] for line in rows.read_text().splitlines()]
    missing = [trial.name for trial in sweep.trials_of(TRIED, (1,))]
    assert names[4:] == ["hidden=3,lr=0.01,seed=0", *missing]
    assert untimed(first) == untimed({name: again[name] for name in first})
    with pytest.raises(ResumeError, match=r"epochs 3 contradicts .* which has 2"):
        run(folder, material(epochs=3), (0,), resume=True)
    with pytest.raises(ResumeError, match=r"clip 2 contradicts .* which has no clip"):
        run(folder, material(clip=2), (0,), resume=True)
    other = material()
    ours, other.record.__dict__["fingerprint"] = other.record.fingerprint[:12], "b" * 64
    with pytest.raises(ResumeError, match=rf"{ours}.*\(bbbbbbbbbbbb\)"):
        run(folder, other, (0,), resume=True)
    with sweep.open_folder(folder, resume=True), pytest.raises(SaveError, match="another run"):
        run(folder, material(), (0,), resume=True)


@pytest.mark.parametrize(
    "odd",
    [
        *({"name": name} for name in ("../m,seed=0", "/seed=0", "a\\seed=0", "counting")),
        *({"fingerprint": None}, {"settings": []}, {"seed": []}, {"best": {"step": 1.0}}),
        *({"best": {"step": 1, "nats_per_character": "x"}}, {"held_out_blocks": [None]}),
        *({"seconds": None}, {"stopped": None}, {"error": 0}, {"schema": "charrnn.sweep.run/9"}),
    ],
)
def test_a_row_that_no_sweep_has_written_is_refused(tmp_path: Path, odd: Row) -> None:
    good, _ = sweep.train_one(material(), sweep.trials_of({"hidden": (2,)}, (0,))[0])
    for changed in ({}, odd):
        (tmp_path / "sweep.jsonl").write_text(json.dumps({**good, **changed}) + "\n")
        refusal = pytest.raises(ResumeError, match=r"line 1 of .* is not a row of a sweep")
        with refusal if changed else nullcontext(), sweep.open_folder(tmp_path, resume=True):
            pass


def test_a_folder_of_a_sweep_leads_to_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("first\nlast")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/sweep.jsonl").symlink_to(tmp_path / "notes")
    with pytest.raises(ResumeError, match="line 1 of"):
        run(tmp_path / "a", material(), (0,), resume=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/hidden=2,lr=0.01,seed=0.npz").symlink_to(tmp_path / "notes")
    with pytest.raises(SaveError, match="charrnn has not written it"):
        run(tmp_path / "b", material(), (0,))
    assert (tmp_path / "notes").read_text() == "first\nlast"


def row(name: str, seed: int, blocks: Any) -> Row:
    best = {"step": 1, "nats_per_character": float(np.mean(blocks))}
    row = {"name": f"{name},seed={seed}", "seed": seed, "best": best, "model": f"{name}.npz"}
    return {**row, "held_out_blocks": list(blocks), "seconds": 1.0}


def test_combinations_are_ranked_with_standard_errors() -> None:
    rng = np.random.default_rng(0)
    text = rng.normal(2, 1, 30)
    near, far = 0.01 + np.tile([0.1, -0.1], 15), rng.normal(0.5, 0.1, 30)
    rows = [row("a", seed, text) for seed in (0, 1)]
    rows += [row("far", seed, text + far) for seed in (0, 1)]
    rows += [row("near", seed, text + near) for seed in (0, 1)]
    rows += [{**row("lost", 0, text), "best": None}]
    rows += sweep.counting_rows(Baseline("markov-4", float(text.mean()) - 1, text - 1), (0, 1))
    ranking = sweep.rank(rows)
    assert [one["name"] for one in ranking] == ["counting", "a", "near", "far", "lost"]
    assert [one["clearly_worse"] for one in ranking] == [False, False, False, True, True]
    counting, best, close, worse, lost = [one["difference"] for one in ranking]
    assert [counting, best, worse] == pytest.approx([-1, 0, far.mean()])
    assert ranking[2]["standard_error"] == pytest.approx(near.std(ddof=1) / math.sqrt(30))
    assert close == pytest.approx(0.01)
    assert ranking[4]["nats_per_character"] == math.inf
    assert math.isnan(lost)
    seeds = [row("a", seed, text + shift) for seed, shift in enumerate((0.0, 0.4))]
    difference, error = sweep.compare(seeds, [row("b", seed, text) for seed in (0, 1)])
    assert [difference, error] == pytest.approx([0.2, 0.2])  # seeds differ more than blocks
    assert all(map(math.isnan, sweep.compare([], seeds)))
    for unknown in (rows[6:], [*rows[7:], row("b", 2, text)]):  # all failed; no seed in common
        assert not any(one["clearly_worse"] for one in sweep.rank(unknown))
    better = {**row("a", 2, text - 1), "model": "best.npz"}
    assert sweep.rank([*seeds, better])[0]["model"] == "best.npz"


def test_what_is_wrong_with_a_run_is_in_its_row() -> None:
    (trial,) = sweep.trials_of({"cell": ("lstm",)}, (0,))
    for learning, error in (({"hidden": 2}, None), ({"layers": 0}, "layers cannot be 0")):
        found, model = sweep.train_one(material(counts=True, **learning), trial)
        assert (found["error"], model is None) == (error, error is not None)
        assert found["stopped"] == ("failed" if error else "epochs")


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_nearest_size_may_be_smaller_or_larger(more: int) -> None:
    size = Architecture(20, 9, 1, "gru")
    assert sweep.resized(replace(size, hidden=50), size.parameter_count + more) == size

"""Faults 10 to 12: what is saved is loaded, also by version 0.3; what is damaged is refused."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.errors import ModelFileError, SaveError
from charrnn.files import model_file
from charrnn.prediction.predictor import EVEN
from tests.networks import Facts, forge, peak_bytes
from tests.program import Program, chance

TEXTS = ["anna", "bob", "cleo", "dora", "emil", "fritz"] * 5
SYMBOLS = len({*"".join(TEXTS)}) + 2


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A model with counts, saved in the middle of an epoch."""
    sizes: dict[str, Any] = {"hidden": 5, "batch": 3, "bptt": 4, "epochs": 3, "check_every": 7}
    run = charrnn.train(TEXTS, cell="gru", counts=True, **sizes)
    for _ in range(20):
        next(run)
    run.save(tmp_path / "m.npz")
    return tmp_path / "m.npz"


def test_fault_10_damage_is_refused_or_means_nothing(saved: Path) -> None:
    content, chosen = saved.read_bytes(), chance()
    model = charrnn.load(saved)
    for number in range(40):
        damaged = bytearray(content)
        at = chosen.randrange(len(content))
        if number % 4:
            damaged[at] ^= 1 << chosen.randrange(8)
        else:
            del damaged[at:]
        saved.write_bytes(damaged)
        try:
            loaded = charrnn.load(saved)
        except ModelFileError as error:
            refused = error.what
        else:
            refused = ""
            np.testing.assert_array_equal(loaded.parameters.flat, model.parameters.flat)
            assert loaded.vocabulary == model.vocabulary
        assert "\n" not in refused


FORGED: dict[str, Callable[[Facts, dict[str, Any]], Any]] = {
    "hidden": lambda d, _: d["facts"]["settings"].update(hidden=1 << 20),
    "open": lambda d, _: d["facts"]["settings"].update(hidden=None),
    "cell": lambda d, _: d["facts"]["settings"].update(cell="os:system"),
    "flag": lambda d, _: d["facts"]["settings"].update(clock=1),
    "counter": lambda d, _: d["facts"]["counters"].update(step=-1),
    "epoch": lambda d, _: d["facts"]["counters"].update(epoch="1"),
    "counted": lambda d, _: d["facts"].update(counted=1 << 40),
    "slim": lambda d, _: d["facts"].update(slim=True),
    "unknown": lambda d, _: d["facts"].update({"x\x1b": 1}),
    "setting": lambda d, _: d["facts"]["settings"].update(x=1),
    "missing": lambda d, _: d["facts"].pop("corpus"),
    "history": lambda d, _: d["facts"]["history"].append({"step": "1"}),
    "vocabulary": lambda d, _: d["facts"]["vocabulary"].update(characters="ba"),
    "source": lambda d, _: d["facts"]["corpus"].update(sources=[1]),
    "mixture": lambda d, _: d["facts"].update(mixture=[1]),
    "exponent": lambda d, _: d["facts"].update(mixture=[*EVEN[1:], "0.5"]),
    "nan": lambda _, a: a["U1.npy"].fill(np.nan),
    "large": lambda _, a: a["last.npy"].fill(1e30),
    "symbols": lambda _, a: a["counted.npy"].put(40, SYMBOLS),
    "shape": lambda _, a: a.update({"U1.npy": a["U1.npy"].T}),
    "type": lambda _, a: a.update({"U1.npy": a["U1.npy"].astype(float)}),
    "object": lambda _, a: a.update({"c.npy": np.array([print])}),
    "fewer": lambda _, a: a.pop("c.npy"),
}


@pytest.mark.parametrize("name", FORGED)
def test_fault_11_a_forged_file_is_refused(saved: Path, name: str) -> None:
    forge(saved, FORGED[name])
    with pytest.raises(ModelFileError, match="is not a model of charrnn, or is damaged"):
        charrnn.load(saved)


@pytest.mark.parametrize(
    ("version", "what"), [(4, "by an older charrnn; train again"), (8, "newer charrnn: format 8")]
)
def test_fault_12_a_file_of_another_version_says_so(saved: Path, version: int, what: str) -> None:
    forge(saved, lambda document, _: document.update(format=version))
    with pytest.raises(ModelFileError, match=what):
        charrnn.load(saved)


def test_fault_10_a_bomb_is_refused_and_nothing_is_allocated(saved: Path) -> None:
    size = saved.stat().st_size
    forge(saved, lambda _, a: a.update({"U1.npy": np.zeros(1 << 22)}), compression=8)

    def refuse() -> None:
        with pytest.raises(ModelFileError, match="compressed"):
            charrnn.load(saved)

    assert peak_bytes(refuse) < 20 * size


def test_what_is_saved_can_be_loaded(tmp_path: Path) -> None:
    labels, seed = [f"[[{number % 600}]]" for number in range(1200)], (1 << 64) - 1
    model = charrnn.fit(["ab"] * 1200, labels=labels, seed=seed, hidden=8, epochs=1, check_every=9)
    assert model.checkpoint is not None
    model.checkpoint.state.moments["v"].fill(1e30)  # as where gradients explode
    model.save(tmp_path / "m.npz")
    loaded = charrnn.load(tmp_path / "m.npz")
    assert (loaded.config.seed, loaded.labels) == (seed, model.labels)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for ever
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(SaveError), model_file.locked_model(path, force=False):
            pass


def test_no_save_from_python_replaces_the_corpus_unless_forced(tmp_path: Path) -> None:
    corpus = tmp_path / "names.txt"
    corpus.write_text("anna\nbob\ncleo\n" * 9)
    run = charrnn.train(corpus, hidden=4, epochs=1, batch=2)
    next(run)
    model = run.model
    for save in (run.save, model.save):
        with pytest.raises(SaveError, match="charrnn has not written it") as refused:
            save(corpus)
        assert refused.value.hint == "Name another file, or add force to replace it."
        assert corpus.read_text().startswith("anna")
    run.save(tmp_path / "names.npz")
    run.save(tmp_path / "names.npz")  # a model may be replaced
    (tmp_path / "link.npz").symlink_to(corpus)
    with pytest.raises(SaveError):
        run.save(tmp_path / "link.npz")
    model.save(corpus, force=True)
    assert charrnn.load(corpus).sample(2, seed=1) == model.sample(2, seed=1)


@pytest.fixture
def old(program: Program) -> Program:
    """The program in a folder with files that version 0.3 has made."""
    shutil.copytree(Path(__file__).parent / "version-0.3", program.folder, dirs_exist_ok=True)
    return program


def test_a_model_of_format_6_scores_as_it_did(old: Program) -> None:
    model = charrnn.load("model.npz")
    nats = model.score(Path("names.txt").read_text().split()).nats
    assert nats == pytest.approx(432.65651666974935, rel=1e-6)
    assert model.config.shards == 1
    keys = ["characters", "held_out", "step", "train", "train_with_noise"]
    assert [sorted(row) for row in model.trained.history] == [keys] * 2


def test_fault_29_nothing_that_it_names_is_opened(old: Program) -> None:
    what = "names.txt is not opened: the model file has no hash of it"
    for line, hint in {"eval": "name a text.", "train --resume": "Type the texts"}.items():
        old.refuses(*line.split(), what=what, hint=hint)
    assert old.run("info", "--json").json["resume"]["is_possible"]
    old.run("train", "names.txt", "--resume", "--epochs", "4").says()
    assert old.run("eval").status == 0
    old.write("model.npz", (Path(__file__).parent / "version-0.3/model.npz").read_bytes())
    forge(Path("model.npz"), lambda facts, _: facts["facts"]["corpus"].update(sources=["latin"]))
    old.refuses("eval", what="latin is not opened", hint="name a text.")


def test_fault_46_its_run_and_its_metrics_go_on_where_they_were(old: Program) -> None:
    before = Path("metrics.jsonl").read_text()
    other = '{"schema": "charrnn.run/2", "run": "of another", "step": 0, "seed": 0}\n'
    other += '{"schema": "charrnn.step/2", "step": 99, "lr": 0.1}\n'
    ahead = '{"schema": "charrnn.step/2", "step": 7, "lr": 0.1}\n'
    Path("metrics.jsonl").write_text(before + ahead + other)
    line = ("--resume", "--epochs", "4", "--metrics", "metrics.jsonl", "--json")
    for _ in range(2):
        resumed = old.run("train", "names.txt", *line).json
        assert resumed["best"]["nats_per_character"] == pytest.approx(2.5455854376312397, rel=1e-5)
        assert b'"format":7' in Path("model.npz").read_bytes()
    rows = Path("metrics.jsonl").read_text()
    assert rows.startswith(before + other)
    added = [json.loads(row) for row in rows.removeprefix(before + other).splitlines()]
    assert [row["step"] for row in added if row["schema"] == "charrnn.step/3"] == list(range(7, 13))
    assert [row["schema"] for row in added].count("charrnn.run/3") == 1
    assert len({row["run"] for row in added}) == 1


def test_a_slim_file_has_no_keys_of_empty_facts(old: Program) -> None:
    charrnn.load("model.npz").export("slim.npz", without_counts=True)
    text = Path("slim.npz").read_bytes().decode("latin-1").partition("PK")[2].partition("PK")[0]
    assert not {'""', "null", "[]", "{}"} & set(text.replace(",", ":").split(":"))
    assert model_file.load_trained("slim.npz").oddest == {}


def test_a_sweep_makes_the_runs_that_are_missing(old: Program) -> None:
    tried = ("--try", "hidden=2,3", "--layers", "1", "--epochs", "1", "-o", "sweep")
    done = old.run("sweep", "names.txt", *tried, "--resume", "--json")
    assert done.status == 0, done.err
    assert "hidden=2" not in done.err
    assert {row["name"] for row in done.json["ranking"]} == {"hidden=2", "hidden=3", "counting"}

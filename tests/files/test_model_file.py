"""Faults 10 to 12: what is saved is loaded, and what is damaged or forged is refused."""

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn import errors
from charrnn.errors import SaveError
from charrnn.files import model_file
from charrnn.prediction.predictor import EVEN
from tests.networks import Facts, forge
from tests.program import chance

TEXTS = ["anna", "bob", "cleo", "dora", "emil", "fritz"] * 5


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A model with counts, saved in the middle of an epoch."""
    sizes: dict[str, Any] = {"hidden": 5, "batch": 3, "bptt": 4, "epochs": 3, "check_every": 7}
    run = charrnn.train(TEXTS, cell="gru", counts=True, **sizes)
    for _ in range(20):
        next(run)
    run.save(tmp_path / "m.npz")
    return tmp_path / "m.npz"


def same(a: charrnn.Model, b: charrnn.Model) -> bool:
    p, q = a.parameters, b.parameters
    return np.array_equal(p.flat, q.flat) and a.vocabulary == b.vocabulary


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
        except errors.ModelFileError as error:
            refused = error.what
        else:
            refused = "" if same(loaded, model) else "read wrong\n"
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
    "symbols": lambda _, a: a["counted.npy"].fill(255),
    "shape": lambda _, a: a.update({"U1.npy": a["U1.npy"].T}),
    "type": lambda _, a: a.update({"U1.npy": a["U1.npy"].astype(float)}),
    "object": lambda _, a: a.update({"c.npy": np.array([print])}),
    "fewer": lambda _, a: a.pop("c.npy"),
}


@pytest.mark.parametrize("name", FORGED)
def test_fault_11_a_forged_file_is_refused(saved: Path, name: str) -> None:
    forge(saved, FORGED[name])
    with pytest.raises(errors.ModelFileError, match="is not a model of charrnn, or is damaged"):
        charrnn.load(saved)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda d, _: d.update(format=4), "written by an older charrnn; train again"),
        (lambda d, _: d.update(format=8), "newer charrnn: format 8"),
    ],
)
def test_fault_12_a_file_of_another_version_says_so(
    saved: Path, change: Callable[[Facts, dict[str, Any]], Any], what: str
) -> None:
    forge(saved, change)
    with pytest.raises(errors.ModelFileError, match=what):
        charrnn.load(saved)


def test_fault_10_a_bomb_is_refused_and_nothing_is_allocated(saved: Path) -> None:
    size = saved.stat().st_size
    forge(saved, lambda _, a: a.update({"U1.npy": np.zeros(1 << 22)}), compression=8)
    tracemalloc.start()
    with pytest.raises(errors.ModelFileError, match="compressed"):
        charrnn.load(saved)
    assert tracemalloc.get_traced_memory()[1] < 20 * size
    tracemalloc.stop()


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04N.", b"PK\3\4" + bytes(40), None])
def test_fault_10_other_files_are_no_models(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "m.npz"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(errors.ModelFileError, match="is not a model of charrnn"):
        charrnn.load(path)


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

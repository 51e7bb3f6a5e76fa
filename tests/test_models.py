"""The included models: their names, what they learned from, and which file is taken."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import charrnn
from charrnn.system import packaged
from charrnn.system.packaged import MODELS, model_at
from tests import make_models
from tests.child import HOME
from tests.program import Program


@pytest.mark.parametrize("name", MODELS)
def test_each_model_draws_scores_and_tells_by_its_name(program: Program, name: str) -> None:
    model, file = charrnn.load(name), Path(model_at(name))
    drawn = program.run("sample", "-m", name, "-n", "5", "--seed", "1", "-q")
    assert drawn.err == ""
    texts = model.sample(count=5, seed=1)
    assert drawn.out == ("\n\n" if name == "verses" else "\n").join(texts) + "\n"
    assert not program.files().keys() - {"names.txt", str(program / "names.txt")}
    assert program.run("eval", "names.txt", "-m", name, "--json").json["nats_per_character"] > 0
    corpora = {"latin": [*make_models.LATIN], **{n: [c] for n, c in make_models.CORPORA.items()}}
    expected = corpora.get(name, [name])
    assert list(model.corpus.sources) == expected
    told = program.run("info", "-m", name).out
    assert told.startswith(f"model      {name}, ")
    assert ", ".join(expected) in told.replace("\n" + " " * 11, " ")
    best = model.trained.best
    assert best is not None
    figures = f"{model.parameters.flat.size:,} | {file.stat().st_size:,} | {best[1]:.3f} |"
    table = (HOME / "data" / "README.md").read_text("utf-8")
    assert re.search(rf"(?m)^\| `{name}` .*\| {re.escape(figures)}$", table), figures
    if name != "latin":  # whose corpus is made of three
        scored = program.run("eval", "-m", name, "--json").json
        assert scored["nats_per_character"] == pytest.approx(best[1], abs=1e-4)
        rows = program.run("eval", "-m", name, "--per-example", "--json", "--above", "0.99x").rows
        assert max(row["x_oddest"] for row in rows) == pytest.approx(1, abs=1e-3)


def test_they_are_slim_and_small_and_part_of_a_release() -> None:
    files = [Path(model_at(name)) for name in MODELS]
    assert sum(file.stat().st_size for file in files) < 1_500_000
    assert {file.parent for file in files} == {Path(charrnn.__file__).parent / "models"}
    assert all(charrnn.load(name).trained.slim for name in MODELS)
    characters = charrnn.load("latin").vocabulary.characters
    assert set("ABCXYZabcxyzáéíñöü0123456789 -_'.") <= set(characters)
    line = ["git", "check-ignore", *map(str, files)]
    ignored = subprocess.run(line, cwd=HOME, capture_output=True)
    assert ignored.returncode != 0, ignored.stdout


def test_a_file_of_ones_own_comes_before_a_model_of_its_name(trained: Program) -> None:
    characters = charrnn.load("model.npz").vocabulary.characters
    Path("model.npz").rename("latin")
    assert charrnn.load("latin").vocabulary.characters == characters


def test_without_a_model_samples_come_from_given_names(program: Program) -> None:
    drawn = program.run("sample", "-n", "2", "--seed", "1")
    assert drawn.out == program.run("sample", "-m", "given-names", "-n", "2", "--seed", "1").out
    told = "there is no model.npz, so given-names, a model of the package, draws; train one of"
    assert f"{told} your own: charrnn train FILE" in drawn.err
    for line, env in ((["-m", "model.npz"], {}), ([], {"CHARRNN_MODEL": "model.npz"})):
        assert program.run("sample", *line, env=env).status == 1
    Path("model.npz").symlink_to("nowhere")
    assert program.run("sample").status == 1
    what, hint = "CHARRNN_MODEL: '-' is not a path", "Try 'charrnn sample --help'."
    program.refuses("sample", what=what, hint=hint, status=2, env={"CHARRNN_MODEL": "-"})


def test_training_and_a_sweep_start_from_a_model_by_its_name(program: Program) -> None:
    ours = ("names.txt", "--from", "given-names", "--epochs", "1")
    size = charrnn.load("given-names").config.hidden
    assert program.run("train", *ours, "--json").json["settings"]["hidden"] == size
    held_out = program.run("eval").says().out  # with characters of its start, which no name has
    program.run("train", "--resume", "--epochs", "2").says()
    assert program.run("eval").says().out != held_out
    sweep = ("--try", "lr=0.001", "-o", "sweep", "-q")
    program.run("sweep", *ours, *sweep).says("")
    assert program.run("sweep", *ours, *sweep, "--resume").status == 0
    other = ("sweep", "names.txt", "--from", "latin", "--epochs", "1", *sweep, "--resume")
    what = "--from latin contradicts sweep, which has given-names"
    program.refuses(*other, what=what, hint="Give the same settings")


@pytest.mark.parametrize("name", ["out.npz", "out.html"])
def test_no_model_of_the_package_is_replaced(program: Program, name: str, monkeypatch: Any) -> None:
    """Tried on a copy, lest a fault costs us the model."""
    copy = program / "home/models/reber.npz"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(Path(model_at("reber")).read_bytes())
    monkeypatch.setattr(packaged, "HOMES", [program / "home"])
    (program / name).symlink_to(copy)
    what, hint = f"FILE would overwrite {name}", "Name another file."
    program.refuses("export", name, "-m", "reber", "--force", what=what, hint=hint, status=2)

"""The notebook is run from top to bottom: its cells in their order, in one namespace."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")


def cells() -> list[str]:
    """The code of each."""
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def run(cell: str, names: dict[str, Any]) -> Any:
    """What the last line of a cell comes to, which a notebook shows."""
    *lines, last = ast.parse(cell).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(lines, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    names: dict[str, Any] = {}
    model, samples, surprisal, score, ax, row, is_same = (run(cell, names) for cell in cells())
    plt.close("all")
    assert samples == model.sample(count=5, temperature=0.7, seed=1)
    assert surprisal._repr_html_().startswith("<pre")
    assert score.characters
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "tanh, held out",
        "lstm, held out",
    ]
    assert set(row) == {"step", "characters", "train", "train_while_hidden", "held_out"}
    assert is_same is True
    assert Path("dinosaurs.h").exists()


def test_no_output_is_kept_in_the_notebook() -> None:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") for cell in document["cells"])

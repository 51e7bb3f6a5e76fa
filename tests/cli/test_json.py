"""JSON of all commands: each key has one type, and each object says which schema it has."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.program import Program

# Objects whose keys have a meaning of their own; the last three have the book's letters as keys.
SCOPES = ("settings", "by_use", "baselines", "values", "equations", "gradient")
KINDS = {bool: "bool", int: "number", float: "number", str: "text", list: "list", dict: "object"}
MODEL = ("-m", "counts.npz")
LINES: dict[str, tuple[str, ...]] = {
    "plan": ("train", "names.txt", "--dry-run"),
    "train": ("train", "names.txt", "--counts", "-m", "other.npz"),
    "sweep.plan": ("sweep", "names.txt", "--try", "hidden=2,3", "--epochs", "1", "--dry-run"),
    "sweep": ("sweep", "names.txt", "--try", "hidden=2,3", "--epochs", "1", "-o", "tried"),
    "sample": ("sample", *MODEL, "-n", "2"),
    "eval": ("eval", *MODEL, "--held-out", "--baselines"),
    "eval.example": ("eval", *MODEL, "names.txt", "--per-example"),
    "eval.character": ("eval", *MODEL, "names.txt", "--per-char"),
    "fill": ("fill", *MODEL, "an_a"),
    "embed": ("embed", *MODEL),
    "reach": ("reach", *MODEL),
    "unfold": ("unfold", *MODEL, "anna", "--backward"),
    "info": ("info", *MODEL),
    "export": ("export", *MODEL, "small.npz"),
}


def keys_of(value: Any, scope: str = "") -> Iterator[tuple[tuple[str, str], str]]:
    """Yield each key of an object with its scope, and the kind of its value."""
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item, scope)
    elif isinstance(value, dict):
        for key, item in value.items():
            if item is not None:
                yield (scope, key), KINDS[type(item)]
            yield from keys_of(item, key if key in SCOPES else scope)


def test_a_key_has_one_type_wherever_it_stands(program: Program) -> None:
    small = ("--hidden", "3", "--layers", "1", "--epochs", "2", "--check-every", "2")
    first = program.run("train", "names.txt", *small, "--counts", *MODEL, "--metrics", "m.jsonl")
    assert first.status == 0, first.err
    rows: list[Any] = []
    for schema, line in LINES.items():
        ran = program.run(*line, "--json")
        assert ran.status == 0, ran.err
        assert ran.rows
        assert {row["schema"] for row in ran.rows} == {f"charrnn.{schema}/3"}
        rows += ran.rows
    for file in ("m.jsonl", "tried/sweep.jsonl"):
        rows += [json.loads(line) for line in (program / file).read_text().splitlines()]
    kinds: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for key, kind in keys_of(row):
            kinds.setdefault(key, set()).add(kind)
    assert {key: found for key, found in kinds.items() if len(found) > 1} == {}
    assert kinds["", "time_steps"] == {"list"}
    assert kinds["baselines", "unigram"] == {"object"}


@pytest.mark.parametrize("word", ["parts", "train_while_hidden"])
def test_words_of_version_0_3_are_gone(program: Program, word: str) -> None:
    ran = program.train("names.txt", "--metrics", "m.jsonl", "--json")
    assert word not in ran.out + (program / "m.jsonl").read_text()
    assert word.encode() not in (program / "model.npz").read_bytes()

"""A text cut into pieces that are scored apart: the cut, ``eval --part`` and ``eval --add``."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.segmentation import END_CODE
from charrnn.errors import CorpusError
from charrnn.scoring import pieces as splitting
from charrnn.scoring.pieces import extent_of, span_of, whole_pieces
from charrnn.settings.corpus import Part
from charrnn.vocabulary import Codes
from tests.corpora import NAMES
from tests.program import Program

lengths = st.lists(st.integers(1, 9), max_size=30)


def text_of(examples: list[int]) -> Codes:
    """A text of examples that are so long, their ENDs counted."""
    codes = np.arange(sum(examples), dtype=np.uint32)
    codes[np.cumsum(examples, dtype=np.int64) - 1] = END_CODE
    return codes


@given(lengths, st.lists(st.integers(0, 300), max_size=5), st.integers(1, 40))
def test_pieces_are_cut_where_an_example_ends_whatever_the_blocks(
    examples: list[int], cuts: list[int], symbols: int
) -> None:
    codes = text_of(examples)
    bounds = sorted(min(cut, len(codes)) for cut in [0, *cuts, len(codes)])
    found = list(whole_pieces((codes[i:j] for i, j in pairwise(bounds)), symbols))
    assert np.concatenate([codes[:0], *found]).tolist() == codes.tolist()
    assert all(piece[-1] == END_CODE for piece in found)
    assert all(len(piece) >= symbols for piece in found[:-1])
    assert all(len(piece) < symbols + max(examples) for piece in found)


@given(st.integers(0, 50), st.integers(1, 60))
def test_parts_follow_each_other_and_are_of_about_one_size(pieces: int, of: int) -> None:
    spans = [span_of(Part(number, of), pieces) for number in range(1, of + 1)]
    assert [piece for span in spans for piece in span] == list(range(pieces))
    assert max(map(len, spans)) - min(map(len, spans)) <= 1


def test_an_example_that_no_memory_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "LONGEST", 100)
    blocks = (np.zeros(30, np.uint32) for _ in range(10))
    with pytest.raises(CorpusError, match="more than 100 characters"):
        list(whole_pieces(blocks, 5))


def test_a_text_is_known_by_what_stands_in_it() -> None:
    assert extent_of([text_of([3, 4])]) == extent_of([text_of([3, 4])[:2], text_of([3, 4])[2:]])
    assert extent_of([text_of([3, 4])]).digest != extent_of([text_of([4, 3])]).digest


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is cut into many pieces, short as it is."""
    monkeypatch.setattr(splitting, "PIECE", 20)


DIFFERENCE = ("difference", "standard_error")


def without_time(found: dict[str, Any]) -> dict[str, Any]:
    """All but how long it took, and differences, which need the whole text."""
    kept = {k: v for k, v in found.items() if "second" not in k and k not in DIFFERENCE}
    return {k: without_time(v) if isinstance(v, dict) else v for k, v in kept.items()}


def parts(program: Program, *line: str, of: int) -> list[str]:
    """What each part of a text writes, into files of their own."""
    names = []
    for number in range(1, of + 1):
        ran = program.run("eval", *line, "--json", "--part", f"{number}/{of}")
        ran.says()
        program.write(f"{number}.json", ran.out)
        names.append(f"{number}.json")
    return names


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("of", [1, 2, 3, 40])  # of 40, most have nothing, which is no fault
def test_the_parts_of_a_text_add_up_to_the_whole_to_the_last_digit(
    trained: Program, of: int
) -> None:
    whole = trained.run("eval", "names.txt", "--json").json
    names = parts(trained, "names.txt", of=of)
    added = trained.run("eval", "--add", *reversed(names), "--json").json
    assert without_time(added) == without_time(whole)
    shown = trained.run("eval", "--add", *names)
    shown.says()
    assert f"{whole['nats_per_character']:.3f}" in shown.out


@pytest.mark.usefixtures("small_pieces")
def test_parts_carry_what_a_standard_error_needs(trained: Program) -> None:
    trained.train("names.txt", "--counts", "-m", "both.npz").says()
    trained.write("long.txt", NAMES * 9)
    line = ("long.txt", "-m", "model.npz", "-m", "both.npz")
    whole = trained.run("eval", *line, "--json").json["models"]["both.npz"]
    names = parts(trained, *line, of=3)
    added = trained.run("eval", "--add", *names, "--json").json["models"]["both.npz"]
    for one, other in ((whole, added), (whole["parts"]["counts"], added["parts"]["counts"])):
        assert one["standard_error"] > 0
        for name in ("difference", "standard_error"):
            assert other[name] == pytest.approx(one[name], rel=1e-6)
    older = json.loads((trained / "2.json").read_text())
    for score in older["part"]["scores"]:
        del score["moments"]
    trained.write("2.json", json.dumps(older))
    assert "standard_error" not in trained.run("eval", "--add", *names, "--json").out


@pytest.mark.usefixtures("small_pieces")
def test_the_rows_of_the_parts_follow_each_other(trained: Program) -> None:
    line = ("eval", "names.txt", "--per-example", "--sort", "input", "--json")
    whole = trained.run(*line).lines
    some = [trained.run(*line, "--part", f"{number}/3").lines for number in (1, 2, 3)]
    assert all(some)
    assert [row for rows in some for row in rows] == whole


@pytest.mark.usefixtures("small_pieces")
def test_parts_of_several_models_of_counts_and_of_what_was_held_out(program: Program) -> None:
    program.train("names.txt", "--holdout", "0.5", "--counts", "-m", "both.npz").says()
    program.train("names.txt", "--holdout", "0.5", "-m", "one.npz").says()
    for line in (("-m", "both.npz"), ("-m", "one.npz", "-m", "both.npz", "names.txt")):
        whole = program.run("eval", *line, "--json").json
        names = parts(program, *line, of=2)
        program.write("both.jsonl", b"".join((program / name).read_bytes() for name in names))
        added = program.run("eval", "--add", "both.jsonl", "--json").json
        assert without_time(added) == without_time(whole)


@pytest.mark.usefixtures("small_pieces")
def test_what_is_above_is_added_up_too(trained: Program) -> None:
    whole = trained.run("eval", "names.txt", "--above", "4", "--json")
    lines = [
        trained.run("eval", "names.txt", "--above", "4", "--json", "--part", f"{number}/2").out
        for number in (1, 2)
    ]
    trained.write("parts.jsonl", "".join(lines))
    added = trained.run("eval", "--add", "parts.jsonl", "--json")
    assert (added.status, whole.status) == (3, 3)
    nats = trained.run("eval", "names.txt", "--above", "3nats", "--json", "--part", "1/1")
    trained.write("nats.json", nats.out)
    assert trained.run("eval", "--add", "nats.json").err == nats.err
    assert (added.json["above"], added.err) == (whole.json["above"], whole.err)
    assert added.json["above_count"] == whole.json["above_count"] == whole.json["above"] > 0


def test_a_part_that_is_empty_names_the_part_that_is_not(trained: Program) -> None:
    ran = trained.run("eval", "names.txt", "--part", "1/3")
    few = "the text has only 1 piece of about 250,000 characters; 3/3 scores it"
    ran.says(f"part 1/3 is empty: {few}")
    assert "per character" not in ran.out
    last = trained.run("eval", "names.txt", "--part", "3/3")
    assert (last.err, "per character" in last.out) == ("", True)


@pytest.mark.usefixtures("small_pieces")
def test_parts_that_do_not_belong_together_are_not_added_up(trained: Program) -> None:
    names = parts(trained, "names.txt", of=3)
    missing = "missing parts: 2/3"
    alone = "--add and --model exclude each other"
    trained.refuses(
        "eval", "--add", *names, "-m", "other.npz", status=2, what=alone, hint="The parts contain"
    )
    trained.refuses("eval", "--add", names[0], names[2], what=missing, hint="Score them")
    twice = "1.json holds part 1 a second time"
    trained.refuses("eval", "--add", *names, names[0], what=twice, hint="Add up parts of one text")
    trained.write("other.txt", NAMES + "Zoe\n")
    other = trained.run("eval", "other.txt", "--json", "--part", "2/3").out
    trained.write("2.json", other)
    unlike = "part 2 does not match the first part"
    trained.refuses("eval", "--add", *names, what=unlike, hint="Add up parts of one text")
    trained.write("2.json", b"")
    trained.refuses("eval", "--add", *names, what="2.json is empty", hint="has finished")
    whole = json.loads(other)
    lacking = json.dumps({key: value for key, value in whole.items() if key != "fast"})
    huge = json.dumps(whole | {"part": whole["part"] | {"of": 1 << 40}})
    schema = json.dumps({"schema": "charrnn.eval/1"})
    broken = json.dumps(whole | {"part": whole["part"] | {"of": 3.5}})
    nameless = json.dumps(whole | {"text": 5})
    above = json.dumps(whole | {"part": whole["part"] | {"above": []}, "above": None})
    negative = other.replace('"bytes": ', '"bytes": -')
    damaged = schema, lacking, huge, broken, nameless, above, negative, 100_000 * "["
    for wrong in ("{}", "[]", "7", other[:100], *damaged):
        trained.write("2.json", wrong)
        hint = "Write it with charrnn eval --part I/N --json."
        what = "2.json is not the result of a part"
        trained.refuses("eval", "--add", *names, what=what, hint=hint)
    trained.write("2.json", json.dumps(whole | {"seconds": "x"}))
    ran = trained.run("eval", "--add", "2.json", env={"PYTHONOPTIMIZE": "1"})  # without asserts
    assert what in ran.err


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("names.txt --part 0/3", "'0/3' is not a part such as 2/8", "charrnn eval --help"),
        ("names.txt --part 4/3", "'4/3' is not a part such as 2/8", "charrnn eval --help"),
        ("names.txt --part x", "'x' is not a part such as 2/8", "charrnn eval --help"),
        ("- --part 1/3", "standard input can be read only once", "Name a file."),
        ("names.txt --part 1/3 --baselines", "--part and --baselines exclude each other", "Leave"),
        ("--part 1/3 --drawn 5", "--part and --drawn exclude each other", "Leave"),
        ("names.txt --part 1/3 --dynamic 0.1", "--dynamic and --", "in one piece"),
        ("names.txt --workers 2 --dynamic 0.1", "--dynamic and --", "in one piece"),
        ("--add", "--add needs TEXT", "Name the files"),
        ("--add x.json --above 0", "--add and --above exclude each other", "The parts contain"),
        ("--add x.json --part 1/3", "--add and --part exclude each other", "The parts contain"),
        ("--add x.json --use network", "--add and --use exclude each other", "The parts contain"),
        ("--add x.json --encoding utf-8", "--add and --encoding exclude", "The parts contain"),
        ("names.txt --workers 2 --scheduler x", "--workers and --scheduler exclude", "Leave one"),
        ("names.txt --workers 2 --threads 2", "--workers and --threads exclude", "Leave one"),
        ("- --workers 2 --per-example --sort input", "--sort input shows each line", "Read a file"),
    ],
)
def test_what_cannot_be_shared_out_is_refused(
    trained: Program, line: str, what: str, hint: str
) -> None:
    trained.refuses("eval", *line.split(), what=what, hint=hint, status=2)


def test_a_text_whose_examples_hang_together_is_not_shared_out(program: Program) -> None:
    program.train("names.txt", "--carry").says()
    for how in ("--part=1/2", "--workers=1"):
        what = "model.npz carries its state across examples"
        program.refuses("eval", "names.txt", how, what=what, hint="in one piece", status=2)

"""``charrnn eval``: a row for each example, and a row or a colour for each character."""

from __future__ import annotations

import math
import re
import subprocess

import numpy as np
import pytest

from charrnn.model import Model
from charrnn.runs import load
from charrnn.scoring import pieces
from charrnn.scoring import pieces as ranking
from charrnn.scoring.pieces import Rows
from tests.corpora import WORDS
from tests.evaluating import rows, scored, write
from tests.program import Program

ESCAPE = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture
def loaded(well_trained: Program) -> Model:
    """The model as Python has it."""
    return load(well_trained / "model.npz")


# A row for each example


def test_odd_ones_come_first(well_trained: Program, loaded: Model) -> None:
    found = rows(well_trained, write("anna\nqqq\nbob\nclara\n"), "--per-example")
    assert found[0]["text"] == "qqq"
    means = [row["nats_per_character"] for row in found]
    assert means == sorted(means, reverse=True)
    for row in found:
        assert row["schema"] == "charrnn.eval.example/1"
        assert row["nats"] == pytest.approx(loaded.score([row["text"]]).nats, rel=1e-6)
        assert row["characters"] == len(row["text"])
        assert row["bits_per_character"] == pytest.approx(row["nats_per_character"] / math.log(2))
    assert sorted(row["number"] for row in found) == [1, 2, 3, 4]
    long = rows(well_trained, "text.txt", "--per-example", "--sort", "nats")
    assert [row["nats"] for row in long] == sorted((row["nats"] for row in found), reverse=True)


def test_what_repeats_is_told_once(well_trained: Program) -> None:
    lines = ["bob", "anna", "bob", "anna", "bob", "clara"]
    found = rows(well_trained, write("\n".join(lines)), "--per-example")
    told = {row["text"]: (row["number"], row["times"]) for row in found}
    assert told == {"bob": (1, 3), "anna": (2, 2), "clara": (6, 1)}
    each = rows(well_trained, "text.txt", "--per-example", "--sort", "input")
    assert [(row["text"], row["times"]) for row in each] == [(line, 1) for line in lines]
    plain = well_trained.run("eval", "text.txt", "--per-example").out.splitlines()
    assert {line.split()[-1]: line.split()[-2] for line in plain}["bob"] == "3"


@pytest.mark.parametrize("sort", ["surprise", "nats"])
def test_the_top_rows_are_the_first_of_all(
    well_trained: Program, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    monkeypatch.setattr(ranking, "SPARE", 1)
    monkeypatch.setattr(pieces, "AT_ONCE", 10)
    write("\n".join(WORDS * 3 + ["qqq", "zz", "qqq"]))
    every = rows(well_trained, "text.txt", "--per-example", "--sort", sort)
    for top in (1, 3, 1000):
        found = rows(well_trained, "text.txt", "--top", str(top), "--sort", sort)
        assert found == every[:top]


def test_only_the_top_rows_are_kept() -> None:
    kept = ranking.Ranking(by_nats=False, top=3)
    size = 100_000
    for first in range(5):
        text = "a\n" * size
        stops = np.arange(size) * 2 + 1
        nats = np.arange(size, dtype=np.float64) + size * first
        once = np.ones(size, np.int64)
        kept.add(Rows(text, stops, nats, once, once, once, once, {}))
        assert sum(map(len, kept._batches)) == 3
    assert [row.nats for row in kept.rows()] == [499_999, 499_998, 499_997]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), [3, 5, 6]),
        (("--examples", "paragraphs"), [3, 5]),
        (("--examples", "files"), [1]),
        (("--sort", "input"), [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_a_number_is_the_line_of_the_file(
    well_trained: Program, options: tuple[str, ...], numbers: list[int]
) -> None:
    write("\n  \nanna\n\nbob\nclara\n\n")
    found = rows(well_trained, "text.txt", "--per-example", *options)
    assert sorted(row["number"] for row in found) == numbers
    assert {row["file"] for row in found} == {"text.txt"}


def test_of_several_files_each_is_named(well_trained: Program) -> None:
    write("anna\n\nqqq\n", "one.txt")
    write("\nbob\n", "two.txt")
    line = ("one.txt", "two.txt", "--per-example")
    found = {row["text"]: (row["file"], row["number"]) for row in rows(well_trained, *line)}
    assert found == {"anna": ("one.txt", 1), "qqq": ("one.txt", 3), "bob": ("two.txt", 2)}
    plain = well_trained.run("eval", *line).out
    assert {tuple(row.split()[-2:]) for row in plain.splitlines()} == {
        ("one.txt:1", "anna"),
        ("one.txt:3", "qqq"),
        ("two.txt:2", "bob"),
    }
    held_out = rows(well_trained, "--per-example")
    assert {row["file"] for row in held_out} == {None}
    assert {row["number"] for row in held_out} <= set(range(1, 7))


def test_what_is_above_is_told_by_the_status(well_trained: Program) -> None:
    write("anna\nqqqqqqqq\nbob\n")
    costs = {
        row["text"]: row["bits_per_character"]
        for row in rows(well_trained, "text.txt", "--per-example")
    }
    bits = str((costs["qqqqqqqq"] + max(costs["anna"], costs["bob"])) / 2)
    ran = well_trained.run("eval", "text.txt", "--above", bits, "--json")
    assert (ran.status, ran.json["above"], ran.json["examples"]) == (3, 1, 3)
    nats = float(bits) * math.log(2)
    assert f"1 example above {float(bits):g} bits ({nats:.4g} nats) per character" in ran.err
    for options in ((), ("--sort", "input")):
        line = ("eval", "text.txt", "--per-example", "--above", bits, "--json", *options)
        ran = well_trained.run(*line)
        assert (ran.status, [row["text"] for row in ran.rows]) == (3, ["qqqqqqqq"])
    assert well_trained.run("eval", "text.txt", "--above", "100", "--json").json["above"] == 0
    most = max(row["nats"] for row in rows(well_trained, "text.txt", "--per-char")) / math.log(2)
    above, below = (str(most + more) for more in (0.001, -0.001))
    assert well_trained.run("eval", "text.txt", "--per-char", "--above", above).status == 0
    ran = well_trained.run("eval", "text.txt", "--per-char", "--above", below, "-q")
    assert (ran.status, ran.err) == (3, "")


@pytest.mark.parametrize(
    ("above", "unit", "scale"),
    [("3", "bits", 1), ("3bits", "bits", 1), ("2nats", "nats", math.log(2))],
)
def test_rows_have_the_unit_of_the_threshold(
    well_trained: Program, above: str, unit: str, scale: float
) -> None:
    every = rows(well_trained, write("anna\nqqqq\nbob\nqqqq\n"), "--per-example")
    kept = [
        row for row in every if scale * row["bits_per_character"] > float(above.rstrip("bitsna"))
    ]
    assert 0 < len(kept) < len(every)
    for sort in ("surprise", "input"):
        line = ("eval", "text.txt", "--per-example", "--above", above, "--sort", sort)
        ran = well_trained.run(*line)
        assert ran.status == 3
        for shown in ran.out.splitlines():
            total, mean, characters, times, text = shown.split()
            (row,) = (row for row in every if row["text"] == text)
            assert int(times) == (row["times"] if sort == "surprise" else 1)
            each = scale * row["bits_per_character"]
            assert float(mean) == pytest.approx(each, abs=6e-4)
            assert int(characters) == len(text)
            assert float(total) == pytest.approx((len(text) + 1) * each, abs=6e-3)
        repeated = "1 repeated example without a row: see times, or show each with --sort input"
        assert (repeated in ran.err) == (sort == "surprise")
        _, seen = well_trained.terminal(*line)
        head = next(line for line in seen.splitlines() if "chars" in line)
        assert ESCAPE.sub("", head).split() == [unit, f"{unit}/char", "chars", "times", "text"]


@pytest.mark.parametrize(("above", "scale"), [("4", 1 / math.log(2)), ("3nats", 1.0)])
def test_only_characters_above_the_threshold_have_a_row(
    well_trained: Program, above: str, scale: float
) -> None:
    every = rows(well_trained, write("annaqbob\n"), "--per-char")
    threshold = float(above.removesuffix("nats"))
    kept = [row for row in every if scale * row["nats"] > threshold]
    assert 0 < len(kept) < len(every)
    line = ("eval", "text.txt", "--per-char", "--above", above)
    assert well_trained.run(*line, "--json").rows == kept
    plain = [row.split("\t") for row in well_trained.run(*line).out.splitlines()]
    assert [cells[0] for cells in plain] == [row["character"] or "END" for row in kept]
    nats = [scale * row["nats"] for row in kept]
    assert [float(cells[1]) for cells in plain] == pytest.approx(nats, abs=6e-4)
    seen = ESCAPE.sub("", well_trained.terminal(*line, "-q")[1]).split()
    assert len(seen) == 3 * (len(kept) + 1)  # a head, and no coloured text


def test_in_the_order_of_the_input_there_is_a_row_for_every_line(well_trained: Program) -> None:
    lines = ["bob", "", "q", "", "  ", "anna"]
    found = rows(well_trained, write("\n".join(lines) + "\n"), "--per-example", "--sort", "input")
    assert [row["text"] for row in found] == lines
    assert [row["number"] for row in found] == [1, 2, 3, 4, 5, 6]
    plain = well_trained.run(
        "eval", "text.txt", "--per-example", "--sort", "input"
    ).out.splitlines()
    assert [line[38:] for line in plain] == lines
    line = ("eval", "text.txt", "--per-example", "--above", "1", "--sort", "input", "--json")
    above = well_trained.run(*line)
    assert [row["text"] for row in above.rows] == ["bob", "q", "anna"]  # blank lines alarm nobody
    assert "\n3 examples above 1 bits" in above.err
    assert [float(line.split()[0]) for line in plain] == [
        pytest.approx(row["nats"], abs=0.006) for row in found
    ]


def test_rows_come_as_soon_as_their_lines_do(well_trained: Program) -> None:
    line = ("eval", "-", "--per-example", "--sort", "input", "--json", "-q")
    with well_trained.going(*line, stdin=subprocess.PIPE) as child:
        assert child.process.stdin is not None
        for count, name in enumerate(WORDS[:5], 1):
            child.process.stdin.write(f"{name}\n".encode())
            child.process.stdin.flush()
            child.until(lambda count=count: child.out.count("\n") == count)  # type: ignore[misc]
        child.process.stdin.close()
        ended = child.end()
    assert (ended.status, [row["text"] for row in ended.rows]) == (0, WORDS[:5])


def test_sums_stand_beside_rows_on_stderr(well_trained: Program) -> None:
    ran = well_trained.run("eval", write("anna\nbob\n"), "--per-example")
    assert ran.out.count("\n") == 2
    total = scored(well_trained, "text.txt")
    assert f"{total['nats_per_character']:.4f} nats or" in ran.err
    assert well_trained.run("eval", "text.txt", "--per-example", "-q").err == ""


@pytest.mark.parametrize(
    "name", ["[/b]:smile:[red]", 'a"b\\c', "\x1b[31m\x7f", "\u2028\u202e", "👩\u200d🔬", "q" * 300]
)
def test_any_text_comes_out_as_it_is(well_trained: Program, name: str) -> None:
    write(name + "\n")
    assert rows(well_trained, "text.txt", "--per-example")[0]["text"] == name
    assert well_trained.run("eval", "text.txt", "--per-example").out.endswith(f"  {name}\n")
    status, seen = well_trained.terminal("eval", "text.txt", "--per-example")
    assert status == 0
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", ESCAPE.sub("", seen))
    assert all(len(ESCAPE.sub("", line)) < 80 for line in seen.splitlines()[:2])


def test_examples_of_several_lines_keep_to_a_row(well_trained: Program) -> None:
    write("anna\nbob\n\nclara\n")
    ran = well_trained.run(
        "eval", "text.txt", "--examples", "paragraphs", "--per-example", "--sort", "input"
    )
    assert [line[38:] for line in ran.out.splitlines()] == ["anna\\nbob", "clara"]


# A row, or a colour, for each character


def test_characters_have_nats_and_ranks(well_trained: Program, loaded: Model) -> None:
    found = rows(well_trained, write("anna\nЖ\n"), "--per-char")
    assert [row["character"] for row in found] == [*"anna", None, "Ж", None]
    assert all(row["schema"] == "charrnn.eval.character/1" for row in found)
    assert sum(row["nats"] for row in found) == pytest.approx(loaded.score(["anna", "Ж"]).nats)
    assert found[5]["rank"] == loaded.vocabulary.symbols
    assert all(1 <= row["rank"] <= loaded.vocabulary.symbols for row in found)


def test_without_colours_there_is_a_table(well_trained: Program) -> None:
    found = rows(well_trained, write("a\tb\n"), "--per-char")
    lines = [
        line.split("\t")
        for line in well_trained.run("eval", "text.txt", "--per-char").out.splitlines()
    ]
    assert [line[0] for line in lines] == ["a", "\\t", "b", "END"]
    assert [float(line[1]) for line in lines] == [
        pytest.approx(row["nats"], abs=1e-3) for row in found
    ]
    assert [int(line[2]) for line in lines] == [row["rank"] for row in found]


@pytest.mark.parametrize(
    ("env", "code"),
    [
        ({"COLORTERM": "truecolor"}, "\x1b[38;2;"),
        ({}, "48;5;"),
        ({"TERM": "xterm"}, "\x1b[1;37;45m"),
    ],
)
def test_a_terminal_shows_the_heat_of_the_text(
    well_trained: Program, env: dict[str, str], code: str
) -> None:
    write("anna qЖq\nbob\x1b[2J\n")
    status, seen = well_trained.terminal("eval", "text.txt", "--per-char", env=env)
    assert status == 0
    assert code in seen
    lines = ESCAPE.sub("", seen).splitlines()
    assert lines[0].rstrip("■$") == "anna qЖq"
    assert lines[1].rstrip("■$") == "bob\\x1b[2J"
    assert lines[2].startswith("bits: ")
    assert ">10" in lines[2]


@pytest.mark.parametrize(
    ("columns", "head"), [(60, ["nats", "bits", "perplexity"]), (40, ["nats", "bits"])]
)
def test_a_narrow_terminal_shows_fewer_columns(
    well_trained: Program, columns: int, head: list[str]
) -> None:
    env = {"NO_COLOR": "1"}
    _, seen = well_trained.terminal("eval", write("bob\n"), "--baselines", columns=columns, env=env)
    lines = [line.rstrip() for line in seen.splitlines()]
    table = lines[lines.index(next(line for line in lines if line.split() == head)) :]
    assert max(map(len, table)) < columns
    assert any(line.startswith("unigram ") for line in table)


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_shows_the_table(
    well_trained: Program, env: dict[str, str]
) -> None:
    _, seen = well_trained.terminal("eval", write("bob\n"), "--per-char", env=env)
    assert seen.splitlines()[0].split() == ["character", "nats", "rank"]
    assert "\x1b" not in seen

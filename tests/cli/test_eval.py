"""``charrnn eval``: the loss of a text, rows of its examples, thresholds, several models."""

import gzip
import re
import shutil
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import charrnn
from charrnn.cli.console import Output
from charrnn.cli.eval_screen import Rows, excerpt
from charrnn.prediction.losses import BITS
from charrnn.prediction.predictor import EVEN
from tests.program import NAMES, SIZE, Program

WORDS = [line for line in NAMES.split("\n") if line]
ODD = "Zq#9%xK!"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Models of a list, with 20 held-out names: with counts, of a column, of few names."""
    made = Program(tmp_path_factory.mktemp("eval"))
    made.write("many.txt", "".join(f"{a} {b}\n" for a in WORDS[:16] for b in WORDS[:16]))
    made.write("few.txt", "".join(f"{word}\n" for word in WORDS[:40]))
    hosts = "".join(f"{i},{word}\n" for i, word in enumerate(WORDS))
    made.write("hosts.csv", f"id,host\n{hosts}")
    made.write("labels.csv", "".join(f"{i % 33},{WORDS[i % 64]}\n" for i in range(363)))
    for name, line in {
        "model": ("names.txt",),
        "counts": ("names.txt", "--counts", "--holdout", "0.4"),
        "few": ("few.txt",),
        "host": ("hosts.csv", "--column", "host"),
        "second": ("hosts.csv", "--column", "2"),
        "labels": ("labels.csv", "--column", "2", "--label-by", "1"),
    }.items():
        made.run("train", *line, *SIZE, "--epochs", "3", "-m", f"{name}.npz").says()
    return made


def rows(program: Program, *line: str | Path, status: int = 0, **how: Any) -> list[dict[str, Any]]:
    ran = program.run("eval", "--json", *line, **how)
    assert ran.status == status, ran.err
    return ran.rows


def test_the_figures_of_a_text(made: Program) -> None:
    (found,) = rows(made, "names.txt")
    score = charrnn.load(made / "model.npz").score(WORDS)
    names = ("nats", "characters", "ends", "nats_per_character", "perplexity", "bits_per_byte")
    expected = [getattr(score, name) for name in names]
    assert [found[name] for name in names] == pytest.approx(expected)
    assert found["examples"] == len(WORDS)
    best = charrnn.load(made / "model.npz").trained.best
    assert best is not None
    (found,) = rows(made, "--held-out")
    alone = found["by_use"]["network"]["nats_per_character"]
    assert found["nats_per_character"] == alone == pytest.approx(best[1], abs=1e-3)


def test_parts_and_baselines(made: Program) -> None:
    (found,) = rows(made, "-m", "counts.npz", "--baselines")
    assert {*found["by_use"]} == {"network", "counts", "both"}
    assert found["by_use"]["both"]["nats_per_character"] == found["nats_per_character"]
    assert {"uniform", "unigram", "markov-1"} <= found["baselines"].keys()
    for row in (*found["baselines"].values(), *found["by_use"].values()):
        less = found["nats_per_character"] - row["nats_per_character"]
        assert row["difference"] == pytest.approx(less, abs=1e-9)
    table = made.run("eval", "-m", "counts.npz", "--baselines").out
    for name, row in found["baselines"].items():
        shown = re.escape(f"{BITS * row['difference']:+.3f}"), f"{BITS * row['standard_error']:.3f}"
        assert re.search(rf"(?m)^ +{name} .* {shown[0]} +{shown[1]}$", table)
    (alone,) = rows(made, "-m", "counts.npz", "--use", "network")
    expected = found["by_use"]["network"]["nats_per_character"]
    assert alone["nats_per_character"] == pytest.approx(expected)
    several = made.run("eval", "-m", "model.npz", "-m", "counts.npz", "--baselines")
    several.says("warning: counts.npz may have learned what model.npz holds out: name a new text")
    assert several.err.count("may have learned") == 1
    a, b = (replace(charrnn.load(made / "model.npz").corpus, known=start) for start in ("", "a"))
    old = replace(a, digest="", files=dict.fromkeys(a.files, (0, "")))  # of a list that grew
    pairs = (b, a), (a, b), (b, b), (old, a), (a, old)
    assert [one.may_know(other) for one, other in pairs] == [True, False, False, True, True]
    assert re.search(r"(?m)^ +markov-1 +[\d.]+ +[\d.]+$", several.out)  # the difference is another
    each = rows(made, "names.txt", "--per-example", "-m", "counts.npz")
    assert all(row["nats"] == row["by_use"]["both"]["nats"] for row in each)


def test_held_out_text_is_scored_as_at_the_end_of_training(made: Program) -> None:
    """Each half of it has the exponents of the other."""
    assert charrnn.load(made / "counts.npz").trained.mixture == EVEN
    line = ("many.txt", "--counts", "--holdout", "0.5", "--epochs", "3", "--json", "-m", "new.npz")
    summary = made.run("train", *line, *SIZE).json
    mixture = charrnn.load(made / "new.npz").trained.mixture
    assert len(mixture) == 2 * len(EVEN)
    wanted = {part: figures["nats_per_character"] for part, figures in summary["by_use"].items()}
    assert wanted["both"] < wanted["counts"]
    shutil.copy(made / "new.npz", made / "twin.npz")  # which held out the same
    *_, found = rows(made, "-m", "new.npz", "-m", "twin.npz")
    for part, figures in found["by_use"].items():
        assert figures["nats_per_character"] == pytest.approx(wanted[part], rel=1e-9)
    alone = rows(made, "-m", "new.npz", "--per-example")
    assert sum(row["nats"] for row in alone) == pytest.approx(found["nats"])
    made.run("train", "many.txt", *SIZE, "--epochs", "1", "-m", "less.npz").says()
    both = ("-m", "less.npz", "-m", "new.npz")  # the second held out another text
    texts = [row["text"] for row in rows(made, *both, "--per-example")]
    less, new = (charrnn.load(made / name) for name in both[1::2])
    for model, row in zip((charrnn.mix(less, new), less, new), rows(made, *both), strict=True):
        assert row["nats"] == pytest.approx(model.score(texts).nats)


def test_several_models_are_a_row_each_after_their_mixture(made: Program) -> None:
    line = ("names.txt", "-m", "model.npz", "-m", "host.npz")
    mixture, first, *_ = found = rows(made, *line)
    assert [one["model"] for one in found] == ["mixture", "model.npz", "host.npz"]
    assert "difference" not in first
    for one in found:
        less = one["nats_per_character"] - first["nats_per_character"]
        assert one.get("difference", 0) == pytest.approx(less, abs=1e-9)
    assert min(mixture["standard_error"], mixture["seconds"]) > 0
    both = ("names.txt", "-m", "few.npz", "-m", "counts.npz")
    few, counts = (charrnn.load(made / name) for name in both[2::2])
    most = max(score.bits_per_character for score in charrnn.mix(few, counts).scores(WORDS)) + 1e-9
    for one in rows(made, *both, "--above", f"{most}")[1:]:  # nothing is, by the mixture
        scores = charrnn.load(made / one["model"]).scores(WORDS)
        assert one["above_count"] == sum(score.bits_per_character > most for score in scores) > 0
    weighted = charrnn.mix(few, counts, few).score(WORDS)  # as in sample
    assert rows(made, *both, "-m", "few.npz")[0]["nats"] == pytest.approx(weighted.nats)
    assert "difference" in made.run("eval", *line).says("row less those of model.npz;").out


def test_fault_57_a_model_may_be_called_like_the_mixture(made: Program) -> None:
    (made / "mixture").write_bytes((made / "host.npz").read_bytes())
    line = ("names.txt", "-m", "model.npz", "-m")
    wanted, found = rows(made, *line, "host.npz"), rows(made, *line, "mixture")
    assert [one["model"] for one in found] == ["mixture", "model.npz", "./mixture"]
    assert [one["nats"] for one in found] == [one["nats"] for one in wanted]
    found = rows(made, "names.txt", "-m", "mixture", "-m", "model.npz")
    assert [one["model"] for one in found] == ["mixture", "./mixture", "model.npz"]
    assert "difference" not in found[1]


def test_rows_come_in_the_order_of_the_lines(made: Program) -> None:
    made.write("gaps.txt", "\n" + "\n\n".join(WORDS[:30]) + f"\n{ODD}\n")
    found = rows(made, "gaps.txt", "--per-example", "--examples", "lines")
    assert [row["text"] for row in found] == [*WORDS[:30], ODD]
    assert [row["number"] for row in found] == [*range(2, 61, 2), 61]
    scores = charrnn.load(made / "model.npz").scores(row["text"] for row in found)
    assert [row["nats"] for row in found] == pytest.approx([score.nats for score in scores])
    assert [row["unknown"] for row in found] == [score.unknown for score in scores]
    top = rows(made, "gaps.txt", "--top", "3", "--examples", "lines")
    assert top == sorted(found, key=lambda row: -row["bits_per_character"])[:3]
    for files in (("names.txt", "gaps.txt"), ("gaps.txt", "names.txt")):
        assert rows(made, *files, "--top", "1")[0]["file"] == "gaps.txt"


def test_a_pipe_is_cut_as_a_file_is(made: Program) -> None:
    made.write("prose.txt", text := f"{ODD} {ODD} {ODD},\n{ODD}.\n\n" * 10)
    how = ("--per-example", "--examples", "auto")
    found = rows(made, "prose.txt", *how)
    assert len(found) == 10
    assert rows(made, "-", *how, stdin=text.encode()) == found


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_are_numbered_as_sed_numbers_them(made: Program, pack: Any) -> None:
    a, b, c, d = WORDS[:4]
    for text, numbers in {
        f"\n{a}\r\n{b}\r\r\n\r{c}\n{d}\r": [2, 3, 4, 5],
        f"{a}\r{b}\n{c}\r{d}": [1, 1, 2, 2],
        f"{a}\r\r{b}\r{c}\r{d}\r": [1, 3, 4, 5],
    }.items():
        made.write("log.txt", data := pack(text.encode()))
        for line in (("log.txt", "--per-example"), ("-", "--per-example"), ("-", "--top", "9")):
            found = rows(made, *line, "--examples", "lines", stdin=data)
            wanted = {*zip(numbers, WORDS, strict=False)}
            assert {(row["number"], row["text"]) for row in found} == wanted


def test_the_oddest_held_out_example_is_a_unit(made: Program) -> None:
    known = charrnn.load(made / "counts.npz").trained.oddest
    assert known.keys() == {"network", "counts", "both"}
    for use, oddest in known.items():
        found = rows(made, "-m", "counts.npz", "--use", use, "--held-out", "--per-example")
        assert oddest == pytest.approx(max(row["nats_per_character"] for row in found), rel=1e-9)
        assert max(row["x_oddest"] for row in found) == pytest.approx(1)
    found = rows(made, "-m", "labels.npz", "--held-out", "--per-example")
    assert max(row["x_oddest"] for row in found) == pytest.approx(1)  # with the labels they have
    made.write("odd.txt", f"{WORDS[0]}\n{ODD}\n")
    line = ("odd.txt", "-m", "counts.npz", "--above", "1.5x")
    silent = made.run("eval", *line[:3], "--above", "99x", "-q")
    assert (silent.status, silent.out, silent.err) == (0, "", "")
    (total,) = rows(made, *line, status=3)
    assert (total["above"], total["above_count"]) == ("1.5x", 1)
    (row,) = rows(made, *line, "--per-example", status=3)
    assert (row["number"], row["text"]) == (2, ODD)
    assert rows(made, "names.txt", "-m", "counts.npz", "--above", "9x", "--per-example") == []
    (row,) = rows(made, "odd.txt", "--above", f"{row['bits_per_character'] - 1:.4f}", status=3)
    assert row["above_count"] == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (("-m", "few.npz"), "the training held out 4 examples, and 20 are needed"),
        (("--examples", "files"), "examples are not cut as in training"),
        (("-m", "verses", "--column", "1"), "examples are not cut as in training"),
        (("-m", "verses", "--tidy"), "examples are not cut as in training"),
        (("-m", "labels.npz"), "33 labels need --label"),
        (("-m", "counts.npz", "-m", "model.npz"), "several models have no common unit"),
    ],
)
def test_no_multiple_without_a_known_oddest(made: Program, line: tuple[str, ...], why: str) -> None:
    assert rows(made, "names.txt", "--per-example", *line)[0]["x_oddest"] is None
    typed = ("eval", "names.txt", *line, "--above", "1.5x")
    made.refuses(*typed, what=f"--above 1.5x: {why}", hint="bits")


def test_characters_with_their_nats_and_ranks(made: Program) -> None:
    found = rows(made, "-", "--per-char", stdin=b"anna\nb\n")
    assert [row["character"] for row in found] == [*"anna", None, "b", None]
    model = charrnn.load(made / "model.npz").surprisal("anna")
    assert [row["nats"] for row in found[:5]] == pytest.approx(model.nats, abs=1e-6)
    assert [row["rank"] for row in found[:5]] == model.ranks
    made.write("nul.txt", "a\0b\n")
    _, seen = made.terminal("eval", "nul.txt", "--per-char", env={"TERM": "xterm-256color"})
    assert "\x1b[" in seen
    assert seen.count("$") == 1, "a NUL does not look like an end"
    assert "\\x00" in seen


@pytest.mark.parametrize("model", ["host", "second"])
def test_the_column_of_the_training_is_read_from_other_tables(made: Program, model: str) -> None:
    made.write("new.csv", f"id,host\n7,{WORDS[3]}\n8,{WORDS[4]}\n")
    found = rows(made, "new.csv", "--per-example", "-m", f"{model}.npz")
    assert [(row["number"], row["text"]) for row in found][-2:] == [(2, WORDS[3]), (3, WORDS[4])]
    assert "has no column" in made.run("eval", "names.txt", "-m", f"{model}.npz").err
    made.write("torn.csv", f'id,host\n7,"{WORDS[3]}\n8,{WORDS[4]}\n')
    torn = "torn.csv is not a table: line 2, unexpected end of data"
    made.refuses("eval", "torn.csv", "-m", f"{model}.npz", what=torn, hint="Mend that line")


def test_fault_50_rows_of_a_table_are_numbered_by_its_lines(made: Program) -> None:
    made.write("gaps.csv", f'\n\nid,host\n"7\n8",{WORDS[3]}\n\n9,\n9,{WORDS[4]}\n')
    for line in ((), ("--tidy",)):
        found = rows(made, "gaps.csv", "--per-example", "-m", "host.npz", *line)
        assert [row["number"] for row in found] == [4, 8]


@pytest.mark.parametrize(
    "line",
    [
        *((), ("--above", "2"), ("--per-example",), ("--top", "3"), ("--per-char",), ("--json",)),
        *(("--per-example", "--above", "1.5x"), ("--baselines",)),
    ],
)
def test_fault_65_nothing_scored_is_an_error(made: Program, line: tuple[str, ...]) -> None:
    made.write("blank.txt", " \n\n")
    for sources, name in {(): "standard input", ("blank.txt",): "blank.txt"}.items():
        ran = made.run("eval", *sources, *line, "-m", "counts.npz", stdin=b"")
        assert (ran.status, ran.out) == (1, "")
        assert f"error: nothing was scored: no text is in {name}" in ran.err


@pytest.mark.parametrize("line", [(), ("--per-example",), ("--above", "2", "--per-example")])
def test_fault_64_odd_bytes_do_not_blind_the_alarm(made: Program, line: tuple[str, ...]) -> None:
    data = f"{WORDS[0]}\n{ODD}".encode() + b"\xff\xfe\n" + b"\xff\n" + ODD.encode() + b"\n"
    made.write("log.txt", data)
    place = f"is not UTF-8: byte {len(WORDS[0]) + 1 + len(ODD)}, in line 2, is 0xff"
    for source in ("log.txt", "-"):
        ran = made.run("eval", source, "--json", *line, stdin=data)
        assert ran.status == (3 if "--above" in line else 0)
        assert ran.err.count("warning:") == ran.err.count(f"{place}; U+FFFD") == 1
        if line:
            texts = [row["text"] for row in ran.rows if row["number"] > 1]
            assert texts == [f"{ODD}\ufffd\ufffd", "\ufffd", ODD]
            assert sum(row["unknown"] for row in ran.rows if row["number"] == 3) == 1
        strict = made.run("eval", source, "--errors", "strict", *line, stdin=data)
        assert strict.status == 1
        assert place in strict.err
    made.refuses("train", "log.txt", what=place, hint="--errors replace")


@pytest.mark.parametrize("kind", ["file", "socket"])
def test_fault_36_standard_input_is_read(made: Program, kind: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, open(made.write("in.txt", "anna\nbo\n"), "rb") as file:
        ours.sendall(b"anna\nbo\n")
        ours.shutdown(socket.SHUT_WR)
        with made.going("eval", "--json", stdin=file if kind == "file" else theirs) as child:
            ended = child.end().says("reading text from standard input")
    assert ended.json["characters"] == 6


def test_fault_36_a_pipe_is_read(made: Program) -> None:
    for command in (("eval", "--per-example", "--json"), ("embed",)):
        ran = made.run(*command, stdin=b"anna\nbo\n").says("reading text from standard input")
        assert [row["text"] for row in ran.rows] == ["anna", "bo"]


def test_a_row_fits_a_terminal(made: Program) -> None:
    made.write("wide.txt", "anna " * 40 + ODD + " anna" * 40 + "\n" + "王" * 30 + "\n")
    status, seen = made.terminal("eval", "wide.txt", "--top", "2", columns=70)
    rows = [line for line in seen.replace("\r", "").split("\n") if "..." in line]
    assert status == 0
    assert [62 < cell_len(row) < 70 for row in rows] == [True, True]  # a wide letter takes two
    assert [ODD in row for row in rows] == [False, True]
    made.write("王.txt", "anna\n")
    shown = made.run("eval", "wide.txt", "王.txt", "--per-example").lines
    assert len({cell_len(row.rpartition("  ")[0]) for row in shown}) == 1
    charrnn.load(made / "few.npz").save(made / "王王王王王王王.npz")
    shown = made.run("eval", "王.txt", "-m", "王王王王王王王.npz").lines[2:]
    assert len({*map(cell_len, shown)}) == 1
    assert "王王王王王王王.npz" in shown[1]
    for names, columns in (("ab", (len("label"), 9)), (["\x1b\x1b"] * 2, (8, 16))):
        wide = Rows(Output(sys.stdout), "examples", False, names, names, None)
        assert (wide.label_width, wide.place_width) == columns
    nats = np.array([1.0] * 200 + [9.0] * 3 + [1.0] * 201)
    assert "王李赵" in excerpt("anna " * 40 + "王李赵" + " anna" * 40, nats, 20)
    assert excerpt("\u200b", nats[:2], -1) == "..."  # in a narrow window

"""``charrnn eval`` as a user meets it: every option, every stream, and what it cannot do."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn.api import Model, load
from charrnn.cli import threads
from charrnn.cli.console import Talk
from charrnn.cli.faults import READER_LEFT
from charrnn.cli.scoring import reading_progress
from charrnn.cli.scoring.reading_progress import ReadingBar
from charrnn.corpus import corpus
from charrnn.corpus.corpus import CorpusConfig
from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint, record_of
from charrnn.presets import fitted
from charrnn.scoring.blocks import Piece
from charrnn.settings import TrainConfig
from charrnn.training.loop import start, train
from tests.running import CHARRNN, PLAIN, Here, in_a_child, on_a_terminal
from tests.speaking import babbler, independent, saved

KEYS = [
    *("schema", "text", "examples", "characters", "ends", "unknown", "bytes", "nats"),
    *("nats_per_character", "bits_per_character", "perplexity", "without_end"),
    *("without_unknown", "bits_per_byte", "baselines", "model", "dynamic", "seconds"),
    "characters_per_second",
]
MEAN = ["nats", "nats_per_character", "bits_per_character", "perplexity"]
BASELINES = ["uniform", "unigram", *(f"markov-{n}" for n in range(2, 8)), "xz", "bzip2"]
NAMES = [
    *("anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna"),
    *("ida", "jo", "karl", "lena", "max", "nora", "otto", "paul"),
]
ESCAPE = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and a small model of it."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "names.txt").write_text("\n".join(NAMES * 4 + ["жук"]) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        cutting = CorpusConfig(seed=1)
        found = corpus.load(["names.txt"], cutting)
        config = fitted(TrainConfig(hidden=16, layers=1, batch=4, bptt=8, epochs=8), found)
        state = start(found, config)
        for _ in train(state, found, config):
            pass
        run = Checkpoint(found.vocabulary, config, record_of(found, cutting, {}), state)
        checkpoint.save("model.npz", run)
    return folder


@pytest.fixture
def here(
    trained: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Here:
    """Command lines run in a folder of their own, with that corpus and that model in it."""
    for name in threads.BLAS:
        monkeypatch.setenv(name, "1")
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Here(capsys)


@pytest.fixture
def model(here: Here) -> Model:
    return load("model.npz")


def scored(here: Here, *args: str | Path) -> dict[str, Any]:
    """The one object of a run that must succeed."""
    ran = here("eval", "--json", *args)
    assert ran.status == 0, ran.err
    assert ran.out.count("\n") == 1
    return ran.json


def rows(here: Here, *args: str | Path) -> list[dict[str, Any]]:
    """The objects, line by line."""
    ran = here("eval", "--json", *args)
    assert ran.status == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def write(text: str, name: str = "text.txt") -> str:
    Path(name).write_bytes(text.encode())
    return name


# Sums


def test_json_has_the_keys_that_scripts_rely_on(here: Here, model: Model) -> None:
    found = scored(here, write("anna\nbob\nЖ\n"))
    assert list(found) == KEYS
    assert found["schema"] == "charrnn.eval/1"
    assert [list(found[name]) for name in ("without_end", "without_unknown")] == [MEAN, MEAN]
    expected = model.score(["anna", "bob", "Ж"])
    assert found["nats"] == pytest.approx(expected.nats, rel=1e-9)
    assert (found["examples"], found["characters"], found["ends"]) == (3, 8, 3)
    assert (found["unknown"], found["bytes"]) == (1, 9)
    assert found["nats_per_character"] == pytest.approx(found["nats"] / 11)
    assert found["bits_per_byte"] == pytest.approx(found["nats"] / math.log(2) / 9)
    assert found["without_unknown"]["nats"] < found["nats"] - 13


def test_the_table_says_the_same(here: Here) -> None:
    found = scored(here, write("anna\nbob\n"))
    table = here("eval", "text.txt")
    assert table.err == ""
    assert "2 lines, 7 characters, 7 bytes" in table.out
    for name, mean in (("per character", found), ("ends not counted", found["without_end"])):
        row = next(line for line in table.out.splitlines() if line.startswith(name))
        assert row.split()[-3:] == [
            f"{mean['nats_per_character']:.3f}",
            f"{mean['bits_per_character']:.3f}",
            f"{mean['perplexity']:.2f}",
        ]


def test_without_a_text_what_was_held_out_is_scored(here: Here, model: Model) -> None:
    found = scored(here)
    facts = model.corpus
    assert found["examples"] == facts.held_out_examples == 6
    assert found["characters"] == facts.held_out_characters
    again = corpus.load(["names.txt"], facts.config)
    held_out = [again.vocabulary.decode(again.held_out.nth(i)) for i in range(len(again.held_out))]
    assert found["nats"] == pytest.approx(model.score(held_out).nats)
    assert found["text"] == "held out of names.txt"


def test_a_corpus_that_moved_or_changed_is_told_from_one_that_did_not(here: Here) -> None:
    names = Path("names.txt")
    names.rename("elsewhere.txt")
    moved = here("eval")
    assert (moved.status, moved.out) == (1, "")
    assert "charrnn: error: the corpus has moved: names.txt is not there" in moved.err
    names.write_text("anna\n" * 70)
    changed = here("eval", "--baselines")
    assert changed.status == 1
    assert "the corpus has changed since the model was trained: names.txt" in changed.err
    assert "Name a text to score" in changed.err
    assert here("eval", "elsewhere.txt").status == 0


def test_a_corpus_that_no_file_holds_is_told(here: Here) -> None:
    saved(babbler(), Path("abc.npz"))
    ran = here("eval", "-m", "abc.npz")
    assert ran.status == 1
    assert "the model was trained on texts that no file holds" in ran.err


@pytest.mark.parametrize("text", ["", "\n", "\ufeff"])
def test_a_text_with_nothing_in_it_costs_nothing(here: Here, text: str) -> None:
    found = scored(here, write(text))
    assert (found["examples"], found["nats"], found["perplexity"]) == (0, 0.0, 1.0)
    assert here("eval", "text.txt").status == 0
    assert scored(here, "text.txt", "--baselines")["baselines"] == {}
    assert here("eval", "text.txt", "--per-example").out == ""


@pytest.mark.parametrize("option", ["--threads", "--model"])
def test_it_does_not_matter_who_computes(here: Here, option: str) -> None:
    write("\n".join(NAMES * 50))
    shutil.copy("model.npz", "copy.npz")
    one, two = ("1", "2") if option == "--threads" else ("model.npz", "copy.npz")
    costs = [scored(here, "text.txt", option, each)["nats"] for each in (one, two)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-7)


# How the text is read


@pytest.mark.parametrize(
    ("options", "examples"),
    [
        ((), 4),
        (("--examples", "lines"), 4),
        (("--examples", "paragraphs"), 2),
        (("--examples", "files"), 1),
        (("--examples", "auto"), 4),
    ],
)
def test_examples_are_what_was_asked_for_or_what_the_model_had(
    here: Here, options: tuple[str, ...], examples: int
) -> None:
    write("anna\nbob\n\nclara\ndora\n")
    assert scored(here, "text.txt", *options)["examples"] == examples


def test_texts_are_read_as_they_are_said_to_be(here: Here) -> None:
    Path("latin.txt").write_bytes("émil\n".encode("latin-1"))
    wrong = here("eval", "latin.txt")
    assert wrong.status == 1
    assert "is not UTF-8" in wrong.err
    assert scored(here, "latin.txt", "--encoding", "latin-1")["bytes"] == 5
    write("anna\r\nbob\r\n")
    assert scored(here, "text.txt")["unknown"] == 0
    assert scored(here, "text.txt", "--newlines", "keep")["unknown"] == 2
    write("e\u0301")
    assert scored(here, "text.txt", "--normalize", "NFC")["characters"] == 1


def test_texts_may_be_several_packed_or_typed(here: Here) -> None:
    write("anna\n", "one.txt")
    with gzip.open("two.txt.gz", "wt") as packed:
        packed.write("bob\n")
    both = scored(here, "one.txt", "two.txt.gz")
    assert (both["examples"], both["text"]) == (2, "one.txt, two.txt.gz")
    typed = in_a_child("eval", "-", "--json", cwd=Path.cwd(), typed=b"anna\nbob\n")
    assert typed.json["nats"] == pytest.approx(both["nats"], rel=1e-9)


# A row for each example


def test_odd_ones_come_first(here: Here, model: Model) -> None:
    found = rows(here, write("anna\nqqq\nbob\nclara\n"), "--per-example")
    assert found[0]["text"] == "qqq"
    means = [row["nats_per_character"] for row in found]
    assert means == sorted(means, reverse=True)
    for row in found:
        assert row["schema"] == "charrnn.eval.example/1"
        assert row["nats"] == pytest.approx(model.score([row["text"]]).nats, rel=1e-6)
        assert row["characters"] == len(row["text"])
        assert row["bits_per_character"] == pytest.approx(row["nats_per_character"] / math.log(2))
    assert sorted(row["number"] for row in found) == [1, 2, 3, 4]
    long = rows(here, "text.txt", "--per-example", "--sort", "nats")
    assert [row["nats"] for row in long] == sorted((row["nats"] for row in found), reverse=True)


def test_what_costs_the_same_stays_in_its_order(here: Here) -> None:
    found = rows(here, write("bob\nanna\nbob\nanna\nbob\n"), "--per-example")
    by_name = {name: [r["number"] for r in found if r["text"] == name] for name in ("bob", "anna")}
    assert by_name == {"bob": [1, 3, 5], "anna": [2, 4]}


def test_in_the_order_of_the_input_there_is_a_row_for_every_line(here: Here) -> None:
    lines = ["bob", "", "q", "", "  ", "anna"]
    found = rows(here, write("\n".join(lines) + "\n"), "--per-example", "--sort", "input")
    assert [row["text"] for row in found] == lines
    assert [row["number"] for row in found] == [1, 2, 3, 4, 5, 6]
    plain = here("eval", "text.txt", "--per-example", "--sort", "input").out.splitlines()
    assert [line[31:] for line in plain] == lines
    assert [float(line.split()[0]) for line in plain] == [
        pytest.approx(row["nats"], abs=0.006) for row in found
    ]


def test_rows_come_as_soon_as_their_lines_do(here: Here) -> None:
    with subprocess.Popen(
        [*CHARRNN, "eval", "-", "--per-example", "--sort", "input", "--json", "-q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=PLAIN,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for name in NAMES[:5]:
            child.stdin.write(f"{name}\n".encode())
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["text"] == name
        child.stdin.close()
    assert child.returncode == 0


def test_sums_stand_beside_rows_on_stderr(here: Here) -> None:
    ran = here("eval", write("anna\nbob\n"), "--per-example")
    assert ran.out.count("\n") == 2
    total = scored(here, "text.txt")
    assert f"{total['nats_per_character']:.4f} nats or" in ran.err
    assert here("eval", "text.txt", "--per-example", "-q").err == ""


@pytest.mark.parametrize(
    "name", ["[/b]:smile:[red]", 'a"b\\c', "\x1b[31m\x7f", "\u2028\u202e", "👩\u200d🔬", "q" * 300]
)
def test_any_text_comes_out_as_it_is(here: Here, name: str) -> None:
    write(name + "\n")
    assert rows(here, "text.txt", "--per-example")[0]["text"] == name
    assert here("eval", "text.txt", "--per-example").out.endswith(f"  {name}\n")
    status, seen = on_a_terminal("eval", "text.txt", "--per-example")
    assert status == 0
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", ESCAPE.sub("", seen))
    assert all(len(ESCAPE.sub("", line)) < 80 for line in seen.splitlines()[:2])


def test_examples_of_several_lines_keep_to_a_row(here: Here) -> None:
    write("anna\nbob\n\nclara\n")
    ran = here("eval", "text.txt", "--examples", "paragraphs", "--per-example", "--sort", "input")
    assert [line[31:] for line in ran.out.splitlines()] == ["anna\\nbob", "clara"]


# A row, or a colour, for each character


def test_characters_have_nats_and_ranks(here: Here, model: Model) -> None:
    found = rows(here, write("anna\nЖ\n"), "--per-char")
    assert [row["character"] for row in found] == [*"anna", None, "Ж", None]
    assert all(row["schema"] == "charrnn.eval.character/1" for row in found)
    assert sum(row["nats"] for row in found) == pytest.approx(model.score(["anna", "Ж"]).nats)
    assert found[5]["rank"] == model.vocabulary.symbols
    assert all(1 <= row["rank"] <= model.vocabulary.symbols for row in found)


def test_without_colours_there_is_a_table(here: Here) -> None:
    found = rows(here, write("a\tb\n"), "--per-char")
    lines = [line.split("\t") for line in here("eval", "text.txt", "--per-char").out.splitlines()]
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
def test_a_terminal_shows_the_heat_of_the_text(here: Here, env: dict[str, str], code: str) -> None:
    write("anna qЖq\nbob\x1b[2J\n")
    status, seen = on_a_terminal("eval", "text.txt", "--per-char", env=env)
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
def test_a_narrow_terminal_shows_fewer_columns(here: Here, columns: int, head: list[str]) -> None:
    env = {"NO_COLOR": "1"}
    _, seen = on_a_terminal("eval", write("bob\n"), "--baselines", columns=columns, env=env)
    lines = [line.rstrip() for line in seen.splitlines()]
    table = lines[lines.index(next(line for line in lines if line.split() == head)) :]
    assert max(map(len, table)) < columns
    assert any(line.startswith("unigram ") for line in table)


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_shows_the_table(here: Here, env: dict[str, str]) -> None:
    _, seen = on_a_terminal("eval", write("bob\n"), "--per-char", env=env)
    assert seen.splitlines()[0].split() == ["character", "nats", "rank"]
    assert "\x1b" not in seen


# A page


def test_a_page_is_written_whole(here: Here) -> None:
    ran = here("eval", write("anna <b>\nbob\n"), "--html", "page.html")
    assert ran.status == 0
    assert "per character" in ran.out
    assert "the coloured text is in page.html" in ran.err
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "<b>" not in page
    assert "<title>text.txt</title>" in page
    found = scored(here, "text.txt")
    assert f"<dd>{found['bits_per_character']:.3f}</dd>" in page
    assert scored(here, "text.txt", "--html", "again.html")["nats"] == found["nats"]


def test_a_page_that_fails_leaves_what_was_there(here: Here) -> None:
    Path("page.html").write_text("old")
    Path("text.txt").write_bytes(b"anna\n" * 40_000 + b"\xff\n")
    assert here("eval", "text.txt", "--html", "page.html").status == 1
    assert Path("page.html").read_text() == "old"
    assert not list(Path().glob(".page*"))


def test_a_reader_who_leaves_ends_a_page_quietly_too(here: Here) -> None:
    write("anna\n" * 40_000)
    Path("page.html").write_text("old")
    with subprocess.Popen(
        [*CHARRNN, "eval", "text.txt", "--per-char", "--html", "page.html"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=PLAIN,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline().startswith(b"a\t")
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == READER_LEFT
    assert Path("page.html").read_text() == "old"
    assert not list(Path().glob(".page*"))


@pytest.mark.parametrize("where", ["nowhere/page.html", "."])
def test_a_page_that_cannot_be_written_is_told_at_once(here: Here, where: str) -> None:
    ran = here("eval", write("anna\n"), "--html", where)
    assert ran.status == 1
    assert "cannot be written" in ran.err
    assert "--html" in ran.err
    assert "bytes are needed" not in ran.err


@pytest.mark.parametrize("where", ["model.npz", "text.txt", "./text.txt"])
def test_a_page_never_takes_the_place_of_what_it_is_made_of(here: Here, where: str) -> None:
    ran = here("eval", write("anna\n"), "--html", where)
    assert ran.status == 2
    assert "--html would write over" in ran.err


@pytest.mark.parametrize("args", [(), ("text.txt",), ("text.txt", "--baselines")])
@pytest.mark.parametrize("how", ["plainly", "linked", "hard linked"])
def test_a_page_never_takes_the_place_of_the_corpus(
    here: Here, args: tuple[str, ...], how: str
) -> None:
    write("anna\n")
    corpus = page = Path("names.txt")
    before = corpus.read_bytes()
    if how != "plainly":
        page = Path("page.html")
        page.hardlink_to(corpus) if how == "hard linked" else page.symlink_to(corpus)
    ran = here("eval", *args, "--html", page)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"charrnn: error: --html would write over {page}\nName a file of its own.\n"
    assert corpus.read_bytes() == before


def learned_from(model: str, *sources: str, valid: tuple[str, ...] = ()) -> None:
    """Write a model that says so."""
    run = checkpoint.load("model.npz")
    run.corpus = replace(run.corpus, sources=sources, valid=valid)
    checkpoint.save(model, run)


def test_nor_of_a_text_to_validate_with_or_a_corpus_that_came_along(here: Here) -> None:
    write("anna\n")
    write("bob\n", "valid.txt")
    learned_from("other.npz", "names.txt", "verses", valid=("text.txt", "valid.txt"))
    for page in ("valid.txt", "verses"):
        ran = here("eval", "names.txt", "-m", "other.npz", "--html", page)
        assert ran.status == 2
        assert f"--html would write over {page}" in ran.err
    assert Path("valid.txt").read_text() == "bob\n"
    assert not Path("verses").exists()


def test_nor_of_a_text_that_is_standard_input(here: Here) -> None:
    write("anna\n")
    with open("text.txt", "rb") as typed:
        done = subprocess.run(
            [*CHARRNN, "eval", "-", "--html", "text.txt"],
            stdin=typed,
            capture_output=True,
            env=PLAIN,
            check=False,
        )
    assert done.returncode == 2
    assert b"--html would write over text.txt" in done.stderr
    assert Path("text.txt").read_text() == "anna\n"


def test_a_corpus_with_a_name_that_no_file_has_forbids_no_page(here: Here) -> None:
    learned_from("other.npz", "-", "", "a\0b", "\ud800", "x" * 5000, "nowhere/at/all")
    for page in ("-", "page.html", "page.html"):
        ran = here("eval", write("anna\n"), "-m", "other.npz", "--html", page)
        assert ran.status == 0, ran.err


# Is that good?


def test_the_model_stands_among_its_yardsticks(here: Here) -> None:
    found = scored(here, "--baselines")
    assert list(found["baselines"]) == BASELINES[:-1]  # so short a text says nothing of bzip2
    for figures in found["baselines"].values():
        assert list(figures) == ["nats_per_character", "bits_per_character"]
        assert figures["bits_per_character"] == pytest.approx(
            figures["nats_per_character"] / math.log(2)
        )
    table = here("eval", "--baselines").out.split("compared\n")[1].splitlines()
    assert {line.split()[0] for line in table} == {*BASELINES[:-1], "model.npz"}
    nats = [float(line.split()[1]) for line in table]
    assert nats == sorted(nats, reverse=True)


def test_yardsticks_measure_the_text_that_was_named(here: Here) -> None:
    found = scored(here, write("anna\n" * 30), "--baselines")
    assert found["examples"] == 30
    assert found["baselines"]["xz"]["bits_per_character"] < 1
    assert scored(here, "text.txt")["baselines"] == {}


# Learning while reading


def test_learning_while_reading_helps_and_leaves_the_file_alone(here: Here) -> None:
    before = Path("model.npz").read_bytes()
    write("ottoanna\n" * 60)
    static = scored(here, "text.txt")
    dynamic = scored(here, "text.txt", "--dynamic", "0.01")
    assert (static["dynamic"], dynamic["dynamic"]) == (None, 0.01)
    assert dynamic["nats"] < 0.8 * static["nats"]
    assert Path("model.npz").read_bytes() == before
    assert "learning at 0.01 while it reads" in here("eval", "text.txt", "--dynamic", "0.01").out
    lines = rows(here, "text.txt", "--dynamic", "0.01", "--per-example", "--sort", "input")
    assert lines[-1]["nats"] < lines[0]["nats"]
    assert sum(line["nats"] for line in lines) == pytest.approx(dynamic["nats"])
    told = here("eval", "text.txt", "--dynamic", "0.01", "--per-char")
    assert "learning at 0.01" in told.err


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf", "much"])
def test_a_rate_out_of_range_is_wrong_usage(here: Here, rate: str) -> None:
    ran = here("eval", write("anna\n"), f"--dynamic={rate}")
    assert ran.status == 2
    assert "--dynamic" in ran.err


def test_a_rate_far_too_large_is_told(here: Here) -> None:
    ran = here("eval", write("anna bob\n" * 60), "--dynamic", "1e5")
    assert ran.status == 1
    assert "out of bounds" in ran.err


# Wrong usage and faults


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--per-example", "--per-char"), "exclude each other"),
        (("--per-char", "--baselines"), "exclude each other"),
        (("--sort", "input"), "--per-example"),
        (("--sort", "size", "--per-example"), "surprise, nats, input"),
        (("--encoding", "utf-8"), "--encoding is for a TEXT"),
        (("--examples", "lines"), "--examples is for a TEXT"),
        (("-", "-"), "read only once"),
        (("--examples", "words", "names.txt"), "lines, paragraphs, files"),
        (("--encoding", "klingon", "names.txt"), "'klingon' is not an encoding"),
    ],
)
def test_options_that_lead_nowhere_are_told(here: Here, args: tuple[str, ...], word: str) -> None:
    ran = here("eval", *args)
    assert (ran.status, ran.out) == (2, "")
    assert word in ran.err
    assert ran.err.count("\n") == 2


@pytest.mark.parametrize("text", ["missing.txt", "."])
def test_texts_that_cannot_be_read_are_told(here: Here, text: str) -> None:
    ran = here("eval", text)
    assert ran.status == 1
    assert ran.err.startswith(f"charrnn: error: {text}")


def test_a_model_that_is_not_there_is_told(here: Here) -> None:
    ran = here("eval", "-m", "missing.npz", "names.txt")
    assert ran.status == 1
    assert "there is no model missing.npz" in ran.err


def test_a_uniform_model_scores_the_log_of_its_symbols(here: Here) -> None:
    odds = dict.fromkeys(["", "?", *"abcdef"], 1 / 8)
    saved(independent(odds), Path("uniform.npz"))
    found = scored(here, "-m", "uniform.npz", write("abc\nfed\n"))
    assert found["nats_per_character"] == pytest.approx(math.log(8) - math.log(0.99), rel=1e-6)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("is_alone", "is_drawn"), [(True, True), (False, False)])
def test_a_long_text_has_a_bar_which_goes_away(
    monkeypatch: pytest.MonkeyPatch, is_alone: bool, is_drawn: bool
) -> None:
    seen = Terminal()
    monkeypatch.setattr(reading_progress, "SOON", 0.0)
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    codes = np.full(1000, ord("a"), np.uint32)
    with ReadingBar(2000, Talk(), is_alone=is_alone) as bar:
        bar.hear(Piece(codes, codes.astype(np.uint8), np.zeros(1000), None))
    assert ("reading" in seen.getvalue()) == is_drawn
    assert not seen.getvalue().split("\r")[-1].strip()


def test_a_text_that_is_soon_read_has_none(here: Here) -> None:
    write("anna\n" * 100)
    assert in_a_child("eval", "text.txt", cwd=Path.cwd()).err == ""
    _, seen = on_a_terminal("eval", "text.txt")
    assert "reading" not in seen


def test_the_command_is_light_until_it_works() -> None:
    code = (
        "import sys, charrnn.cli.eval, charrnn.cli.info\n"
        "print([name for name in ('numpy', 'rich', 'tqdm') if name in sys.modules])"
    )
    done = subprocess.run([CHARRNN[0], "-c", code], capture_output=True, env=PLAIN, check=True)
    assert done.stdout == b"[]\n"

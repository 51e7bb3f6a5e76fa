"""``charrnn eval``: what it reads where no text is named, and with which models."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from charrnn.cli.eval import run
from charrnn.cli.eval.run import Text
from charrnn.corpus.segmentation import stream_of
from charrnn.runs import load
from charrnn.scoring.pieces import score_blocks
from charrnn.scoring.scorer import NetworkScorer
from tests.evaluating import scored, write
from tests.program import Program

posix = pytest.mark.skipif(os.name == "nt", reason="pipes and files of POSIX")
HELD_OUT = "held out of names.txt"


def piped(program: Program, content: bytes, *options: str) -> str:
    """What was scored where this is piped in."""
    ran = program.run("eval", "--json", *options, stdin=content)
    assert ran.status == 0, ran.err
    return str(ran.json["text"])


@posix
def test_what_is_piped_is_read(well_trained: Program) -> None:
    assert piped(well_trained, b"anna\nbob\n") == "standard input"
    assert piped(well_trained, b"anna\nbob\n", "--examples", "files") == "standard input"
    assert piped(well_trained, b"anna\nbob\n", "--held-out") == HELD_OUT


@posix
def test_a_file_at_standard_input_is_read(well_trained: Program) -> None:
    write("anna\n")
    with Path("text.txt").open("rb") as file:
        ran = well_trained.run("eval", "--json", stdin=file)
        assert (ran.json["text"], ran.json["characters"]) == ("standard input", 4)
        again = well_trained.run("eval", "--json", stdin=file)  # it is at its end
    assert again.json["text"] == HELD_OUT
    assert "standard input is empty: reading the held-out text of the training" in again.err


@posix
def test_an_empty_pipe_and_no_stdin_are_no_text(well_trained: Program) -> None:
    assert piped(well_trained, b"") == HELD_OUT
    nothing = well_trained.run("eval", "--json")  # /dev/null, as cron has it
    assert (nothing.json["text"], nothing.err) == (HELD_OUT, "")
    line = ["sh", "-c", 'exec "$0" "$@" <&-', *well_trained.command]
    assert well_trained.run("eval", "--json", by=line).json["text"] == HELD_OUT


@posix
def test_a_slow_pipe_is_waited_for(well_trained: Program) -> None:
    with well_trained.going("eval", "--json", stdin=subprocess.PIPE) as child:
        assert child.process.stdin is not None
        child.until(lambda: "waiting for text from standard input" in child.err)
        child.process.stdin.write(b"anna\n")
        child.process.stdin.close()
        assert child.end().json["characters"] == 4


def test_a_terminal_is_no_text(well_trained: Program) -> None:
    _, seen = well_trained.terminal("eval")
    assert HELD_OUT in seen


# Two models


@pytest.fixture
def two(well_trained: Program) -> Program:
    """And another model, which has learned less."""
    assert well_trained.train("names.txt", "-m", "other.npz").status == 0
    return well_trained


TWO = ("-m", "model.npz", "-m", "other.npz")


def test_two_models_stand_side_by_side(two: Program) -> None:
    alone = [scored(two, "names.txt", "-m", name) for name in ("model.npz", "other.npz")]
    both = scored(two, "names.txt", *TWO)
    assert both["nats"] not in [one["nats"] for one in alone]  # that of both together
    assert list(both["models"]) == ["model.npz", "other.npz"]
    for figures, one in zip(both["models"].values(), alone, strict=True):
        own = {name: cost for name, cost in figures.items() if name in one}
        assert own == {name: one[name] for name in own}
        assert figures.keys() - own.keys() <= {"difference", "standard_error"}
    lines = two.run("eval", "names.txt", *TWO).out.splitlines()
    head = next(
        i for i, line in enumerate(lines) if line.split() == ["together", "model.npz", "other.npz"]
    )
    columns = lines[head + 1].split()
    each = len(columns) // 3
    assert columns == ["nats", "bits", "perplexity"][:each] * 3
    row = [f"{one['nats_per_character']:.3f}" for one in (both, *alone)]
    assert lines[head + 2].split()[2::each] == row


def test_a_stream_is_read_once_for_both(two: Program) -> None:
    found = two.run("eval", "-", "--json", *TWO, stdin=b"anna\nbob\n").json
    assert [figures["characters"] for figures in found["models"].values()] == [7, 7]


def test_both_are_compared_with_what_counts(two: Program) -> None:
    lines = two.run("eval", *TWO, "--baselines").out.split("baselines\n")[1].splitlines()
    assert {"model.npz", "other.npz", "unigram"} <= {line.split()[0] for line in lines}


def test_a_narrow_terminal_has_fewer_columns_of_each(two: Program) -> None:
    _, seen = two.terminal("eval", "names.txt", *TWO, columns=76, env={"NO_COLOR": "1"})
    assert ["nats", "bits"] * 3 in [line.split() for line in seen.splitlines()]


def test_models_of_other_corpora_are_warned_of(two: Program) -> None:
    write("anna\nbob\nclara\n" * 9, "more.txt")
    assert two.train("more.txt", "-m", "more.npz").status == 0
    shutil.copy("model.npz", "copy.npz")
    assert two.run("eval", "-m", "model.npz", "-m", "copy.npz").err == ""
    ran = two.run("eval", "-m", "model.npz", "-m", "more.npz")
    assert "more.npz may have been trained on held-out text of model.npz" in ran.err
    for seed, as_warned in ((1, False), (2, False), (3, True)):  # the last holds out other lines
        kind = "lines" if as_warned else "files"
        name = f"{seed}.npz"
        typed = ("--examples", kind, "--seed", str(seed), "-m", name)
        assert two.train("more.txt", *typed).status == 0
        assert ("1.npz" in two.run("eval", "-m", "1.npz", "-m", name).err) == as_warned


@pytest.mark.parametrize("option", ["--per-example", "--per-char", "--top=9"])
def test_rows_of_two_models_are_of_both_together(two: Program, option: str) -> None:
    names = "".join(f"{name}\n" for name in ("anna", "bob", "clara"))
    write(names, "three.txt")
    ran = two.run("eval", "three.txt", *TWO, option, "--json")
    assert ran.status == 0
    assert "together" in ran.err
    nats = sum(row["nats"] for row in ran.rows)
    assert nats == pytest.approx(scored(two, "three.txt", *TWO)["nats"])
    assert nats != pytest.approx(scored(two, "three.txt")["nats"])


def test_a_page_and_an_alarm_of_two_models_are_of_both_together(two: Program) -> None:
    assert two.run("eval", "names.txt", *TWO, "--html", "x.html").status == 0
    assert "together" in Path("x.html").read_text()
    rows = two.run("eval", "names.txt", *TWO, "--per-example", "--json").rows
    most = max(row["bits_per_character"] for row in rows)
    assert two.run("eval", "names.txt", *TWO, "--above", str(most - 0.01)).status == 3
    assert two.run("eval", "names.txt", *TWO, "--above", str(most + 0.01)).status == 0


@pytest.mark.parametrize("models", [("model.npz", "length.npz"), ("length.npz", "model.npz")])
def test_long_examples_are_cut_alike_for_models_that_stand_beside_each_other(
    well_trained: Program, models: tuple[str, str]
) -> None:
    """One of them has to know where an example ends, and the other has not."""
    well_trained.train("names.txt", "--ends", "length", "-m", "length.npz").says()
    readers = [NetworkScorer(load(Path(name)).language_model) for name in models]
    codes = np.concatenate([*stream_of(["anna", "bob and clara" * 9, "", "dora" * 20])])
    blocks = np.array_split(codes, 25)
    text = Text("a text", iter(blocks), "files")
    found = list(zip(*run.score(readers, text, 10), strict=True))
    for one, its in zip(readers, found, strict=True):
        one.begin()
        np.testing.assert_array_equal(np.concatenate([piece.codes for piece in its]), codes)
        nats = np.concatenate([piece.nats for piece in its])
        np.testing.assert_array_equal(nats, next(iter(score_blocks(one, [codes]))).nats)


def test_the_variable_names_one_model_whatever_is_in_its_name(well_trained: Program) -> None:
    shutil.move("model.npz", "my model.npz")
    ran = well_trained.run("eval", "names.txt", "--json", env={"CHARRNN_MODEL": "my model.npz"})
    assert ran.json["model"] == "my model.npz"

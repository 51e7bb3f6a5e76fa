"""``charrnn info``: a model file from all sides, for people and for programs."""

import io
import re
from pathlib import Path

import pytest

from charrnn.cli.console import Output
from charrnn.cli.info import learning_curve
from tests.networks import babbler, saved
from tests.program import SIZE, Program


@pytest.fixture
def program(program: Program) -> Program:
    """The program in a folder with a model of names that are not all ASCII."""
    program.write("names.txt", "anna bob\nclara\ndora\nemil é\n" * 8)
    line = ("train", "names.txt", *SIZE, "--epochs", "4", "-q", "--check-every", "5")
    assert program.run(*line).status == 0
    return program


def test_json_tells_all(program: Program) -> None:
    ran = program.run("info", "--json")
    assert (ran.status, ran.err) == (0, "")
    found = ran.json
    assert found["bytes"] == Path("model.npz").stat().st_size
    assert (found["hidden"], found["layers"], found["epochs"]) == (6, 1, 4)
    assert found["symbols"] == len(found["vocabulary"]) + 2
    assert "".join(found["vocabulary"]) == "".join(sorted(set("annabob claradoraemilé")))
    assert found["settings"]["bptt"] == 6
    assert found["corpus"]["sources"] == ["names.txt"]
    assert found["corpus"]["examples"] + found["corpus"]["held_out_examples"] == 32
    steps = [row["step"] for row in found["history"]]
    assert steps == sorted(steps)
    assert found["best"]["step"] in steps
    assert found["best"]["nats_per_character"] == min(row["held_out"] for row in found["history"])
    assert "markov-2" in found["baselines"]


def test_the_curve_is_drawn_with_what_there_is(program: Program) -> None:
    assert re.search(r"^held-out +\d\.\d{3} [▁▂▃▄▅▆▇█]+ \d\.\d{3}$", program.run("info").out, re.M)
    plain = program.run("info", env={"TERM": "dumb"}).out
    assert re.search(r"^held-out +\d\.\d{3} [-_.:=+*#]+ \d\.\d{3}$", plain, re.M)
    assert not set("▁▂▃▄▅▆▇█") & set(plain)


def test_the_high_start_of_a_curve_does_not_flatten_the_rest() -> None:
    history = [{"train": nats} for nats in (9.0, 4.0, 2.6, 1.0)]
    (curve,) = learning_curve(history, Output(io.StringIO()))
    assert re.fullmatch(r"training +9\.000 (##=_|██▅▁) 1\.000", curve)


def test_a_run_that_learned_no_more_goes_on_by_epochs(program: Program) -> None:
    program.run("train", "names.txt", *SIZE, "--lr", "1e-12", "--check-every", "1").says()
    info = program.run("info", "--json").json
    assert info["resume"]["why"].endswith("it ended by --patience: give a larger --epochs")
    more = str(info["settings"]["epochs"] + 1)
    again = program.run("train", "--resume", "--epochs", more, "--json").json
    assert again["steps"] > info["steps"]


@pytest.mark.parametrize(
    ("characters", "shown"),
    [
        ("\t\n !a", r"tab  newline  space  !  a"),
        ("\x1b\u202e[/b]", r"\x1b  /  [  ]  b  \u202e"),
        ("".join(map(chr, range(0x4E00, 0x6E00, 2))), "and 4,036 more"),
        ("".join(map(chr, range(0x4E00, 0x4E3C))), "\u4e3a \u4e3b corpus"),  # 60, and no more
    ],
)
def test_fault_13_characters_are_visible(program: Program, characters: str, shown: str) -> None:
    saved(babbler(characters), Path("odd.npz"))  # without a history
    told = program.run("info", "-m", "odd.npz").out
    assert " ".join(shown.split()) in " ".join(told.split())
    assert "texts passed from Python" in told
    assert program.run("info", "-m", "odd.npz", "--json").json["best"] is None

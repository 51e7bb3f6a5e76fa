"""``charrnn slim``: a smaller file, which draws and scores the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.errors import DamagedModelError, SettingError
from tests.evaluating import scored
from tests.faults import forging
from tests.program import Program


def test_a_slim_file_draws_and_scores_the_same(well_trained: Program) -> None:
    ran = well_trained.run("slim", "slim.npz", "--json")
    size, before = (Path(name).stat().st_size for name in ("slim.npz", "model.npz"))
    assert ran.json == {
        "schema": "charrnn.slim/1",
        "model": "slim.npz",
        "from": "model.npz",
        "bytes": size,
        "bytes_before": before,
    }
    assert size < before / 2
    line = ("sample", "-n", "5", "--seed", "1")
    assert well_trained.run(*line, "-m", "slim.npz").out == well_trained.run(*line).out
    one, other = (scored(well_trained, "names.txt", "-m", m) for m in ("slim.npz", "model.npz"))
    assert one["nats"] == other["nats"]
    assert scored(well_trained, "-m", "slim.npz")["text"] == "held out of names.txt"


@pytest.mark.parametrize(("bits", "near"), [(16, 1e-4), (8, 0.02)])
def test_numbers_of_fewer_bits_make_it_smaller_and_score_nearly_the_same(
    well_trained: Program, bits: int, near: float
) -> None:
    well_trained.run("slim", "slim.npz").says()
    well_trained.run("slim", "few.npz", "--bits", str(bits)).says()
    well_trained.run("slim", "again.npz", "-m", "few.npz").says("few.npz is already slim")
    whole, few, again = (Path(f"{name}.npz").read_bytes() for name in ("slim", "few", "again"))
    assert len(few) < len(whole)
    assert again == few
    with np.load("few.npz") as arrays:
        assert arrays["W1"].dtype == f"int{bits}"
        exponents, integers = arrays["U1.exponents"], arrays["U1"]
    model, rounded = charrnn.load("few.npz"), charrnn.load("model.npz").slim(bits=bits)
    assert np.array_equal(model.parameters["U1"], 2.0 ** exponents[:, None] * integers)
    assert model.parameters == rounded.parameters
    assert model.sample(seed=1) == rounded.sample(seed=1)
    line = ("eval", "names.txt", "--json", "-m")
    nats = [well_trained.run(*line, m).json["nats_per_character"] for m in ("slim.npz", "few.npz")]
    assert nats[0] != nats[1]
    assert nats[0] == pytest.approx(nats[1], abs=near)


@pytest.mark.parametrize("bits", [4, "8", True])
def test_no_file_claims_other_bits(well_trained: Program, bits: object) -> None:
    well_trained.run("slim", "few.npz", "--bits", "8").says()
    forging.forge(Path("few.npz"), lambda facts, _: facts.update(bits=bits))
    with pytest.raises(DamagedModelError, match="bits are"):
        charrnn.load("few.npz")
    with pytest.raises(SettingError, match="bits cannot be"):
        charrnn.load("model.npz").slim(bits=bits)  # type: ignore[arg-type]


def test_an_exponent_out_of_bounds_is_damage(well_trained: Program) -> None:
    well_trained.run("slim", "few.npz", "--bits", "8").says()
    forging.forge(Path("few.npz"), lambda _, arrays: arrays["W1.exponents"].fill(999))
    with pytest.raises(DamagedModelError, match="W1 holds a number that no training leads to"):
        charrnn.load("few.npz")


def test_it_says_what_it_wrote(well_trained: Program) -> None:
    ran = well_trained.run("slim", "slim.npz")
    assert [line.split()[0] for line in ran.lines] == ["model", "size"]
    size = Path("slim.npz").stat().st_size
    assert ran.lines[1].startswith(f"size       {size:,} bytes, ")
    assert ran.lines[1].endswith("% of model.npz")
    assert ran.err == ""
    assert well_trained.run("slim", "other.npz", "-q").out.startswith("model ")


def test_where_there_are_no_counts_to_leave_out_it_says_so(well_trained: Program) -> None:
    ran = well_trained.run("slim", "slim.npz", "--without-counts")
    ran.says("model.npz has no counts to leave out")


def test_a_model_that_is_slim_already_is_noted(well_trained: Program) -> None:
    assert "already" not in well_trained.run("slim", "one.npz").err
    well_trained.run("slim", "two.npz", "-m", "one.npz").says("one.npz is already slim")


def test_nothing_is_replaced_but_by_force(well_trained: Program) -> None:
    Path("novel.txt").write_text("It was a dark and stormy night.")
    hint = "Name another file, or add --force to replace it."
    well_trained.refuses("slim", "novel.txt", what="novel.txt already exists", hint=hint)
    what, hint = "FILE would overwrite model.npz", "Name another file."
    well_trained.refuses("slim", "model.npz", what=what, hint=hint, status=2)
    assert well_trained.run("slim", "novel.txt", "--force").status == 0
    assert well_trained.run("info", "-m", "novel.txt").status == 0


def test_a_slim_file_cannot_be_gone_on_with(well_trained: Program) -> None:
    assert well_trained.run("slim", "slim.npz").status == 0
    ran = well_trained.run("train", "--resume", "-m", "slim.npz", "--epochs", "999")
    assert ran.status == 1
    assert ran.err.startswith("charrnn: error: slim.npz is slim")
    resume = well_trained.run("info", "-m", "slim.npz", "--json").json["resume"]
    assert resume == {
        "is_possible": False,
        "why": "the file has no training state (see charrnn slim)",
    }


@pytest.mark.parametrize(
    ("status", "line", "what", "hint"),
    [
        (1, "nowhere/slim.npz", "nowhere/slim.npz cannot be written: ", "or name another file."),
        (1, "folder --force", "folder cannot be written: ", "Name another file."),
        (2, "-", "FILE: '-' is not the name of a file", "--help"),
        (2, "model.npz --force", "FILE would overwrite model.npz", "Name another file."),
        (2, "names.txt --force", "FILE would overwrite names.txt", "Name another file."),
        (2, "link --force", "FILE would overwrite link", "Name another file."),
        (1, "slim.npz -m no.npz", "there is no model no.npz", "or name another with -m: a file"),
    ],
)
def test_refusals(well_trained: Program, status: int, line: str, what: str, hint: str) -> None:
    Path("folder").mkdir()
    Path("link").symlink_to("names.txt")
    well_trained.refuses("slim", *line.split(), what=what, hint=hint, status=status)

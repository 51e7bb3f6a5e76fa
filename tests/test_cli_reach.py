"""``charrnn reach``: a table, and the same for programs."""

from __future__ import annotations

import math

import pytest

from tests.program import Program

KEYS = ["schema", "model", "horizon", "norms", "decay_per_step", "spectral_radius", "cut_off_share"]


def test_json_and_table_say_the_same(well_trained: Program) -> None:
    found = well_trained.run("reach", "--json").json
    assert list(found) == KEYS
    assert (found["model"], found["horizon"]) == ("model.npz", 8)
    assert all(math.isfinite(norm) for norm in found["norms"])
    ran = well_trained.run("reach")
    assert (ran.status, ran.err) == (0, "")
    said = {line[:22].strip(): line[22:].strip() for line in ran.lines}
    assert float(said["decay per step"]) == pytest.approx(found["decay_per_step"], rel=0.01)
    assert float(said["spectral radius of W"]) == pytest.approx(found["spectral_radius"], rel=0.01)
    assert said["cut off by --bptt"] == f"{found['cut_off_share']:.1%}"
    assert float(said["0"]) == pytest.approx(found["norms"][0], rel=0.01)


def test_a_shorter_horizon_cuts_off_more(well_trained: Program) -> None:
    long, short = (well_trained.run("reach", "--json", "--bptt", n).json for n in ("8", "2"))
    assert short["horizon"] == 2
    assert short["cut_off_share"] > long["cut_off_share"]


def test_a_dash_is_standard_input_and_else_what_was_held_out(well_trained: Program) -> None:
    names = (well_trained / "names.txt").read_bytes()
    named = well_trained.run("reach", "names.txt", "--json").json
    assert well_trained.run("reach", "-", "--json", stdin=names).json == named
    assert well_trained.run("reach", "--json", stdin=names).json != named
    what, hint = "the text has no examples", "Name a text that is not empty."
    well_trained.refuses("reach", "-", what=what, hint=hint, stdin=b"")

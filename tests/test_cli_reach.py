"""``charrnn reach``: a table, a picture, advice, and the same for programs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from charrnn.analysis import Reach
from charrnn.cli.reach import advice, why
from tests.program import Program

KEYS = [
    *("schema", "model", "horizon", "norms", "losses", "decay_per_step", "spectral_radius"),
    *("mean_slope", "cut_off_share", "cosine", "advice"),
]


def test_json_has_the_keys_that_scripts_rely_on(well_trained: Program) -> None:
    found = well_trained.run("reach", "--json").json
    assert list(found) == KEYS
    assert (found["schema"], found["model"]) == ("charrnn.reach/1", "model.npz")
    assert found["horizon"] == 8
    assert len(found["norms"]) == len(found["losses"])
    weighed = [n * c for n, c in zip(found["norms"], found["losses"], strict=True)]
    assert found["cut_off_share"] == pytest.approx(sum(weighed[8:]) / sum(weighed))
    assert [*found["cosine"]][:3] == ["1", "2", "4"]
    assert [*found["cosine"].values()][-1] == pytest.approx(1)
    assert all(math.isfinite(norm) for norm in found["norms"])


def test_the_table_says_the_same(well_trained: Program) -> None:
    found = well_trained.run("reach", "--json").json
    ran = well_trained.run("reach")
    assert (ran.status, ran.err) == (0, "")
    said = {line[:22].strip(): line[22:].strip() for line in ran.lines}
    assert float(said["decay per step"]) == pytest.approx(found["decay_per_step"], rel=0.01)
    assert float(said["spectral radius of W"]) == pytest.approx(found["spectral_radius"], rel=0.01)
    assert said["horizon (--bptt)"] == "8"
    assert found["advice"] in " ".join(" ".join(ran.lines).split())


def test_a_text_may_be_named_or_piped(well_trained: Program) -> None:
    named = well_trained.run("reach", "names.txt", "--json").json
    names = (well_trained / "names.txt").read_bytes()
    assert well_trained.run("reach", "-", "--json", stdin=names).json == named
    assert named != well_trained.run("reach", "--json").json


def test_several_models_stand_side_by_side(well_trained: Program) -> None:
    well_trained.train("names.txt", "--cell", "lstm", "-m", "lstm.npz").says()
    two = ("reach", "-m", "model.npz", "-m", "lstm.npz")
    ran = well_trained.run(*two)
    assert ran.lines[0].split() == ["model.npz", "lstm.npz"]
    assert ran.lines[1].split() == ["network", *["1", "x", "16", "tanh", "1", "x", "3", "lstm"]]
    assert [row["model"] for row in well_trained.run(*two, "--json").rows] == [
        "model.npz",
        "lstm.npz",
    ]


def test_where_models_do_not_fit_side_by_side_they_stand_one_below_the_other(
    well_trained: Program,
) -> None:
    two = ("reach", "-m", "model.npz", "-m", "model.npz")
    _, seen = well_trained.terminal(*two, columns=44, env={"NO_COLOR": "1"})
    lines = [line.strip() for line in seen.splitlines()]
    assert lines.index("model.npz") < lines.index("model.npz (2)")
    assert max(map(len, seen.splitlines())) < 44


def test_the_variable_names_the_model(well_trained: Program) -> None:
    (well_trained / "model.npz").rename(well_trained / "other.npz")
    found = well_trained.run("reach", "--json", env={"CHARRNN_MODEL": "other.npz"}).json
    assert found["model"] == "other.npz"


@pytest.mark.parametrize("columns", [20, 40, 120])
def test_any_terminal_shows_it(well_trained: Program, columns: int) -> None:
    status, seen = well_trained.terminal("reach", columns=columns, env={"NO_COLOR": "1"})
    assert status == 0
    assert "steps back" in seen
    assert max(map(len, seen.splitlines())) <= max(columns, 38)


@pytest.mark.parametrize(
    ("cosine", "horizon", "said"),
    [
        ({1: 0.5, 2: 0.9, 4: 0.995, 8: 1.0}, 2, "try --bptt 8: 4 steps give"),
        ({1: 0.5, 2: 0.9, 4: 0.995, 8: 1.0}, 8, "--bptt 8 is long enough"),
        ({1: 0.995, 2: 1.0, 4: 1.0, 8: 1.0}, 64, "--bptt 2 is enough: 1 step gives"),
    ],
)
def test_advice_follows_the_cosine(cosine: dict[int, float], horizon: int, said: str) -> None:
    assert advice(Reach([1.0, 0.5, 0.2], [3, 3, 3], cosine, 0.9), horizon).startswith(said)


def test_where_gradients_grow_no_horizon_is_advised() -> None:
    norms = [1.1**k for k in range(201)]
    found = Reach(norms, [9] * 201, {1: 0.1, 200: 1.0}, 1.2)
    assert advice(found, 64).startswith("gradients do not shrink on their way back")


def test_a_large_radius_beside_a_decay_is_explained(program: Program) -> None:
    start = ("--lr", "1e-9", "--epochs", "1", "--clip", "0", "--dropconnect", "0")
    found = {}
    for radius in ("1.1", "20"):
        line = ("train", "dinosaurs", "--hidden", "64", "--init-radius", radius, *start, "-q")
        program.run(*line, "--force").says()
        found[radius] = program.run("reach", "--json").json
        assert found[radius]["spectral_radius"] == pytest.approx(float(radius), rel=1e-4)
    assert found["1.1"]["decay_per_step"] < 1 < found["20"]["decay_per_step"]
    assert found["20"]["mean_slope"] < found["1.1"]["mean_slope"] < 1
    assert "why" not in program.run("reach").out
    saturated = Reach([1.0, 0.5, 0.2], [3, 3, 3], {1: 1.0}, 5.94, 0.214)
    assert "1 - h^2 multiplies W" in why(saturated)
    assert "only 0.21 on average" in why(saturated)
    assert why(replace(saturated, spectral_radius=0.9)) == ""
    assert why(replace(saturated, mean_slope=None)) == ""
    assert why(replace(saturated, norms=[1.0, 2.0, 4.0])) == ""


def test_a_dash_is_standard_input_and_else_what_was_held_out(well_trained: Program) -> None:
    names = (well_trained / "names.txt").read_bytes()
    named = well_trained.run("reach", "names.txt", "--json").json
    assert well_trained.run("reach", "-", "--json", stdin=names).json == named
    held_out = well_trained.run("reach", "--json").json
    ran = well_trained.run("reach", "--json", "--held-out", stdin=names)
    assert ran.json == held_out

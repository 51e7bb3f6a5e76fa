"""Vectors of texts, against steps of the network; ``charrnn embed``, as JSON or as an array."""

import numpy as np

import charrnn
from charrnn.prediction.embed import embed
from tests.networks import babbler
from tests.program import Program


def test_an_array_holds_a_row_for_each_example(well_trained: Program) -> None:
    well_trained.run("embed", "names.txt", "-o", "names.npy").says()
    names = (well_trained / "names.txt").read_text().split()
    array = np.load("names.npy")
    assert (array.shape, array.dtype) == ((64, 16), np.float32)
    np.testing.assert_array_equal(array, charrnn.load("model.npz").embed(names))


def test_fault_60_examples_are_cut_as_they_are_typed(well_trained: Program) -> None:
    text = "anna\n\nbob\nclara\n" + "\n\ndora\nemil\n" * 9
    well_trained.write("text.txt", text)
    for kind, count, last in (("lines", 21, "emil"), ("paragraphs", 11, "dora\nemil")):
        rows = well_trained.run("embed", "text.txt", "--examples", kind).rows
        assert (len(rows), rows[-1]["text"]) == (count, last)
    (row,) = well_trained.run("embed", "text.txt", "--examples", "files").rows
    assert row["text"] == text
    np.testing.assert_array_equal(row["vector"], charrnn.load("model.npz").embed(text)[0])


def test_without_a_text_it_is_what_was_held_out(well_trained: Program) -> None:
    scored = well_trained.run("eval", "--per-example", "--json")
    ran = well_trained.run("embed")
    assert [row["text"] for row in ran.rows] == [row["text"] for row in scored.rows]
    what, hint = "--examples needs TEXT", "as in training"
    well_trained.refuses("embed", "--examples", "files", what=what, hint=hint, status=2)


def test_python_gives_an_empty_array_for_no_text_and_a_row_for_the_empty_one() -> None:
    model = charrnn.fit(["anna", "bob"], charrnn.TrainConfig(hidden=3, layers=1, epochs=1))
    assert model.embed([]).shape == (0, 3)
    assert model.embed([""]).shape == (1, 3)
    assert model.embed("anna").shape == (1, 3)


def test_what_it_reads_or_was_learned_from_is_never_replaced(program: Program) -> None:
    program.write("names.npy", (program / "names.txt").read_bytes())
    program.train("names.npy", "-m", "model.npy").says()
    below = program / "below"
    below.mkdir()
    program.write("below/text.npy", "anna\n")
    for name in ("../model.npy", "../names.npy", "text.npy"):
        line = ("embed", "text.npy", "-m", "../model.npy", "-o", name, "--force")
        what = f"--output would overwrite {name}"
        program.refuses(*line, what=what, hint="Name another file.", status=2, cwd=below)


def test_more_texts_than_there_are_lanes() -> None:
    model, kinds = babbler(), ["abc"[: i % 4] * (i % 5) for i in range(20)]
    whole = embed(model, kinds * 60)
    np.testing.assert_allclose(whole, np.tile(embed(model, kinds), (60, 1)), atol=1e-7)

"""``charrnn fill``: what is missing, on the screen, in a pipe, for programs, and many at once."""

import subprocess

import charrnn
from tests.networks import END, independent, saved
from tests.program import Program


def test_it_says_how_much_was_not_tried_and_where_nothing_is_missing(program: Program) -> None:
    odds = {END: 0.1, "a": 0.85, "b": 0.02, "c": 0.02, "d": 0.01}
    saved(independent(odds), program / "model.npz")
    left_out = charrnn.load("model.npz").fill("______", beam=100).left_out
    assert left_out > 1e-6
    note = f"not tried: fillings with at most {100 * left_out:.3g}% of the probability (--beam)\n"
    assert program.run("fill", "______", "--beam", "100").err == note
    even = {END: 0.1, **dict.fromkeys("abcdefghi", 0.1)}
    saved(independent(even), program / "even.npz")
    assert "at most 100% of" in program.run("fill", "_______", "--beam", "1", "-m", "even.npz").err
    for text in ("a_", "___"):
        assert program.run("fill", text).err == ""
    nothing = program.run("fill", "abc")
    assert (nothing.out, nothing.err) == ("1       abc\n", "there is no _ or * to fill in: abc\n")


def test_a_text_a_line_from_standard_input(well_trained: Program) -> None:
    well_trained.run("fill", "-", stdin=b"\xff_").says("\ufffd (U+FFFD)")  # not UTF-8
    ran = well_trained.run("fill", "-", "--json", "-n", "2", stdin="an_a\r\n\nЖ_".encode())
    assert [row["text"] for row in ran.rows] == ["an_a", "", "Ж_"]
    assert ran.rows[1]["fillings"] == [{"text": "", "probability": 1.0}]
    assert ran.err == "not in the vocabulary, read as unknown: Ж (U+0416)\n"


def test_each_line_is_answered_as_soon_as_it_is_there(well_trained: Program) -> None:
    with well_trained.going("fill", "-", "--json", "-q", stdin=subprocess.PIPE) as child:
        for count, text in enumerate(["an_a", "b_b"], 1):
            child.type(f"{text}\n".encode())
            child.until(lambda count=count: child.out.count("\n") == count)  # type: ignore[misc]

"""``charrnn fill``: what is missing, on the screen, in a pipe, for programs, and many at once."""

from __future__ import annotations

import subprocess

import charrnn
from tests.program import Program
from tests.speaking import END, independent, saved, speller


def test_json_has_the_keys_that_scripts_rely_on(well_trained: Program) -> None:
    found = well_trained.run("fill", "an_a", "--json").json
    assert list(found) == ["schema", "text", "fillings", "method", "left_out"]
    assert (found["schema"], found["text"], found["method"]) == ("charrnn.fill/1", "an_a", "exact")
    assert [list(one) for one in found["fillings"]] == [["text", "probability"]] * 5
    expected = charrnn.load("model.npz").fill("an_a")
    assert [one["text"] for one in found["fillings"]] == [one.text for one in expected.fillings]


def test_the_likeliest_filling_is_the_first_line(program: Program) -> None:
    saved(speller("word"), program / "model.npz")
    ran = program.run("fill", "w_r*", "-n", "1")
    assert (ran.status, ran.err) == (0, "")
    assert ran.lines == ["1       word"]


def test_it_says_how_much_was_not_tried_and_where_nothing_is_missing(program: Program) -> None:
    odds = {END: 0.1, "a": 0.85, "b": 0.02, "c": 0.02, "d": 0.01}
    saved(independent(odds), program / "model.npz")
    left_out = charrnn.load("model.npz").fill("______").left_out
    assert left_out is not None
    assert 1e-6 < left_out < 1e-3
    note = f"not tried: fillings with at most {100 * left_out:.2g}% of the probability\n"
    assert program.run("fill", "______").err == note
    for text in ("a_", "_______"):  # of the second, less than a millionth
        assert program.run("fill", text).err == ""
    nothing = program.run("fill", "abc")
    assert (nothing.out, nothing.err) == ("1       abc\n", "there is no _ or * to fill in: abc\n")


def test_a_text_a_line_from_standard_input(well_trained: Program) -> None:
    ran = well_trained.run("fill", "-", "--json", "-n", "2", stdin="an_a\r\n\nЖ_".encode())
    assert [row["text"] for row in ran.rows] == ["an_a", "", "Ж_"]
    assert ran.rows[1]["fillings"] == [{"text": "", "probability": 1.0}]
    assert ran.err == "not in the vocabulary, read as unknown: Ж (U+0416)\n"


def test_standard_input_is_read_as_in_training_or_as_it_is_told(program: Program) -> None:
    program.write("latin.txt", "Anné\nRené\nÂnne\n".encode("cp1252") * 9)
    assert program.train("latin.txt", "--encoding", "cp1252").status == 0

    def read(encoding: str, *options: str) -> str:
        text: str = program.run(
            "fill", "-", "--json", *options, stdin="Ann_é".encode(encoding)
        ).json["text"]
        return text

    assert read("cp1252") == "Ann_é"
    assert read("utf-8", "--encoding", "utf-8") == "Ann_é"


def test_options_of_reading_are_for_what_is_read(trained: Program) -> None:
    def text(typed: str, *options: str) -> str:
        found: str = trained.run("fill", typed, "--json", *options).json["text"]
        return found

    assert text("e\u0301_") == "e\u0301_"
    assert text("e\u0301_", "--normalize", "NFC") == "\xe9_"
    assert text("a\r\n_", "--newlines", "keep") == "a\r\n_"
    ran = trained.run("fill", "-", "--errors", "skip", "--json", stdin=b"\xff_\nan_a\n")
    assert [row["text"] for row in ran.rows] == ["an_a"]


def test_each_line_is_answered_as_soon_as_it_is_there(well_trained: Program) -> None:
    with well_trained.going("fill", "-", "--json", "-q", stdin=subprocess.PIPE) as child:
        assert child.process.stdin is not None
        for count, text in enumerate(["an_a", "b_b"], 1):
            child.process.stdin.write(f"{text}\n".encode())
            child.process.stdin.flush()
            child.until(lambda count=count: child.out.count("\n") == count)  # type: ignore[misc]
        child.process.stdin.close()
        assert child.end().status == 0


def test_particles_are_told_and_repeat_with_their_seed(well_trained: Program) -> None:
    line = ("fill", "*a*b*c*", "--max-gap", "12", "--seed", "1", "--particles", "40")
    ran = well_trained.run(*line)
    ran.says("too many fillings to try all: estimated with 40 texts")
    assert well_trained.run(*line).out == ran.out
    found = well_trained.run(*line, "--json").json
    assert (found["method"], found["left_out"]) == ("particles", None)


def test_a_terminal_is_not_steered(well_trained: Program) -> None:
    status, seen = well_trained.terminal("fill", "a\x1b[2J_", env={"NO_COLOR": "1"})
    assert status == 0
    assert "\x1b" not in seen
    assert "a\\x1b[2J" in seen

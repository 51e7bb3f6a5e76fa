"""``charrnn fill`` with many texts. What it shows of one is in ``screens.txt``."""

from tests.program import Program


def test_a_text_a_line_from_standard_input(well_trained: Program) -> None:
    well_trained.run("fill", "-", stdin=b"\xff_").says("\ufffd (U+FFFD)")  # not UTF-8
    ran = well_trained.run("fill", "-", "--json", "-n", "2", stdin="an_a\r\n\nЖ_".encode())
    assert [row["text"] for row in ran.rows] == ["an_a", "", "Ж_"]
    assert ran.rows[1]["fillings"] == [{"text": "", "probability": 1.0}]
    assert ran.err == "not in the vocabulary, read as unknown: Ж (U+0416)\n"

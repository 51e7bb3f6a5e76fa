"""What fillings leave out, and what cannot be filled in; see ``test_plainly``."""

from typing import Any

import pytest

from charrnn.errors import SettingError
from charrnn.model import load
from charrnn.network.parameters import LanguageModel
from charrnn.prediction.filling import FillConfig, Filled, fill
from charrnn.prediction.predictor import Predictor
from tests.networks import END, babbler, drawing_lengths, independent
from tests.program import Program


def filled(model: LanguageModel, text: str, **how: Any) -> Filled:
    return fill(Predictor([model]), text, FillConfig(**{"count": 4000, "max_gap": 3} | how))


def test_what_is_dropped_is_all_but_the_likeliest() -> None:
    odds = {chr(0x100 + i): 0.7 / 70 * (1 + i % 7 / 10 - 0.3) for i in range(70)}
    model = independent({END: 0.3, **odds})
    dropped = sum(sorted(odds.values())[:6])
    tried = (0.7 - dropped) * 0.3 * (1 - model.vocabulary.novelty)
    expected = dropped / (tried + dropped)
    assert filled(model, "_", beam=64).left_out == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("beam", [64, 128])
def test_a_narrow_beam_says_how_much_it_left_out(beam: int) -> None:
    model = babbler("abcdefgh", hidden=6)
    whole, narrow = (filled(model, "____", beam=size) for size in (4096, beam))
    assert 0 < narrow.left_out < 1
    tried = {one.text for one in narrow.fillings}
    missed = sum(one.probability for one in whole.fillings if one.text not in tried)
    assert missed <= narrow.left_out + 1e-12


def test_counts_and_several_networks_fill_in_and_lengths_do_not() -> None:
    model = independent({"a": 0.5, "b": 0.2, END: 0.3})
    both = fill(Predictor([model, model]), "_", FillConfig())
    assert [one.text for one in both.fillings] == ["a", "b"]
    assert "Tyrannosaurus" in [one.text for one in load("dinosaurs").fill("Tyr_nnosa_rus").fillings]
    with pytest.raises(SettingError, match="length"):
        filled(drawing_lengths(), "a_")


def test_the_command_reads_a_text_a_line_from_standard_input(well_trained: Program) -> None:
    well_trained.run("fill", "-", stdin=b"\xff_").says("\ufffd (U+FFFD)")  # not UTF-8
    ran = well_trained.run("fill", "-", "--json", "-n", "2", stdin="an_a\r\n\nЖ_".encode())
    assert [row["text"] for row in ran.rows] == ["an_a", "", "Ж_"]
    assert ran.rows[1]["fillings"] == [{"text": "", "probability": 1.0}]
    assert ran.err == "not in the vocabulary, read as unknown: Ж (U+0416)\n"

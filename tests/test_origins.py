"""Where an example begins is known however the text arrives."""

from __future__ import annotations

import numpy as np
import pytest

from charrnn.corpus.segmentation import cut
from charrnn.scoring.pieces import Origins
from charrnn.settings.corpus import Cut

TEXT = "\n \nanna\nbob\n\n\nclara\n \u3000\ndora\nemil"
LINES: dict[tuple[Cut, bool], list[int]] = {
    ("lines", False): [3, 4, 7, 9, 10],
    ("lines", True): [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    ("paragraphs", False): [3, 7, 9],
    ("files", False): [1],
}


@pytest.mark.parametrize("block", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("how", LINES)
def test_an_example_begins_on_its_line(how: tuple[Cut, bool], block: int) -> None:
    origins = Origins("rows", "workers")
    for _ in range(2):  # files, one like the other
        texts = (TEXT[at : at + block] for at in range(0, len(TEXT), block))
        list(cut(texts, *how, lines=origins.of_next_file()))
    expected = LINES[how]
    files, lines = zip(*(origins.take("rows", 1) for _ in range(2 * len(expected))), strict=True)
    assert np.concatenate(lines).tolist() == expected * 2
    assert origins.take("workers", 2 * len(expected))[1].tolist() == expected * 2
    assert np.concatenate(files).tolist() == [0] * len(expected) + [1] * len(expected)


def test_a_blank_file_has_no_example() -> None:
    origins = Origins("rows")
    for text in ("\n \n", "anna"):
        list(cut([text], "files", lines=origins.of_next_file()))
    assert [numbers.tolist() for numbers in origins.take("rows", 1)] == [[1], [1]]


def test_what_is_of_no_file_is_counted() -> None:
    counted = Origins("rows")
    assert [counted.take("rows", n)[1].tolist() for n in (2, 1)] == [[1, 2], [3]]

"""The tables of the guide say what the program does, and the commands of its figures exist."""

from __future__ import annotations

import re

import pytest

from tests.benchmarks.__main__ import LONG, SECTIONS
from tests.pages import GUIDE

MEASURED = ("expect", "benchmarks", "first-names")  # pages with figures


def rows(page: str, first: str) -> list[dict[str, str]]:
    """Return the rows of the table whose first column has this title."""
    text = (GUIDE / f"{page}.md").read_text("utf-8")
    table = text[text.index(f"| {first} |") :].partition("\n\n")[0]
    head, _, *body = [re.findall(r"(?<=\| ).*?(?= \|)", line) for line in table.splitlines()]
    return [dict(zip(head, line, strict=True)) for line in body]


@pytest.mark.parametrize("page", MEASURED)
def test_every_measurement_that_a_page_names_can_be_started(page: str) -> None:
    text = re.sub("<!--.*?-->", "", (GUIDE / f"{page}.md").read_text("utf-8"))
    named = re.findall(r"-m\s+tests\.benchmarks((?:\s+[a-z]+\b)*)", text)
    assert named
    for words in named:
        sections = words.partition("learning")[0].split()  # what follows it is for train
        assert set(sections) <= {*SECTIONS, *LONG}, words


def test_the_losses_of_the_readme_are_among_those_of_the_guide() -> None:
    measured = rows("benchmarks", "corpus")
    assert all(row in measured for row in rows("../../README", "corpus"))

"""The measurements that the guide names exist."""

from __future__ import annotations

import re

import pytest

from tests.benchmarks.__main__ import SECTIONS
from tests.pages import GUIDE

MEASURED = ("expect", "benchmarks")  # pages with figures


@pytest.mark.parametrize("page", MEASURED)
def test_every_measurement_that_a_page_names_can_be_started(page: str) -> None:
    text = re.sub("<!--.*?-->", "", (GUIDE / f"{page}.md").read_text("utf-8"))
    named = re.findall(r"-m\s+tests\.benchmarks((?:\s+[a-z]+\b)*)", text)
    assert named
    for words in named:
        sections = words.partition("learning")[0].split()  # what follows it is for train
        assert set(sections) <= {*SECTIONS}, words

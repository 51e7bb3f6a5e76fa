"""Each section of the benchmarks can be imported, and is named in the help and in the guide."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import results
from tests.benchmarks.seconds import split_of
from tests.pages import GUIDE


@pytest.mark.parametrize("name", benchmarks.SECTIONS)
def test_a_section_is_in_the_help(name: str) -> None:
    assert name in benchmarks.parser().format_help()
    assert import_module(f"tests.benchmarks.{name}").report


def test_both_programs_learn_the_same_examples() -> None:
    parts = split_of("dinosaurs")
    assert len(parts["held_out"]) > 100
    assert not {*parts["held_out"]} & {*parts["learn"]}
    assert all(text.isalpha() for text in parts["learn"])


RESULTS = (GUIDE / "results.md").read_text("utf-8")


def test_each_table_of_the_page_is_made_by_the_command() -> None:
    source = Path(results.__file__).read_text("utf-8")
    tables = re.findall("<!-- table (.*) -->", RESULTS)
    assert len(tables) >= 4
    for name in tables:
        assert f'"{name}": ' in source
        changed = results.with_table(RESULTS, name, "| new |\n")
        assert f"<!-- table {name} -->\n| new |\n\n" in changed
        assert abs(len(changed) - len(RESULTS)) < 1000

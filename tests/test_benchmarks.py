"""Each section of the benchmarks can be imported, and is named in the help and in the guide."""

from importlib import import_module

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.seconds import split_of


@pytest.mark.parametrize("name", benchmarks.SECTIONS)
def test_a_section_is_in_the_help(name: str) -> None:
    assert name in benchmarks.parser().format_help()
    assert import_module(f"tests.benchmarks.{name}").report


def test_both_programs_learn_the_same_examples() -> None:
    parts = split_of("dinosaurs")
    assert len(parts["held_out"]) > 100
    assert not {*parts["held_out"]} & {*parts["learn"]}
    assert all(text.isalpha() for text in parts["learn"])

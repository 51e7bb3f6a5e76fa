"""Docstrings name every parameter, its range and default; pages made from code are up to date."""

from __future__ import annotations

import re
from inspect import Parameter, getdoc, signature
from typing import Any

import pytest

import charrnn
from charrnn.export import ExportOptions
from charrnn.settings.fields import settings_of, value_in_words
from charrnn.settings.sampling import FillConfig
from tests.child import answer
from tests.make_pages import is_function, options_page, public, python_page
from tests.pages import GUIDE

TAKES = {  # the settings that a docstring lists
    charrnn.TrainConfig: charrnn.TrainConfig,
    charrnn.SampleConfig: charrnn.SampleConfig,
    charrnn.Model.sample: charrnn.SampleConfig,
    charrnn.Model.stream: charrnn.SampleConfig,
    charrnn.Model.fill: FillConfig,
    charrnn.Model.export: ExportOptions,
}
FUNCTIONS = [
    what
    for name in charrnn.__all__
    for _, what in [(name, getattr(charrnn, name)), *public(getattr(charrnn, name))]
    if is_function(what) and what.__name__ != "hint_with"
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__qualname__)
def test_a_docstring_names_every_parameter(function: Any) -> None:
    doc = getdoc(function) or ""
    assert doc.strip()
    for one in signature(function).parameters.values():
        is_listed = re.search(rf"^{one.name}: ", doc, re.MULTILINE)
        assert is_listed or one.name == "self" or one.kind is Parameter.VAR_KEYWORD, one.name
        if is_listed and type(one.default) in (bool, int, float):
            about = re.split(r"\n(?! )", doc[is_listed.end() :])[0]
            assert re.search(rf"default:\s+{one.default}", about), one.name


@pytest.mark.parametrize(("what", "config"), TAKES.items(), ids=lambda one: one.__qualname__)
def test_a_docstring_tells_range_and_default_of_every_setting(what: Any, config: type) -> None:
    doc = re.sub(r"\s+", " ", getdoc(what) or "")
    for name, setting in settings_of(config).items():
        _, _, about = doc.partition(f" {name}: {setting.about} ")
        allowed = f"{setting.values.allowed[:1].upper()}{setting.values.allowed[1:]}"
        default = f"; default: {value_in_words(setting.default)}."
        if setting.default is None:
            default = f", or None: {setting.default_in_words}."
        assert about.startswith(allowed + default), name


def test_docstrings_are_completed_once_and_only_for_who_asks() -> None:
    command = "from charrnn.model import Model; print('top_k' in Model.sample.__doc__)"
    assert answer(command) == "False\n"
    again = "import charrnn; charrnn.Model; print(charrnn.Model.sample.__doc__.count('top_k:'))"
    assert answer(again) == "1\n"


def test_pages_from_the_code_are_up_to_date() -> None:
    hint = "python -m tests.make_pages"
    assert (GUIDE / "options.md").read_text("utf-8") == options_page(), hint
    page = (GUIDE / "python.md").read_text("utf-8")
    assert page == python_page(page), hint
    for name in charrnn.__all__:
        assert f"\n### charrnn.{name}\n" in page

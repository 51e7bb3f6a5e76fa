"""The README is one page, and names only what exists; its commands run in test_guide."""

import re
import sys
import tomllib
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pytest

from charrnn.cli.guide import TOPICS
from tests.child import HOME
from tests.pages import GUIDE, PAGES

README = (HOME / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]


def test_every_file_that_it_names_is_there() -> None:
    named = re.findall(r"`((?:charrnn|data|tests|\.ci)/[\w/.-]+)`", README)
    assert named
    for name in named:
        assert (HOME / name).exists(), name


def test_every_page_of_the_guide_is_linked() -> None:
    for topic in TOPICS:
        assert f"`]({GUIDE.relative_to(HOME)}/{topic}.md)" in README, topic


def test_the_first_examples_are_those_of_a_release() -> None:
    lines = re.findall(r"^\$ (charrnn .*)$", README, re.MULTILINE)
    assert [line.split()[1] for line in lines[:3]] == ["sample", "train", "sample"]


def test_a_release_shows_no_links_into_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    interface = "hatchling.metadata.plugin.interface"  # only there where a release is built
    monkeypatch.setitem(sys.modules, interface, SimpleNamespace(MetadataHookInterface=object))
    metadata: dict[str, Any] = {}
    hook = run_path(str(HOME / "tests" / "description.py"))["Description"]
    hook.update(SimpleNamespace(root=str(HOME)), metadata)
    shown = metadata["readme"]["text"]
    links = re.findall(r"\]\((.*?)\)", shown)
    assert all(link.startswith("https://") for link in links)
    assert "](LICENSE)" in README
    assert "![" in README
    assert "![" not in shown


def test_extras_are_named_as_they_are() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    extras = re.findall(r"pip install (?:-e )?'\.\[([\w,]+)\]'", text)
    assert {"plot", "test"} <= set(extras)
    for extra in ",".join(extras).split(","):
        assert extra in PROJECT["optional-dependencies"]

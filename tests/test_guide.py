"""``charrnn guide``, and the pages themselves: their commands run, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from charrnn.cli.app import COMMANDS
from charrnn.cli.guide import topics
from tests.pages import GUIDE, PAGES, commands_of, matches, run_page
from tests.program import Program


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs(
    page: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program / "names.txt").unlink()  # the folder is empty
    run_page(page, program, monkeypatch)


def test_the_index_names_every_page() -> None:
    assert sorted(topics()) == sorted(page.stem for page in GUIDE.glob("[a-z]*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_pages(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        if not link.startswith(("https://", "#")):
            assert (page.parent / link.partition("#")[0]).exists(), link


@pytest.mark.parametrize("page", sorted(GUIDE.glob("[a-z]*.md")), ids=lambda page: page.stem)
def test_a_page_is_neither_a_note_nor_a_book(page: Path) -> None:
    if page.stem != "options":  # made from the settings
        assert 600 <= len(page.read_text("utf-8").split()) <= 1800


def test_every_command_has_its_topic_and_is_shown() -> None:
    shown = "\n".join(command for page in PAGES for command in commands_of(page))
    for name, entry in COMMANDS.items():
        assert re.search(rf"charrnn {name}\b", shown), name
        assert entry.topic in topics() or name == "guide"


def test_dots_stand_for_any_lines() -> None:
    assert matches("a\n...\nd", "a\nb\nc\nd")
    assert matches("a\n...", "a\nb")
    assert matches("...\nb", "a\nb")
    assert not matches("a\n...\nd", "a\nb\n")
    assert not matches("a", "a\nb")


def test_without_a_topic_the_list_is_shown(program: Program) -> None:
    done = program.run("guide")
    assert done.out == (GUIDE / "README.md").read_text("utf-8")
    for topic in topics():
        assert f"- [{topic}]" in done.out


def test_a_topic_is_a_page_or_a_part_of_a_heading(program: Program) -> None:
    page = (GUIDE / "sampling.md").read_text("utf-8")
    assert program.run("guide", "sampling").out == page
    assert program.run("guide", "SAMPLING", "--raw").out == page
    heading = re.findall(r"^## (.+)$", page, re.MULTILINE)[0]
    part = program.run("guide", heading).out
    assert part.startswith(f"## {heading}\n")
    assert part in page + "\n"
    assert part.count("\n## ") == 0


def test_a_word_of_several_headings_lists_them(program: Program) -> None:
    listed = program.run("guide", "a").out
    assert re.match(r"\d+ headings contain 'a':\n\n- ", listed)


def test_an_unknown_topic_is_refused_with_the_nearest(program: Program) -> None:
    program.refuses(
        "guide", "samplng", what="the guide has no topic 'samplng'", hint="sampling", status=2
    )


def test_a_word_is_searched_in_all_pages(program: Program) -> None:
    found = program.run("guide", "--search", "Temperature").out
    assert "**sampling**" in found
    assert all(
        "temperature" in line.lower() for line in found.splitlines() if line.startswith("    ")
    )
    program.refuses("guide", "--search", "qqqq", what="does not contain 'qqqq'", hint="", status=2)

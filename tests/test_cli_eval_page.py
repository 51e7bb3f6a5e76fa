"""``charrnn eval --html``: a page is written whole, and never over what somebody needs."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from charrnn.cli.console import READER_LEFT
from charrnn.model_file import checkpoint
from charrnn.scoring.heat_map import BEGINNING, GENERATOR, is_page
from tests.child import PATIENCE
from tests.evaluating import scored, write
from tests.program import Program

OLD = BEGINNING + GENERATOR + "old"
NOT_OURS = "novel.txt already exists, and charrnn has not written it"

HINT = "Name another file with --html, or replace it with --force."


def test_what_is_no_page_of_ours_is_replaced_by_force_alone(well_trained: Program) -> None:
    write("It was a dark and stormy night.\n", "novel.txt")
    line = ("eval", "names.txt", "--html", "novel.txt")
    well_trained.refuses(*line, what=NOT_OURS, hint=HINT)
    assert well_trained.run(*line, "--force").status == 0
    assert is_page(Path("novel.txt").read_bytes())
    assert well_trained.run(*line).status == 0  # by now it is one


def test_an_empty_file_is_no_loss(well_trained: Program) -> None:
    write("", "page.html")
    assert well_trained.run("eval", "names.txt", "--html", "page.html").status == 0


def test_pages_of_the_first_versions_are_known(well_trained: Program) -> None:
    assert well_trained.run("eval", "names.txt", "--html", "page.html").status == 0
    content = Path("page.html").read_text("utf-8")
    assert GENERATOR in content
    first = content.replace(GENERATOR, "")
    assert is_page(first.encode()[: 1 << 16])
    assert not is_page(b"<!doctype html>\n<html><head><title>mine</title>")


def test_a_page_is_written_whole(well_trained: Program) -> None:
    ran = well_trained.run("eval", write("anna <b>\nbob\n"), "--html", "page.html")
    assert ran.status == 0
    assert "per character" in ran.out
    assert "coloured text saved to page.html" in ran.err
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "<b>" not in page
    assert "<title>text.txt</title>" in page
    found = scored(well_trained, "text.txt")
    assert f"<dd>{found['bits_per_character']:.3f}</dd>" in page
    assert scored(well_trained, "text.txt", "--html", "again.html")["nats"] == found["nats"]


def test_a_page_that_fails_leaves_what_was_there(well_trained: Program) -> None:
    Path("page.html").write_text(OLD)
    Path("text.txt").write_bytes(b"anna\n" * 40_000 + b"\xff\n")
    assert well_trained.run("eval", "text.txt", "--html", "page.html").status == 1
    assert Path("page.html").read_text() == OLD
    assert not list(Path().glob(".page*"))


def test_a_reader_who_leaves_ends_a_page_quietly_too(well_trained: Program) -> None:
    write("anna\n" * 40_000)
    Path("page.html").write_text(OLD)
    line = ("eval", "text.txt", "--per-char", "--html", "page.html")
    with well_trained.going(*line, stdout=subprocess.PIPE) as child:
        assert child.process.stdout is not None
        assert child.process.stdout.readline().startswith(b"a\t")
        child.process.stdout.close()
        assert child.process.wait(PATIENCE) == READER_LEFT
        assert child.err == ""
    assert Path("page.html").read_text() == OLD
    assert not list(Path().glob(".page*"))


def test_a_page_never_takes_the_place_of_a_reference(well_trained: Program) -> None:
    line = ("eval", "names.txt", "--quantile", "0.9", "--reference", write("anna\n"))
    ran = well_trained.run(*line, "--html", "text.txt", "--force")
    assert (ran.status, "--html would overwrite text.txt" in ran.err) == (2, True)


@pytest.mark.parametrize("args", [(), ("text.txt",), ("text.txt", "--baselines")])
@pytest.mark.parametrize("how", ["plainly", "linked", "hard linked"])
def test_a_page_never_takes_the_place_of_the_corpus(
    well_trained: Program, args: tuple[str, ...], how: str
) -> None:
    write("anna\n")
    corpus = page = Path("names.txt")
    before = corpus.read_bytes()
    if how != "plainly":
        page = Path("page.html")
        page.hardlink_to(corpus) if how == "hard linked" else page.symlink_to(corpus)
    ran = well_trained.run("eval", *args, "--html", page)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"charrnn: error: --html would overwrite {page}\nName another file.\n"
    assert corpus.read_bytes() == before


def learned_from(model: str, *sources: str, valid: tuple[str, ...] = ()) -> None:
    """Write a model that says so."""
    run = checkpoint.load("model.npz")
    run.corpus = replace(run.corpus, sources=sources, valid=valid, places=())
    checkpoint.save(model, run)


def test_nor_of_a_text_to_validate_with_or_a_corpus_that_came_along(well_trained: Program) -> None:
    write("anna\n")
    write("bob\n", "valid.txt")
    learned_from("other.npz", "names.txt", "verses", valid=("text.txt", "valid.txt"))
    for page in ("valid.txt", "verses"):
        ran = well_trained.run("eval", "names.txt", "-m", "other.npz", "--html", page)
        assert ran.status == 2
        assert f"--html would overwrite {page}" in ran.err
    assert Path("valid.txt").read_text() == "bob\n"
    assert not Path("verses").exists()


def test_nor_of_a_text_that_is_standard_input(well_trained: Program) -> None:
    write("anna\n")
    with open("text.txt", "rb") as typed:
        ran = well_trained.run("eval", "-", "--html", "text.txt", child=True, stdin=typed)
    assert ran.status == 2
    assert "--html would overwrite text.txt" in ran.err
    assert Path("text.txt").read_text() == "anna\n"


def test_a_corpus_with_a_name_that_no_file_has_forbids_no_page(well_trained: Program) -> None:
    learned_from("other.npz", "-", "", "a\0b", "\ud800", "x" * 5000, "nowhere/at/all")
    for page in ("-", "page.html", "page.html"):
        ran = well_trained.run("eval", write("anna\n"), "-m", "other.npz", "--html", page)
        assert ran.status == 0, ran.err

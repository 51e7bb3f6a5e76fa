"""What was held out is found again, or it is said why not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from charrnn import texts
from charrnn.corpus import corpus
from charrnn.corpus.corpus import Corpus, from_texts
from charrnn.corpus.segmentation import text_of
from charrnn.errors import CorpusError
from charrnn.model_file import CorpusRecord, record_of
from charrnn.settings.corpus import CorpusConfig, Errors, Kind, Reading
from charrnn.vocabulary import UNKNOWN, Vocabulary

WORDS = [f"{'abcdefgh'[i % 8]}{'ijklmnop'[(3 * i + i // 8) % 8]}" for i in range(64)]


def facts(found: Corpus, config: CorpusConfig) -> CorpusRecord:
    return record_of(found, config, {})


def held_out(found: Corpus, known: CorpusRecord) -> str:
    again = texts.rebuild_corpus(known, found.vocabulary)
    return text_of(np.concatenate([*texts.held_out_codes(again, known)]))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("lines", "\n".join(WORDS)),
        ("paragraphs", "\n\n".join(f"{word}\n{word}" for word in WORDS)),
        ("files", "\n".join(WORDS)),
        ("auto", "\n".join(WORDS)),
    ],
)
@pytest.mark.parametrize("valid", [(), ("valid.txt",)])
@pytest.mark.parametrize("strange", ["", "Ж", "Ж𝒳"])
def test_what_was_held_out_is_found_again_character_by_character(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
    text: str,
    valid: tuple[str, ...],
    strange: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(text, "utf-8")
    Path("valid.txt").write_text("ai\nbj" + strange, "utf-8")
    plain = CorpusConfig(kind, 0.2)
    first = corpus.read_files(["text.txt"], plain, valid)
    if strange and not valid:  # put it where it will be held out, and only there
        shown = first.vocabulary.decode(first.held_out.nth(len(first.held_out) - 1))
        spot = shown.split("\n")[-1]
        Path("text.txt").write_text(text[::-1].replace(spot[::-1], strange, 1)[::-1], "utf-8")
    found = corpus.read_files(["text.txt"], plain, valid)
    known = facts(found, plain)
    assert (UNKNOWN in found.held_out.ids) == bool(strange)
    said = held_out(found, known)
    assert said.count("\n") >= len(found.held_out)
    ids = found.vocabulary.encode(said)
    newline = found.vocabulary.encode("\n")[0]
    expected = np.where(found.held_out.ids == 0, newline, found.held_out.ids)
    assert (ids == expected).all()
    assert all(character in said for character in strange)


def test_what_cannot_be_found_again_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, config = Path("names.txt"), CorpusConfig()
    path.write_text("\n".join(WORDS))
    found = corpus.read_files(["names.txt"], config)
    known = facts(found, config)
    path.write_text("\n".join([*WORDS, "zz"]))
    with pytest.raises(CorpusError, match=r"has changed since .* names\.txt"):
        texts.rebuild_corpus(known, found.vocabulary)
    path.write_text("")
    with pytest.raises(CorpusError, match=r"has changed: names\.txt is empty"):
        texts.rebuild_corpus(known, found.vocabulary)
    path.unlink()
    with pytest.raises(CorpusError, match=r"has moved: names\.txt is not there"):
        texts.rebuild_corpus(known, found.vocabulary)
    path.write_text("\n".join(WORDS))
    with pytest.raises(CorpusError, match="no longer split"):
        texts.rebuild_corpus(known, Vocabulary("abc"))


def test_some_corpora_cannot_be_read_again() -> None:
    config = CorpusConfig()
    found = from_texts(WORDS, config)
    with pytest.raises(CorpusError, match="from no file"):
        texts.rebuild_corpus(facts(found, config), found.vocabulary)
    known = CorpusRecord(**{**vars(facts(found, config)), "sources": ("-",)})
    with pytest.raises(CorpusError, match="standard input, which was not kept"):
        texts.rebuild_corpus(known, found.vocabulary)


def test_nothing_held_out_is_nothing_to_score(tmp_path: Path) -> None:
    path, config = tmp_path / "names.txt", CorpusConfig(holdout=0.0)
    path.write_text("\n".join(WORDS))
    found = corpus.read_files([str(path)], config)
    with pytest.raises(CorpusError, match="nothing was held out"):
        texts.held_out_codes(found, facts(found, config))


@pytest.mark.parametrize(
    ("kind", "text", "spelt"),
    [
        ("auto", "a\nb\n\nc\n", "a\nb\nc\n"),
        ("auto", "a\nb.\n\n" * 10, "a\nb.\n" * 10),
        ("auto", "a\nb\n", "a\nb\n"),
        ("lines", "a\n\nb", "a\nb\n"),
        ("files", "a\n\nb", "a\n\nb\n"),
    ],
)
def test_files_are_cut_as_they_stream_by(tmp_path: Path, kind: Kind, text: str, spelt: str) -> None:
    path = tmp_path / "text.txt"
    path.write_text(text)
    twice = [*texts.codes_in([str(path)] * 2, kind, Reading())]
    assert text_of(np.concatenate(twice)) == spelt * 2


@pytest.mark.parametrize("errors", ["strict", "skip"])
def test_how_wrong_bytes_were_read_is_kept_where_they_were_not_refused(
    tmp_path: Path, errors: Errors
) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("\n".join(WORDS).encode() + (b"\n\xff" if errors == "skip" else b""))
    config = CorpusConfig(reading=Reading(errors=errors))
    found = corpus.read_files([str(path)], config)
    known = facts(found, config)
    assert known.reading.errors == errors
    assert texts.rebuild_corpus(known, found.vocabulary).fingerprint == found.fingerprint


def test_a_corpus_whose_files_differ_is_cut_again_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, book, config = tmp_path / "names.txt", tmp_path / "book.txt", CorpusConfig()
    names.write_text("\n".join(WORDS))
    book.write_text("It rained,\nЖ.\n\n" * 30)
    files = [str(names), str(book)]
    found = corpus.read_files(files, config, [str(book), str(names)])
    known = facts(found, config)
    assert known.cuts == ("lines", "paragraphs", "paragraphs", "lines")
    monkeypatch.setattr("charrnn.corpus.segmentation.choose_cut", lambda head: "lines")
    assert held_out(found, known) == "It rained,\nЖ.\n" * 30 + "\n".join(WORDS) + "\n"


def test_a_model_that_says_paragraphs_keeps_them_whatever_would_be_found_today(
    tmp_path: Path,
) -> None:
    path = tmp_path / "names.txt"
    path.write_text("\n\n".join("\n".join(WORDS[at : at + 16]) for at in range(0, 64, 16)))
    assert corpus.read_files([str(path)]).examples_are == "lines"
    config = CorpusConfig("paragraphs")
    found = corpus.read_files([str(path)], config)
    known = facts(found, config)
    again = texts.rebuild_corpus(known, found.vocabulary)
    assert again.train.ids.tolist() == found.train.ids.tolist()
    assert again.examples_are == "paragraphs"

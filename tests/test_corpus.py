"""Files to what a network learns from: whole, in little memory, and told apart by a fingerprint."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus import corpus as builder
from charrnn.corpus import files as sources
from charrnn.corpus.corpus import Corpus, Examples, from_texts, read_files
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import CorpusConfig, Kind, Reading
from tests.child import answer

WHOLE = CorpusConfig(holdout=0)


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def spelled(corpus: Corpus, examples: Examples) -> list[str]:
    return [corpus.vocabulary.decode(examples.nth(i)) for i in range(len(examples))]


def config(kind: Kind, holdout: float = 0) -> CorpusConfig:
    return CorpusConfig(examples=kind, holdout=holdout)


@pytest.mark.parametrize(
    ("kind", "text", "are", "expected"),
    [
        ("lines", "ab\n\ncd\n", "lines", ["ab", "cd"]),
        ("paragraphs", "ab\ncd\n\nef\n", "paragraphs", ["ab\ncd", "ef"]),
        ("files", "ab\ncd\n", "files", ["ab\ncd\n"]),
        ("auto", "ab\ncd\n\nef\n", "lines", ["ab", "cd", "ef"]),
        ("auto", "ab,\ncd.\n\n" * 10, "paragraphs", ["ab,\ncd."] * 10),
        ("auto", "\nab\ncd\n\n", "lines", ["ab", "cd"]),
        ("auto", "ab", "lines", ["ab"]),
    ],
)
def test_examples_are_what_was_asked_for(
    tmp_path: Path, kind: Kind, text: str, are: str, expected: list[str]
) -> None:
    corpus = read_files([write(tmp_path / "text", text)], config(kind))
    assert corpus.examples_are == are
    assert spelled(corpus, corpus.train) == expected


@pytest.mark.parametrize("kind", ["lines", "paragraphs", "files", "auto"])
def test_the_end_of_a_file_ends_an_example(tmp_path: Path, kind: Kind) -> None:
    files = [write(tmp_path / name, name) for name in ("ab", "cd")]
    corpus = read_files(files, config(kind))
    assert spelled(corpus, corpus.train) == ["ab", "cd"]
    assert corpus.sources == tuple(files)


def test_each_file_is_cut_by_itself(tmp_path: Path) -> None:
    files = [write(tmp_path / "1", "a\nb"), write(tmp_path / "2", "c\nd.\n\n" * 10)]
    corpus = read_files(files, WHOLE)
    assert corpus.examples_are == "mixed"
    assert [each.are for each in corpus.cuts] == ["lines", "paragraphs"]
    assert spelled(corpus, corpus.train) == ["a", "b", *["c\nd."] * 10]


def test_a_file_without_a_line_does_not_make_a_corpus_mixed(tmp_path: Path) -> None:
    files = [write(tmp_path / "1", "c\nd.\n\n" * 10), write(tmp_path / "2", "\n")]
    assert read_files(files, WHOLE).examples_are == "paragraphs"


def test_where_files_differ_those_to_validate_with_may_differ_too(tmp_path: Path) -> None:
    files = [write(tmp_path / "1", "a\nb"), write(tmp_path / "2", "c\nd.\n\n" * 10)]
    corpus = read_files(files, valid=files)
    assert spelled(corpus, corpus.held_out) == spelled(corpus, corpus.train)
    assert [each.are for each in corpus.cuts] == ["lines", "paragraphs"] * 2


def test_what_was_decided_once_is_kept_to(tmp_path: Path) -> None:
    files = [write(tmp_path / "1", "a\nb"), write(tmp_path / "2", "c\nd.\n\n" * 10)]
    known = CorpusConfig("auto", 0, cuts=("paragraphs", "lines"))
    corpus = read_files(files, known)
    assert spelled(corpus, corpus.train) == ["a\nb", *["c", "d."] * 10]


def test_a_corpus_says_what_else_its_examples_could_have_been(tmp_path: Path) -> None:
    (cut,) = read_files([write(tmp_path / "text", "title\n\nab\n \ncd\nef\n")], WHOLE).cuts
    assert (cut.are, cut.lines, cut.blank_lines, cut.paragraphs) == ("lines", 4, 2, 3)


def test_the_vocabulary_is_that_of_the_training_part_alone(tmp_path: Path) -> None:
    corpus = read_files([write(tmp_path / "text", "a" * 9 + "z")], config("files", 0.1))
    assert corpus.vocabulary.characters == "a"
    assert spelled(corpus, corpus.held_out) == ["\ufffd"]


def test_files_to_validate_with_are_held_out_and_all_the_rest_trains(tmp_path: Path) -> None:
    text, valid = write(tmp_path / "text", "ab\ncd\nef\n"), write(tmp_path / "valid", "gh\nab\n")
    corpus = read_files([text], CorpusConfig(holdout=0.5), valid=[valid])
    assert spelled(corpus, corpus.train) == ["ab", "cd", "ef"]
    assert spelled(corpus, corpus.held_out) == ["\ufffd\ufffd", "ab"]
    assert corpus.valid == (valid,)
    assert corpus.fingerprint != read_files([text]).fingerprint


def test_what_validates_is_cut_like_what_trains(tmp_path: Path) -> None:
    text, valid = (
        write(tmp_path / "text", "ab\ncd\nef\n"),
        write(tmp_path / "valid", "ab\n\ncd\nef\n"),
    )
    assert len(read_files([text], valid=[valid]).held_out) == 3


@given(st.lists(st.text("abcdefgh", min_size=1), min_size=1), st.floats(0, 0.9))
def test_no_symbol_is_lost_between_training_and_held_out(texts: list[str], share: float) -> None:
    corpus = from_texts(texts, CorpusConfig(holdout=share))
    parts = corpus.train, corpus.held_out
    if len(texts) == 1:
        assert sum(part.characters for part in parts) == len(texts[0])
        return
    found = Counter(example for part in parts for example in spelled(corpus, part))
    known = corpus.vocabulary.characters
    expected = ("".join(c if c in known else "\ufffd" for c in text) for text in texts)
    assert found == Counter(expected)


@given(st.text("ab é日\n", min_size=1), st.integers(1, 9))
def test_the_corpus_does_not_depend_on_where_blocks_are_cut(
    tmp_path_factory: pytest.TempPathFactory, text: str, block: int
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "blocks", "x\n" + text)
    whole = read_files([path])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "BLOCK", block)
        patch.setattr(builder, "PIECE_BYTES", 16)
        pieces = read_files([path])
    for side in ("train", "held_out"):
        assert getattr(whole, side).ids.tolist() == getattr(pieces, side).ids.tolist()
        assert getattr(whole, side).starts.tolist() == getattr(pieces, side).starts.tolist()
    assert whole.vocabulary == pieces.vocabulary
    assert whole.cuts == pieces.cuts
    assert whole.fingerprint == pieces.fingerprint


def test_line_ends_of_any_system_give_the_same_corpus(tmp_path: Path) -> None:
    corpora = [
        read_files([write(tmp_path / "text", f"ab{end}cd{end}{end}é{end}")])
        for end in ("\n", "\r\n", "\r")
    ]
    assert len({corpus.vocabulary for corpus in corpora}) == 1
    assert len({corpus.fingerprint for corpus in corpora}) == 1
    assert len({corpus.train.ids.tobytes() for corpus in corpora}) == 1


def test_a_fingerprint_tells_texts_and_their_borders_apart(tmp_path: Path) -> None:
    def fingerprint(*texts: str) -> str:
        return read_files(
            [write(tmp_path / str(i), text) for i, text in enumerate(texts)]
        ).fingerprint

    assert fingerprint("ab", "c") == fingerprint("ab", "c")
    assert len({fingerprint("ab", "c"), fingerprint("a", "bc"), fingerprint("abc")}) == 3
    assert (
        len({from_texts(texts).fingerprint for texts in (["ab", "c"], ["a", "bc"], ["abc"])}) == 3
    )


@pytest.mark.parametrize(
    "content", [b"", b"\xef\xbb\xbf", b"\n\n", b" \n\t\r\n", b"\xef\xbb\xbf\n"]
)
@pytest.mark.parametrize("kind", ["lines", "paragraphs", "files", "auto"])
def test_a_corpus_without_a_visible_character_is_empty(
    tmp_path: Path, content: bytes, kind: Kind
) -> None:
    path = write(tmp_path / "text", content)
    with pytest.raises(CorpusError) as told:
        read_files([path], config(kind))
    assert told.value.what == f"{path} is empty"
    with pytest.raises(CorpusError, match="with 1 more, is empty"):
        read_files([path, path], config(kind))
    with pytest.raises(CorpusError, match="is empty"):
        read_files([write(tmp_path / "full", "a")], valid=[path])


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_texts_without_a_character_are_an_empty_corpus(texts: list[str]) -> None:
    with pytest.raises(CorpusError, match="the corpus is empty"):
        from_texts(texts)


def test_texts_from_python_are_an_example_each_whatever_is_in_them() -> None:
    texts = ["a\n\nb\n", "", "  ", "c" * 300_000]
    corpus = from_texts(texts, WHOLE)
    assert spelled(corpus, corpus.train) == texts
    assert corpus.examples_are == "texts"
    assert corpus.sources == ()


def test_a_single_string_is_one_source_or_one_text(tmp_path: Path) -> None:
    path = write(tmp_path / "text", "ab")
    assert read_files(path).sources == (path,)
    corpus = from_texts("ab", WHOLE)
    assert spelled(corpus, corpus.train) == ["ab"]


def test_half_a_surrogate_pair_is_unknown_and_never_a_character() -> None:
    corpus = from_texts(["a\ud800b", "\udfff"], WHOLE)
    assert corpus.vocabulary.characters == "ab"
    assert spelled(corpus, corpus.train) == ["a\ufffdb", "\ufffd"]


@pytest.mark.parametrize("text", ["a", "a\n", "aaaa", "a\nb", "ab", "\u0301", "\u202e"])
def test_the_smallest_corpora_load(tmp_path: Path, text: str) -> None:
    corpus = read_files([write(tmp_path / "text", text)])
    assert corpus.train.characters >= 1
    assert corpus.vocabulary.characters


@pytest.mark.parametrize(
    ("characters", "dtype"), [(254, np.uint8), (255, np.uint16), (100_000, np.uint32)]
)
def test_alphabets_of_any_size_take_no_more_bytes_than_they_need(
    characters: int, dtype: type
) -> None:
    # from small to large, so that the type is outgrown on the way, and then back
    alphabet = [chr(0x10000 + i) for i in range(characters)]
    texts = ["".join(alphabet[at : at + 50]) for at in range(0, characters, 50)]
    corpus = from_texts(texts + texts[::-1], WHOLE)
    assert corpus.train.ids.dtype == dtype
    assert len(corpus.vocabulary.characters) == characters
    assert spelled(corpus, corpus.train) == texts + texts[::-1]


def test_a_vocabulary_smaller_than_the_corpus_is_encoded_in_its_own_type(tmp_path: Path) -> None:
    rare = "".join(chr(0x4E00 + i) for i in range(300))
    corpus = read_files([write(tmp_path / "text", "a" * 2700 + rare)], config("files", 0.1))
    assert corpus.train.ids.dtype == corpus.held_out.ids.dtype == np.uint8
    assert set(corpus.held_out.ids[:-1].tolist()) == {1}


def test_novelty_counts_what_training_saw_once() -> None:
    corpus = from_texts(["aab", "ac"], WHOLE)
    assert corpus.vocabulary.novelty == pytest.approx((2 + 0.1) / (7 + 1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"holdout": -0.1},
        {"holdout": 1.0},
        {"holdout": float("nan")},
        {"examples": "words"},
        {"cuts": ("words",)},
    ],
)
def test_settings_outside_their_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError) as told:
        CorpusConfig(**wrong)  # type: ignore[arg-type]
    assert told.value.hint


def test_the_reading_is_the_one_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "text", "e\u0301".encode("utf-16"))
    corpus = read_files([path], CorpusConfig(holdout=0, reading=Reading("utf-16", normalize="NFC")))
    assert corpus.vocabulary.characters == "é"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no peak memory here")
@pytest.mark.parametrize("shape", ["short lines", "one line"])
def test_a_corpus_takes_at_most_two_bytes_a_character_while_it_loads(
    tmp_path: Path, shape: str
) -> None:
    size = 32_000_000
    letters = np.random.default_rng(0).integers(ord("a"), ord("z") + 1, size, np.uint8)
    if shape == "short lines":
        letters[7::8] = ord("\n")
    path = write(tmp_path / "text", letters.tobytes())
    program = f"""
import re
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
from charrnn.corpus.corpus import read_files
from tests.child import answer
before = peak()
corpus = read_files([{path!r}])
print(peak() - before, corpus.train.characters + corpus.held_out.characters)
"""
    taken, characters = map(int, answer(program).split())
    assert characters == size - np.count_nonzero(letters == ord("\n"))
    assert taken < 2 * size + 20_000_000

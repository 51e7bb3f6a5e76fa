"""Text from bytes: decoded, with one kind of line end, normalised, wherever blocks were cut."""

from __future__ import annotations

import codecs
import re
import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus import files
from charrnn.corpus.files import HEAP, SAFE, blocks
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import Errors, Reading

FORMS: tuple[Literal["NFC", "NFKC"], ...] = ("NFC", "NFKC")
# what melts into what stands before it: accents, jamo, voicing marks, vowel signs
MELTING = "aé\u0301\u0323\u1100\u1161\u11a8\uac00か\u3099\uff76\uff9e\u0bc6\u0bbe\ufb01 \n¨"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading") / "text"


def read(path: Path, content: bytes, block: int = 1 << 17, reading: Reading | None = None) -> str:
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", block)
        texts = list(blocks(str(path), reading or Reading()))
    assert all(texts)
    return "".join(texts)


def what_is_said(path: Path, content: bytes, reading: Reading | None = None) -> tuple[str, str]:
    with pytest.raises(CorpusError) as told:
        read(path, content, 7, reading)
    assert str(path) in told.value.what
    return told.value.what.replace(str(path), "PATH"), told.value.hint


@given(st.text(), st.integers(1, 9))
def test_utf8_is_read_whole_wherever_blocks_are_cut(path: Path, text: str, block: int) -> None:
    text = text.replace("\0", "")
    content = text.encode()
    assert read(path, content, block, Reading(newlines="keep")) == text.removeprefix("\ufeff")


@given(st.text("ab\r\n"), st.integers(1, 5))
def test_crlf_and_lone_cr_become_lf_wherever_blocks_are_cut(
    path: Path, text: str, block: int
) -> None:
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    assert read(path, text.encode(), block) == expected
    assert read(path, text.encode(), block, Reading(newlines="keep")) == text


@pytest.mark.parametrize("form", FORMS)
@given(text=st.text(MELTING) | st.text(), block=st.integers(1, 12))
def test_normalising_in_blocks_is_normalising_the_whole(
    path: Path, form: Literal["NFC", "NFKC"], text: str, block: int
) -> None:
    text = text.replace("\0", "").removeprefix("\ufeff")
    reading = Reading(newlines="keep", normalize=form)
    assert read(path, text.encode(), block, reading) == unicodedata.normalize(form, text)


def test_no_character_at_which_text_is_cut_ever_melts_into_another() -> None:
    second = {chr(code) for code in range(0x1161, 0x11C3)}  # jamo, by rule and not by table
    for code in range(0x110000):
        pair = unicodedata.decomposition(chr(code)).split()
        if len(pair) == 2 and not pair[0].startswith("<"):
            second.add(chr(int(pair[1], 16)))
    for character in re.findall(f"[{SAFE}]", "".join(map(chr, range(0x110000)))):
        for form in ("NFD", "NFKD"):
            first = unicodedata.normalize(form, character)[0]
            assert unicodedata.combining(first) == 0
            assert first not in second


def test_a_decomposed_copy_reads_like_a_composed_one(path: Path) -> None:
    composed, decomposed = "Zoë Łukasz\n", unicodedata.normalize("NFD", "Zoë Łukasz\n")
    assert composed != decomposed
    reading = Reading(normalize="NFC")
    assert read(path, decomposed.encode(), 3, reading) == composed


def test_the_byte_order_mark_goes_but_only_from_the_beginning(path: Path) -> None:
    assert read(path, codecs.BOM_UTF8 + b"a" + codecs.BOM_UTF8, 1) == "a\ufeff"
    assert read(path, codecs.BOM_UTF8) == ""


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_wide_encodings_are_read_where_they_are_named(path: Path, encoding: str) -> None:
    text = "na\0ïve \U0001f600\n" if encoding != "utf-8-sig" else "naïve \U0001f600\n"
    assert read(path, text.encode(encoding), 3, Reading(encoding)) == text
    assert read(path, ("\ufeff" + text).encode(encoding), 3, Reading(encoding)) == text


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "gb18030", "koi8-r"])
def test_old_encodings_are_read_where_they_are_named(path: Path, encoding: str) -> None:
    text = {"shift_jis": "日本\n", "gb18030": "中\U0001f600\n", "koi8-r": "Иван\n"}.get(
        encoding, "é\n"
    )
    assert read(path, text.encode(encoding), 1, Reading(encoding)) == text


@pytest.mark.parametrize(
    ("wrong", "byte"),
    [
        (b"\x80", "0x80"),  # a lone continuation
        (b"\xc0\xaf", "0xc0"),  # overlong
        (b"\xe0\x80\xaf", "0xe0"),  # overlong
        (b"\xed\xa0\x80", "0xed"),  # a surrogate
        (b"\xf4\x90\x80\x80", "0xf4"),  # beyond Unicode
        (b"\xc3", "0xc3"),  # cut short by a letter, or by the end
    ],
)
def test_what_is_not_utf8_is_said_with_its_place(path: Path, wrong: bytes, byte: str) -> None:
    before = "ein\r\nzwei é\rdrei ".encode()
    for after in (b"", b" vier\n"):
        what, hint = what_is_said(path, before + wrong + after)
        assert what == f"PATH is not UTF-8: byte {len(before)}, in line 3, is {byte}"
        assert "encoding" in hint or "which gives" in hint


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["le", "be"])
def test_the_mark_of_a_wide_encoding_is_recognised(path: Path, encoding: str, order: str) -> None:
    what, hint = what_is_said(path, "\ufefftext".encode(f"{encoding}-{order}"))
    assert what == f"PATH looks like {encoding.upper()}"
    assert hint == f"Try encoding {encoding}"


def test_a_nul_is_said(path: Path) -> None:
    path.write_bytes(b"text, and then \0")
    with pytest.raises(CorpusError, match="looks binary: there is a NUL at byte 15"):
        list(blocks(str(path), Reading()))


def test_utf16_without_a_mark_is_said(path: Path) -> None:
    what, hint = what_is_said(path, "text".encode("utf-16-le"), Reading("utf-16"))
    assert what == "PATH looks like UTF-16 without its mark"
    assert hint == "Try encoding utf-16-le"


def test_a_wide_text_that_is_cut_short_is_said(path: Path) -> None:
    what, _ = what_is_said(path, "a\nb".encode("utf-16-le") + b"x", Reading("utf-16-le"))
    assert what == "PATH is not UTF-16-LE: byte 6, in line 2, is 0x78"


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13", "", "a\0b", "undefined", "idna"])
def test_what_is_no_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(SettingError, match="is not an encoding"):
        Reading(encoding)


def test_unknown_ways_to_read_are_refused() -> None:
    with pytest.raises(SettingError, match="newlines cannot be 'drop'"):
        Reading(newlines="drop")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="normalize cannot be 'NFD'"):
        Reading(normalize="NFD")  # type: ignore[arg-type]


def test_a_heap_of_accents_without_a_letter_is_read_all_the_same(path: Path) -> None:
    text = "\u0301" * 5000
    assert read(path, text.encode(), 64, Reading(normalize="NFC")) == text


@pytest.mark.parametrize("form", FORMS)
@given(
    runs=st.lists(st.tuples(st.integers(0, 3 * HEAP), st.booleans()), max_size=4),
    block=st.integers(1, 3 * HEAP),
)
def test_a_heap_of_marks_is_put_in_order_in_the_same_way_wherever_blocks_are_cut(
    path: Path, form: Literal["NFC", "NFKC"], runs: list[tuple[int, bool]], block: int
) -> None:
    text = "".join("e" * base + "\u0301\u0323" * (n // 2) + "\u0301" * (n % 2) for n, base in runs)
    reading = Reading(normalize=form)
    found = read(path, text.encode(), block, reading)
    assert found == read(path, text.encode(), 1 << 17, reading)
    assert sorted(unicodedata.normalize("NFD", found)) == sorted(text)
    if all(n <= HEAP // 2 for n, _ in runs[:1]) and len(runs) <= 1:
        assert found == unicodedata.normalize(form, text)


def test_no_more_marks_are_put_in_order_at_once_than_a_heap(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    normalize, sizes = unicodedata.normalize, []

    def watched(form: Literal["NFC"], text: str) -> str:
        sizes.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", watched)
    text = "e" + "\u0301\u0323" * 10_000
    assert len(read(path, text.encode(), 1 << 17, Reading(normalize="NFC"))) == len(text) - 1
    assert max(sizes) <= HEAP + 1


WRONG = {
    "a byte": (b"ab\nc\xffd\nef", "ab\nc\ufffdd\nef", "ab\nef"),
    "a NUL": (b"ab\nc\0d\nef\n", "ab\nc\0d\nef\n", "ab\nef\n"),
    "two bytes": (b"\xff\nab\r\nc\xff\r\n", "\ufffd\nab\nc\ufffd\n", "ab\n"),
    "the end": (b"ab\nc\xc3", "ab\nc\ufffd", "ab\n"),
    "a surrogate": (b"ab\n\xed\xbf\xbf\n", "ab\n\ufffd\ufffd\ufffd\n", "ab\n"),
    "nothing": ("ab\né".encode(), "ab\né", "ab\né"),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("block", [1, 2, 3, 1000])
def test_wrong_bytes_are_replaced_or_their_lines_left_out_where_that_is_asked_for(
    path: Path, content: tuple[bytes, str, str], block: int
) -> None:
    wrong, replaced, skipped = content
    assert read(path, wrong, block, Reading(errors="replace")) == replaced
    assert read(path, wrong, block, Reading(errors="skip")) == skipped


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "shift_jis", "utf-16-le", "gb18030"])
def test_lines_with_wrong_bytes_are_left_out_in_every_encoding(path: Path, encoding: str) -> None:
    wrong = {"utf-16-le": b"\x00\xdc", "cp1252": b"\x81", "gb18030": b"\xff"}.get(encoding, b"\xa0")
    content = "ab\n".encode(encoding) + wrong + "\nef\n".encode(encoding)
    assert read(path, content, 3, Reading(encoding, errors="skip")) == "ab\nef\n"


def test_unless_it_is_asked_for_no_error_is_passed_over(path: Path) -> None:
    assert Reading().errors == "strict"
    with pytest.raises(SettingError, match="errors cannot be 'ignore'"):
        Reading(errors="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("errors", ["replace", "skip"])
def test_the_mark_of_another_encoding_is_not_passed_over(path: Path, errors: Errors) -> None:
    what, _ = what_is_said(path, "\ufefftext".encode("utf-16-le"), Reading(errors=errors))
    assert what == "PATH looks like UTF-16"

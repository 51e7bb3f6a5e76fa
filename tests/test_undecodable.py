"""What is said of a file that is no UTF-8: what it is, or how to read it."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.decoding import Reading, blocks, kind_of, likely, wide
from charrnn.errors import CorpusError

RUSSIAN = "Все счастливые семьи похожи друг на друга,\nкаждая несчастливая по-своему.\n"
JAPANESE = "吾輩は猫である。名前はまだ無い。\nどこで生れたかとんと見当がつかぬ。\n"
TEXTS = [
    *((encoding, RUSSIAN) for encoding in ("cp1251", "koi8-r", "cp866", "iso8859-5")),
    *((encoding, JAPANESE) for encoding in ("shift_jis", "euc_jp")),
    ("cp1251", "Иван\nМария\nСергей\n"),
    ("shift_jis", "山田太郎\n鈴木花子\n"),
    ("gb18030", "床前明月光，疑是地上霜。举头望明月，低头思故乡。\n"),
    ("big5", "這個國家的學生舉頭望明月，低頭思故鄉。\n"),
    ("euc_kr", "동해 물과 백두산이 마르고 닳도록\n"),
    ("cp1252", "François était là, près de la forêt.\n"),
    ("cp1252", "Jürgen\nKäthe\nGroß\n"),
    ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy\n"),
    ("cp1254", "Ayşe\nÇağlar\nIşık\nGüneş\n"),
    ("cp1253", "Γιώργος\nΜαρία\nΔημήτρης\n"),
    ("cp1256", "السلام عليكم\nالولد في البيت\n"),
]


def said_of(path: Path, content: bytes, reading: Reading | None = None) -> tuple[str, str]:
    file = path / "text"
    file.write_bytes(content)
    with pytest.raises(CorpusError) as told:
        list(blocks(str(file), reading or Reading()))
    return told.value.what.replace(str(file), "PATH"), told.value.hint


@pytest.mark.parametrize(("encoding", "text"), TEXTS)
def test_the_likeliest_encoding_is_named_first_with_what_it_reads(
    tmp_path: Path, encoding: str, text: str
) -> None:
    what, hint = said_of(tmp_path, b"plain\n" + text.encode(encoding))
    assert what.startswith("PATH is not UTF-8: byte ")
    first = text.split("\n")[0][:30].strip()
    assert hint.startswith(f"Perhaps {encoding}, which reads '{first}'")


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "shift_jis", "gb18030", "euc_kr"])
def test_what_would_be_gibberish_in_latin_letters_is_not_offered(encoding: str) -> None:
    text = {"shift_jis": JAPANESE, "gb18030": TEXTS[8][1], "euc_kr": TEXTS[10][1]}
    offered = [name for name, _ in likely(text.get(encoding, RUSSIAN).encode(encoding), "utf-8")]
    assert encoding in offered
    assert not set(offered) & {"latin-1", "cp1252", "cp1250", "cp1254"}


def test_the_line_that_is_shown_is_the_first_wrong_one_cut_and_visible(tmp_path: Path) -> None:
    line = "0123456789 and so on, to a caf\xe9 and \x1b[31mmuch farther than that\n"
    _, hint = said_of(tmp_path, ("plain\n" * 100 + line + "autre: \xe8\n").encode("cp1252"))
    assert hint.startswith("Perhaps cp1252, which reads ', to a café and \\x1b[31mmuch fart'; or ")


def test_a_text_that_is_utf8_after_all_is_told_so(tmp_path: Path) -> None:
    _, hint = said_of(tmp_path, "Zoë Müller\n".encode(), Reading("ascii"))
    assert hint.startswith("Perhaps utf-8, which reads 'Zoë Müller'")


def test_where_nothing_is_likely_nothing_is_named(tmp_path: Path) -> None:
    _, hint = said_of(tmp_path, b"abc\xffdef\n")
    assert hint == "If it is text in another encoding, name that"


def test_the_line_is_told_also_by_a_codec_that_replaces_nothing(tmp_path: Path) -> None:
    what, _ = said_of(tmp_path, b"anna\r\nbob\rclara\ncaf\xe9\n", Reading("idna"))
    assert what == "PATH is not IDNA: byte 19, in line 4, is 0xe9"


@pytest.mark.parametrize("text", ["anna\nbob\n", "Иван\n" * 40, "日本\n" * 40, "a"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_where_the_nuls_stand_tells_which_wide_encoding_it_is(
    tmp_path: Path, text: str, encoding: str
) -> None:
    what, hint = said_of(tmp_path, text.encode(encoding))
    assert what == f"PATH looks like {encoding[:6].upper()} without its mark"
    assert hint == f"Try the encoding {encoding}"
    if encoding.startswith("utf-16"):  # which a decoder cannot begin without a mark
        assert said_of(tmp_path, text.encode(encoding), Reading("utf-16"))[1] == hint


@given(st.text("ab\n", min_size=40), st.integers(0, 39))
def test_a_nul_in_a_text_does_not_make_it_wide(text: str, at: int) -> None:
    assert wide((text[:at] + "\0" + text[at:]).encode()) is None


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "é" * 99)
    return file.getvalue()


def arrays() -> bytes:
    file = io.BytesIO()
    np.savez(file, W=np.zeros(3))
    return file.getvalue()


FILES = {
    "a zip archive": zipped("names.txt"),
    "a Word document (docx)": zipped("[Content_Types].xml", "word/document.xml"),
    "an Excel workbook (xlsx)": zipped("[Content_Types].xml", "xl/workbook.xml"),
    "a NumPy archive (npz)": arrays(),
    "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "a PNG image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "a program (ELF)": b"\x7fELF\x02\x01\x01\0\0\0",
    "packed twice: there is gzip in it": gzip.compress(gzip.compress(b"names")),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_text_is_called_by_its_name(tmp_path: Path, name: str) -> None:
    what, hint = said_of(tmp_path, FILES[name])
    assert what == f"PATH is {name}, not a text"
    assert hint


def test_a_tar_archive_is_told_by_its_middle() -> None:
    head = b"names.txt".ljust(257, b"\0") + b"ustar\0"
    assert (found := kind_of(head)) is not None
    assert found.name == "a tar archive"


@given(st.text("ab é日\n\r"))
def test_a_text_is_no_file_of_another_kind(text: str) -> None:
    assert kind_of(text.encode()) is None
    assert wide(text.encode()) is None

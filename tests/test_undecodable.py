"""What is said of a file that is no UTF-8: what it is, or how to read it."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.files import blocks
from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading

TEXTS = {
    "cp1252": "François était là, près de la forêt.\n",
    "cp1251": "Все счастливые семьи похожи друг на друга,\n",
    "shift_jis": "吾輩は猫である。名前はまだ無い。\n",
    "gb18030": "床前明月光，疑是地上霜。举头望明月，低头思故乡。\n",
    "euc_kr": "동해 물과 백두산이 마르고 닳도록\n",
}


def said_of(path: Path, content: bytes, reading: Reading | None = None) -> tuple[str, str]:
    file = path / "text"
    file.write_bytes(content)
    with pytest.raises(CorpusError) as told:
        list(blocks(str(file), reading or Reading()))
    return told.value.what.replace(str(file), "PATH"), told.value.hint


@pytest.mark.parametrize(("encoding", "text"), TEXTS.items())
def test_the_encoding_is_named_with_what_it_reads(tmp_path: Path, encoding: str, text: str) -> None:
    what, hint = said_of(tmp_path, b"plain\n" + text.encode(encoding) + b"plain\n")
    assert what.startswith("PATH is not UTF-8: byte ")
    assert f"{encoding}, which gives '{text[:30].strip()}'" in hint


def test_the_line_that_is_shown_is_the_first_wrong_one_cut(tmp_path: Path) -> None:
    line = "0123456789 and so on, to a caf\xe9 and much farther than that\n"
    _, hint = said_of(tmp_path, ("plain\n" * 100 + line + "autre: \xe8\n").encode("cp1252"))
    assert hint.startswith("Try encoding cp1252, which gives ', to a café and much farther t'; or ")


def test_a_text_that_is_utf8_after_all_is_told_so(tmp_path: Path) -> None:
    _, hint = said_of(tmp_path, "Zoë Müller\n".encode(), Reading("ascii"))
    assert hint == "Try encoding utf-8, which gives 'Zoë Müller'."


def test_where_nothing_can_be_read_no_encoding_is_offered(tmp_path: Path) -> None:
    _, hint = said_of(tmp_path, b"abc\x98\xff\x81\n")
    assert hint == (
        "Name the encoding of the text with encoding."
        " If only a few bytes are wrong, use errors replace or skip."
    )


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_where_the_nuls_stand_tells_that_it_is_utf16(tmp_path: Path, encoding: str) -> None:
    for reading in (Reading(), Reading("utf-16")):
        what, hint = said_of(tmp_path, "anna\nbob\n".encode(encoding), reading)
        assert what == "PATH looks like UTF-16 without its mark"
        assert hint == f"Try encoding {encoding}"


@given(st.text("ab\n", min_size=40), st.integers(0, 39))
def test_a_nul_in_a_text_does_not_make_it_wide(
    tmp_path_factory: pytest.TempPathFactory, text: str, at: int
) -> None:
    path = tmp_path_factory.getbasetemp()
    what, _ = said_of(path, (text[:at] + "\0" + text[at:]).encode())
    assert what == f"PATH looks binary: there is a NUL at byte {at}"


def arrays(**members: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **members)
    return file.getvalue()


BINARY = {
    "a program (ELF)": b"\x7fELF\x02\x01\x01\0\0\0",
    "an image (PNG)": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "an archive (npz)": arrays(W=np.zeros(3)),
    "gzip in gzip": gzip.compress(gzip.compress(b"names", mtime=0)),
}


@pytest.mark.parametrize("name", BINARY)
def test_a_file_that_is_no_text_looks_binary(tmp_path: Path, name: str) -> None:
    what, hint = said_of(tmp_path, BINARY[name])
    assert what.startswith("PATH looks binary: there is a NUL at byte ")
    assert hint.startswith("A corpus is text. ")


def test_a_model_is_called_by_its_name(tmp_path: Path) -> None:
    what, hint = said_of(tmp_path, arrays(**{"charrnn.json": np.zeros(9, np.uint8)}))
    assert what == "PATH is a model of charrnn, not a text"
    assert hint == "Name a model with model, or start a training from it with start_from."

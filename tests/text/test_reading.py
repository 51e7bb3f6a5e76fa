"""Names to examples: packing, encodings, columns and cuts, and words for what cannot be read."""

import bz2
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading
from charrnn.text.reading import lines_of_input, text_of

TEXT = "Zoë\n\nBo\n日本\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def file_of(folder: Path, data: bytes, name: str = "a.txt") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("data", "reading"),
    [
        (TEXT.encode(), {}),
        (TEXT.encode("utf-8-sig"), {}),
        (TEXT.replace("\n", "\r\n").encode(), {}),
        (TEXT.replace("\n", "\r").encode(), {}),
        (TEXT.encode("utf-16"), {"encoding": "utf-16"}),
        (TEXT.encode("utf-16-be"), {"encoding": "utf-16-be"}),
        (TEXT.replace("ë", "e\u0308").encode(), {"normalize": "NFC"}),
        ("﻿Ｚoë\n\nBo\n日本\n".encode(), {"normalize": "NFKC"}),
    ],
)
def test_fault_4_bytes_become_the_same_text(
    tmp_path: Path, data: bytes, reading: dict[str, str]
) -> None:
    assert text_of(file_of(tmp_path, data), Reading(**reading)) == TEXT  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", PACKERS)
def test_fault_7_packed_files_of_several_streams(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    halves = pack(TEXT[:4].encode()) + pack(TEXT[4:].encode())
    for data in (pack(TEXT.encode()), halves, halves + b"\0" * 8):
        assert text_of(file_of(tmp_path, data, f"a{suffix}"), Reading()) == TEXT
    damaged = bytearray(halves)
    damaged[-len(halves) // 4] ^= 0x55
    for data in (halves[:-3], bytes(damaged), halves + b"rest", TEXT.encode()):
        with pytest.raises(CorpusError, match=f"cannot be read: its {suffix} data is "):
            text_of(file_of(tmp_path, data, f"a{suffix}"), Reading())


@pytest.mark.quick
@pytest.mark.parametrize(
    ("data", "reading", "words"),
    [
        (b"ab\r\ncd\rZo\xeb\n", {}, "is not UTF-8: byte 9, in line 3, is 0xeb"),
        (TEXT.encode("utf-16"), {}, "is not UTF-8: byte 0, in line 1, is 0xff"),
        (b"a", {"encoding": "utf-16-le"}, "is not UTF-16-LE: byte 0, in line 1, is 0x61"),
        (b'a,b\n"c', {"column": "a"}, "is not a table: line 2"),
        (b"a,b\nc,d", {"column": "d"}, "has no column d; its first row is: a, b"),
        (b"a,b\nc,d", {"column": "3"}, "has no column 3; its first row is: a, b"),
    ],
)
def test_faults_3_and_9_contents_that_cannot_be_read(
    tmp_path: Path, data: bytes, reading: dict[str, str], words: str
) -> None:
    source = file_of(tmp_path, data)
    with pytest.raises(CorpusError) as error:
        text_of(source, Reading(**reading))  # type: ignore[arg-type]
    assert error.value.what.startswith(f"{source} {words}")
    assert text_of(source, Reading(errors="replace"))


@pytest.mark.quick
def test_fault_6_names_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, words in {
        str(tmp_path): f"{tmp_path} cannot be read: Is a directory",
        "dinosaur": "dinosaur does not exist",
        "": "a file without a name does not exist",
        "a\0b": "cannot be read: embedded null byte",
    }.items():
        with pytest.raises(CorpusError, match=words):
            text_of(name, Reading())
    with pytest.raises(CorpusError) as error:
        text_of("dinosaur", Reading())
    assert error.value.hint.startswith("Did you mean dinosaurs?")
    if os.geteuid():
        source = file_of(tmp_path, b"a")
        os.chmod(source, 0)
        with pytest.raises(CorpusError, match="cannot be read: Permission denied"):
            text_of(source, Reading())
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CorpusError, match="standard input cannot be read"):
        text_of("-", Reading())


def test_fault_8_names_with_newlines_and_dashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-n", "a\nb", "\x1b[31m", "ä b"):
        file_of(tmp_path, b"x\n", name)
        assert text_of(name, Reading()) == "x\n"


def test_standard_input_as_a_whole_and_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def type_in() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ë\r\n\nb".encode())))

    type_in()
    assert text_of("-", Reading()) == "ë\n\nb"
    type_in()
    assert [*chain.from_iterable(lines_of_input(Reading()))] == ["ë", "", "b"]

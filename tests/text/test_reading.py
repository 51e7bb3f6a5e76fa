"""Names to examples: packing, encodings, columns and cuts, and words for what cannot be read."""

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import unicodedata
from collections.abc import Callable
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading
from charrnn.text.reading import labelled_texts, lines_of_input, packing_of, text_of, unpacked
from charrnn.text.tidy import Tidied

TEXT = "Zoë\n\nBo\n日本\n"
PACKERS: dict[str, Any] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def file_of(folder: Path, data: bytes, name: str = "a.txt") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("data", "reading", "words"),
    [
        (b"ab\r\ncd\rZo\xeb\n", {}, "is not UTF-8: byte 9, in line 2, is 0xeb"),
        (b"ab\rZo\xeb\n", {}, "is not UTF-8: byte 5, in line 1, is 0xeb"),
        (b"ab\rZo\xeb\r", {}, "is not UTF-8: byte 5, in line 2, is 0xeb"),
        (TEXT.encode("utf-16"), {}, "is not UTF-8: byte 0, in line 1, is 0xff"),
        (b"\xfe\xff\0a", {}, "is not UTF-8: byte 0, in line 1, is 0xfe"),
        (b"a", {"encoding": "utf-16-le"}, "is not UTF-16-LE: byte 0, in line 1, is 0x61"),
        (b"ab", {"encoding": "utf-16"}, "is not UTF-16: "),
        (b"\xff\xfea\xdc", {"encoding": "utf-16"}, "is not UTF-16: byte 2, in line 1, is 0x61"),
        (b'a,b\n"c', {"column": "a"}, "is not a table: line 2"),
        (b"a,b\nc,d", {"column": "d"}, "has no column d; its first row is: a, b"),
        (b"a,b\nc,d", {"column": "3"}, "has no column 3; its first row is: a, b"),
    ],
)
def test_faults_3_and_9_contents_that_cannot_be_read(
    tmp_path: Path, data: bytes, reading: dict[str, Any], words: str
) -> None:
    source = file_of(tmp_path, data)
    with pytest.raises(CorpusError) as error:
        list(labelled_texts(source, Reading(**reading), Tidied(), lambda _: data))
    assert error.value.what.startswith(f"{source} {words}")
    assert text_of(source, Reading(errors="replace"))
    assert ("latin-1" in error.value.hint) == (words[-4:] in ("0xeb", "0x61", "16: "))
    named = error.value.hint.replace(",", "").rstrip(".").split()
    assert reading.get("encoding", "utf-8") not in named
    assert ("utf-16" in named) == (words[-4:] in ("0xff", "0xfe"))  # which needs its mark
    assert ("replace" in error.value.hint) == (words[-4:] in ("0xeb", "0x61"))


@pytest.mark.quick
def test_fault_6_names_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    refusals = {
        str(tmp_path): f"{tmp_path} cannot be read: Is a directory",
        "dinosaur": "dinosaur does not exist",
        "": "a file without a name does not exist",
        "a\0b": "cannot be read: embedded null byte",
        "-": "standard input cannot be read",
    }
    if os.geteuid():
        locked = file_of(tmp_path, b"a")
        os.chmod(locked, 0)
        refusals[locked] = "cannot be read: Permission denied"
    for name, words in refusals.items():
        with pytest.raises(CorpusError, match=words) as error:
            text_of(name, Reading())
        assert ("Did you mean dinosaurs?" in error.value.hint) == (name == "dinosaur")


def test_fault_8_names_with_newlines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-n", "a\nb", "\x1b[31m", "ä b"):
        file_of(tmp_path, b"x\n", name)
        assert text_of(name, Reading()) == "x\n"
    assert "Zoé" in text_of("given-names-latin", Reading(encoding="latin-1"))  # of the package


class Pieces(io.BytesIO):
    """A pipe that gives a few bytes at once."""

    size = 1 << 16

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(self.size)


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def type_in(data: bytes, size: int = 1 << 16) -> None:
        stream = Pieces(data)
        stream.size = size
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))

    return type_in


def lines_typed(reading: Reading, **how: Any) -> list[str]:
    return [line for _, line in chain.from_iterable(lines_of_input(reading, **how))]


def test_fault_49_a_long_line_comes_in_many_pieces(pipe: Callable[..., None]) -> None:
    """Each is looked at once: else this takes minutes."""
    pipe(b"a" * (1 << 25) + b"\nb", 1 << 12)
    assert list(map(len, lines_typed(Reading()))) == [1 << 25, 1]


@pytest.mark.parametrize("size", [1, 3, 1 << 16])
@pytest.mark.parametrize(
    ("data", "encoding", "place"),
    [
        (b"ab\r\ncd\rZo\xeb\nx\xff\n", "utf-8", "byte 9, in line 2, is 0xeb"),
        (b"ab\n\xe2\x82", "utf-8", "byte 3, in line 2, is 0xe2"),
        ("a\nb".encode("utf-16") + b"\0", "utf-16", "byte 8, in line 2, is 0x00"),
    ],
)
def test_fault_64_the_first_byte_that_cannot_be_decoded_is_named_once(
    tmp_path: Path, pipe: Callable[..., None], data: bytes, encoding: str, place: str, size: int
) -> None:
    source, said = file_of(tmp_path, data), list[str]()
    replacing, strict = Reading(encoding, errors="replace"), Reading(encoding)
    by_line: Any = lambda _, reading, **how: lines_typed(reading, **how)  # noqa: E731
    for name, read in ((source, text_of), ("-", text_of), ("-", by_line)):
        what = f"{'standard input' if name == '-' else name} is not {encoding.upper()}: {place}"
        pipe(data, size)
        assert "\ufffd" in "".join(read(name, replacing, warn=said.append))
        assert said == [f"{what}; U+FFFD takes the place of such bytes"]
        said.clear()
        pipe(data, size)
        with pytest.raises(CorpusError) as error:
            read(name, strict, warn=said.append)
        assert error.value.what == what
        assert "errors replace" in error.value.hint


@pytest.mark.parametrize("errors", ["strict", "replace"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_fault_64_a_byte_order_is_required(tmp_path: Path, encoding: str, errors: Any) -> None:
    with pytest.raises(CorpusError, match=f"is not {encoding.upper()}:") as error:
        text_of(file_of(tmp_path, TEXT.encode("utf-16-le")), Reading(encoding, errors=errors))
    assert "utf-16-le" in error.value.hint


@pytest.mark.parametrize("suffix", PACKERS)
def test_faults_7_and_66_packed_data_is_known_by_its_first_bytes_and_read_whole(
    tmp_path: Path, pipe: Callable[..., None], suffix: str
) -> None:
    pack = PACKERS[suffix]
    packed, lines = pack(TEXT.encode()), TEXT.removesuffix("\n").split("\n")
    halves = pack(TEXT[:4].encode()) + pack(TEXT[4:].encode())
    for name in ("auth.log.1", "a.txt", f"a{suffix}", "a.gz", "a.xz"):
        for data in (packed, halves, halves + b"\0" * 8):
            assert text_of(file_of(tmp_path, data, name), Reading()) == TEXT
    assert text_of(file_of(tmp_path, pack(b"")), Reading()) == ""
    readers: Any = text_of, lambda _, reading: lines_typed(reading)
    tars = [tarfile.TarInfo("a").tobuf(form) for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT)]
    for archive, kind in zip((*tars, b"PK\3\4\n\0"), ("tar", "tar", "zip"), strict=True):
        for data, read in product((archive, pack(archive)), readers):
            pipe(data)
            with pytest.raises(CorpusError, match=f"standard input is a {kind} archive"):
                read("-", Reading())
    assert text_of(file_of(tmp_path, b"B\nBZh\n"), Reading()) == "B\nBZh\n"  # is not packed
    for size in (1, 1 << 16):
        pipe(packed, size)
        assert text_of("-", Reading()) == TEXT
        pipe(packed + packed, size)
        assert lines_typed(Reading()) == lines * 2
    damaged = bytearray(halves)
    damaged[-len(halves) // 4] ^= 0x55
    words = f"cannot be read: its {suffix} data is damaged or cut short"
    for data in (halves[:-3], bytes(damaged), halves + b"rest"):
        for read in readers:
            pipe(data)
            with pytest.raises(CorpusError, match=f"standard input {words}"):
                read("-", Reading())
        with pytest.raises(CorpusError, match=words) as error:
            text_of(file_of(tmp_path, data, "auth.log.1"), Reading())
        assert error.value.hint == "Copy the text again, or unpack it and name that file."
    with pytest.raises(CorpusError, match=words):
        text_of(file_of(tmp_path, TEXT.encode(), f"a{suffix}"), Reading())


@pytest.mark.parametrize("suffix", PACKERS)
def test_fault_66_many_pieces_are_one_whole(tmp_path: Path, monkeypatch: Any, suffix: str) -> None:
    text = "".join(f"{i * i}\n" for i in range(5000))
    source = file_of(tmp_path, PACKERS[suffix](text.encode()) * 2)
    for size in (100, 1000, len(text), len(text) + 1):
        monkeypatch.setattr("charrnn.text.reading.LEAST_ROOM", size)
        assert text_of(source, Reading()) == 2 * text


ODD = st.text(st.sampled_from("ab \r\n\ufeff\u2028\x85\x0bëe\u0308ﬁ日\U0001f996"), max_size=30)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "latin-1", "gb18030"]


@pytest.mark.quick
def test_faults_4_and_49_any_text_is_read_as_python_reads_it(pipe: Callable[..., None]) -> None:
    @settings(max_examples=settings().max_examples * 10)
    @given(ODD | st.text(), st.sampled_from(ENCODINGS), st.sampled_from(["none", "NFC", "NFKC"]))
    def assert_read(text: str, encoding: str, form: Any) -> None:
        data = text.encode(encoding, "replace")
        assert_same(data, Reading(encoding, normalize=form), data.decode(encoding))

    @settings(max_examples=settings().max_examples * 10)
    @given(
        st.binary(max_size=30) | ODD.map(lambda text: text.encode()[1:-1]),
        st.sampled_from(["utf-8", "gbk"]),
    )
    @example(b"a\nb\xb1\xbe\xff", "gbk")
    def assert_replaced(data: bytes, encoding: str) -> None:
        assert_same(data, Reading(encoding, errors="replace"), data.decode(encoding, "replace"))

    def assert_same(data: bytes, reading: Reading, text: str) -> None:
        assume(packing_of(data) is None)
        plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        if reading.normalize != "none":
            plain = unicodedata.normalize(reading.normalize, plain)
        for pack in (bytes, *PACKERS.values()):
            content = {"x": unpacked(pack(data), "x")}
            texts = labelled_texts("x", reading, Tidied(), content.__getitem__)
            assert [text for _, text in texts] == [plain]
        for size in (1, 3, 1 << 16):
            pipe(data, size)
            assert lines_typed(reading) == plain.removesuffix("\n").split("\n")[: len(plain)]

    assert_read()
    assert_replaced()

"""Bytes from files, pipes and packed files, and what is said where there are none."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from charrnn.corpus import files
from charrnn.corpus.files import byte_blocks
from charrnn.errors import CorpusError
from tests.child import HOME, NOTHING, PYTHON, answer, going

needs_fifo = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
each_packing = pytest.mark.parametrize("suffix", PACK)
TEXT = b"".join(b"line %d\n" % i for i in range(50_000))


def everything(source: str | Path) -> bytes:
    return b"".join(byte_blocks(str(source)))


def what_is_said(source: str | Path) -> str:
    with pytest.raises(CorpusError) as told:
        everything(source)
    assert told.value.hint
    return told.value.what


def test_a_file_comes_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    blocks = list(byte_blocks(str(path)))
    assert b"".join(blocks) == TEXT
    assert max(map(len, blocks)) <= files.BLOCK


@each_packing
def test_packed_files_are_opened_as_they_are_whatever_their_name(
    tmp_path: Path, suffix: str
) -> None:
    for name in ("named" + suffix, "nameless"):
        path = tmp_path / name
        path.write_bytes(PACK[suffix](TEXT))
        assert everything(path) == TEXT


@each_packing
def test_packed_files_laid_end_to_end_are_read_to_the_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"two{suffix}"
    path.write_bytes(PACK[suffix](b"one\n") + PACK[suffix](b"two\n"))
    assert everything(path) == b"one\ntwo\n"


@each_packing
@pytest.mark.parametrize("block", [1, 3, 1 << 17])
def test_padding_between_parts_and_at_the_end_is_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, block: int
) -> None:
    monkeypatch.setattr(files, "BLOCK", block)
    path = tmp_path / f"padded{suffix}"
    for padding in (b"\0" * 4, b"\0" * 8192):
        path.write_bytes(PACK[suffix](b"one\n") + padding + PACK[suffix](b"two\n") + padding)
        assert everything(path) == b"one\ntwo\n"


@each_packing
@pytest.mark.parametrize("at", [0, 1, -12, -1])
def test_a_damaged_second_part_is_said(tmp_path: Path, suffix: str, at: int) -> None:
    path = tmp_path / f"two{suffix}"
    second = bytearray(PACK[suffix](TEXT))
    second[at] ^= 0xFF
    path.write_bytes(PACK[suffix](b"one\n") + second)
    assert str(path) in what_is_said(path)


@each_packing
def test_what_follows_a_packed_text_and_is_none_is_said(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"more{suffix}"
    for more in (b"x", b"and more text\n", PACK[suffix](b"two\n")[:3]):
        path.write_bytes(PACK[suffix](b"one\n") + more)
        assert str(path) in what_is_said(path)


@each_packing
def test_a_packed_file_comes_in_blocks_however_much_it_holds(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bomb{suffix}"
    path.write_bytes(PACK[suffix](bytes(10_000_000)))
    sizes = [len(block) for block in byte_blocks(str(path))]
    assert sum(sizes) == 10_000_000
    assert max(sizes) <= files.BLOCK


@each_packing
def test_a_packed_file_that_is_cut_short_is_said(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"short{suffix}"
    packed = PACK[suffix](TEXT)
    for size in (len(packed) - 1, len(packed) // 2, 12):
        path.write_bytes(packed[:size])
        assert f"{path} is cut short" in what_is_said(path)


@each_packing
def test_a_packed_file_with_a_wrong_byte_is_said(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"wrong{suffix}"
    packed = bytearray(PACK[suffix](TEXT))
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    assert str(path) in what_is_said(path)


def test_a_wrong_checksum_is_said(tmp_path: Path) -> None:
    path = tmp_path / "sum.gz"
    packed = bytearray(gzip.compress(TEXT))
    packed[-8] ^= 1
    path.write_bytes(packed)
    assert f"{path} is damaged" in what_is_said(path)


@each_packing
def test_a_plain_text_named_like_a_packed_one_is_said(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"plain{suffix}"
    path.write_bytes(b"plain")
    assert "does not start like one" in what_is_said(path)


@pytest.mark.parametrize("name", ["a\nb", "-x", "\x1b[31m", "é 日", os.fsdecode(b"\xff\xfe.txt")])
def test_odd_names_work_and_are_named_as_they_are(tmp_path: Path, name: str) -> None:
    path = os.path.join(tmp_path, name)
    assert what_is_said(path) == f"{path} does not exist"
    try:
        with open(path, "wb") as file:
            file.write(b"text")
    except (OSError, ValueError):
        pytest.skip("this system has no such names")
    assert everything(path) == b"text"


def test_a_folder_is_said(tmp_path: Path) -> None:
    assert what_is_said(tmp_path) == f"{tmp_path} is a folder"


def test_a_file_used_as_a_folder_and_a_name_no_system_takes_are_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for name in (tmp_path / "file" / "below", tmp_path / ("x" * 5000), f"{tmp_path}/nul\0"):
        assert str(name) in what_is_said(name)


def test_a_dangling_link_and_a_link_to_itself_are_said(tmp_path: Path) -> None:
    link, loop = tmp_path / "link", tmp_path / "loop"
    try:
        link.symlink_to("nowhere")
        loop.symlink_to(loop)
    except OSError:
        pytest.skip("no links here")
    assert what_is_said(link) == f"{link} is a broken link to nowhere"
    assert what_is_said(loop) == f"{loop} is a link that leads to itself"


def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "locked"
    path.write_bytes(b"x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("nothing is locked to this user")
    assert what_is_said(path) == f"{path} may not be read"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such devices here")
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_a_device_that_never_ends_is_said(path: str) -> None:
    assert what_is_said(path) == f"{path} is a device, not a text"


@needs_fifo
@pytest.mark.usefixtures("impatient")
def test_a_named_pipe_that_nobody_writes_to_is_said(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert what_is_said(path) == f"{path} is a pipe without a writer"


@needs_fifo
def test_a_named_pipe_that_somebody_writes_to_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    assert everything(path) == TEXT
    writer.join()


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd here")
@pytest.mark.usefixtures("impatient")
def test_a_pipe_of_the_shell_may_take_its_time() -> None:
    reader, writer = os.pipe()

    def write() -> None:
        os.write(writer, b"late")
        os.close(writer)

    slow = threading.Timer(0.2, write)
    slow.start()
    try:
        assert everything(f"/dev/fd/{reader}") == b"late"
    finally:
        slow.join()
        os.close(reader)


ECHO = (
    "import sys; from charrnn.corpus.files import byte_blocks;"
    "sys.stdout.buffer.writelines(byte_blocks('-'))"
)


@pytest.mark.parametrize("packed", [TEXT, gzip.compress(TEXT)])
def test_standard_input_is_read_as_it_comes_packed_or_not(packed: bytes) -> None:
    assert answer(ECHO, stdin=packed) == TEXT.decode()


@pytest.mark.skipif(os.name == "nt", reason="pipes there know no such mode")
def test_standard_input_that_has_nothing_yet_is_waited_for() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with going([*PYTHON, "-c", ECHO], HOME, NOTHING, stdin=reader) as child:
        for part in (b"one ", b"two"):
            time.sleep(0.3)
            os.write(writer, part)
        os.close(writer)
        os.close(reader)
        assert child.end().out == "one two"


def test_standard_input_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = io.TextIOWrapper(io.BytesIO(b"text"))
    monkeypatch.setattr(sys, "stdin", stand_in)
    assert everything("-") == b"text"
    assert not stand_in.closed


def test_standard_input_that_is_closed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert what_is_said("-") == "standard input is closed"


def test_a_file_that_shrinks_while_it_is_read_just_ends(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    blocks = byte_blocks(str(path))
    first = next(blocks)
    path.write_bytes(b"")
    assert first + b"".join(blocks) in TEXT

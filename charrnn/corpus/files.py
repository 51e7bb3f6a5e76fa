"""A name to blocks of bytes: files, pipes and standard input, unpacked where they are packed.

Where the files of a corpus are, beside their names as they were typed.

While a run is in memory that is an absolute path; in a model file it is relative to the folder of
that file. So a model is used from any folder, it may move together with its corpus, and a file that
is given away names nobody's home.

The corpora that come with the program, by name."""

from __future__ import annotations

import errno
import io
import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Protocol

from charrnn.errors import CorpusError

NAMES = ("dinosaurs", "given-names", "reber", "verses")

_HERE = Path(__file__).parent
FOLDERS = (_HERE.parent / "data", _HERE.parent.parent / "data")  # installed; in a checkout


def path_of(source: str) -> str:
    """The file that is meant: a corpus of ours, unless there is a file of that name."""
    if source in NAMES and not os.path.lexists(source):
        for folder in FOLDERS:
            file = folder / f"{source}.txt"
            if file.is_file():
                return str(file)
    return source


BLOCK: Final = 1 << 17  # bytes: small enough that what is made of one stays in the cache
PATIENCE_SECONDS: Final = 5.0  # how long a named pipe may stay silent before we believe it dead
INHERITED: Final = ("/dev/fd/", "/dev/stdin", "/proc/")  # pipes of the shell: <(command)
PACKED: Final = {
    "gzip": (".gz", re.compile(rb"\x1f\x8b\x08")),
    "xz": (".xz", re.compile(rb"\xfd7zXZ\x00")),
    "bzip2": (".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")),
}


def name_of(source: str) -> str:
    """What to call a source in a message."""
    return "standard input" if source == "-" else source


def is_stream(name: str) -> bool:
    """Whether it is gone once it was read: standard input, or a pipe that the shell has made."""
    return name == "-" or name.startswith(INHERITED)


def byte_blocks(source: str) -> Iterator[bytes]:
    """The bytes of a file, or of standard input for "-", unpacked, a block at a time."""
    name = name_of(source)
    with _open(source) as stream:
        try:
            packing = _packing(source, stream.peek(10))
            if packing:
                yield from _unpacked(stream, _unpacker(packing))
            while block := stream.read1(BLOCK):
                yield block
        except EOFError:
            raise CorpusError(
                f"{name} is cut short: its {packing} data has no end",
                "Copy or download it again.",
            ) from None
        except (OSError, zlib.error, _lzma_error()) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise _unreadable(name, error) from None
            is_sum = "incorrect data check" in str(error)
            wrong = "does not match its checksum" if is_sum else "cannot be unpacked"
            raise CorpusError(
                f"{name} is damaged: its {packing} data {wrong}", "Copy or download it again."
            ) from None


def check_source(source: str) -> None:
    """Raise CorpusError where nothing can be read by that name; nothing is opened."""
    if source != "-":
        _mode(source)


def _mode(source: str) -> int:
    """What kind of file it is, as its status says."""
    if not source:
        raise CorpusError("a name is empty", "Look whether a variable of the shell was never set.")
    source = path_of(source)
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None
    if stat.S_ISDIR(mode):
        raise CorpusError(f"{source} is a folder", "Name the files in it: FOLDER/*.txt")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise _not_a_text(source)
    return mode


def _open(source: str) -> AbstractContextManager[io.BufferedReader]:
    if source == "-":
        return nullcontext(_standard_input())
    mode = _mode(source)
    source = path_of(source)
    try:
        if stat.S_ISFIFO(mode) and not source.startswith(INHERITED):
            return _open_named_pipe(source)
        stream = open(source, "rb")  # noqa: SIM115  byte_blocks closes it
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None
    if stat.S_ISCHR(mode) and not stream.isatty():  # /dev/zero never ends
        stream.close()
        raise _not_a_text(source)
    return stream


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise CorpusError("standard input is closed", "Name a file, or pipe a text in.")
    stream = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        with suppress(AttributeError, OSError):  # not on every system, nor for every stream
            os.set_blocking(stream.fileno(), True)  # or "nothing yet" would look like the end
        return stream
    return io.BufferedReader(io.BytesIO(stream.read()))  # somebody's stand-in, already in memory


def _open_named_pipe(path: str) -> io.BufferedReader:
    """A pipe that gives something. Opened plainly, one without a writer would block for ever."""
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not select.select([pipe], [], [], PATIENCE_SECONDS)[0]:
            raise CorpusError(
                f"{path} is a pipe, and nobody writes to it",
                "Start what writes to it first, or pipe that into charrnn and name the corpus -",
            )
        os.set_blocking(pipe, True)
        return os.fdopen(pipe, "rb")
    except BaseException:
        os.close(pipe)
        raise


def _packing(source: str, head: bytes) -> str | None:
    """How the bytes are packed, if they are. The content decides, not the name."""
    for packing, (_, magic) in PACKED.items():
        if magic.match(head):
            return packing
    for packing, (suffix, _) in PACKED.items():
        if head and source.endswith(suffix):
            raise CorpusError(
                f"{source} is named like a {packing} file and does not start like one",
                f"Copy it again if it is damaged; if it is plain text, drop the {suffix}",
            )
    return None


class Unpacker(Protocol):
    """What zlib, bz2 and lzma have in common: it ends where what it unpacks ends."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


def _unpacked(stream: io.BufferedReader, unpacker: Callable[[], Unpacker]) -> Iterator[bytes]:
    """What the parts of a packed file hold, one after the other; EOFError where one has no end.

    Between them and after the last there may be NULs, as xz and tape drives put there; all else
    that is no further part is damage, and raises what the unpacker raises.
    """
    data = stream.read1(BLOCK)
    while data:
        part = unpacker()
        while not part.eof:
            block = part.decompress(data, max_length=BLOCK)
            data = getattr(part, "unconsumed_tail", b"")
            if block:
                yield block
            elif not data and not part.eof and not (data := stream.read1(BLOCK)):
                raise EOFError
        data = part.unused_data.lstrip(b"\0")
        while not data and (more := stream.read1(BLOCK)):
            data = more.lstrip(b"\0")


def _unpacker(packing: str) -> Callable[[], Unpacker]:
    """Makes what unpacks a part of such a file."""
    try:  # some builds of Python lack one or the other
        if packing == "gzip":
            return lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        if packing == "xz":
            import lzma

            return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)
        import bz2

        return bz2.BZ2Decompressor
    except ImportError:
        raise CorpusError(
            f"this Python cannot unpack {packing}", "Unpack the file first."
        ) from None


def _lzma_error() -> type[Exception]:
    lzma = sys.modules.get("lzma")
    return lzma.LZMAError if lzma else zlib.error


def _not_a_text(path: str) -> CorpusError:
    return CorpusError(f"{path} is a device, not a text", "Name a file, or - for standard input.")


def _unreadable(name: str, error: OSError | ValueError) -> CorpusError:
    """What stands in the way, said so that one can do something about it."""
    if isinstance(error, FileNotFoundError):
        if os.path.islink(name):
            target = os.readlink(name)
            return CorpusError(
                f"{name} is a link to {target}, which is not there", "Mend the link."
            )
        near = get_close_matches(name, NAMES)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        return CorpusError(
            f"{name} does not exist", f"{meant}Check the name, and the folder you are in."
        )
    if isinstance(error, PermissionError):
        return CorpusError(f"{name} may not be read", "Change its permissions, or copy it.")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return CorpusError(f"{name} is a link that leads to itself", "Mend the link.")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return CorpusError(f"{name} cannot be read: {reason}", "Check the name, and the disk it is on.")


NOWHERE = ""  # standard input, what comes with the program, and what older files do not tell


def place_of(name: str) -> str:
    """Where the file of that name is, seen from here."""
    if name == "-" or path_of(name) != name:
        return NOWHERE
    with suppress(OSError):  # the folder that we are in may be gone
        folder, base = os.path.split(os.path.abspath(name))
        return os.path.join(os.path.realpath(folder), base)
    return NOWHERE


def found(name: str, place: str) -> str:
    """The file to read: the one that it was, else whatever has its name here."""
    if not place or not os.path.exists(place):
        return name
    with suppress(OSError, ValueError):
        if os.path.samefile(name, place):
            return name  # which is how a user knows it
    return place


def seen_from(model: str | os.PathLike[str], place: str) -> str:
    """The way from a model file to that place; nowhere, if there is none."""
    if not place:
        return NOWHERE
    with suppress(OSError, ValueError):  # another drive
        return os.path.relpath(place, _folder(model)).replace(os.sep, "/")
    return NOWHERE


def reached_from(model: str | os.PathLike[str], way: str) -> str:
    """Where that way leads."""
    if not way:
        return NOWHERE
    with suppress(OSError):
        return os.path.normpath(os.path.join(_folder(model), way))
    return NOWHERE


def _folder(model: str | os.PathLike[str]) -> str:
    return os.path.dirname(os.path.realpath(model))

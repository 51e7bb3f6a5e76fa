"""Names to blocks of bytes: files, pipes and standard input, decompressed where they are packed.

A model file keeps the places of its corpus relative to its own folder: both can move together, and
the model does not show the name of a home folder.
"""

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
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from charrnn.errors import CorpusError

NAMES = ("dinosaurs", "given-names", "reber", "verses")  # corpora that come with the program
FOLDERS = [home / "data" for home in Path(__file__).parents[1:3]]  # installed; in a checkout

BLOCK: Final = 1 << 17  # bytes: arrays made from one block fit into the cache
PATIENCE_SECONDS: Final = 5.0  # a named pipe that stays silent for longer has no writer
INHERITED: Final = ("/dev/fd/", "/dev/stdin", "/proc/")  # pipes of the shell: <(command)
PACKED: Final = {
    "gzip": (".gz", re.compile(rb"\x1f\x8b\x08")),
    "xz": (".xz", re.compile(rb"\xfd7zXZ\x00")),
    "bzip2": (".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")),
}
COPY_AGAIN: Final = "Copy or download it again."


def path_of(source: str) -> str:
    """Return the path of a corpus that comes with the program; any other name stays as it is."""
    if source in NAMES and not os.path.lexists(source):  # a file of that name comes first
        for folder in FOLDERS:
            file = folder / f"{source}.txt"
            if file.is_file():
                return str(file)
    return source


def name_of(source: str) -> str:
    """Return the name of a source for messages."""
    return "standard input" if source == "-" else source


def is_stream(name: str) -> bool:
    """Return whether the source can be read only once: standard input, or a pipe of the shell."""
    return name == "-" or name.startswith(INHERITED)


def byte_blocks(source: str) -> Iterator[bytes]:
    """Yield the bytes of a file, or of standard input for "-", decompressed, block by block."""
    name = name_of(source)
    with _open(source) as stream:
        try:
            packing = _packing(source, stream.peek(10))
            if packing:
                yield from _unpacked(stream, _unpacker(packing))
            while block := stream.read1(BLOCK):
                yield block
        except EOFError:
            what = f"{name} is cut short: its {packing} data has no end"
            raise CorpusError(what, COPY_AGAIN) from None
        except (
            OSError,
            zlib.error,
            getattr(sys.modules.get("lzma"), "LZMAError", OSError),
        ) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise _unreadable(name, error) from None
            is_sum = "incorrect data check" in str(error)
            wrong = "does not match its checksum" if is_sum else "cannot be unpacked"
            what = f"{name} is damaged: its {packing} data {wrong}"
            raise CorpusError(what, COPY_AGAIN) from None


def check_source(source: str) -> int:
    """Return the file mode of a source; raise CorpusError if it cannot be read."""
    if source == "-":
        return 0
    if not source:
        raise CorpusError("a name is empty", "Check that the variable in the shell is set.")
    source = path_of(source)
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None
    if stat.S_ISDIR(mode):
        raise CorpusError(f"{source} is a folder", "Name the files in it: FOLDER/*.txt")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise _device(source)
    return mode


def _open(source: str) -> AbstractContextManager[io.BufferedReader]:
    if source == "-":
        return nullcontext(_standard_input())
    mode = check_source(source)
    source = path_of(source)
    try:
        if stat.S_ISFIFO(mode) and not source.startswith(INHERITED):
            return _open_named_pipe(source)
        stream = open(source, "rb")  # noqa: SIM115  byte_blocks closes it
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None
    if stat.S_ISCHR(mode) and not stream.isatty():  # /dev/zero never ends
        stream.close()
        raise _device(source)
    return stream


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise CorpusError("standard input is closed", "Name a file, or pipe a text in.")
    stream = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        with suppress(AttributeError, OSError):  # not supported by every system and stream
            os.set_blocking(stream.fileno(), True)  # or "nothing yet" would look like the end
        return stream
    return io.BufferedReader(io.BytesIO(stream.read()))  # a replacement, already in memory


def _open_named_pipe(path: str) -> io.BufferedReader:
    """Open a pipe that has a writer; a plain open would wait for one forever."""
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not select.select([pipe], [], [], PATIENCE_SECONDS)[0]:
            hint = "Start the writer first, or pipe it into charrnn and name the corpus -"
            raise CorpusError(f"{path} is a pipe without a writer", hint)
        os.set_blocking(pipe, True)
        return os.fdopen(pipe, "rb")
    except BaseException:
        os.close(pipe)
        raise


def _packing(source: str, head: bytes) -> str | None:
    """Return how the bytes are packed, if they are. The content decides, not the name."""
    for packing, (_, magic) in PACKED.items():
        if magic.match(head):
            return packing
    for packing, (suffix, _) in PACKED.items():
        if head and source.endswith(suffix):
            what = f"{source} is named like a {packing} file and does not start like one"
            hint = f"Copy it again if it is damaged; if it is plain text, drop the {suffix}"
            raise CorpusError(what, hint)
    return None


def _unpacked(stream: io.BufferedReader, unpacker: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the content of all streams in a packed file; EOFError if one is cut short.

    An unpacker of zlib, bz2 or lzma stops at the end of a stream. NULs may follow; anything else
    between two streams is damage, and the next unpacker raises its error.
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


def _unpacker(packing: str) -> Callable[[], Any]:
    try:  # some builds of Python lack a module
        if packing == "gzip":
            return partial(zlib.decompressobj, wbits=16 + zlib.MAX_WBITS)
        if packing == "xz":
            lzma = import_module("lzma")
            return partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
        return partial(import_module("bz2").BZ2Decompressor)
    except ImportError:
        what = f"this Python cannot unpack {packing}"
        raise CorpusError(what, "Unpack the file first.") from None


def _device(path: str) -> CorpusError:
    return CorpusError(f"{path} is a device, not a text", "Name a file, or - for standard input.")


def _unreadable(name: str, error: OSError | ValueError) -> CorpusError:
    """Return the error that says why the file cannot be read."""
    if isinstance(error, FileNotFoundError):
        if os.path.islink(name):
            return CorpusError(f"{name} is a broken link to {os.readlink(name)}", "Mend the link.")
        near = get_close_matches(name, NAMES)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        hint = f"{meant}Check the name, and the folder you are in."
        return CorpusError(f"{name} does not exist", hint)
    if isinstance(error, PermissionError):
        return CorpusError(f"{name} may not be read", "Change its permissions, or copy it.")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return CorpusError(f"{name} is a link that leads to itself", "Mend the link.")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return CorpusError(f"{name} cannot be read: {reason}", "Check the name, and the disk it is on.")


NOWHERE = ""  # the place of standard input, of our own corpora, and of files in old models


def place_of(name: str) -> str:
    """Return the absolute path of a file, links in its folder resolved."""
    if name != "-" and path_of(name) == name:
        with suppress(OSError):  # the current folder may be gone
            folder, base = os.path.split(os.path.abspath(name))
            return os.path.join(os.path.realpath(folder), base)
    return NOWHERE


def locate(name: str, place: str) -> str:
    """Return the path to read: the recorded place if a file is still there, else the name."""
    if not place or not os.path.exists(place):
        return name
    with suppress(OSError, ValueError):
        if os.path.samefile(name, place):
            return name  # the user knows it by this name
    return place


def relative_place(model: str | os.PathLike[str], place: str) -> str:
    """Return the place relative to the folder of the model file."""
    if place:
        with suppress(OSError, ValueError):  # another drive
            folder = os.path.dirname(os.path.realpath(model))
            return os.path.relpath(place, folder).replace(os.sep, "/")
    return NOWHERE


def absolute_place(model: str | os.PathLike[str], relative: str) -> str:
    """Return the place that is recorded relative to the folder of the model file."""
    if relative:
        with suppress(OSError):
            return os.path.normpath(os.path.join(os.path.realpath(model), "..", relative))
    return NOWHERE

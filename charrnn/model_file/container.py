"""Named arrays and a JSON text in one .npz, written whole and read strictly.

Equal content gives equal bytes. A load returns exactly the content that was saved, or fails. It
compares or checks every byte, unpickles and unpacks nothing, and allocates an array only after the
file is known to hold it. `npz` has the byte layout.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import struct
import tokenize
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from io import BytesIO, FileIO
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from charrnn import errors
from charrnn.corpus.files import MODELS, OURS, model_at
from charrnn.model_file import npz
from charrnn.model_file.npz import JSON_MEMBER, Layout, Member, Spec, bytes_at, read_headers
from charrnn.model_file.saving import check_writable, replace
from charrnn.text import question

__all__ = ["Spec", "check_writable", "load", "room_needed", "save"]

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Path = str | os.PathLike[str]
Arrays = Mapping[str, NDArray[Any]]

# The format of the facts. A new field needs a default and no new number: a file without the field
# takes the default, and a program without the field reports that the file is newer. Raise FORMAT
# only if the meaning of a field changes. All formats can be read: format 1 is the first; format 2
# adds cells, ends, cuts, decoding errors, a digest, places and slim files; format 3 adds teacher
# forcing, own inputs, stride, clock, several networks and counted text.
FORMAT = 3
LARGEST = 64 << 20  # bytes of text: all of Unicode as a vocabulary takes 13 MB

_START = npz.local_header(JSON_MEMBER, 0, 0)  # of an empty text
_NAME = slice(30, 30 + len(JSON_MEMBER))
HEAD_SIZE = _NAME.stop  # bytes at the start of a file that show whether it is a model
CHECKSUM = slice(14, 18)  # in the bytes before the numbers of a member
_BLOCK = 1 << 20  # bytes read at a time
_PREFACE = 10_000  # bytes, far more than the header of any array
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, AttributeError, SyntaxError, EOFError, struct.error),
    *(tokenize.TokenError, RecursionError, MemoryError, OverflowError),
)


def open_regular(path: str | os.PathLike[str]) -> FileIO:
    """Open a file for reading. Raise NotAModelError for a folder, a FIFO or a device."""

    def check(status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise _not_a_model(os.fspath(path), f": it is {kind}")

    # Check before opening, since to open a tape or a FIFO has effects; open without waiting, and
    # check again, since another file may have taken its place.
    check(os.stat(path))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = FileIO(os.open(path, flags), "rb")
    try:
        check(os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def is_model(head: bytes) -> bool:
    """Return True if a file that starts with these bytes is a model, perhaps a damaged one."""
    return head[_NAME] == _START[_NAME]


def _not_a_model(path: str, why: str = "") -> errors.NotAModelError:
    hint = "Name a model with [model]."
    return errors.NotAModelError(f"{path} is not a charrnn model{why}", hint)


def damaged(path: Path, why: str) -> errors.DamagedModelError:
    """Return the error for a file that was a model once."""
    hint = "Restore it from a copy, or train it again."
    return errors.DamagedModelError(f"{os.fspath(path)} is damaged: {why}", hint)


class NewerFormatError(Exception):
    """A text with a format number or a field that this version does not support."""


class Document(NamedTuple):
    """The format number and the facts of a JSON text."""

    version: int
    facts: dict[str, JSON]


def compose(facts: Mapping[str, JSON], version: int | None = None) -> bytes:
    """Return the text for these facts: sorted, without NaN, in ASCII without escape sequences."""
    document = {"facts": facts, "format": FORMAT if version is None else version}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def parse(text: bytes) -> Document:
    """Return the document of a text. Raise ValueError unless `compose` would give this text."""
    try:
        document = json.loads(text.decode("ascii"))
        version = document["format"]
        if type(version) is not int or version < 1:
            raise TypeError(version)
        if version > FORMAT:
            raise NewerFormatError(f"format {version}")
        facts = dict(document["facts"])
        # Composing the text again finds duplicate keys, NaN, spaces and other JSON liberties.
        if compose(facts, version) == text:
            return Document(version, facts)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("not a text of ours") from error
    raise ValueError("not a text of ours")


def printable(text: str) -> str:
    """Return untrusted text shortened, with control characters escaped."""
    short = text if len(text) <= 80 else text[:80] + "..."
    return short if short.isprintable() else ascii(short)


class Archive(NamedTuple):
    """The content of a file."""

    facts: dict[str, JSON]
    arrays: dict[str, NDArray[Any]]


Expected = Callable[[Document], Mapping[str, Spec]]  # return the arrays that the facts call for


class Reader:
    """An open model file. A file renamed over it in the meantime changes nothing here."""

    def __init__(self, path: str, file: FileIO) -> None:
        self.path, self.file = path, file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, expected: Expected, names: Callable[[str], bool]) -> Archive:
        """Return the facts and the arrays for which `names` returns True. Check all of the file."""
        text = self.text()
        facts, specs = self.facts(text, expected)
        try:
            layout = npz.lay_out(len(text), specs)
        except OverflowError as error:
            raise damaged(self.path, f"its settings need too much room: {error}") from error
        openings, ending = self.surroundings(layout)
        seal = sha256(openings[0] + text)
        arrays: dict[str, NDArray[Any]] = {}
        for member, opening in zip(layout.members[1:], openings[1:], strict=True):
            seal.update(opening)
            checksum = zlib.crc32(member.preface)
            array = self.empty(member) if names(member.array) else None
            for block in self.blocks(member, array):
                seal.update(block)
                checksum = zlib.crc32(block, checksum)
            if checksum != int.from_bytes(opening[CHECKSUM], "little"):
                raise damaged(self.path, f"the checksum of {member.array} does not match")
            if array is not None:
                arrays[member.array] = array
        seal.update(ending)
        seal_at = self.size - npz.SEAL_SIZE
        if bytes_at(self.file, seal_at, npz.SEAL_SIZE) != seal.hexdigest().encode():
            raise damaged(self.path, "its checksum does not match its bytes")
        for name, array in arrays.items():
            if not npz.is_finite(array):
                raise damaged(self.path, f"{name} holds a number that is not finite")
            arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        return Archive(facts, arrays)

    def text(self) -> bytes:
        """Return the JSON text, checked by its checksum. Its place is checked later.

        Raise NotAModelError unless the start or the end shows that this was once a model.
        """
        head = bytes_at(self.file, 0, HEAD_SIZE)
        label_at = self.size - npz.SEAL_SIZE - len(npz.SEAL_LABEL)
        label = bytes_at(self.file, label_at, len(npz.SEAL_LABEL))
        if label != npz.SEAL_LABEL and not is_model(head):
            if not head:
                raise _not_a_model(self.path, ": it is empty")
            if len(head) == HEAD_SIZE or head[:14] != _START[:14][: len(head)]:
                raise _not_a_model(self.path)
        headers, _ = read_headers(self.file, 1)
        if not headers or headers[0].name != JSON_MEMBER:
            raise damaged(self.path, f"it does not start with {JSON_MEMBER}")
        first = headers[0]
        if not first.stored:
            why = f"{first.name} is compressed or encrypted, and should be neither"
            raise damaged(self.path, why)
        if first.size > min(self.size, LARGEST):
            why = f"{first.name} has {first.size:,} bytes, the file {self.size:,}"
            raise damaged(self.path, why)
        text = bytes_at(self.file, first.content_at, first.size)
        if zlib.crc32(text) != first.checksum:
            raise damaged(self.path, f"{first.name} has changed since the save")
        return text

    def facts(self, text: bytes, expected: Expected) -> tuple[dict[str, JSON], Mapping[str, Spec]]:
        """Return the facts in the text and the arrays that they call for."""
        try:
            document = parse(text)
            return document.facts, expected(document)
        except ValueError as error:
            raise damaged(self.path, "its text makes no sense") from error
        except NewerFormatError as error:
            what = f"{self.path} was written by a newer charrnn: {error} is unknown"
            raise errors.NewerModelError(what, "Install the newest charrnn.") from error

    def surroundings(self, layout: Layout) -> tuple[list[bytes], bytes]:
        """Return the bytes before the numbers of each member and after the last, all compared."""
        if layout.size != self.size:
            raise damaged(self.path, self.difference(layout))
        members = layout.members
        openings = [bytes_at(self.file, each.at, each.content_at - each.at) for each in members]
        checksums = [int.from_bytes(opening[CHECKSUM], "little") for opening in openings]
        due = [each.opening(checksum) for each, checksum in zip(members, checksums, strict=True)]
        ending = layout.ending(checksums)
        if openings != due or bytes_at(self.file, layout.ending_at, len(ending)) != ending:
            raise damaged(self.path, self.difference(layout))
        return openings, ending

    def empty(self, member: Member) -> NDArray[Any]:
        """Return a new array for the numbers of a member, which the file is known to hold."""
        try:
            return np.empty(member.shape, member.dtype)
        except MemoryError as error:
            needed = f"{member.content_size:,} bytes for {member.array}"
            what = f"{self.path} needs more memory than there is: {needed}"
            hint = "Close other programs, or use a machine with more memory."
            raise errors.ModelFileError(what, hint) from error
        except ValueError as error:
            raise damaged(self.path, f"{member.array} cannot be an array: {error}") from error

    def blocks(self, member: Member, array: NDArray[Any] | None) -> Iterator[memoryview]:
        """Yield the numbers of a member block by block, and store them in the array if given."""
        self.file.seek(member.content_at)
        room = memoryview(bytearray(_BLOCK)) if array is None else npz.bytes_of(array)
        for at in range(0, member.content_size, _BLOCK):
            count = min(_BLOCK, member.content_size - at)
            block = rest = room[:count] if array is None else room[at : at + count]
            while rest:
                read = self.file.readinto(rest)
                if not read:
                    raise damaged(self.path, "it was cut short while it was read")
                rest = rest[read:]
            yield block

    def difference(self, layout: Layout) -> str:
        """Describe how the file differs from its layout, from member headers alone."""
        headers, is_complete = read_headers(self.file, len(layout.members) + 1)
        members = {member.name: member for member in layout.members}
        for name, times in Counter(header.name for header in headers).items():
            if name not in members:
                return f"{printable(name)} is not one of its members"
            if times > 1:
                return f"{name} occurs more than once"
        for header in headers:
            if not header.stored:
                return f"{header.name} is compressed or encrypted, and should be neither"
            due = members.pop(header.name).preface
            preface = bytes_at(self.file, header.content_at, min(header.size, _PREFACE))
            if not preface.startswith(due) and _array(preface) != _array(due):
                return f"{header.name} should be {_array(due)} but is {_array(preface)}"
        if members and is_complete:
            return f"{next(iter(members))} is missing"
        if self.size != layout.size:
            return f"it should have {layout.size:,} bytes but has {self.size:,}"
        return "the checksum of its numbers does not match"


def _array(preface: bytes) -> str:
    """Describe the array that an .npy header announces."""
    stream = BytesIO(preface)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's advice to the writer of such a header
            if np.lib.format.read_magic(stream) == (1, 0):
                shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
            else:
                shape, by_column, dtype = np.lib.format.read_array_header_2_0(stream)
    except _UNREADABLE:
        return "no array"
    sides = " x ".join(str(length) for length in shape) or "a single"
    return printable(f"{sides} {dtype}{' stored by columns' if by_column else ''}")


def save(
    path: Path, arrays: Arrays, facts: Mapping[str, JSON], expected: Expected | None = None
) -> None:
    """Write the file whole, unless `load` would refuse it by its `expected`.

    Raise SaveError and leave the old file if that fails.
    """
    text = _text(path, facts)
    specs = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    if expected is not None:
        _check_readable(path, text, specs, expected)
    layout = npz.lay_out(len(text), specs)
    for name, array in arrays.items():
        if not npz.is_finite(array):
            what = f"{os.fspath(path)} was not saved: {name} holds a number that is not finite"
            raise errors.SaveError(what, "The last save is untouched. Try a smaller [lr].")
    replace(path, layout.size, _add_seal(_pieces(layout, text, arrays)))


def room_needed(arrays: Mapping[str, Spec], facts: Mapping[str, JSON]) -> int:
    """Return the size of the file that `save` would write for such arrays."""
    return npz.lay_out(len(_text("the model", facts)), arrays).size


def load(path: Path, expected: Expected, names: Callable[[str], bool] | None = None) -> Archive:
    """Return the facts and the arrays of a file, or those arrays for which `names` returns True."""
    try:
        with open_regular(model_at(path)) as file:
            return Reader(os.fspath(path), file).read(expected, names or (lambda _: True))
    except FileNotFoundError as error:
        near = question(get_close_matches(os.fspath(path), MODELS))
        hint = f"{near}Train one first, or name another with [model]: a file, or {OURS}."
        raise errors.ModelFileError(f"there is no model {os.fspath(path)}", hint) from error
    except OSError as error:
        hint = "Look at its permissions and at the disk, or name another model with [model]."
        if error.errno == errno.ELOOP:
            hint = "Fix the link, which leads to itself, or name another model with [model]."
        what = f"{os.fspath(path)} cannot be read: {error.strerror or error}"
        raise errors.ModelFileError(what, hint) from error


def _text(path: Path, facts: Mapping[str, JSON]) -> bytes:
    text = compose(facts)
    if len(text) > LARGEST:
        size = f"{len(text):,} bytes of settings, vocabulary and history"
        what = f"{os.fspath(path)} was not saved: {size} exceed the limit of {LARGEST:,}"
        raise errors.SaveError(what, "Check less often: fewer check-ups make a shorter history.")
    return text


def _check_readable(path: Path, text: bytes, specs: Mapping[str, Spec], expected: Expected) -> None:
    """Raise SaveError if a file of this text and these arrays could not be loaded."""
    try:
        wanted, why = expected(parse(text)), "its arrays do not match its settings"
    except (ValueError, errors.ModelFileError, NewerFormatError) as error:
        wanted, why = {}, str(error).partition(" is damaged: ")[2] or str(error)
    if dict(wanted) != dict(specs):
        what = f"{os.fspath(path)} was not saved, since it could not be loaded: {why}"
        raise errors.SaveError(what, "The last save is untouched.")


def _pieces(layout: Layout, text: bytes, arrays: Arrays) -> Iterator[bytes | memoryview]:
    """Yield the file up to the seal, without a second copy of the arrays."""
    checksums = [zlib.crc32(text)]
    yield layout.members[0].opening(checksums[0])
    yield text
    for member in layout.members[1:]:
        content = npz.bytes_of(arrays[member.array])
        checksums.append(zlib.crc32(content, zlib.crc32(member.preface)))
        yield member.opening(checksums[-1])
        yield content
    yield layout.ending(checksums)


def _add_seal(pieces: Iterator[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    seal = sha256()
    for piece in pieces:
        seal.update(piece)
        yield piece
    yield seal.hexdigest().encode()

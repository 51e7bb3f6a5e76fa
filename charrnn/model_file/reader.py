"""A model file read strictly: nothing is believed that was not compared or checked.

First the text, then what stands around the numbers, all of it compared with what the text and
the settings in it call for, and only then, into arrays of sizes that are now known to be true,
the numbers; at last the seal, which is over every byte.

Is this a charrnn model at all? Before anything else, and whatever it may be instead.

What is wrong with a model file that is not as it must be: words for the message.

That the file is refused is settled before anything here runs. So this only looks at the headers
of the members, from the first to the first that makes no sense, and may know no answer.

The JSON text of a model file: facts to bytes and back, in one way only.

    format 1   the first
    format 2   settings have a cell and what ends a text; a corpus has how each file was cut, where
               they differ, what became of wrong bytes, a digest, where the files are, and what
               was known before; a file may be slim
    format 3   settings say what is fed back, whose draws are read, how far windows lie apart, and
               whether there is a clock; a file may hold several networks, and the text that is
               counted

A file of any earlier format is read; one that is newer is told as such. Whoever adds to what a file
says raises FORMAT, and gives what is new a default, which is what files without it mean."""

from __future__ import annotations

import json
import os
import stat
import struct
import tokenize
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO, FileIO
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import DamagedModelError, ModelFileError, NewerModelError, NotAModelError
from charrnn.model_file import npz
from charrnn.model_file.npz import JSON_MEMBER, End, Found, Layout, Member, Spec, bytes_at, walk

_START = npz.local_header(npz.JSON_MEMBER, 0, 0)  # that of an empty text
_NAME = slice(30, 30 + len(npz.JSON_MEMBER))
HEAD_SIZE = _NAME.stop  # bytes from the beginning, enough to tell


def open_regular(path: str | os.PathLike[str]) -> FileIO:
    """The file, open for reading; NotAModelError where it is a folder, a FIFO, a device."""
    # Looked at before it is opened, as to open a tape or a FIFO is to do something to it; and
    # opened without waiting, and looked at again, as it can be another file by then.
    _check_kind(path, os.stat(path))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = FileIO(os.open(path, flags), "rb")
    try:
        _check_kind(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def is_model(head: bytes) -> bool:
    """Whether a file that begins so is a model, or was one once."""
    return head[_NAME] == _START[_NAME]


def check_ours(path: str, head: bytes, label: bytes) -> None:
    """NotAModelError unless the first bytes or the last ones show that this was once a model.

    Either will do, as the other may be what is damaged.
    """
    if label == npz.SEAL_LABEL or is_model(head):
        return
    if not head:
        raise _not_a_model(path, ": it is empty")
    if len(head) == HEAD_SIZE or head[:14] != _START[:14][: len(head)]:
        raise _not_a_model(path)


def _check_kind(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise _not_a_model(os.fspath(path), ": it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise _not_a_model(os.fspath(path), ": it is not a regular file")


def _not_a_model(path: str, why: str = "") -> NotAModelError:
    hint = "Name a file that a run was saved to."
    return NotAModelError(f"{path} is not a charrnn model{why}", hint)


_PREFACE = 10_000  # bytes, far more than an array's header has
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, AttributeError, SyntaxError, EOFError, struct.error),
    *(tokenize.TokenError, RecursionError, MemoryError, OverflowError),
)


def difference(file: FileIO, size: int, layout: Layout) -> str:
    """In which way the file of that size is not the one that the layout describes."""
    *steps, last = islice(walk(file), len(layout.members) + 1)
    found = [step for step in (*steps, last) if isinstance(step, Found)]
    wanted = {member.name: member for member in layout.members}
    for name, times in Counter(member.name for member in found).items():
        if name not in wanted:
            return f"{_shown(name)} is not one of its members, and is there"
        if times > 1:
            return f"its member {name} is there more than once"
    for member in found:
        if not member.stored:
            return f"its member {member.name} is compressed or encrypted, and should be neither"
        words = _other_array(file, member, wanted[member.name])
        if words:
            return words
    missing = [name for name in wanted if name not in {member.name for member in found}]
    if missing and last == End(complete=True):
        return f"its member {missing[0]} is missing"
    if size != layout.size:
        return f"it should have {layout.size:,} bytes, and has {size:,}"
    return "what stands around its numbers is not what was written"


def _other_array(file: FileIO, found: Found, wanted: Member) -> str:
    """Words where the member is not the array that it should be; none where it is."""
    if found.name == JSON_MEMBER:
        return ""
    preface = bytes_at(file, found.content_at, min(found.size, _PREFACE))
    if preface.startswith(wanted.preface):
        return ""
    due, there = _array(wanted.preface), _array(preface)
    return "" if due == there else f"{found.name} should be {due}, and is {there}"


def _array(preface: bytes) -> str:
    stream = BytesIO(preface)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's advice to whoever wrote such a header
            version = np.lib.format.read_magic(stream)
            if version == (1, 0):
                shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
            else:
                shape, by_column, dtype = np.lib.format.read_array_header_2_0(stream)
    except _UNREADABLE:
        return "no array"
    sides = " x ".join(str(length) for length in shape) or "a single"
    return _shown(f"{sides} {dtype}{' stored by columns' if by_column else ''}")


def _shown(text: str) -> str:
    """Text from a stranger: not too much of it, and nothing that acts on a terminal."""
    short = text if len(text) <= 80 else text[:80] + "..."
    return short if short.isprintable() else ascii(short)


JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

FORMAT = 3
LARGEST = 64 << 20  # bytes: all of Unicode as a vocabulary is 13 MB, the rest is for the history


class NewerFormatError(ValueError):
    """The text says that it is of a format that we do not know yet."""


class Document(NamedTuple):
    """What a text says, and in which format."""

    version: int
    facts: dict[str, JSON]


def compose(facts: Mapping[str, JSON], version: int | None = None) -> bytes:
    """The one text for these facts: sorted, no NaN, and ASCII, so that no terminal obeys it."""
    document = {"facts": facts, "format": FORMAT if version is None else version}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def parse(text: bytes) -> Document:
    """The document that composes to this text; ValueError where there is none."""
    try:
        document = json.loads(text.decode("ascii"))
        version = document["format"]
        if type(version) is not int or version < 1:
            raise TypeError(version)
        if version > FORMAT:
            raise NewerFormatError
        facts = dict(document["facts"])
        # To compose it again finds every liberty that JSON leaves: a key that stands twice, NaN,
        # spaces.
        if compose(facts, version) == text:
            return Document(version, facts)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("not a text of ours") from error
    raise ValueError("not a text of ours")


Expected = Callable[[Document], Mapping[str, Spec]]

_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True)
class Archive:
    """What a file holds."""

    facts: dict[str, JSON]
    arrays: dict[str, NDArray[Any]]


class Reader:
    """One open file; another that is renamed over it meanwhile changes nothing here."""

    def __init__(self, path: str, file: FileIO) -> None:
        self.path = path
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, expected: Expected, names: Callable[[str], bool]) -> Archive:
        """Everything, or those of the arrays that `names` says yes to."""
        text = self.text()
        known = self.document(text)
        layout = self.layout(len(text), expected(known))
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
            if checksum != _checksum_in(opening):
                raise self.damaged(f"the numbers of {member.array} are not those that were saved")
            if array is not None:
                arrays[member.array] = array
        seal.update(ending)
        if (
            bytes_at(self.file, self.size - npz.SEAL_SIZE, npz.SEAL_SIZE)
            != seal.hexdigest().encode()
        ):
            raise self.damaged("its checksum is not that of its bytes")
        for name, array in arrays.items():
            if not npz.is_finite(array):
                raise self.damaged(f"{name} holds a number that is not finite")
            arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        return Archive(known.facts, arrays)

    def text(self) -> bytes:
        """The JSON text, as it was saved; that it stands where it must is seen later."""
        head = bytes_at(self.file, 0, HEAD_SIZE)
        label_at = self.size - npz.SEAL_SIZE - len(npz.SEAL_LABEL)
        label = bytes_at(self.file, label_at, len(npz.SEAL_LABEL))
        check_ours(self.path, head, label)
        first = next(walk(self.file))
        if isinstance(first, End) or first.name != npz.JSON_MEMBER:
            raise self.damaged(f"it does not begin with {npz.JSON_MEMBER}")
        if not first.stored:
            raise self.damaged(f"{first.name} is compressed or encrypted, and should be neither")
        if first.size > min(self.size, LARGEST):
            raise self.damaged(f"{first.name} has {first.size:,} bytes, the file {self.size:,}")
        text = bytes_at(self.file, first.content_at, first.size)
        if zlib.crc32(text) != first.checksum:
            raise self.damaged("its text is not the one that was saved")
        return text

    def document(self, text: bytes) -> Document:
        """What the text says; it may be of any format up to ours."""
        try:
            return parse(text)
        except NewerFormatError as error:
            raise NewerModelError(
                f"{self.path} was written by a newer charrnn",
                "Update this one.",
            ) from error
        except ValueError as error:
            raise self.damaged("its text makes no sense") from error

    def layout(self, text_size: int, arrays: Mapping[str, Spec]) -> Layout:
        """Where everything must stand, for a text and arrays that fill exactly this file."""
        try:
            layout = npz.lay_out(text_size, arrays)
        except OverflowError as error:
            raise self.damaged(f"its settings ask for too much: {error}") from error
        if layout.size != self.size:
            raise self.damaged(difference(self.file, self.size, layout))
        return layout

    def surroundings(self, layout: Layout) -> tuple[list[bytes], bytes]:
        """What stands before the numbers of each member, and after the last: all as it must be."""
        members = layout.members
        openings = [bytes_at(self.file, each.at, each.content_at - each.at) for each in members]
        checksums = [_checksum_in(opening) for opening in openings]
        due = [each.opening(checksum) for each, checksum in zip(members, checksums, strict=True)]
        ending = layout.ending(checksums)
        if openings != due or bytes_at(self.file, layout.ending_at, len(ending)) != ending:
            raise self.damaged(difference(self.file, self.size, layout))
        return openings, ending

    def empty(self, member: Member) -> NDArray[Any]:
        """An array for the numbers of a member, which the file is known to hold."""
        try:
            return np.empty(member.shape, member.dtype)
        except MemoryError as error:
            raise ModelFileError(
                f"{self.path} needs more memory than there is:"
                f" {member.content_size:,} bytes for {member.array}",
                "Close other programs, or use a machine with more memory.",
            ) from error
        except ValueError as error:
            raise self.damaged(f"{member.array} cannot be an array: {error}") from error

    def blocks(self, member: Member, array: NDArray[Any] | None) -> Iterator[memoryview]:
        """The numbers of a member, block by block, read into the array where there is one."""
        self.file.seek(member.content_at)
        room = memoryview(bytearray(_BLOCK)) if array is None else npz.bytes_of(array)
        for at in range(0, member.content_size, _BLOCK):
            count = min(_BLOCK, member.content_size - at)
            block = room[:count] if array is None else room[at : at + count]
            self.fill(block)
            yield block

    def fill(self, block: memoryview) -> None:
        while block:
            count = self.file.readinto(block)
            if not count:
                raise self.damaged("it was cut short while it was read")
            block = block[count:]

    def damaged(self, why: str) -> DamagedModelError:
        return DamagedModelError(
            f"{self.path} is damaged: {why}",
            "Restore it from a copy, or train it again.",
        )


def _checksum_in(opening: bytes) -> int:
    return int.from_bytes(opening[14:18], "little")

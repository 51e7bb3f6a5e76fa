"""The byte layout of a model file: a plain .npz in ZIP64 form, with the JSON text first.

ZIP allows many encodings of the same content, and a hostile writer can exploit that. Here the size
of the text and the names, shapes and types of the arrays determine every byte that is not a number.
The reader compares these bytes and parses none. The ZIP comment holds the SHA-256 of all before it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from io import FileIO
from math import prod
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

Spec = tuple[tuple[int, ...], DTypeLike]  # the shape and the type of an array

JSON_MEMBER = "charrnn.json"
SEAL_LABEL = b"charrnn sha256:"
SEAL_SIZE = 64  # hexadecimal digits

_LOCAL = struct.Struct("<4s5H3I2H")
_LOCAL_EXTRA = struct.Struct("<2H2Q")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")
_ZIP64 = 1  # the type of the extra field that holds sizes of 64 bits
_VERSION = 45  # of ZIP, the first with ZIP64
_NEW_YEAR_1980 = 0x0021  # the first day that ZIP can store: the file carries no real date
_ELSEWHERE = 0xFFFFFFFF  # "read the ZIP64 field instead"
_LARGEST = (1 << 63) - 1  # bytes in a file, on any system
_STEP = 1 << 18  # numbers tested at a time, to keep temporary arrays small


class Member(NamedTuple):
    """A file inside the ZIP."""

    name: str
    preface: bytes  # the .npy header; empty for the JSON text
    size: int  # with the preface
    at: int  # its offset in the file
    shape: tuple[int, ...] = ()
    dtype: np.dtype[np.generic] = np.dtype(np.uint8)

    def opening(self, checksum: int) -> bytes:
        """Return all bytes before the numbers."""
        return local_header(self.name, self.size, checksum) + self.preface

    @property
    def content_at(self) -> int:
        return self.at + _LOCAL.size + len(self.name) + _LOCAL_EXTRA.size + len(self.preface)

    @property
    def content_size(self) -> int:
        return self.size - len(self.preface)

    @property
    def array(self) -> str:
        """The name of the array: the member's name without its suffix."""
        return self.name.removesuffix(".npy")


class Layout(NamedTuple):
    """The place of every member, known before any byte is written or read."""

    members: tuple[Member, ...]  # the JSON text first

    @property
    def ending_at(self) -> int:
        return self.members[-1].content_at + self.members[-1].content_size

    @property
    def size(self) -> int:
        return self.ending_at + len(self.ending([0] * len(self.members))) + SEAL_SIZE

    def ending(self, checksums: Sequence[int]) -> bytes:
        """Return all bytes between the numbers and the seal."""
        pairs = zip(self.members, checksums, strict=True)
        directory = b"".join(_entry(member, checksum) for member, checksum in pairs)
        count, at, size = len(self.members), self.ending_at, len(directory)
        end64 = _END64.pack(b"PK\6\6", 44, _VERSION, _VERSION, 0, 0, count, count, size, at)
        locator = _LOCATOR.pack(b"PK\6\7", 0, at + size, 1)
        sizes = (0xFFFF, 0xFFFF, _ELSEWHERE, _ELSEWHERE, len(SEAL_LABEL) + SEAL_SIZE)
        return directory + end64 + locator + _END.pack(b"PK\5\6", 0, 0, *sizes) + SEAL_LABEL


def lay_out(text_size: int, arrays: Mapping[str, Spec]) -> Layout:
    """Return the layout for these sizes. Raise OverflowError if no file can be that large."""
    member = Member(JSON_MEMBER, b"", text_size, 0)
    members = [member]
    for name in sorted(arrays):
        if not (name.isascii() and name.isprintable()):
            raise ValueError(f"not a name for an array: {name!r}")
        at = member.content_at + member.content_size
        shape, dtype = tuple(map(index, arrays[name][0])), np.dtype(arrays[name][1])
        if dtype.kind not in "iuf" or dtype.itemsize > 8:
            raise TypeError(f"a model file cannot hold an array of {dtype}")
        if not all(0 <= length <= _LARGEST for length in shape):
            raise OverflowError("a side of an array is negative or larger than any file")
        dtype = dtype.newbyteorder("<")
        preface = npy_preface(shape, dtype)
        size = len(preface) + prod(shape) * dtype.itemsize
        if at + size > _LARGEST:
            raise OverflowError(f"{name} is larger than any file")
        member = Member(name + ".npy", preface, size, at, shape, dtype)
        members.append(member)
    return Layout(tuple(members))


def npy_preface(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> bytes:
    """Return the .npy header (version 1.0), padded to a multiple of 64 bytes."""
    # numpy's own padding has changed before and may change again. These bytes must not.
    words = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    padding = -(10 + len(words) + 1) % 64
    length = len(words) + padding + 1
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + words + b" " * padding + b"\n"


def local_header(name: str, size: int, checksum: int) -> bytes:
    """Return the ZIP header that precedes a member."""
    fields = (b"PK\3\4", _VERSION, 0, 0, 0, _NEW_YEAR_1980, checksum, _ELSEWHERE, _ELSEWHERE)
    extra = _LOCAL_EXTRA.pack(_ZIP64, 16, size, size)
    return _LOCAL.pack(*fields, len(name), len(extra)) + name.encode() + extra


def _entry(member: Member, checksum: int) -> bytes:
    fields = (b"PK\1\2", _VERSION, _VERSION, 0, 0, 0, _NEW_YEAR_1980, checksum)
    extra = struct.pack("<2H3Q", _ZIP64, 24, member.size, member.size, member.at)
    lengths = (len(member.name), len(extra), 0, 0, 0, 0)
    header = _ENTRY.pack(*fields, _ELSEWHERE, _ELSEWHERE, *lengths, _ELSEWHERE)
    return header + member.name.encode() + extra


def bytes_of(array: NDArray[np.generic]) -> memoryview:
    """Return the numbers as stored in the file, without a copy where the array allows it."""
    plain = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    return plain.reshape(-1).view(np.uint8).data


def is_finite(array: NDArray[Any]) -> bool:
    """Return True if the array holds no NaN and no infinity."""
    if array.dtype.kind != "f":
        return True
    flat = array.ravel(order="K")
    return all(np.isfinite(flat[at : at + _STEP]).all() for at in range(0, flat.size, _STEP))


class Header(NamedTuple):
    """A member as its own header describes it."""

    name: str
    stored: bool  # neither compressed nor encrypted
    checksum: int
    content_at: int
    size: int


def read_headers(file: FileIO, most: int) -> tuple[list[Header], bool]:
    """Return the first headers, at most `most`, and whether the directory follows them.

    They find the JSON text and describe damage. They never decide whether a file is good.
    """
    headers: list[Header] = []
    at = 0
    while len(headers) < most:
        fixed = bytes_at(file, at, _LOCAL.size)
        if not fixed.startswith(b"PK\3\4") or len(fixed) < _LOCAL.size:
            return headers, fixed.startswith(b"PK\1\2")
        _, _, flags, method, _, _, checksum, packed, size, *sizes = _LOCAL.unpack(fixed)
        name_size, extra_size = sizes
        name = bytes_at(file, at + len(fixed), name_size).decode("utf-8", "replace")
        extra = bytes_at(file, at + len(fixed) + name_size, extra_size)
        if len(extra) >= 20 and extra.startswith(struct.pack("<H", _ZIP64)):
            size, packed = struct.unpack_from("<2Q", extra, 4)
        at += len(fixed) + name_size + extra_size
        headers.append(Header(name, method == 0 and not flags & 1, checksum, at, size))
        at += packed
    return headers, False


def bytes_at(file: FileIO, at: int, count: int) -> bytes:
    """Return `count` bytes from offset `at`, or fewer at the end of the file."""
    content = b""
    if not 0 <= at < os.fstat(file.fileno()).st_size:  # an offset out of bounds is an OSError
        return content
    file.seek(at)
    while more := file.read(count - len(content)):
        content += more
    return content

"""The bytes of a model file, which can be written in one way only.

    member   charrnn.json    the JSON text
    member   U1.npy          a short preface, and the numbers      } sorted by name
    member   W1.npy          ...                                   }
    directory                every member once more, with its place
    end                      where the directory is; then, as the comment of the ZIP,
                             the SHA-256 of every byte before it: the seal

That is an ordinary .npz: a ZIP of .npy files, nothing compressed. (ZIP64 throughout, as numpy
does it, so there is one form for small and for large.) A ZIP leaves a writer a hundred freedoms,
and a reader as many ways to be led astray. Here all of them are settled: the length of the text
and the names, shapes and types of the arrays say what each byte is that is not a number. So a
reader need not parse what it finds, but compares it with what must be there.

The members of any ZIP, as their headers tell: to find our way in it, not to believe it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
_VERSION = 45  # of ZIP, the first to know ZIP64
_NEW_YEAR_1980 = 0x0021  # the first day that a ZIP can name: a file that carries no date
_ELSEWHERE = 0xFFFFFFFF  # "look into the ZIP64 field"
_LARGEST = (1 << 63) - 1  # bytes in a file, on any system
_STEP = 1 << 18  # numbers looked at together, so that the answers need little room


class Member(NamedTuple):
    """One file inside the file."""

    name: str
    preface: bytes  # what stands before the numbers in an .npy; nothing before the JSON text
    size: int  # with the preface
    at: int  # its place in the file
    shape: tuple[int, ...] = ()
    dtype: np.dtype[np.generic] = np.dtype(np.uint8)

    def opening(self, checksum: int) -> bytes:
        """Everything before its numbers."""
        return local_header(self.name, self.size, checksum) + self.preface

    @property
    def content_at(self) -> int:
        return self.at + _LOCAL.size + len(self.name) + _LOCAL_EXTRA.size + len(self.preface)

    @property
    def content_size(self) -> int:
        return self.size - len(self.preface)

    @property
    def array(self) -> str:
        """The name of the array, which is the member's without its ending."""
        return self.name.removesuffix(".npy")


@dataclass(frozen=True)
class Layout:
    """Where everything stands, known before a byte of it is written or read."""

    members: tuple[Member, ...]  # the JSON text first

    @property
    def ending_at(self) -> int:
        return self.members[-1].content_at + self.members[-1].content_size

    @property
    def size(self) -> int:
        """The bytes of the whole file."""
        return self.ending_at + len(self.ending([0] * len(self.members))) + SEAL_SIZE

    def ending(self, checksums: Sequence[int]) -> bytes:
        """Everything after the numbers, but for the seal."""
        pairs = zip(self.members, checksums, strict=True)
        directory = b"".join(_entry(member, checksum) for member, checksum in pairs)
        count, at, size = len(self.members), self.ending_at, len(directory)
        return b"".join(
            (
                directory,
                _END64.pack(b"PK\6\6", 44, _VERSION, _VERSION, 0, 0, count, count, size, at),
                _LOCATOR.pack(b"PK\6\7", 0, at + size, 1),
                _END.pack(
                    *(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, _ELSEWHERE, _ELSEWHERE),
                    len(SEAL_LABEL) + SEAL_SIZE,
                ),
                SEAL_LABEL,
            )
        )


def lay_out(text_size: int, arrays: Mapping[str, Spec]) -> Layout:
    """The only layout for such a text and such arrays; OverflowError where no file is so large."""
    member = Member(JSON_MEMBER, b"", text_size, 0)
    members = [member]
    for name in sorted(arrays):
        if not (name.isascii() and name.isprintable()):
            raise ValueError(f"not a name for an array: {name!r}")
        at = member.content_at + member.content_size
        shape, dtype = canonical(arrays[name])
        preface = npy_preface(shape, dtype)
        size = len(preface) + prod(shape) * dtype.itemsize
        if at + size > _LARGEST:
            raise OverflowError(f"{name} is larger than any file")
        member = Member(name + ".npy", preface, size, at, shape, dtype)
        members.append(member)
    return Layout(tuple(members))


def canonical(spec: Spec) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """The shape in plain integers, the type little-endian."""
    shape, dtype = tuple(index(length) for length in spec[0]), np.dtype(spec[1])
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise TypeError(f"no array of {dtype} is kept in a model file")
    if not all(0 <= length <= _LARGEST for length in shape):
        raise OverflowError("a side of an array is larger than any file, or negative")
    return shape, dtype.newbyteorder("<")


def npy_preface(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> bytes:
    """What an .npy begins with (version 1.0), padded to a multiple of 64 bytes.

    numpy has changed its padding before, and may again; these bytes must not change with it.
    """
    words = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    padding = -(10 + len(words) + 1) % 64
    length = len(words) + padding + 1
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + words + b" " * padding + b"\n"


def local_header(name: str, size: int, checksum: int) -> bytes:
    """What stands before a member."""
    fields = (b"PK\3\4", _VERSION, 0, 0, 0, _NEW_YEAR_1980, checksum, _ELSEWHERE, _ELSEWHERE)
    extra = _LOCAL_EXTRA.pack(1, 16, size, size)
    return _LOCAL.pack(*fields, len(name), len(extra)) + name.encode() + extra


def _entry(member: Member, checksum: int) -> bytes:
    fields = (b"PK\1\2", _VERSION, _VERSION, 0, 0, 0, _NEW_YEAR_1980, checksum)
    extra = struct.pack("<2H3Q", 1, 24, member.size, member.size, member.at)
    lengths = (len(member.name), len(extra), 0, 0, 0, 0)
    header = _ENTRY.pack(*fields, _ELSEWHERE, _ELSEWHERE, *lengths, _ELSEWHERE)
    return header + member.name.encode() + extra


def bytes_of(array: NDArray[np.generic]) -> memoryview:
    """The numbers as they stand in the file; the array's own memory wherever that is so."""
    plain = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    return plain.reshape(-1).view(np.uint8).data


def is_finite(array: NDArray[Any]) -> bool:
    """Whether no number of the array is NaN or infinite."""
    if array.dtype.kind != "f":
        return True
    flat = array.ravel(order="K")
    return all(np.isfinite(flat[at : at + _STEP]).all() for at in range(0, flat.size, _STEP))


_HEADER = struct.Struct("<4s5H3I2H")
_ZIP64 = 1


class Found(NamedTuple):
    """A member as the file has it."""

    name: str
    stored: bool  # neither compressed nor encrypted
    checksum: int
    content_at: int
    size: int


class End(NamedTuple):
    """Where the members end, and whether the directory comes right after them."""

    complete: bool


def walk(file: FileIO) -> Iterator[Found | End]:
    """The members in their order, up to the first header that makes no sense; then the End."""
    at = 0
    while True:
        header = bytes_at(file, at, _HEADER.size)
        if not header.startswith(b"PK\3\4") or len(header) < _HEADER.size:
            yield End(complete=header.startswith(b"PK\1\2"))
            return
        _, _, flags, method, _, _, checksum, packed, size, name_size, extra_size = _HEADER.unpack(
            header
        )
        name = bytes_at(file, at + len(header), name_size).decode("utf-8", "replace")
        extra = bytes_at(file, at + len(header) + name_size, extra_size)
        if len(extra) >= 20 and extra.startswith(struct.pack("<H", _ZIP64)):
            size, packed = struct.unpack_from("<2Q", extra, 4)
        content_at = at + len(header) + name_size + extra_size
        yield Found(name, method == 0 and not flags & 1, checksum, content_at, size)
        at = content_at + packed


def bytes_at(file: FileIO, at: int, count: int) -> bytes:
    """That many bytes, or those that there are."""
    found = b""
    if not 0 <= at < os.fstat(file.fileno()).st_size:  # to seek too far would be an OSError
        return found
    file.seek(at)
    while more := file.read(count - len(found)):
        found += more
    return found

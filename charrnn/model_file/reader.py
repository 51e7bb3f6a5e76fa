"""A model file read strictly: nothing is believed that was not compared or checked.

First the text, then what stands around the numbers, all of it compared with what the text and
the settings in it call for, and only then, into arrays of sizes that are now known to be true,
the numbers; at last the seal, which is over every byte.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import FileIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import DamagedModelError, ModelFileError, NewerModelError
from charrnn.model_file import diagnosis, metadata, npz, recognition
from charrnn.model_file.metadata import JSON, Document
from charrnn.model_file.npz import Layout, Member, Spec
from charrnn.model_file.zip_members import End, bytes_at, walk

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
        head = bytes_at(self.file, 0, recognition.HEAD_SIZE)
        label_at = self.size - npz.SEAL_SIZE - len(npz.SEAL_LABEL)
        label = bytes_at(self.file, label_at, len(npz.SEAL_LABEL))
        recognition.check_ours(self.path, head, label)
        first = next(walk(self.file))
        if isinstance(first, End) or first.name != npz.JSON_MEMBER:
            raise self.damaged(f"it does not begin with {npz.JSON_MEMBER}")
        if not first.stored:
            raise self.damaged(f"{first.name} is compressed or encrypted, and should be neither")
        if first.size > min(self.size, metadata.LARGEST):
            raise self.damaged(f"{first.name} has {first.size:,} bytes, the file {self.size:,}")
        text = bytes_at(self.file, first.content_at, first.size)
        if zlib.crc32(text) != first.checksum:
            raise self.damaged("its text is not the one that was saved")
        return text

    def document(self, text: bytes) -> Document:
        """What the text says; it may be of any format up to ours."""
        try:
            return metadata.parse(text)
        except metadata.NewerFormatError as error:
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
            raise self.damaged(diagnosis.difference(self.file, self.size, layout))
        return layout

    def surroundings(self, layout: Layout) -> tuple[list[bytes], bytes]:
        """What stands before the numbers of each member, and after the last: all as it must be."""
        members = layout.members
        openings = [bytes_at(self.file, each.at, each.content_at - each.at) for each in members]
        checksums = [_checksum_in(opening) for opening in openings]
        due = [each.opening(checksum) for each, checksum in zip(members, checksums, strict=True)]
        ending = layout.ending(checksums)
        if openings != due or bytes_at(self.file, layout.ending_at, len(ending)) != ending:
            raise self.damaged(diagnosis.difference(self.file, self.size, layout))
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

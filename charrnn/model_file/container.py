"""Named arrays and a JSON text in one .npz, written whole and read strictly.

Equal content gives equal bytes. A load returns exactly the content that was saved, or fails. It
unpickles and unpacks nothing, and makes no array before the file is known to hold it.

    npz       the byte layout          reader    strict reading, and the format of the text
    saving    atomic replacement, and the lock

Later formats keep the first member as it is, so that this program does not call them damaged.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import ModelFileError, SaveError
from charrnn.model_file import npz
from charrnn.model_file.npz import Layout, Spec
from charrnn.model_file.reader import (
    JSON,
    LARGEST,
    Archive,
    Expected,
    NewerFormatError,
    Reader,
    compose,
    open_regular,
    parse,
)
from charrnn.model_file.saving import check_writable, replace

__all__ = ["JSON", "Archive", "Spec", "check_writable", "load", "room_needed", "save"]

Path = str | os.PathLike[str]
Arrays = Mapping[str, NDArray[np.generic]]


def save(
    path: Path, arrays: Arrays, facts: Mapping[str, JSON], expected: Expected | None = None
) -> None:
    """Write the file whole. Raise SaveError and leave the old file if that fails.

    Content that `load` would refuse by its `expected` is not written.
    """
    text = _text(path, facts)
    specs = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    if expected is not None:
        _check_readable(path, text, specs, expected)
    layout = npz.lay_out(len(text), specs)
    for name, array in arrays.items():
        if not npz.is_finite(array):
            raise SaveError(
                f"{os.fspath(path)} was not saved: {name} holds a number that is not finite",
                "The last save is untouched. Try a smaller [lr].",
            )
    replace(path, layout.size, _add_seal(_pieces(layout, text, arrays)))


def room_needed(arrays: Mapping[str, Spec], facts: Mapping[str, JSON]) -> int:
    """Return the size of the file that `save` would write for such arrays."""
    return npz.lay_out(len(_text("the model", facts)), arrays).size


def load(path: Path, expected: Expected, names: Callable[[str], bool] | None = None) -> Archive:
    """Return the facts and the arrays of a file, or those arrays for which `names` returns True.

    `expected` returns the arrays that the facts call for. The facts may come from a stranger: it
    should raise DamagedModelError if they make no sense.
    """
    try:
        with open_regular(path) as file:
            return Reader(os.fspath(path), file).read(expected, names or (lambda _: True))
    except FileNotFoundError as error:
        hint = "Train one first, or name another with [model]."
        raise ModelFileError(f"there is no model {os.fspath(path)}", hint) from error
    except OSError as error:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be read: {error.strerror or error}",
            "Mend the link, which leads to itself, or name another model with [model]."
            if error.errno == errno.ELOOP
            else "Look at its permissions and at the disk, or name another model with [model].",
        ) from error


def _text(path: Path, facts: Mapping[str, JSON]) -> bytes:
    text = compose(facts)
    if len(text) > LARGEST:
        raise SaveError(
            f"{os.fspath(path)} was not saved: {len(text):,} bytes of settings, vocabulary and"
            f" history exceed the limit of {LARGEST:,}",
            "Check less often: fewer check-ups make a shorter history.",
        )
    return text


def _check_readable(path: Path, text: bytes, specs: Mapping[str, Spec], expected: Expected) -> None:
    """Raise SaveError if a file of this text and these arrays could not be loaded."""
    try:
        wanted, why = expected(parse(text)), "its arrays do not match its settings"
    except (ValueError, ModelFileError, NewerFormatError) as error:
        wanted, why = {}, str(error).partition(" is damaged: ")[2] or str(error)
    if dict(wanted) != dict(specs):
        raise SaveError(
            f"{os.fspath(path)} was not saved, since it could not be loaded: {why}",
            "The last save is untouched.",
        )


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

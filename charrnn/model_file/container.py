"""Named arrays and one JSON text in a single .npz, written whole, read strictly.

The same content gives the same bytes, whenever and wherever it is saved; and what comes back is
what was saved, or an error. Nothing is unpickled or unpacked, and no array is made before the
file was seen to hold it.

    npz           what each byte of the file is      reader        the strict reading
    metadata      the JSON text, and the format      recognition   is it ours at all?
    replacement   a file is written whole            zip_members   the members of any ZIP
                                                     diagnosis     words for what is wrong

Later formats keep the beginning, the first member, so that we do not call them damaged.
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
    """Write the file whole, or leave what is there as it is and raise SaveError.

    What `load` would refuse by its `expected` is not written, least of all over what is good.
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
                "What was saved before is untouched. Try a smaller learning rate.",
                "not finite",
            )
    replace(path, layout.size, _sealed(_pieces(layout, text, arrays)))


def room_needed(arrays: Mapping[str, Spec], facts: Mapping[str, JSON]) -> int:
    """The bytes of the file that `save` would write for such arrays, which need not exist yet."""
    return npz.lay_out(len(_text("the model", facts)), arrays).size


def load(path: Path, expected: Expected, names: Callable[[str], bool] | None = None) -> Archive:
    """What the file holds: of the arrays, those that `names` says yes to, or all.

    `expected` tells from the facts which arrays there must be. The facts may come from a
    stranger: it should raise DamagedModelError where they make no sense.
    """
    try:
        with open_regular(path) as file:
            return Reader(os.fspath(path), file).read(expected, names or (lambda _: True))
    except FileNotFoundError as error:
        hint = "Train one first, or say where it is."
        raise ModelFileError(f"there is no model {os.fspath(path)}", hint, "missing") from error
    except OSError as error:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be read: {error.strerror or error}",
            "Mend the link, which leads to itself, or name another model."
            if error.errno == errno.ELOOP
            else "Look at its permissions and at the disk, or name another model.",
            "unreadable",
        ) from error


def _text(path: Path, facts: Mapping[str, JSON]) -> bytes:
    text = compose(facts)
    if len(text) > LARGEST:
        raise SaveError(
            f"{os.fspath(path)} was not saved: {len(text):,} bytes of settings, vocabulary and"
            f" history are more than the {LARGEST:,} that a model may have",
            "Fewer check-ups make a shorter history.",
        )
    return text


def _check_readable(path: Path, text: bytes, specs: Mapping[str, Spec], expected: Expected) -> None:
    """Raise SaveError where a file of this text and these arrays could not be loaded."""
    try:
        wanted, why = expected(parse(text)), "its arrays are not those of its settings"
    except (ValueError, ModelFileError) as error:
        wanted, why = {}, str(error).partition(" is damaged: ")[2] or str(error)
    if dict(wanted) != dict(specs):
        raise SaveError(
            f"{os.fspath(path)} was not saved, for it could not be loaded: {why}",
            "What was saved before is untouched.",
            "unreadable",
        )


def _pieces(layout: Layout, text: bytes, arrays: Arrays) -> Iterator[bytes | memoryview]:
    """The file from its beginning up to the seal, with no second copy of the arrays."""
    checksums = [zlib.crc32(text)]
    yield layout.members[0].opening(checksums[0])
    yield text
    for member in layout.members[1:]:
        content = npz.bytes_of(arrays[member.array])
        checksums.append(zlib.crc32(content, zlib.crc32(member.preface)))
        yield member.opening(checksums[-1])
        yield content
    yield layout.ending(checksums)


def _sealed(pieces: Iterator[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    seal = sha256()
    for piece in pieces:
        seal.update(piece)
        yield piece
    yield seal.hexdigest().encode()

"""Small archives of arrays and facts, and ways to tamper with them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.model_file import container, npz
from charrnn.model_file.container import JSON, Spec

Arrays = dict[str, NDArray[np.generic]]

SMALL: Arrays = {
    "best/U1": np.linspace(-1, 1, 48, dtype=np.float32).reshape(6, 8),
    "best/b1": np.arange(8, dtype=np.float64),
    "last/W1": np.eye(8, dtype=np.float32),
    "lanes": np.arange(5, dtype=np.uint32),
    "step": np.array(7, dtype=np.int64),
}
FACTS: dict[str, JSON] = {"characters": "abé\U0001f600\x1b", "hidden": 8, "history": [1.5, None]}


def specs(arrays: Arrays) -> dict[str, Spec]:
    return {name: (array.shape, array.dtype) for name, array in arrays.items()}


def load(path: Path, arrays: Arrays = SMALL) -> container.Archive:
    return container.load(path, lambda _: specs(arrays))


def same(found: Mapping[str, NDArray[np.generic]], saved: Arrays) -> bool:
    return found.keys() == saved.keys() and all(
        found[name].dtype == saved[name].dtype
        and found[name].shape == saved[name].shape
        and found[name].tobytes() == saved[name].tobytes()
        for name in saved
    )


def resealed(data: bytes) -> bytes:
    """Return the bytes with a correct seal, as an attacker would."""
    body = data[: -npz.SEAL_SIZE]
    return body + sha256(body).hexdigest().encode()


def npy(array: NDArray[Any]) -> bytes:
    stream = BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def repack(path: Path, change: Callable[[dict[str, bytes]], object], packed: str = "") -> None:
    """Write the members again with zipfile, after a change, with a correct seal."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as new:
        for name, content in members.items():
            how = zipfile.ZIP_DEFLATED if name == packed else zipfile.ZIP_STORED
            new.writestr(zipfile.ZipInfo(name.rstrip("*")), content, how)
        new.comment = npz.SEAL_LABEL + b"0" * npz.SEAL_SIZE
    path.write_bytes(resealed(stream.getvalue()))


class Trap:
    """An object that makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("sprung",)

"""What is no archive of ours is not taken for one, and is never unpickled."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from charrnn.errors import (
    ModelFileError,
    NotAModelError,
)
from charrnn.model_file import container
from tests.archives import FACTS, SMALL, Trap, load, npy

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    container.save(tmp_path / "model.npz", SMALL, FACTS)
    return tmp_path / "model.npz"


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(Trap()))


def pytorch(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(Trap()))
        file.writestr("archive/version", b"3\n")


def objects(path: Path) -> None:
    np.savez(path, allow_pickle=True, charrnn=np.array([Trap()], object))


def safetensors(path: Path) -> None:
    header = b'{"W":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 4)


def stranger(path: Path) -> None:
    np.savez(path, W=np.zeros(3))


def compressed_stranger(path: Path) -> None:
    np.savez_compressed(path, W=np.zeros(3))


def single_array(path: Path) -> None:
    path.write_bytes(npy(np.zeros(3)))


FOREIGN: list[Callable[[Path], object]] = [
    *(pickled, pytorch, objects, safetensors, stranger, compressed_stranger, single_array),
    lambda path: path.write_text("First Citizen:\nBefore we proceed any further, hear me speak."),
    lambda path: path.write_text("no"),
    lambda path: path.write_bytes(gzip.compress(b"text" * 100)),
    lambda path: path.write_bytes(b"\0" * 10_000),
    lambda path: path.write_bytes(b""),
    lambda path: path.mkdir(),
]


@pytest.mark.parametrize("make", FOREIGN)
def test_other_files_are_not_models_and_never_unpickled(
    tmp_path: Path, make: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "other.npz"
    make(path)
    with pytest.raises(NotAModelError, match=r"other\.npz is not a charrnn model"):
        load(path)
    assert os.listdir() == ["other.npz"]


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        for path in (tmp_path / "fifo", tmp_path / "s", Path("/dev/zero"), Path("/dev/null")):
            with pytest.raises(NotAModelError, match="not a regular file"):
                load(path)


def test_a_missing_file_or_a_dangling_link_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("missing", "dangling"):
        with pytest.raises(ModelFileError, match=f"there is no model .*{name}") as caught:
            load(tmp_path / name)
        assert "Train one first" in caught.value.hint


def test_what_the_system_says_of_an_unreadable_file_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelFileError, match=r"cannot be read: Not a directory"):
        load(path / "inside")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ModelFileError, match=r"cannot be read: Permission denied"):
        load(path)

"""Archives that were made to do harm are refused by name, and at no cost."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from charrnn.errors import (
    DamagedModelError,
    ModelFileError,
)
from charrnn.model_file import container, npz
from charrnn.model_file.container import Spec
from tests.archives import FACTS, SMALL, Trap, load, npy, repack, resealed, specs

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    container.save(tmp_path / "model.npz", SMALL, FACTS)
    return tmp_path / "model.npz"


W1 = "last/W1.npy"


HARM: list[tuple[str, Callable[[dict[str, bytes]], object]]] = [
    ("bytes around|should have", lambda members: None),
    ("last/W1.npy is missing", lambda members: members.pop(W1)),
    ("more than once", lambda members: members.update({W1 + "*": members[W1]})),
    ("'?more.npy'? is not one of", lambda members: members.update({"more.npy": b""})),
    (r"'\\x1b\[2J' is not one of", lambda members: members.update({"\x1b[2J": b""})),
    ("W1.npy should be 8 x 8 float32 but is no array", lambda members: members.update({W1: b""})),
    (
        "W1.npy should be 8 x 8 float32 but is 9 x 8 float32",
        lambda members: members.update({W1: npy(np.zeros((9, 8), np.float32))}),
    ),
    (
        "W1.npy should be 8 x 8 float32 but is 8 x 8 float64",
        lambda members: members.update({W1: npy(np.zeros((8, 8)))}),
    ),
    (
        "W1.npy should be 8 x 8 float32 but is 64 float32",
        lambda members: members.update({W1: npy(np.zeros(64, np.float32))}),
    ),
    (
        "but is 8 x 8 float32 stored by columns",
        lambda members: members.update({W1: npy(np.ones((8, 8), np.float32, order="F"))}),
    ),
    (
        "but is 8 x 8 object",
        lambda members: members.update({W1: members[W1].replace(b"'<f4'", b"'|O' ")}),
    ),
    ("but is 1 object", lambda members: members.update({W1: npy(np.array([Trap()], object))})),
    (
        "but is 999999 x 999999 float32",
        lambda members: members.update(
            {W1: members[W1].replace(b"(8, 8), }" + b" " * 10, b"(999999, 999999), }")}
        ),
    ),
    (
        "but is no array",
        lambda members: members.update({W1: members[W1][:10] + b"(" * 118}),
    ),
]


@pytest.mark.parametrize(("words", "change"), HARM)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_not_as_they_must_be_are_refused_by_name(
    path: Path,
    words: str,
    change: Callable[[dict[str, bytes]], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(path.parent)
    repack(path, change)
    with pytest.raises(DamagedModelError, match=words) as caught:
        load(path)
    assert caught.value.what.isprintable()
    assert os.listdir() == [path.name]  # nothing was unpickled


def refused_at_no_cost(path: Path, call: Callable[[], object], words: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DamagedModelError, match=words):
            call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def bomb(member: str) -> dict[str, bytes]:
    """Return a member of four megabytes that is packed into a few bytes."""
    return {member: bytes(4 << 20)}


def test_bombs_do_not_go_off(path: Path) -> None:
    for member in (W1, npz.JSON_MEMBER):
        repack(path, lambda members, member=member: members.update(bomb(member)), member)  # type: ignore[misc]
        refused_at_no_cost(path, lambda: load(path), f"{member} is compressed")


@pytest.mark.parametrize(
    "shape", [(10**9, 10**9), (10**9,), (2**62, 2**62), (10**30,), (-1,), (10**18, 0)]
)
def test_settings_that_promise_too_much_are_refused_before_there_is_an_array(
    path: Path, shape: tuple[int, ...]
) -> None:
    promised: dict[str, Spec] = specs(SMALL) | {"last/W1": (shape, np.float32)}
    words = "W1.npy should be|need too much room"
    refused_at_no_cost(path, lambda: container.load(path, lambda _: promised), words)


def test_a_text_larger_than_the_file_is_not_looked_for(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[46:62] = struct.pack("<2Q", 1 << 61, 1 << 61)
    path.write_bytes(resealed(bytes(data)))
    refused_at_no_cost(path, lambda: load(path), r"charrnn\.json has")


BAD_TEXTS = [
    *(b"", b"{", b"null", b"7", b"[]", b"{}", b'{"facts":{}}', b"\xff\xfe{", b"[" * 100_000),
    *(b'{"facts":{},"format":0}', b'{"facts":{},"format":true}', b'{"facts":{},"format":1.0}'),
    *(b'{"facts":[],"format":1}', b'{"facts":null,"format":1}', b'{"facts":{}, "format":1}'),
    b'{"facts":{"a":1,"a":2},"format":1}',
    b'{"facts":{"a":NaN},"format":1}',
    b'{"facts":{"a":1e999},"format":1}',
    b'{"facts":{"a":' + b"9" * 5000 + b'},"format":1}',
    b'{"facts":{"a":' + b"[" * 50_000 + b"]" * 50_000 + b'},"format":1}',
    '{"facts":{"a":"\u00e9"},"format":1}'.encode(),
]


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_text_that_we_never_write_is_refused(
    path: Path, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "compose", lambda _: text)
    container.save(path, SMALL, FACTS)
    with pytest.raises(DamagedModelError, match="its text makes no sense"):
        load(path)


def test_numbers_that_are_not_finite_are_refused_by_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bad in (np.nan, -np.inf):
        arrays = SMALL | {"best/b1": np.array([0.0, bad])}
        with monkeypatch.context() as patch:
            patch.setattr(npz, "is_finite", lambda _: True)
            container.save(path, arrays, FACTS)
        with pytest.raises(DamagedModelError, match=r"best/b1 holds a number that is not finite"):
            load(path, arrays)


def test_too_little_memory_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np, "empty", full)
    with pytest.raises(ModelFileError, match="needs more memory than there is: 192 bytes"):
        load(path)

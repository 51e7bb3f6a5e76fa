"""The model file: what was saved comes back, and nothing else gets in."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import socket
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from numpy.typing import NDArray

from charrnn.errors import (
    DamagedModelError,
    ModelFileError,
    NotAModelError,
    SaveError,
)
from charrnn.model_file import container, json_text, npz
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
    """The seal put right, as somebody would who means harm."""
    body = data[: -npz.SEAL_SIZE]
    return body + sha256(body).hexdigest().encode()


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    container.save(tmp_path / "model.npz", SMALL, FACTS)
    return tmp_path / "model.npz"


# What was saved comes back


def test_what_was_saved_comes_back(path: Path) -> None:
    found = load(path)
    assert found.facts == FACTS
    assert same(found.arrays, SMALL)
    assert all(array.flags.writeable for array in found.arrays.values())


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
FINITE_ARRAYS = arrays_of.arrays(
    dtype=st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.int64, np.uint16]),
    shape=arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
).filter(lambda array: bool(np.isfinite(array).all()))


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.dictionaries(st.from_regex(r"[A-Za-z0-9/_.]+", fullmatch=True), FINITE_ARRAYS, max_size=4),
    st.dictionaries(st.text(), JSON_VALUES, max_size=4),
)
def test_whatever_was_saved_comes_back(
    tmp_path: Path, arrays: Arrays, known: dict[str, JSON]
) -> None:
    path = tmp_path / "any.npz"
    container.save(path, arrays, known)
    found = load(path, arrays)
    assert found.facts == known
    assert same(found.arrays, arrays)
    assert path.stat().st_size == container.room_needed(specs(arrays), known)


def test_same_content_gives_same_bytes_in_any_order(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    container.save(other, dict(reversed(SMALL.items())), dict(reversed(FACTS.items())))
    assert other.read_bytes() == path.read_bytes()


def test_arrays_stored_by_columns_or_big_endian_or_in_steps_give_the_same_bytes(
    path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.npz"
    odd = SMALL | {
        "best/U1": np.asfortranarray(SMALL["best/U1"]),
        "best/b1": np.repeat(SMALL["best/b1"], 2)[::2],
        "lanes": SMALL["lanes"].astype(">u4"),
    }
    container.save(other, odd, FACTS)
    assert other.read_bytes() == path.read_bytes()


def test_numpy_reads_the_file_and_so_does_zipfile(path: Path) -> None:
    with np.load(path) as found:
        assert same({name: found[name] for name in found if name != "charrnn.json"}, SMALL)
        assert json.loads(found["charrnn.json"])["facts"] == FACTS
    with zipfile.ZipFile(path) as members:
        assert members.testzip() is None
        assert members.namelist()[0] == "charrnn.json"
        assert {info.compress_type for info in members.infolist()} == {zipfile.ZIP_STORED}
        assert {info.date_time for info in members.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_of_the_arrays_only_those_asked_for_are_made(path: Path) -> None:
    found = container.load(path, lambda _: specs(SMALL), lambda name: name.startswith("best/"))
    assert found.arrays.keys() == {"best/U1", "best/b1"}


def test_damage_to_an_array_that_was_not_asked_for_is_found_too(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(SMALL["lanes"].tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedModelError, match="lanes"):
        container.load(path, lambda _: specs(SMALL), lambda _: False)


def test_large_arrays_are_neither_copied_to_be_saved_nor_to_be_loaded(tmp_path: Path) -> None:
    large: Arrays = {"a": np.ones(1 << 20, np.float64), "b": np.ones(1 << 20, np.float64)}
    tracemalloc.start()
    try:
        container.save(tmp_path / "large.npz", large, {})
        _, to_save = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        load(tmp_path / "large.npz", large)
        _, to_load = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert to_save < 2 << 20
    assert to_load < 18 << 20  # the arrays themselves are 16


def test_a_file_replaced_while_it_is_read_gives_the_old_content(path: Path) -> None:
    changed: Arrays = {name: np.add(array, 1, dtype=array.dtype) for name, array in SMALL.items()}

    def expected(_: object) -> dict[str, Spec]:
        container.save(path, changed, FACTS)
        return specs(SMALL)

    assert same(container.load(path, expected).arrays, SMALL)
    assert same(load(path).arrays, changed)


def test_what_cannot_come_back_is_not_saved(path: Path) -> None:
    before = path.read_bytes()
    for bad in (np.nan, np.inf):
        with pytest.raises(SaveError, match=r"W1 .* not finite"):
            container.save(path, {"W1": np.array([1, bad])}, FACTS)
    with pytest.raises(TypeError):
        container.save(path, {"W1": np.array([None])}, FACTS)
    with pytest.raises(ValueError, match="JSON"):
        container.save(path, SMALL, {"loss": float("nan")})
    with pytest.raises(ValueError, match="not a name"):
        container.save(path, {"é": np.zeros(1)}, FACTS)
    assert path.read_bytes() == before


def test_a_text_too_long_to_be_read_is_not_saved(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    monkeypatch.setattr(container, "LARGEST", 100)
    with pytest.raises(SaveError, match="more than the 100"):
        container.save(path, SMALL, {"characters": "x" * 100})
    assert path.read_bytes() == before


def test_all_of_unicode_as_a_vocabulary_leaves_room_for_a_history() -> None:
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    assert len(json_text.compose({"characters": everything})) < json_text.LARGEST / 4


# Damage


def test_every_truncation_is_damaged(path: Path) -> None:
    data = path.read_bytes()
    for length in range(len(data) - 1, 0, -1):
        os.truncate(path, length)
        with pytest.raises(DamagedModelError):
            load(path)


def test_every_single_bit_flip_is_damaged(path: Path) -> None:
    few = {name: SMALL[name] for name in ("lanes", "step")}
    container.save(path, few, FACTS)
    data = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for at, byte in enumerate(data):
            for bit in range(8):
                file.seek(at)
                file.write(bytes([byte ^ 1 << bit]))
                try:
                    load(path, few)
                except DamagedModelError:
                    continue
                pytest.fail(f"bit {bit} of byte {at} flipped, and nobody noticed")
            file.seek(at)
            file.write(bytes([byte]))
    assert same(load(path, few).arrays, few)


def test_bytes_before_or_after_are_damage(path: Path) -> None:
    data = path.read_bytes()
    for more in (data + b"\0", data + data, b"\0" + data):
        path.write_bytes(more)
        with pytest.raises(DamagedModelError):
            load(path)


# Not ours


class Trap:
    """Something that leaves a trace in the current folder where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("sprung",)


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


# Made to do harm


W1 = "last/W1.npy"


def repack(path: Path, change: Callable[[dict[str, bytes]], object], packed: str = "") -> None:
    """The members written again by another program, after a change, and with a seal."""
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


def npy(array: NDArray[Any]) -> bytes:
    stream = BytesIO()
    np.save(stream, array)
    return stream.getvalue()


HARM: list[tuple[str, Callable[[dict[str, bytes]], object]]] = [
    ("what stands around|should have", lambda members: None),
    ("last/W1.npy is missing", lambda members: members.pop(W1)),
    ("more than once", lambda members: members.update({W1 + "*": members[W1]})),
    ("'?more.npy'? is not one of", lambda members: members.update({"more.npy": b""})),
    (r"'\\x1b\[2J' is not one of", lambda members: members.update({"\x1b[2J": b""})),
    ("W1.npy should be 8 x 8 float32, and is no array", lambda members: members.update({W1: b""})),
    (
        "W1.npy should be 8 x 8 float32, and is 9 x 8 float32",
        lambda members: members.update({W1: npy(np.zeros((9, 8), np.float32))}),
    ),
    (
        "W1.npy should be 8 x 8 float32, and is 8 x 8 float64",
        lambda members: members.update({W1: npy(np.zeros((8, 8)))}),
    ),
    (
        "W1.npy should be 8 x 8 float32, and is 64 float32",
        lambda members: members.update({W1: npy(np.zeros(64, np.float32))}),
    ),
    (
        "and is 8 x 8 float32 stored by columns",
        lambda members: members.update({W1: npy(np.ones((8, 8), np.float32, order="F"))}),
    ),
    (
        "and is 8 x 8 object",
        lambda members: members.update({W1: members[W1].replace(b"'<f4'", b"'|O' ")}),
    ),
    ("and is 1 object", lambda members: members.update({W1: npy(np.array([Trap()], object))})),
    (
        "and is 999999 x 999999 float32",
        lambda members: members.update(
            {W1: members[W1].replace(b"(8, 8), }" + b" " * 10, b"(999999, 999999), }")}
        ),
    ),
    (
        "and is no array",
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
    """Nothing, and much of it."""
    return {member: bytes(50 << 20)}


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
    words = "W1.npy should be|ask for too much"
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

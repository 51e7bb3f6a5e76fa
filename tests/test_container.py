"""What was saved in an archive comes back; every damage to it is found."""

from __future__ import annotations

import json
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from charrnn.errors import (
    DamagedModelError,
    SaveError,
)
from charrnn.model_file import container
from charrnn.model_file.container import JSON, Spec
from tests.archives import FACTS, SMALL, Arrays, load, same, specs

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


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
    with pytest.raises(SaveError, match="limit of 100"):
        container.save(path, SMALL, {"characters": "x" * 100})
    assert path.read_bytes() == before


def test_all_of_unicode_as_a_vocabulary_leaves_room_for_a_history() -> None:
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    assert len(container.compose({"characters": everything})) < container.LARGEST / 4


# Damage


def test_every_truncation_is_damaged(path: Path, pytestconfig: pytest.Config) -> None:
    data = path.read_bytes()
    for length in range(len(data) - 1, 0, -1 if pytestconfig.getoption("long") else -7):
        os.truncate(path, length)
        with pytest.raises(DamagedModelError):
            load(path)


def test_every_single_bit_flip_is_damaged(path: Path, pytestconfig: pytest.Config) -> None:
    """In each byte one bit after the other; with --long all eight."""
    few = {name: SMALL[name] for name in ("lanes", "step")}
    container.save(path, few, FACTS)
    data = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for at, byte in enumerate(data):
            for bit in range(8) if pytestconfig.getoption("long") else [at % 8]:
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

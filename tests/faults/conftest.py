"""A room to try things in, empty or with a model, and what a machine has to have for some."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.inside import Here
from tests.faults.room import SMALL, Room

WORDS = [
    "anna",
    "bob",
    "clara",
    "dora",
    "emil",
    "fritz",
    "gustav",
    "hanna",
    "ida",
    "jo",
    "karl",
    "lena",
    "mia",
    "nora",
    "otto",
    "paula",
]
NAMES = "\n".join(WORDS * 3) + "\n"


@pytest.fixture
def in_this_process() -> None:
    """Who asks for this gets a room that starts no processes, which is quicker."""


@pytest.fixture
def room(tmp_path: Path, request: pytest.FixtureRequest) -> Room:
    """An empty folder with a corpus in it."""
    made = Here(tmp_path) if "in_this_process" in request.fixturenames else Room(tmp_path)
    made.write("names.txt", NAMES)
    return made


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small model that was trained on names.txt and can be gone on with."""
    there = Room(tmp_path_factory.mktemp("model"))
    there.write("names.txt", NAMES)
    assert there.run("train", *SMALL, "names.txt").status == 0
    return (there / "model.npz").read_bytes()


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory, model: bytes) -> Path:
    """A folder with a model in it that nobody changes."""
    there = Room(tmp_path_factory.mktemp("once"))
    there.write("names.txt", NAMES)
    there.write("model.npz", model)
    return there.folder


@pytest.fixture
def trained(room: Room, model: bytes) -> Room:
    """A folder with a model and its corpus in it."""
    room.write("model.npz", model)
    return room

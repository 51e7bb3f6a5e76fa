"""Faults 10 to 15: model files that are cut, flipped, forged, foreign, newer or in flux."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import struct
import threading
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn.corpus import corpus
from charrnn.errors import CharrnnError, ModelFileError
from charrnn.model_file import checkpoint, container, npz, saving
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.training import loop
from tests.faults import forging
from tests.faults.forging import Arrays, Facts
from tests.faults.limits import MEBIBYTE, limited
from tests.program import SMALL, Program, is_refusal

pytestmark = pytest.mark.child(True)

COMMANDS = [
    *[("info",), ("sample",), ("eval", "names.txt"), ("train", "--resume")],
    *[("embed", "names.txt"), ("reach", "names.txt"), ("fill", "a_")],
]
RESTORE = "Restore it from a copy, or train it again."
WHICH = "Name a model with -m."


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_10_a_model_that_is_cut_short_or_flipped_is_damaged(
    trained: Program, command: tuple[str, ...]
) -> None:
    whole = (trained / "model.npz").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for content in (whole[:200], whole[: len(whole) // 2], whole[:-1]):
        trained.write("model.npz", content)
        is_refusal(trained.run(*command, child=False), "model.npz is damaged: ", RESTORE)
    trained.write("model.npz", bytes(flipped))
    trained.refuses(*command, what="model.npz is damaged: ", hint=RESTORE, child=False)


def test_10_whatever_happens_to_the_bytes_is_refused_or_harmless(
    trained: Program, faults: int
) -> None:
    path = trained / "model.npz"
    whole = path.read_bytes()
    chance = random.Random(0)
    for _ in range(3 * faults):
        content = mutated(whole, chance)
        if content == whole:
            continue
        path.write_bytes(content)
        with pytest.raises(ModelFileError) as caught:
            checkpoint.load(path)
        assert str(path) in caught.value.what
        assert caught.value.hint
        path.write_bytes(resealed(content))
        is_refused_or_what_any_reader_finds(path)


def resealed(content: bytes) -> bytes:
    """The seal put right, as somebody would who means harm."""
    body = content[: -npz.SEAL_SIZE]
    return body + sha256(body).hexdigest().encode()


def is_refused_or_what_any_reader_finds(path: Path) -> None:
    """Numbers may be forged together with their checksum, which is no secret."""
    try:
        _, arrays = forging.opened(path)
    except ModelFileError:
        return
    with np.load(path) as found:
        for name, numbers in arrays.items():
            assert found[name].dtype == numbers.dtype
            assert found[name].tobytes() == numbers.tobytes()


PIECES = [b"PK\1\2", b"\xff" * 8, b"[" * 5000]  # what readers of a ZIP or of JSON may stumble over


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The same bytes with something done to them, and to their checksum not."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        at, to = sorted(chance.randrange(len(changed) + 1) for _ in range(2))
        match chance.randrange(7):
            case 0:
                del changed[at : min(to, at + chance.choice((1, 8, 10_000)))]
            case 1:
                changed[at:at] = chance.randbytes(chance.choice((1, 4, 64)))
            case 2:
                changed[at : at + 4] = struct.pack("<I", chance.choice((0, 1, 2**31, 2**32 - 1)))
            case 3:
                changed[at:at] = changed[at:to]
            case 4:
                other = chance.randrange(len(changed))
                changed[at:to] = changed[other : other + to - at]
            case 5:
                changed[at : at + chance.randrange(9)] = chance.choice(PIECES)
            case _:
                changed[at : at + 1] = chance.randbytes(1)
        if not changed:
            return b""
    return bytes(changed)


class Trap:
    """Something that leaves a trace where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("sprung",)


def saved(save: Callable[..., None], *args: Any, **arrays: Any) -> bytes:
    stream = io.BytesIO()
    save(stream, *args, **arrays)
    return stream.getvalue()


# Some of each sort; the tests of the archive try all of them.
FOREIGN = {
    "text": b"anna\nbob\n",
    "a pickle": pickle.dumps(Trap()),
    "objects": saved(np.savez, allow_pickle=True, charrnn=np.array([Trap()], object)),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_11_what_is_not_ours_is_not_a_model_and_never_unpickled(
    trained: Program, content: bytes
) -> None:
    trained.write("model.npz", content)
    for command in COMMANDS:
        before = trained.files()
        ended = trained.run(*command, child=False)
        is_refusal(ended, "model.npz is not a charrnn model", WHICH)
        assert trained.files() == before


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_11_what_is_no_file_is_not_a_model(trained: Program, command: tuple[str, ...]) -> None:
    (trained / "model.npz").rename(trained / "away.npz")
    (trained / "model.npz").mkdir()
    os.mkfifo(trained / "pipe")
    for name in ("model.npz", "/dev/zero", "/dev/null"):
        is_refusal(trained.run(*command, "-m", name, child=False), *refusal(command, name))
    what, hint = refusal(command, "pipe")
    trained.refuses(*command, "-m", "pipe", what=what, hint=hint, child=False)


def refusal(command: tuple[str, ...], name: str) -> tuple[str, str]:
    """What is said of something that is no file."""
    if command[0] == "train":
        return f"{name} cannot be saved: ", "Name a file elsewhere with -m"
    return f"{name} is not a charrnn model: ", WHICH


def rezipped(path: Path, change: Callable[[dict[str, bytes]], None], **how: Any) -> None:
    """Write the members anew, changed, as any program that writes ZIPs would."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
        comment = file.comment
    change(members)
    with zipfile.ZipFile(path, "w", **how) as file:
        for name, content in members.items():
            file.writestr(name, content)
        file.comment = comment


def array(numbers: Any) -> bytes:
    return saved(np.save, np.asarray(numbers))


MEMBERS: dict[str, tuple[Callable[[dict[str, bytes]], Any], str]] = {
    "extra": (lambda m: m.update({"\x1b[31m.npy": b""}), r"'\x1b[31m.npy' is not one of its"),
    "shape": (
        lambda m: m.update({"W1.npy": array(np.zeros((4, 4), np.float32))}),
        "W1.npy should be 3 x 3 float32 but is 4 x 4 float32",
    ),
}


@pytest.mark.parametrize(("change", "what"), MEMBERS.values(), ids=MEMBERS)
def test_12_members_that_are_not_as_they_must_be_are_refused(
    trained: Program, change: Callable[[dict[str, bytes]], None], what: str
) -> None:
    rezipped(trained / "model.npz", change)
    for command in (("info",), ("train", "--resume")):
        said = ["model.npz is damaged: ", what]
        trained.refuses(*command, what=said, hint=RESTORE, child=False)


@pytest.mark.parametrize("name", ["W1", "last"])
def test_12_numbers_that_no_run_has_saved_are_refused_by_name(trained: Program, name: str) -> None:
    good = (trained / "model.npz").read_bytes()
    for number in (np.inf, -np.inf, 1e30, np.nan):
        path = trained.write("model.npz", good)
        forging.forge(path, holding(name, number))
        what = ["model.npz is damaged: ", f"{name} holds a number "]
        trained.refuses("train", "--resume", what=what, hint=RESTORE, child=False)


def holding(name: str, number: float) -> Callable[[Facts, Arrays], None]:
    """That number in the place of the first of an array."""

    def change(_: Facts, arrays: Arrays) -> None:
        arrays[name].reshape(-1)[0] = number

    return change


def test_13_settings_that_promise_too_much_take_no_memory(trained: Program) -> None:
    good = (trained / "model.npz").read_bytes()
    for command, units in (("info", 10**9), ("sample", 1 << 20)):
        path = trained.write("model.npz", good)
        forging.forge(path, promise(units))
        what, limit = "model.npz is damaged: ", limited(AS=450 * MEBIBYTE)
        trained.refuses(command, what=what, hint=RESTORE, preexec_fn=limit)


def promise(units: int) -> Callable[[Facts, Arrays], None]:
    """Settings of a network that large, in a file that is not."""
    return lambda facts, _: facts["settings"].update(hidden=units)


WORSE: list[Any] = [
    *(None, True, -1, 0, 1, 2, 1 << 20, 10**30, 0.5, -0.5, 1e300, "", "a"),
    *("\x1b[31m[/b]\u202e", "\udcff", [], {}, [1], ["\x1b[2J"], [None], {"\x1b": 1}, [[1, 2]]),
    *("lines", "auto", "-", "/dev/zero", "names.txt"),
]


def test_13_whatever_the_facts_say_is_refused_or_harmless(trained: Program, faults: int) -> None:
    path = trained / "model.npz"
    facts, arrays = forging.opened(path)
    chance = random.Random(1)
    forgeries = [(place, value) for place in forging.places(facts) for value in WORSE]
    chance.shuffle(forgeries)
    for place, value in forgeries[: faults // 4]:  # all commands try each
        forged = json.loads(json.dumps(facts))
        forging.put(forged, place, value)
        try:
            forging.write(path, forged, arrays)
        except (CharrnnError, ValueError, TypeError):
            continue
        is_harmless(trained, place, value)


def is_harmless(program: Program, *what: object) -> None:
    """Every command takes the model, or refuses it in a line; no text of it steers a terminal."""
    for line in (
        ("info",),
        ("info", "--json"),
        ("sample", "--max-chars", "9"),
        ("eval", "names.txt", "--per-char"),
        ("eval",),
        ("train", "--resume", "--dry-run"),
    ):
        ended = program.run(*line, child=False)
        assert "\x1b" not in ended.err, (what, line)
        assert line[0] == "sample" or "\x1b" not in ended.out, (what, line)
        if ended.status:
            assert "charrnn: error: " in ended.err, (what, line)
    try:
        run = checkpoint.load(program / "model.npz")
        go_on(run, program)
    except CharrnnError:
        return


def go_on(run: Checkpoint, program: Program) -> None:
    """A few steps more, if this is the run of that corpus, and a save."""
    learned = corpus.read_files([str(program / "names.txt")], run.corpus.config)
    if learned.vocabulary != run.vocabulary or learned.fingerprint != run.corpus.fingerprint:
        return
    for _ in zip(range(3), loop.train(run.state, learned, run.config), strict=False):
        pass
    checkpoint.save(program / "other.npz", run)
    checkpoint.load(program / "other.npz")


def test_13_names_and_vocabularies_that_steer_a_terminal_are_made_visible(trained: Program) -> None:
    def change(facts: Facts, _: Arrays) -> None:
        letters = facts["vocabulary"]["characters"]
        steering = "\x07\x1b\x7f\x9b\u200f\u202e\u2028"
        facts["vocabulary"]["characters"] = "".join(
            sorted([*letters[: len(letters) - len(steering)], *steering])
        )
        facts["corpus"]["sources"] = ["\x1b[2J[/b]:smile:\n\u202e"]
        facts["corpus"]["places"] = []

    forging.forge(trained / "model.npz", change)
    shown = r"\x1b[2J[/b]:smile:\n\u202e"
    info = trained.run("info", child=False)
    for ended in (info, trained.run("eval", "names.txt", child=False)):
        ended.says()
        assert not set(ended.out + ended.err) & set("\x07\x1b\x7f\x9b\u200f\u202e\u2028")
    assert shown in info.out
    status, seen = trained.terminal("info", env={"NO_COLOR": "1"})
    assert status == 0
    assert not set(seen) & set("\x07\x1b\x7f\x9b\u200f\u202e\u2028")
    hint = "Name its new place"
    trained.refuses("train", "--resume", what=shown, hint=hint, child=False)


def test_14_a_newer_model_is_called_newer(trained: Program) -> None:
    newer = container.FORMAT + 1
    forging.forge(trained / "model.npz", lambda facts, _: facts.update(more=1), newer)
    for command in COMMANDS:
        what = "model.npz was written by a newer charrnn"
        hint = "Install the newest charrnn."
        trained.refuses(*command, what=what, hint=hint, child=command[0] == "info")


def test_15_a_model_that_is_replaced_while_it_is_read_is_the_old_or_the_new(
    trained: Program,
) -> None:
    path = trained / "model.npz"
    trained.run("train", "names.txt", "-m", "other.npz", *SMALL, "--hidden", "50").says()
    contents = path.read_bytes(), (trained / "other.npz").read_bytes()
    sizes = {checkpoint.load(name).config.hidden for name in (path, trained / "other.npz")}
    stop = threading.Event()

    def replace_again_and_again() -> None:
        while not stop.is_set():
            for content in contents:
                saving.replace(path, len(content), [content])

    writer = threading.Thread(target=replace_again_and_again)
    writer.start()
    try:
        seen = {checkpoint.load(path).config.hidden for _ in range(50)}
        trained.run("info").says()
    finally:
        stop.set()
        writer.join()
    assert seen <= sizes

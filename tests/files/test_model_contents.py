"""Fault 30: facts that Python cannot use are refused when a file is loaded, or do no harm.

Whatever a stranger writes into charrnn.json, each command ends with a result or with one line. It
touches no file that it does not touch for a good model, and takes no memory to speak of.
"""

import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import charrnn
from charrnn.errors import ModelFileError
from tests.child import touched
from tests.networks import Facts, forge
from tests.program import NAMES, Program

ODD: list[Any] = [None, True, -1, 0, 1 << 20, 2**63, 1e308, "", "x", "\ud800", "/dev/zero"]
ODD += [[], [[]], {}, {"a": [{"b": None}]}]
COMMANDS = [
    *("info", "info --json", "sample -n 2 --seed 1", "sample --best --seed 1 --max-chars 9"),
    *("eval names.txt", "eval --baselines", "eval names.txt --above 1.5x --per-example"),
    *("fill an_a", "embed names.txt", "reach", "export a.html --force", "export a.h --force"),
    *("export a.safetensors --force", "export b.npz --force", "unfold anna"),
    *("train --resume --dry-run", "train --resume --epochs 2 --check-every 30"),
    "train names.txt --resume --epochs 2 --metrics m.jsonl",
    "train names.txt --from model.npz -m b.npz --epochs 1 --force",
    "sweep names.txt --from model.npz --epochs 1 --try lr=0.01 -o s --cores 1",
]
ROOM = 100 << 20  # bytes beside those that the good file takes
Place = tuple[str | int, ...]
ABSENT: list[Place] = [  # facts that the file does not have, since they are empty
    *(("corpus", "known"), ("corpus", "valid"), ("exact",), ("corpus", "reading", "column")),
    *(("settings", "minutes"), ("settings", "patience"), ("new",), ("corpus", "new")),
]


def places_in(value: Any, path: Place = ()) -> Iterator[Place]:
    """Yield the path of each value in JSON; of a list, those of its first item."""
    if path:
        yield path
    items: Any = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value[:1]) if isinstance(value, list) else items:
        yield from places_in(item, (*path, key))


def put(document: Facts, path: Place, value: Any) -> None:
    """Set a fact; the facts above it may be absent, if they are empty."""
    *parents, last = path
    inner: Any = document["facts"]
    for key in parents:
        inner = inner[key]
    inner[last] = value


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model with counts, check-ups, a mixture of two halves and an oddest example."""
    made = Program(tmp_path_factory.mktemp("whole"))
    made.write("names.txt", NAMES * 6)
    line = ("--batch", "4", "--bptt", "8", "--check-every", "10", "--cores", "1", "--counts")
    made.train("names.txt", *line).says()
    return (made / "model.npz").read_bytes()


@pytest.fixture
def program(program: Program, whole: bytes) -> Program:
    program.write("names.txt", NAMES * 6)
    program.write("model.npz", whole)
    return program


def memory(name: str) -> int:
    """Return the bytes of this process: VmRSS now, VmHWM at most."""
    status = Path("/proc/self/status")
    found = status.read_text().partition(f"{name}:")[2] if status.exists() else "0"
    return 1024 * int(found.split()[0])


def run(program: Program, model: bytes, line: str, told: object = "") -> tuple[set[str], int]:
    """Run a command on a model. Return the paths that it touched, and the bytes that it took."""
    program.write("model.npz", model)
    for name in ("m.jsonl", "s/sweep.jsonl"):
        (program / name).unlink(missing_ok=True)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins again
    before = memory("VmRSS")
    with touched() as paths:
        ran = program.run(*line.split())
    assert ran.status in (0, 1, 2, 3), (told, line, ran.err)
    assert ran.err.count("error: ") == (ran.status in (1, 2)), (told, line, ran.err)
    return {os.path.relpath(path, program.folder) for path in paths}, memory("VmHWM") - before


@pytest.fixture(scope="module")
def usual(whole: bytes, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The paths that each command touches for a good model, and the bytes that it takes."""
    made = Program(tmp_path_factory.mktemp("usual"))
    made.write("names.txt", NAMES * 6)
    with chdir(made.folder):
        return {line: run(made, whole, line) for line in COMMANDS}


@pytest.fixture
def refuses(program: Program, whole: bytes, usual: Mapping[str, Any]) -> Callable[..., bool]:
    """Load a model with another fact, which is refused, or with which all commands do no harm."""

    def refuses(path: Place, value: Any) -> bool:
        program.write("model.npz", whole)
        forge(program / "model.npz", lambda document, _: put(document, path, value))
        forged = (program / "model.npz").read_bytes()
        refused = ""
        with touched() as paths:
            try:
                charrnn.load("model.npz")
            except ModelFileError as error:
                refused = error.what
        assert paths == {str(program / "model.npz")}
        assert re.fullmatch("|model.npz is not a model of charrnn, or is damaged: .*", refused)
        for line in () if refused else COMMANDS:
            paths, size = run(program, forged, line, (path, value))
            assert paths <= usual[line][0], (path, value, line)
            assert size < usual[line][1] + ROOM, (path, value, line)
        return bool(refused)

    return refuses


@pytest.mark.parametrize(
    ("path", "value", "is_refused"),
    [
        (("corpus", "known"), "\ud800", True),
        (("corpus", "sources"), ["\ud800"], True),
        (("corpus", "valid"), ["/dev/zero"], False),
        (("corpus", "files"), {"names.txt": [1, 2]}, True),
        (("corpus", "examples_are"), "auto", True),
        (("corpus", "holdout"), 1, True),
        (("corpus", "reading"), {"column": ""}, True),
        (("settings", "bptt"), 0, True),
        (("settings", "bptt"), 1 << 20, False),
        (("settings", "minutes"), 1e-3, False),
        (("counters", "step"), 0, True),
        (("history",), [{}], True),
        (("mixture",), [1e308] * 6, True),
        (("mixture",), [0.5] * 7, True),
        (("oddest",), {"both": 0}, False),
    ],
)
def test_fault_30_an_odd_fact_is_refused_or_harmless(
    refuses: Callable[..., bool], path: Place, value: Any, is_refused: bool
) -> None:
    assert refuses(path, value) is is_refused


def test_fault_30_a_run_that_is_over_without_a_check_up_makes_one(program: Program) -> None:
    forge(program / "model.npz", lambda document, _: put(document, ("history",), []))
    assert "already finished" not in program.run("train", "--resume").says("100 %").err


@pytest.mark.parametrize("part", [[], {}])
def test_fault_30_facts_that_take_much_memory_are_refused(program: Program, part: Any) -> None:
    row = {"step": 1, "characters": 2, "train": 1.0, "train_with_noise": 1.0}
    forge(program / "model.npz", lambda document, _: put(document, ("history",), [row] * 10_000))
    assert len(charrnn.load("model.npz").trained.history) == 10_000
    forge(program / "model.npz", lambda document, _: document.update(new=[part] * 20_000))
    with pytest.raises(ModelFileError, match="its facts would take far more memory than the file"):
        charrnn.load("model.npz")


def test_fault_30_names_that_are_not_utf8_are_names_of_files(program: Program) -> None:
    name = os.fsdecode(b"n\xe9.txt")
    program.write(name, NAMES)
    program.train(name).says()
    assert program.run("eval").status == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@pytest.mark.long
def test_fault_30_random_changes_lead_to_no_bug(refuses: Callable[..., bool]) -> None:
    with zipfile.ZipFile("model.npz") as archive:
        facts = json.loads(archive.read("charrnn.json"))["facts"]
    places = st.sampled_from([*places_in(facts), *ABSENT])

    @settings(max_examples=1000)
    @given(places, JSON | st.sampled_from(ODD))
    def change(path: Place, value: Any) -> None:
        refuses(path, value)

    change()

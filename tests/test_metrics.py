"""A line for each step and each check-up: none missing, none twice, and nothing else is harmed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.cli.console import Console
from charrnn.cli.signals import Stop
from charrnn.cli.train.metrics import Metrics
from charrnn.errors import CharrnnError
from charrnn.model_file import Checkpoint
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.score import Score
from charrnn.training.loop import Checkup, Done, Event, Step
from charrnn.training.state import TrainState


def run_at(step: int, examined: bool = False, **changes: Any) -> Checkpoint:
    """A run that has come so far; of its state only the counters matter here."""
    history: list[dict[str, float]] = [{"step": step}] if examined else []
    parameters = Parameters.zeros(Architecture(3, 1, 1))
    state = TrainState(parameters, {}, [], step=step, history=history)
    run = charrnn.train(["anna", "bob"], hidden=1, layers=1).checkpoint
    return replace(run, state=state, config=replace(run.config, **changes))


def opened(path: Path, run: Checkpoint, stop: Stop | None = None) -> Metrics:
    """The metrics of that run; one that has come farther than its beginning is resumed."""
    return Metrics(path, run, Console(), stop or Stop(), is_resumed=bool(run.state.step))


def events(first: int, last: int, every: int = 3) -> Iterable[Event]:
    """The events of the steps from first to last, a check-up after every third."""
    for step in range(first, last + 1):
        yield Step(step, 8, 2.0, 0.5, 0.01)
        if step % every == 0:
            yield Checkup(step, Score(characters=4, nats=8.0), 2.5, True, 3.0)


def write(path: Path, run: Checkpoint, more: Iterable[Event]) -> None:
    """Go on with the file from where the run stands."""
    with closing(opened(path, run)) as metrics:
        for event in more:
            metrics.add(event)
        metrics.sync()


def lines(path: Path) -> list[dict[str, Any]]:
    """What stands in the file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def straight(tmp_path: Path) -> bytes:
    """What a run of ten steps writes."""
    whole = tmp_path / "straight.jsonl"
    write(whole, run_at(0), events(1, 10))
    return whole.read_bytes()


def test_each_event_has_its_line(path: Path) -> None:
    write(path, run_at(0), [*events(1, 3), Done("epochs")])
    assert [(line["schema"], line["step"]) for line in lines(path)] == [
        ("charrnn.run/1", 0),
        *(("charrnn.step/1", step) for step in (1, 2, 3)),
        ("charrnn.checkup/1", 3),
    ]
    assert lines(path)[1] == {
        "schema": "charrnn.step/1",
        "step": 1,
        "characters": 8,
        "nats_per_character": 2.0,
        "gradient_norm": 0.5,
        "lr": 0.01,
    }
    assert lines(path)[-1]["held_out_nats_per_character"] == 2.0
    assert lines(path)[-1]["best"] is True


def test_where_nothing_is_held_out_there_is_nothing_to_say_of_it(path: Path) -> None:
    write(path, run_at(0), [Checkup(1, None, 2.5, True, 3.0)])
    assert lines(path)[-1]["held_out_nats_per_character"] is None


def test_each_line_is_there_at_once(path: Path) -> None:
    with closing(opened(path, run_at(0))) as metrics:
        for number, event in enumerate(events(1, 2), 2):
            metrics.add(event)
            assert len(lines(path)) == number


@given(killed=st.integers(0, 3000), saved=st.integers(1, 10), examined=st.booleans())
def test_a_resumed_run_writes_what_an_undisturbed_one_does(
    tmp_path_factory: pytest.TempPathFactory, killed: int, saved: int, examined: bool
) -> None:
    folder = tmp_path_factory.mktemp("metrics")
    write(folder / "straight", run_at(0), events(1, 10))
    whole = (folder / "straight").read_bytes()
    examined = examined and saved % 3 == 0
    needed = run_at(saved, examined)
    write(folder / "least", run_at(0), events(1, saved))
    least = (folder / "least").read_bytes()
    if not examined and saved % 3 == 0:
        least = b"".join(least.splitlines(keepends=True)[:-1])
    broken = folder / "broken"  # at least what was saved, cut anywhere after it
    broken.write_bytes(whole[: max(killed, len(least))])
    rest = list(events(saved + 1, 10))
    if not examined and saved % 3 == 0:
        rest.insert(0, Checkup(saved, Score(characters=4, nats=8.0), 2.5, True, 3.0))
    write(broken, needed, rest)
    assert broken.read_bytes() == whole


def test_another_run_goes_below(path: Path, straight: bytes) -> None:
    path.write_bytes(straight)
    write(path, run_at(0), events(1, 10))
    assert path.read_bytes() == straight * 2


def test_what_is_cut_belongs_to_the_last_run(path: Path, straight: bytes) -> None:
    path.write_bytes(straight * 2)
    write(path, run_at(4), events(5, 10))
    assert path.read_bytes() == straight * 2


def test_a_run_that_had_none_so_far_leaves_those_of_others(path: Path, straight: bytes) -> None:
    path.write_bytes(straight)
    write(path, run_at(20), events(21, 22))
    assert path.read_bytes().startswith(straight)
    assert [line["step"] for line in lines(path)][-3:] == [21, 21, 22]


@pytest.mark.parametrize(
    "content",
    [b"no JSON\n", b"no newline either", b"[1]\n", b'{"step": 1}\n', b"\x00\xff\n", b"\n"],
)
def test_other_files_are_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(CharrnnError, match=r"run\.jsonl holds lines that are not metrics"):
        opened(path, run_at(0))
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(CharrnnError, match="cannot be written"):
        opened(tmp_path / "no" / "run.jsonl", run_at(0))
    with pytest.raises(CharrnnError, match="cannot be written"):
        opened(tmp_path, run_at(0))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told() -> None:
    with pytest.raises(CharrnnError, match="/dev/full cannot be written: No space left"):
        opened(Path("/dev/full"), run_at(0))


@pytest.mark.parametrize("changes", [{"seed": 70}, {"hidden": 9}, {"lr": 0.5}, {"ends": "halt"}])
def test_nothing_of_another_run_is_cut(path: Path, changes: dict[str, Any]) -> None:
    write(path, run_at(0, **changes), events(1, 10))
    other = path.read_bytes()
    write(path, run_at(4), events(5, 6))
    assert path.read_bytes().startswith(other)
    assert [(line["schema"], line["step"]) for line in lines(path)[len(other.splitlines()) :]] == [
        ("charrnn.run/1", 4),
        ("charrnn.step/1", 5),
        ("charrnn.step/1", 6),
        ("charrnn.checkup/1", 6),
    ]


def test_who_has_come_after_another_run_goes_on_below_it(path: Path) -> None:
    write(path, run_at(0, seed=70), events(1, 10))
    write(path, run_at(4), events(5, 9))
    whole = path.read_bytes()
    write(path, run_at(5), events(6, 9))
    assert path.read_bytes() == whole


def test_a_run_that_may_last_longer_is_still_the_same(path: Path, straight: bytes) -> None:
    path.write_bytes(straight)
    write(path, run_at(4, epochs=99, minutes=1.5, patience=3), events(5, 10))
    assert path.read_bytes() == straight


def test_lines_that_do_not_tell_their_run_are_kept(path: Path, straight: bytes) -> None:
    unnamed = b"".join(straight.splitlines(keepends=True)[1:])
    path.write_bytes(unnamed)
    write(path, run_at(4), events(5, 6))
    assert path.read_bytes().startswith(unnamed)
    assert lines(path)[-3]["schema"] == "charrnn.step/1"


def test_it_tells_its_run_by_the_text_and_the_seed(path: Path) -> None:
    write(path, run_at(0, seed=70), [])
    told = lines(path)[0]
    assert set(told) == {"schema", "run", "step", "seed", "corpus"}
    assert (told["seed"], len(told["run"]), len(told["corpus"])) == (70, 16, 64)


def test_a_pipe_that_is_full_does_not_outlast_the_wish_to_stop(path: Path) -> None:
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # who never reads
    try:
        stop = Stop()
        stop.requested = True
        with closing(opened(path, run_at(0), stop)) as metrics:
            for event in events(1, 3000):  # more than any pipe holds
                metrics.add(event)
    finally:
        os.close(reader)


def test_a_pipe_without_a_reader_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(CharrnnError, match="is a pipe without a reader"):
        opened(path, run_at(0))

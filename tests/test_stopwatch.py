"""Time that was slept through is not counted, and nothing else is left out."""

import pytest

from charrnn.training.state import Stopwatch


@pytest.mark.parametrize(
    ("wall", "used", "counted"),
    [
        (0.01, 0.01, 0.01),
        (0.5, 0.0, 0.5),  # too short to tell
        (3600, 0.2, 0.2),  # slept
        (3600, 7200, 3600),  # two threads at work
        (30, 2, 30),  # a busy machine that gives us little
        (0, 0, 0),
        (-3600, 0.2, 0),  # a clock that jumps back
    ],
)
def test_a_lap_is_what_was_worked(
    monkeypatch: pytest.MonkeyPatch, wall: float, used: float, counted: float
) -> None:
    now = {"monotonic": 1000.0, "process_time": 5.0}
    for name in now:
        monkeypatch.setattr(f"charrnn.training.state.time.{name}", lambda name=name: now[name])
    clock = Stopwatch()
    for _ in range(2):
        now["monotonic"] += wall
        now["process_time"] += used
        assert clock.lap() == pytest.approx(counted)

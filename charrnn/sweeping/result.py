"""What one run of a sweep came to, as a row of the file that keeps them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from charrnn.sweeping.grid import Trial

SCHEMA = "charrnn.sweep.run/1"
FAILED = ("diverged", "failed")


@dataclass(frozen=True)
class Result:
    """A run that is over, for better or worse."""

    name: str
    settings: dict[str, Any]  # those that were tried
    seed: int
    best_step: int | None
    nats_per_character: float | None  # held out, at its best; None where the run has failed
    model: str | None  # the file
    seconds: float
    stopped: str  # epochs, minutes, patience; diverged, failed
    error: str | None = None
    parts: dict[str, dict[str, float]] = field(default_factory=dict)  # where counts are mixed in

    @property
    def has_failed(self) -> bool:
        """Whether it came to nothing."""
        return self.stopped in FAILED

    @property
    def loss(self) -> float:
        """What it is compared by: the held-out loss of all that it has; infinite if it failed."""
        if self.nats_per_character is None:
            return math.inf
        both = self.parts.get("both")
        return self.nats_per_character if both is None else both["nats_per_character"]

    def as_json(self) -> dict[str, Any]:
        """The row."""
        row = asdict(self)
        best = {"step": row.pop("best_step"), "nats_per_character": row.pop("nats_per_character")}
        parts = row.pop("parts")
        first = {name: row.pop(name) for name in ("name", "settings", "seed")}
        whole = {"schema": SCHEMA, **first, "best": best, **row}
        return {**whole, "parts": parts} if parts else whole


def failed(trial: Trial, why: str, stopped: str = "failed", seconds: float = 0.0) -> Result:
    """The result of a run that came to nothing."""
    return Result(
        trial.name, trial.settings, trial.seed, None, None, None, seconds, stopped, error=why
    )


def from_json(row: Mapping[str, Any]) -> Result:
    """The result in a row; KeyError, TypeError or ValueError where it is none."""
    if row["schema"] != SCHEMA:
        raise ValueError("of another kind")
    nats = row["best"]["nats_per_character"]
    if not isinstance(row["settings"], dict) or not isinstance(row["name"], str):
        raise TypeError("neither settings nor a name")
    return Result(
        row["name"],
        row["settings"],
        int(row["seed"]),
        row["best"]["step"],
        None if nats is None else float(nats),
        row["model"],
        float(row["seconds"]),
        str(row["stopped"]),
        row["error"],
        dict(row.get("parts", {})),
    )

"""What can be chosen about a run: as a user gives it, and with every choice made."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from charrnn.errors import SettingError
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS

Rule = Literal["adam", "rmsprop", "adagrad", "sgd"]
Schedule = Literal["cosine", "linear", "constant"]

LARGEST = 1 << 20  # units, lanes, steps: more is a slip of the keyboard

# Both ends are allowed, except where an end is named as not.
RANGES: dict[str, tuple[float, float, str]] = {
    "hidden": (1, LARGEST, f"1 to {LARGEST:,}"),
    "layers": (1, 64, "1 to 64"),
    "dropout": (0, 0.95, "0 to 0.95"),
    "dropconnect": (0, 0.95, "0 to 0.95"),
    "blank": (0, 0.95, "0 to 0.95"),
    "bptt": (0, LARGEST, f"0 to {LARGEST:,}, where 0 is the longest example"),
    "batch": (1, LARGEST, f"1 to {LARGEST:,}"),
    "lr": (1e-12, 1e6, "above 0, such as 0.002, and at most 1e6"),
    "warmup": (0, 1 << 40, "0 or more steps"),
    "clip": (0, 1e12, "0 or more, where 0 is not to clip"),
    "weight_decay": (0, 1e6, "0 to 1e6"),
    "epochs": (1, 1 << 40, "1 or more"),
    "minutes": (1e-3, 1e7, "above 0"),
    "patience": (1, 1 << 40, "1 or more"),
    "check_every": (1, 1 << 40, "1 or more steps"),
    "seed": (0, (1 << 64) - 1, "0 to 2^64 - 1"),
    "workers": (1, 1 << 10, "1 to 1024"),
}
CHOICES: dict[str, Collection[str]] = {
    "cell": CELLS,
    "ends": HEADS,
    "optimizer": get_args(Rule),
    "schedule": get_args(Schedule),
}


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How to learn. What is None is fitted to the corpus."""

    hidden: int | None = None
    layers: int | None = None
    dropout: float | None = None  # the share of units hidden from the layer above
    dropconnect: float | None = None  # the share of recurrent weights hidden
    blank: float | None = None  # the share of characters read as UNKNOWN
    bptt: int | None = None  # steps in a window; 0: as many as the longest example has
    batch: int | None = None  # lanes
    optimizer: Rule = "adam"
    lr: float | None = None
    schedule: Schedule = "cosine"
    warmup: int | None = None  # steps
    clip: float = 1.0  # the longest gradient; 0: any
    weight_decay: float = 0.0
    epochs: int | None = None
    minutes: float | None = None
    patience: int | None = None  # check-ups without a better one before giving up
    check_every: int | None = None  # steps
    seed: int = 0
    carry: bool = False
    workers: int = 1
    cell: str = "tanh"  # what turns a state into the next
    ends: str = "symbol"  # what says that a text is over

    def __post_init__(self) -> None:
        for name, (least, most, allowed) in RANGES.items():
            check(name, getattr(self, name), least, most, allowed)
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise out_of_range(name, getattr(self, name), f"one of {', '.join(choices)}")


@dataclass(frozen=True, kw_only=True)
class Fitted(TrainConfig):
    """The same with nothing left open: what a run goes by and what a model file keeps."""

    hidden: int
    layers: int
    dropout: float
    dropconnect: float
    blank: float
    bptt: int
    batch: int
    lr: float
    warmup: int
    epochs: int
    check_every: int


Ending = Literal["epochs", "minutes", "patience", "interrupted"]


def ending(
    config: Fitted,
    epochs: int,
    minutes: float,
    best_step: int | None,
    history: Sequence[Mapping[str, float]],  # a row a check-up
) -> Ending | None:
    """What has ended a run that came so far, if anything has."""
    if epochs >= config.epochs:
        return "epochs"
    if config.minutes is not None and minutes >= config.minutes:
        return "minutes"
    if config.patience is not None and best_step is not None:
        fruitless = sum(row["step"] > best_step for row in history)
        return "patience" if fruitless >= config.patience else None
    return None


def check(name: str, value: Any, least: float, most: float, allowed: str) -> None:
    """Raise SettingError unless the value is None or within its range; NaN is in none."""
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise out_of_range(name, value, allowed)


def out_of_range(name: str, value: object, allowed: str) -> SettingError:
    """What to say of a value that cannot be."""
    option = "--" + name.replace("_", "-")
    return SettingError(f"{option} cannot be {value}", f"It may be {allowed}.")

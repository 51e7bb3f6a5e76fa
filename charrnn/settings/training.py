"""Settings of a network and of its training; and what ends a run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from charrnn.errors import SettingError
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS
from charrnn.settings.fields import (
    COUNT,
    LARGEST,
    SEED,
    SHARE,
    SIZE,
    Checked,
    Flag,
    OneOf,
    Real,
    Whole,
    fitted_learning,
    fitted_network,
    of_corpus,
    of_learning,
    of_network,
    setting,
)

Rule = Literal["adam", "rmsprop", "adagrad", "sgd"]
Schedule = Literal["cosine", "linear", "constant"]
Ending = Literal["epochs", "minutes", "patience", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Checked):
    """How a network learns. Settings that are None are chosen to fit the corpus."""

    cell: str = of_network(
        OneOf(lambda: tuple(CELLS)),
        "Choose the recurrent cell: tanh units as in the book, gated gru or lstm units, or output,"
        " which feeds back nothing but the output (figure 10.4).",
        default="tanh",
    )
    teacher_forcing: bool = of_network(
        Flag(),
        "With the cell output, feed back the correct character in training instead of the output;"
        " then no step depends on another.",
        default=False,
        default_in_words="the output",
    )
    ends: str = of_network(
        OneOf(lambda: tuple(HEADS)),
        "Choose how a text ends: by an END symbol, by a unit that may halt after each character, or"
        " after a length that is drawn before the first character.",
        default="symbol",
    )
    clock: bool = of_network(
        Flag(),
        "Feed the network the position in its example as an extra input.",
        default=False,
        default_in_words="no clock",
        names=("--clock",),
    )
    hidden: int | None = fitted_network(SIZE, "Set the number of units in a layer.")
    layers: int | None = fitted_network(Whole(1, 64), "Set the number of layers.")
    dropout: float | None = fitted_network(
        SHARE, "Drop this fraction of units on the way to the next layer; more for small corpora."
    )
    dropconnect: float | None = fitted_network(
        SHARE, "Drop this fraction of recurrent weights; more for small corpora."
    )
    blank: float | None = fitted_network(
        SHARE, "Replace this fraction of input characters by the unknown symbol."
    )
    bptt: int | None = fitted_learning(
        Whole(0, LARGEST),
        "Carry gradients back over this many steps: the length of a window. 0 covers a whole"
        " example.",
    )
    stride: int | None = of_learning(
        Whole(1, LARGEST),
        "Move windows on by this many steps. If that is less than a window, windows overlap and"
        " only the losses of their last steps count.",
        default_in_words="the length of a window",
    )
    own_inputs: float = of_learning(
        Real(0, 1),
        "Replace inputs by the network's own draws; the fraction grows from 0 to this one.",
        default=0.0,
    )
    free_running: int = of_learning(
        Whole(0, LARGEST),
        "In each window, let the network read its own draws for this many steps in a row.",
        default=0,
    )
    batch: int | None = fitted_learning(
        SIZE, "Read this many examples side by side; more is faster for large networks."
    )
    optimizer: Rule = of_learning(OneOf(get_args(Rule)), "Choose the optimiser.", default="adam")
    lr: float | None = fitted_learning(
        Real(1e-12, 1e6), "Set the learning rate; too large a rate makes the loss diverge."
    )
    schedule: Schedule = of_learning(
        OneOf(get_args(Schedule)), "Choose how the learning rate falls.", default="cosine"
    )
    warmup: int | None = of_learning(
        Whole(0, 1 << 40),
        "Raise the learning rate from 0 over this many steps.",
        default_in_words="a twentieth of the run, up to 200",
    )
    clip: float = of_learning(
        Real(0, 1e12), "Clip gradients to this norm; 0 turns clipping off.", default=1.0
    )
    weight_decay: float = of_learning(
        Real(0, 1e6), "Pull weights towards zero at this rate.", default=0.0
    )
    epochs: int | None = fitted_learning(COUNT, "Read the corpus this many times.")
    minutes: float | None = of_learning(
        Real(1e-3, 1e7),
        "Stop after this many minutes, and choose a network size that suits them.",
        default_in_words="no limit",
    )
    patience: int | None = of_learning(
        COUNT,
        "Stop after this many check-ups without a better held-out loss.",
        default_in_words="no limit",
    )
    check_every: int | None = of_learning(
        COUNT,
        "Measure the held-out loss every this many steps: a check-up.",
        default_in_words="about 40 check-ups in a run",
    )
    seed: int = of_learning(
        SEED,
        "Start random numbers here: the same seed and threads give the same bytes.",
        default=0,
    )
    counts: bool = of_learning(
        Flag(),
        "Also store n-gram counts of the text; sample and eval combine them with the network for a"
        " lower loss. Anyone who gets the model file can read the training text.",
        default=False,
        default_in_words="the network alone",
    )
    members: int = of_learning(
        Whole(1, 64),
        "Train this many networks side by side, each with its own seed; their mean is better than"
        " one of them.",
        default=1,
    )
    carry: bool = of_corpus(
        Flag(),
        "Carry the hidden state from one example to the next, as in a book, or reset it (the"
        " default).",
        default=False,
        names=("--carry/--reset",),
    )
    workers: int = setting(
        Whole(1, 1 << 10),
        "Work with this many threads.",
        default=1,
        default_in_words="the number of cores, up to 4",
        names=("--threads",),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_together(self)

    @property
    def minutes_each(self) -> float | None:
        """Return the share of the minutes that each network has if they train in turn."""
        return None if self.minutes is None else self.minutes / self.members


@dataclass(frozen=True, kw_only=True)
class Fitted(TrainConfig):
    """Settings with nothing left open: those of a run, as a model file keeps them."""

    hidden: int = field()  # without a default
    layers: int = field()
    dropout: float = field()
    dropconnect: float = field()
    blank: float = field()
    bptt: int = field()
    batch: int = field()
    lr: float = field()
    warmup: int = field()
    epochs: int = field()
    check_every: int = field()

    @property
    def moves_on(self) -> int:
        """Return the number of steps from one window to the next."""
        return self.bptt if self.stride is None else self.stride


def check_together(config: TrainConfig) -> None:
    """Raise SettingError if settings contradict each other."""

    def refuse(name: str, what: str, hint: str = "Leave one of them out.") -> None:
        raise SettingError(f"{name} {what}", hint, name)

    if config.carry and config.ends == "length":
        refuse(
            "carry",
            "and ends length exclude each other: examples that follow each other as in a book have"
            " no length of their own",
        )
    if config.cell == "output" and config.layers not in (None, 1):
        what = f"{config.layers} excludes the cell output: only the top layer has one to feed back"
        refuse("layers", what, "Use 1 layer, or another cell.")
    if config.teacher_forcing and config.cell != "output":
        refuse(
            "teacher_forcing",
            f"replaces outputs that are fed back, and {config.cell} units feed back their state",
            "Leave it out, or add [cell] output.",
        )
    for name in ("own_inputs", "free_running", "stride"):
        value = getattr(config, name)
        if config.teacher_forcing and value:
            refuse(
                name,
                f"{value:g} contradicts teacher forcing, which reads nothing but the text and"
                " carries no gradient back",
            )
        if name != "own_inputs" and value and config.bptt and value > config.bptt:
            what = f"{value:,} is more than the {config.bptt:,} steps of a window"
            refuse(name, what, "Lower it, or raise [bptt].")


def of_member(config: Fitted, number: int) -> Fitted:
    """Return the settings of one of several networks, numbered from 0.

    Each has its own seed, and its share of the minutes; as many train at once as there are threads.
    """
    seed, minutes = (config.seed + number) % (1 << 64), config.minutes_each
    if minutes is not None:
        minutes *= min(config.workers, config.members)
    return replace(config, seed=seed, minutes=minutes, members=1)


def ending(
    config: Fitted,
    epochs: int,
    minutes: float,
    best_step: int | None,
    history: Sequence[Mapping[str, float]],  # a row for each check-up, in order
) -> Ending | None:
    """Return why a run has ended that is this far, or None if it has not."""
    if epochs >= config.epochs:
        return "epochs"
    if config.minutes is not None and minutes >= config.minutes:
        return "minutes"
    if config.patience is not None and best_step is not None:
        since = bisect_right(history, float(best_step), key=lambda row: row["step"])
        return "patience" if len(history) - since >= config.patience else None
    return None

"""Settings of a network, of its training and of sweeps over them; and what ends a run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from charrnn.errors import SettingError
from charrnn.settings import fields
from charrnn.settings.fields import COUNT, SEED, SIZE, STEPS, Checked, Flag, OneOf, Real, Whole

Rule = Literal["adam", "rmsprop", "adagrad", "sgd"]
Schedule = Literal["cosine", "linear", "constant"]
Ending = Literal["epochs", "minutes", "patience", "interrupted"]
History = Sequence[Mapping[str, float]]  # a row for each check-up, in order
MOST_SEEDS = 1 << 16
FIXED = ("seed", "cores", "parts")  # settings of a run that a sweep chooses itself


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Checked):
    """How a network learns. Settings that are None are chosen to fit the corpus."""

    cell: str = fields.of_network(
        OneOf(("tanh", "gru", "lstm", "output")),
        "Choose the recurrent cell: tanh, gru, lstm, or output, which feeds back only the output"
        " (Goodfellow et al., Deep Learning, figure 10.4).",
        default="tanh",
    )
    teacher_forcing: bool = fields.of_network(
        Flag(),
        "If the cell is output, feed back the correct character during training, not the output,"
        " so that steps are independent.",
        default=False,
        default_in_words="off",
    )
    ends: str = fields.of_network(
        OneOf(("symbol", "halt", "length")),
        "Choose how a text ends. symbol: by an END symbol; halt: by an output that gives the"
        " probability of the end after each character; length: after a length that is drawn first.",
        default="symbol",
    )
    clock: bool = fields.of_network(
        Flag(),
        "Feed the network the position in its example as an extra input.",
        default=False,
        default_in_words="no clock",
    )
    init_radius: float = fields.of_network(
        Real(0, 1000),
        "Begin with recurrent weights of this spectral radius. Above 1, gradients can explode.",
        default=1.0,
    )
    hidden: int | None = fields.fitted_network(SIZE, "Set the number of units in a layer.")
    layers: int | None = fields.fitted_network(Whole(1, 64), "Set the number of layers.")
    dropout: float | None = fields.fitted_network(
        fields.SHARE,
        "Drop this fraction of units on the way to the next layer. The default is 0 unless the"
        " network reads a text many times.",
    )
    dropconnect: float | None = fields.fitted_network(
        fields.SHARE,
        "Drop this fraction of recurrent weights. The default is 0 unless the network reads a text"
        " more often than for dropout.",
    )
    blank: float | None = fields.fitted_network(
        fields.SHARE,
        "Replace this fraction of input characters by the unknown symbol (input dropout).",
    )
    bptt: int | None = fields.fitted_learning(
        STEPS,
        "Truncate backpropagation through time to windows of this many steps; 0: whole examples.",
    )
    own_inputs: float = fields.of_learning(
        Real(0, 1),
        "Replace this fraction of inputs by characters sampled from the network (scheduled"
        " sampling). It grows from 0 during training.",
        default=0.0,
    )
    free_running: int = fields.of_learning(
        STEPS,
        "In each window, feed the network its own samples for N steps in a row.",
        default=0,
    )
    batch: int | None = fields.fitted_learning(
        SIZE, "Train on this many sequences at once; more is faster for large networks."
    )
    optimizer: Rule = fields.of_learning(
        OneOf(get_args(Rule)), "Choose the optimiser.", default="adam"
    )
    lr: float | None = fields.fitted_learning(
        Real(1e-12, 1e6), "Set the learning rate; too large a rate makes the loss diverge."
    )
    schedule: Schedule = fields.of_learning(
        OneOf(get_args(Schedule)), "Choose how the learning rate falls.", default="cosine"
    )
    warmup: int | None = fields.of_learning(
        Whole(0, 1 << 40),
        "Raise the learning rate from 0 over this many steps.",
        default_in_words="5% of the steps, at most 200",
    )
    clip: float = fields.of_learning(
        Real(0, 1e12), "Clip gradients to this norm; 0 turns clipping off.", default=1.0
    )
    weight_decay: float = fields.of_learning(
        Real(0, 1e6), "Shrink weights by this rate (decoupled weight decay).", default=0.0
    )
    epochs: int | None = fields.fitted_learning(COUNT, "Read the corpus this many times.")
    minutes: float | None = fields.of_learning(
        Real(1e-3, 1e7),
        "Stop after this many minutes, or earlier for a short text, and choose a network size that"
        " suits them.",
        default_in_words="no limit",
    )
    patience: int | None = fields.of_learning(
        COUNT,
        "Stop after this many check-ups without a better held-out loss.",
        default_in_words="no limit",
    )
    check_every: int | None = fields.of_learning(
        COUNT,
        "Measure the held-out loss after every N steps (a check-up).",
        default_in_words="about 40 check-ups in a run",
    )
    seed: int = fields.of_learning(
        SEED,
        "Set the seed of random numbers. The same seed gives the same model file.",
        default=0,
    )
    counts: bool = fields.of_learning(
        Flag(),
        "Also store n-gram counts of the text; sample and eval combine them with the network for a"
        " lower loss. Anyone who gets the model file can read the training text.",
        default=False,
        default_in_words="the network alone",
    )
    cores: int | None = fields.of_learning(
        Whole(1, 1 << 10),
        "Work with at most this many processes, where several are faster.",
        default_in_words="the number of cores, up to 8",
    )
    parts: int | None = fields.setting(
        Whole(1, 1 << 10),
        "Compute each batch in so many parts, which processes share. It decides the last digits.",
        default_in_words="2 for large networks; for more than 2 cores as many",
        names=(),
    )

    def __post_init__(self) -> None:
        super().__post_init__()

        def refuse(name: str, what: str, hint: str = "Leave one of them out.") -> None:
            raise SettingError(f"{name} {what}", hint, name)

        if self.cell == "output" and self.layers not in (None, 1):
            what = f"{self.layers} is too many for the cell output: only the top layer has outputs"
            refuse("layers", what, "Use 1 layer, or another cell.")
        if self.cell == "output" and self.init_radius != 1:
            what = f"{self.init_radius:g} does not apply to the cell output: W reads outputs"
            refuse("init_radius", what, "Leave it out, or use another cell.")
        if self.teacher_forcing and self.cell != "output":
            what = f"replaces outputs that are fed back; {self.cell} units feed back their state"
            refuse("teacher_forcing", what, "Leave it out, or add [cell] output.")
        for name in ("own_inputs", "free_running"):
            value = getattr(self, name)
            if self.teacher_forcing and value:
                what = "contradicts teacher forcing, which reads nothing but the text"
                refuse(name, f"{value:g} {what}")
            if name != "own_inputs" and value and self.bptt and value > self.bptt:
                what = f"{value:,} is more than the {self.bptt:,} steps of a window"
                refuse(name, what, "Lower it, or raise [bptt].")


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
    parts: int = field()


def ending(
    config: Fitted, epochs: int, minutes: float, best_step: int | None, history: History
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


def words_to_try() -> dict[str, str]:
    """Return the settings that a sweep can try, by the words that are typed for them."""
    known = fields.settings_of(TrainConfig)
    typed = {name: known[name].options(name)[-1] for name in known if name not in FIXED}
    return {option.partition("/")[0].lstrip("-"): name for name, option in typed.items()}


@dataclass(frozen=True)
class Seeds(fields.Values):
    """A number of seeds from 0, a range, or a list."""

    metavar: str = "N|N-N"
    allowed: str = "a number of seeds such as 3, a range such as 0-4, or a list such as 1,5,7"

    def plain(self, value: Any) -> tuple[int, ...]:
        fields.ensure(isinstance(value, tuple) and 0 < len(set(value)) == len(value) <= MOST_SEEDS)
        return tuple(map(SEED.plain, value))

    def read(self, typed: Any) -> tuple[int, ...]:
        first, dash, last = str(typed).partition("-")
        if "," in first:
            return tuple(map(int, first.split(",")))
        low, high = (int(first), int(last) + 1) if dash else (0, int(first))
        fields.ensure(high - low <= MOST_SEEDS)
        return tuple(range(low, high))

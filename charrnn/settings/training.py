"""How to learn, by what network: the options of a run, and what ends it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from charrnn.errors import SettingError
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS
from charrnn.settings.fields import (
    CORPUS,
    COUNT,
    LARGEST,
    LEARNING,
    NETWORK,
    SEED,
    SHARE,
    SIZE,
    Checked,
    Flag,
    OneOf,
    Real,
    Whole,
    setting,
)

Rule = Literal["adam", "rmsprop", "adagrad", "sgd"]
Schedule = Literal["cosine", "linear", "constant"]
Ending = Literal["epochs", "minutes", "patience", "interrupted"]
FITS = "what fits the corpus"


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Checked):
    """How to learn. What is None is fitted to the corpus."""

    cell: str = setting(
        OneOf(lambda: tuple(CELLS)),
        "What gets a layer from one state to the next: the book's tanh units, or gated ones; or"
        " the only thing that goes on is the output.",
        panel=NETWORK,
        default="tanh",
    )
    teacher_forcing: bool = setting(
        Flag(),
        "Where outputs are fed back, feed back the truth instead, so that no step needs another.",
        panel=NETWORK,
        default=False,
        default_in_words="the output",
    )
    ends: str = setting(
        OneOf(lambda: tuple(HEADS)),
        "How a text ends: a symbol like the others, a unit that halts, or a length that is drawn"
        " before the first character.",
        panel=NETWORK,
        default="symbol",
    )
    clock: bool = setting(
        Flag(),
        "Let the network read how far into its example it is.",
        panel=NETWORK,
        default=False,
        default_in_words="no clock",
        names=("--clock",),
    )
    hidden: int | None = setting(SIZE, "Units in a layer.", panel=NETWORK, default_in_words=FITS)
    layers: int | None = setting(Whole(1, 64), "Layers.", panel=NETWORK, default_in_words=FITS)
    dropout: float | None = setting(
        SHARE,
        "Share of units hidden from the layer above.",
        panel=NETWORK,
        default_in_words=FITS,
    )
    dropconnect: float | None = setting(
        SHARE, "Share of recurrent weights hidden.", panel=NETWORK, default_in_words=FITS
    )
    blank: float | None = setting(
        SHARE,
        "Share of characters that are read as unknown.",
        panel=NETWORK,
        default_in_words=FITS,
    )
    bptt: int | None = setting(
        Whole(0, LARGEST),
        "Steps that the gradient goes back; 0: a whole example.",
        panel=LEARNING,
        default_in_words=FITS,
    )
    stride: int | None = setting(
        Whole(1, LARGEST),
        "Steps to move on by; the loss of so many, the last, goes back over the whole window.",
        panel=LEARNING,
        default_in_words="a whole window",
    )
    own_inputs: float = setting(
        Real(0, 1),
        "Share of inputs that are the network's own draws by the end, growing from 0.",
        panel=LEARNING,
        default=0.0,
    )
    free_running: int = setting(
        Whole(0, LARGEST),
        "Steps in a row, once in each window, that are read from its own draws.",
        panel=LEARNING,
        default=0,
    )
    batch: int | None = setting(
        SIZE, "Examples that are read side by side.", panel=LEARNING, default_in_words=FITS
    )
    optimizer: Rule = setting(
        OneOf(get_args(Rule)), "What makes a step of a gradient.", panel=LEARNING, default="adam"
    )
    lr: float | None = setting(
        Real(1e-12, 1e6),
        "How long a step is: the learning rate.",
        panel=LEARNING,
        default_in_words=FITS,
    )
    schedule: Schedule = setting(
        OneOf(get_args(Schedule)),
        "How the learning rate falls.",
        panel=LEARNING,
        default="cosine",
    )
    warmup: int | None = setting(
        Whole(0, 1 << 40),
        "Steps in which the learning rate rises.",
        panel=LEARNING,
        default_in_words="a twentieth of the run, up to 200",
    )
    clip: float = setting(
        Real(0, 1e12), "The longest gradient; 0: any.", panel=LEARNING, default=1.0
    )
    weight_decay: float = setting(
        Real(0, 1e6), "How much weights are drawn to zero.", panel=LEARNING, default=0.0
    )
    epochs: int | None = setting(
        COUNT, "How often the corpus is read.", panel=LEARNING, default_in_words=FITS
    )
    minutes: float | None = setting(
        Real(1e-3, 1e7),
        "End after so many minutes, with sizes that suit them.",
        panel=LEARNING,
        default_in_words="when it is done",
    )
    patience: int | None = setting(
        COUNT,
        "End after so many check-ups with nothing better.",
        panel=LEARNING,
        default_in_words="to the end",
    )
    check_every: int | None = setting(
        COUNT,
        "Steps from check-up to check-up.",
        panel=LEARNING,
        default_in_words="some 40 in a run",
    )
    seed: int = setting(
        SEED,
        "Where random numbers start: same seed, same threads, same bytes.",
        panel=LEARNING,
        default=0,
    )
    counts: bool = setting(
        Flag(),
        "Keep what was learned from in the model file, so that sample and eval ask counts of it as"
        " well as the network, which is better than either. Who has the file has that text, then.",
        panel=LEARNING,
        default=False,
        default_in_words="the network alone",
    )
    members: int = setting(
        Whole(1, 64),
        "Networks that learn side by side, from a seed each; together they are better than one.",
        panel=LEARNING,
        default=1,
    )
    carry: bool = setting(
        Flag(),
        "Let examples follow each other as a book does, or begin each afresh, as usual.",
        panel=CORPUS,
        default=False,
        names=("--carry/--reset",),
    )
    workers: int = setting(
        Whole(1, 1 << 10),
        "How many threads work.",
        default=1,
        default_in_words="the cores there are, up to 4",
        names=("--threads",),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_together(self)

    @property
    def minutes_each(self) -> float | None:
        """The part of the minutes that one network has, were all of the machine its own."""
        return None if self.minutes is None else self.minutes / self.members


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

    @property
    def moves_on(self) -> int:
        """Steps from one window to the next."""
        return self.bptt if self.stride is None else self.stride


def check_together(config: TrainConfig) -> None:
    """Raise SettingError where settings contradict each other, each of them being possible."""
    if config.carry and config.ends == "length":
        raise SettingError(
            "carry and ends length exclude each other: where examples follow each other as a book"
            " does, none has a length of its own",
            "Leave one of them out.",
            "carry",
        )
    forced, own, free = config.teacher_forcing, config.own_inputs, config.free_running
    if config.cell == "output" and config.layers not in (None, 1):
        raise SettingError(
            f"layers {config.layers} does not go with outputs that are fed back: the layers below"
            " the top have none",
            "Let it be 1, or take another cell.",
            "layers",
        )
    if forced and config.cell != "output":
        raise SettingError(
            f"teacher_forcing feeds the truth back where outputs would be, and {config.cell} units"
            " feed back their state",
            "Leave it out, or add [cell] output.",
            "teacher_forcing",
        )
    for name, value in (("own_inputs", own), ("free_running", free), ("stride", config.stride)):
        if forced and value:
            raise SettingError(
                f"{name} {value:g} contradicts teacher forcing, by which only the truth is read"
                " and no gradient goes back",
                "Leave one of them out.",
                name,
            )
        if name != "own_inputs" and value and config.bptt and value > config.bptt:
            raise SettingError(
                f"{name} {value:,} is more than the {config.bptt:,} steps of a window",
                "Lower it, or raise [bptt].",
                name,
            )


def of_member(config: Fitted, number: int) -> Fitted:
    """The settings of one of several networks, which count from 0: each has a seed of its own, and
    its part of the minutes, in which as many learn at once as there are threads.
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
    history: Sequence[Mapping[str, float]],  # a row a check-up, in their order
) -> Ending | None:
    """What has ended a run that came so far, if anything has."""
    if epochs >= config.epochs:
        return "epochs"
    if config.minutes is not None and minutes >= config.minutes:
        return "minutes"
    if config.patience is not None and best_step is not None:
        fruitless = len(history) - bisect_right(
            history, float(best_step), key=lambda row: row["step"]
        )
        return "patience" if fruitless >= config.patience else None
    return None

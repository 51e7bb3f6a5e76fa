"""Settings of a network and of its training."""

from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from charrnn.errors import SettingError
from charrnn.settings.values import CORES, SEED, SIZE, Checked, Flag, OneOf, Real, Whole, setting

UpdateRule = Literal["adam", "rmsprop", "adagrad", "sgd"]
Schedule = Literal["cosine", "linear", "constant"]
Ending = Literal["epochs", "minutes", "patience", "interrupted"]
NETWORK, LEARNING = "Network", "Learning"
LIMITS: Final = ("epochs", "minutes", "patience")  # may be raised when a run is resumed
AUTOMATIC: Final = 0  # the patience of a run that stops once it learns no more

# Each use of a seed has a stream of its own: default_rng([seed, ORDER, epoch]). Number 0 is not
# among them: default_rng(0), which holds out a part of the corpus, is default_rng([0, 0]).
WEIGHTS: Final = 1
REGULARIZATION: Final = 2  # then the step
ORDER: Final = 3  # then the epoch
OWN_INPUTS: Final = 4  # then the step
network, learning = (
    partial(setting, panel=panel, default_in_words="chosen for the corpus")  # if it is None
    for panel in (NETWORK, LEARNING)
)
share = partial(network, Real(0, 0.95))
STEPS = Whole(0, SIZE.most)


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Checked):
    """How a network learns. Settings of None, except minutes, are chosen to fit the corpus."""

    cell: str = network(
        OneOf(("tanh", "gru", "lstm", "output")),
        "Choose the recurrent cell|; output feeds back only outputs.",
        "tanh",
    )
    teacher_forcing: bool = network(
        Flag(),
        "Feed the cell output the correct characters: steps are independent.",
        short="Feed back the correct outputs",
    )
    ends: str = network(
        OneOf(("symbol", "halt", "length")),
        "Choose how a text ends|: by a symbol; by an output that says after each character"
        " whether to halt; or after a length that is drawn first.",
        "symbol",
    )
    clock: bool = network(Flag(), "Feed the network the position| in the example.")
    init_radius: float = network(
        Real(0, 1000),
        "Begin with this spectral radius of W; above 1, gradients can explode.",
        1.0,
        short="Set the first spectral radius",
    )
    hidden: int | None = network(
        SIZE, "Set the number of units in a layer.", short="Set the units of a layer"
    )
    layers: int | None = network(
        Whole(1, 64),
        short="Set the number of layers",
        default_in_words="2; 1 for output, or as in the book",
    )
    dropout: float | None = share(
        "Drop up to this fraction of units on the way up.", short="Drop units on the way up"
    )
    dropconnect: float | None = share(
        "Drop up to this fraction of recurrent weights.", short="Drop recurrent weights"
    )
    blank: float | None = share(
        "Blank out up to this fraction of input characters.", short="Blank out input characters"
    )
    bptt: int | None = learning(
        STEPS,
        "Truncate backpropagation to windows of at most this many steps; 0: the longest example.",
        short="Set the steps of a window",
    )
    own_inputs: float = learning(
        Real(0, 1), "Feed the network its own samples| for up to this fraction of inputs.", 0.0
    )
    free_running: int = learning(
        STEPS,
        "In each window, feed the network its own samples for N steps in a row.",
        0,
        short="Feed own samples in a row",
    )
    batch: int | None = learning(
        SIZE, "Train on at most this many sequences at once.", short="Set the sequences of a batch"
    )
    book: bool = learning(
        Flag(),
        "Train the network of the book|: one layer, plain gradient descent at a constant rate, no"
        " noise. Options that you type stay.",
    )
    optimizer: UpdateRule | None = learning(
        OneOf(UpdateRule),
        default_in_words="adam; plain sgd as in the book",
        short="Choose the optimiser",
    )
    lr: float | None = learning(
        Real(1e-12, 1e6), "Set the learning rate|; U1 and V take more in a run of few steps."
    )
    schedule: Schedule | None = learning(
        OneOf(Schedule),
        "Choose how the learning rate falls.",
        default_in_words="cosine; constant as in the book",
        short="Choose how the rate falls",
    )
    warmup: int | None = learning(
        Whole(0, 1 << 40),
        "Raise the learning rate from 0 over this many steps.",
        default_in_words="at most 5% of the steps and 200; 0 as in the book",
        short="Raise the rate over these steps",
    )
    clip: float | None = learning(
        Real(0, 1e12),
        "Clip gradients to this norm|; 0 turns clipping off.",
        default_in_words="1; 5 as in the book",
    )
    weight_decay: float | None = learning(
        Real(0, 1e6),
        "Shrink weights by this rate| (decoupled).",
        default_in_words="up to 0.1 with adam; 0 otherwise, or as in the book",
    )
    epochs: int | None = learning(Whole(1, 1 << 40), short="Read the corpus this many times")
    minutes: float | None = learning(
        Real(1e-3, 1e7),
        "Stop after this many minutes|, and choose a network size that suits them.",
        default_in_words="no limit",
    )
    patience: int | None = learning(
        Whole(0, 1 << 40),
        "Stop after this many check-ups without a better held-out loss; 0: about a fifth of all so"
        " far, once there are 12.",
        default_in_words="0; no limit with epochs, or if minutes end the run",
        short="Stop once it learns no more",
    )
    check_every: int | None = learning(
        Whole(1, 1 << 40),
        "Measure the held-out loss after every N steps (a check-up).",
        short="Check the loss every N steps",
    )
    seed: int = learning(
        SEED, "Set the seed of random numbers|. It gives the same file if no minutes are set.", 0
    )
    counts: bool = learning(
        Flag(),
        "Also store counts of the text|, for a lower loss. The model file then holds the text.",
    )
    cores: int | None = learning(
        CORES,
        "Work with at most this many processes, where several are faster.",
        default_in_words="the number of cores, up to 8",
        short="Use at most this many processes",
    )
    shards: int | None = setting(CORES, "Compute each batch in so many shards.", names=())

    def __post_init__(self) -> None:
        super().__post_init__()

        def refuse(name: str, what: str, hint: str) -> None:
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
        for name, value in (("own_inputs", self.own_inputs), ("free_running", self.free_running)):
            if self.teacher_forcing and value:
                what = f"{value:g} contradicts teacher forcing, which reads nothing but the text"
                refuse(name, what, "Leave one of them out.")
        if self.bptt and self.free_running > self.bptt:
            what = f"{self.free_running:,} is more than the {self.bptt:,} steps of a window"
            refuse("free_running", what, "Lower it, or raise [bptt].")


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
    optimizer: UpdateRule = field()
    lr: float = field()
    schedule: Schedule = field()
    weight_decay: float = field()
    warmup: int = field()
    clip: float = field()
    epochs: int = field()
    check_every: int = field()
    shards: int = field()

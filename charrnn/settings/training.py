"""Settings, each declared once: the values it may have, its help and its default.

    clip: float = learning(Real(0, 1e12), "Clip gradients to this norm.", 1.0)

A Checked dataclass checks itself by these fields, and the command line makes its options of them.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, Final, Literal, get_args

from charrnn.errors import SettingError

Kind = Literal["auto", "lines", "paragraphs", "files"]
Normalization = Literal["none", "NFC", "NFKC"]
Errors = Literal["strict", "replace"]
UpdateRule = Literal["adam", "rmsprop", "adagrad", "sgd"]
Schedule = Literal["cosine", "linear", "constant"]
Ending = Literal["epochs", "minutes", "patience", "interrupted"]

CORPUS = "Corpus"
NETWORK, LEARNING = "Network", "Learning"
DRAWING, FILLING = "Drawing", "Filling"
LONGEST: Final = 60  # characters of a value in a message
LARGEST: Final = 1 << 20  # units, lanes, steps: more is a typing error
LIMITS: Final = ("epochs", "minutes", "patience")  # may be raised when a run is resumed
AUTOMATIC: Final = 0  # the patience of a run that stops once it learns no more
NEW_EACH_TIME: Final = "new each time"


# Each use of a seed has a stream of its own: default_rng([seed, ORDER, epoch]). Number 0 is not
# among them: default_rng(0), which holds out a part of the corpus, is default_rng([0, 0]).
WEIGHTS: Final = 1
REGULARIZATION: Final = 2  # then the step
ORDER: Final = 3  # then the epoch
OWN_INPUTS: Final = 4  # then the step


class Values:
    """The values that a setting may have: texts, and in subclasses others."""

    kind: type[Any] = str

    def __init__(
        self, metavar: str = "TEXT", allowed: str = "a text", names: Sequence[str] = ()
    ) -> None:
        self.metavar, self.allowed = metavar, allowed  # for help and for errors
        self.names = names  # that the shell completes

    def plain(self, value: Any) -> Any:
        """Return the plain Python value; ValueError or TypeError if it is not allowed."""
        return str.__str__(value)

    def read(self, typed: Any) -> Any:
        """Return the value of typed text, or ValueError; a value stays as it is."""
        return self.kind(typed)


Text = Values


class Whole(Values):
    """Whole numbers in a range."""

    kind = int

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most
        super().__init__("N", f"a whole number from {least:,} to {most:,}")

    def plain(self, value: Any) -> int:
        ensure(not is_flag(value))
        whole = index(value)
        ensure(self.least <= whole <= self.most)
        return whole


class Real(Values):
    """Numbers in a range, perhaps without one of its ends."""

    kind = float

    def __init__(self, least: float, most: float, without: float | None = None) -> None:
        self.least, self.most, self.without = least, most, without
        but = "" if without is None else f", but not {without:g}"
        super().__init__("NUMBER", f"a number from {least:g} to {most:,.15g}{but}")

    def plain(self, value: Any) -> float:
        ensure(isinstance(value, numbers.Real) and not is_flag(value))
        number = float(value)
        ensure(self.least <= number <= self.most and number != self.without)
        return number


class OneOf(Values):
    """One of a few names, or of those of a Literal."""

    def __init__(self, choices: Any) -> None:
        self.choices: Sequence[str] = get_args(choices) or choices  # of a Literal
        super().__init__("|".join(self.choices), f"one of {', '.join(self.choices)}", self.choices)

    def plain(self, value: Any) -> str:
        return self.choices[self.choices.index(str.__str__(value))]


class Flag(Values):
    """True or False."""

    def __init__(self) -> None:
        super().__init__("", "True or False")

    def plain(self, value: Any) -> bool:
        ensure(is_flag(value))
        return bool(value)


def is_flag(value: object) -> bool:
    """Return whether the value is True or False, of Python or of NumPy, which may be absent."""
    return type(value).__name__ in ("bool", "bool_")


def ensure(is_allowed: bool) -> None:
    """Raise ValueError unless a value is allowed."""
    if not is_allowed:
        raise ValueError("not allowed")


SIZE, STEPS, COUNT = Whole(1, LARGEST), Whole(0, LARGEST), Whole(1, 1 << 40)
SEED, MANY, CORES = Whole(0, (1 << 64) - 1), Whole(1, 1 << 62), Whole(1, 1 << 10)
SHARE, TEMPERATURE = Real(0, 0.95), Real(0, 1e6)


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting."""

    values: Values
    about: str = ""  # its help
    panel: str = ""  # of help
    default: Any = None
    default_in_words: str = ""
    names: tuple[str, ...] | None = None  # typed for it; (): not an option; None: as its field
    repeated: bool = False
    variable: str = ""  # of the environment

    def options(self, field_name: str) -> tuple[str, ...]:
        """Return the names that are typed for it. A name without a dash is that of an argument."""
        return (option_of(field_name),) if self.names is None else self.names


def setting(values: Values, about: str = "", default: Any = None, **details: Any) -> Any:
    """Return a field of a dataclass that is a Setting; a default of MISSING makes it required."""
    if details.get("repeated") and default is None:
        default = ()
    if isinstance(default, (int, float, str, Path)):
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        details["default_in_words"] = "" if default is False else shown
    declared = Setting(values, about, default=default, **details)
    return field(default=default, metadata={"setting": declared})


of_corpus = partial(setting, panel=CORPUS)
drawing, filling = (partial(setting, panel=panel) for panel in (DRAWING, FILLING))
network, learning = (
    partial(setting, panel=panel, default_in_words="chosen for the corpus")  # if it is None
    for panel in (NETWORK, LEARNING)
)


def settings_of(config: type) -> dict[str, Setting]:
    """Return the settings of a dataclass by field name, where a subclass narrows a field, too."""
    return {
        name: field.metadata["setting"]
        for kind in reversed(config.__mro__)
        for name, field in getattr(kind, "__dataclass_fields__", {}).items()
        if "setting" in field.metadata
    }


def option_of(name: str) -> str:
    """Return the option for a field whose setting has no other name."""
    return "--" + name.replace("_", "-")


def check(name: str, value: object, values: Values) -> Any:
    """Return the plain value, which a file can hold; SettingError if it is not allowed."""
    try:
        return values.plain(value)
    except (ValueError, TypeError, OverflowError):
        try:
            shown = repr(value) if isinstance(value, str) else str(value)
        except ValueError:  # Python does not print numbers of thousands of digits
            shown = f"that {type(value).__name__}"
        shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
        hint = f"It may be {values.allowed}."
        raise SettingError(f"{name} cannot be {shown}", hint, name) from None


class Checked:
    """A configuration that checks its settings; None is allowed only where it is the default."""

    def __post_init__(self) -> None:
        for name, setting in settings_of(type(self)).items():
            value = getattr(self, name)
            if value is not None or setting.default is not None:
                object.__setattr__(self, name, check(name, value, setting.values))


@dataclass(frozen=True)
class Reading(Checked):
    """How bytes become text."""

    encoding: str = of_corpus(
        Text("NAME"), "Decode the text by this encoding, such as latin-1 or utf-16.", "utf-8"
    )
    normalize: Normalization = of_corpus(
        OneOf(Normalization), "Normalise Unicode; NFC gives an accented letter one form.", "none"
    )
    errors: Errors = of_corpus(OneOf(Errors), "Refuse or replace undecodable bytes.", "strict")
    column: str | None = of_corpus(
        Text("NAME|N"),
        "Read this column of a CSV or TSV table, whose rows are the examples: its NAME in the first"
        " row, or its number N if no row has names.",
        default_in_words="whole lines",
    )
    tidy: bool = of_corpus(
        Flag(),
        "Clean the lines of a list: bullets, numbers, quotes and commas go, and comments, a heading"
        " and repeats are dropped.",
        False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            b"    ".decode(self.encoding, "replace")  # refuses hex, rot13 and idna
        except (LookupError, ValueError):
            what = f"{self.encoding!r} is not an encoding"
            raise SettingError(what, "Try utf-8, utf-16, latin-1 or cp1252.") from None
        if self.column is not None and self.column.isdecimal() and not int(self.column):
            raise SettingError("column cannot be 0", "The first column is 1.", "column")


@dataclass(frozen=True)
class CorpusConfig(Checked):
    """How a corpus is cut into examples, and how many of them are held out."""

    examples: Kind = of_corpus(
        OneOf(Kind),
        "Treat each line, paragraph or file as one example. auto takes paragraphs if the text has"
        " many short ones, else lines.",
        "auto",
    )
    holdout: float = of_corpus(  # of the examples, or of the characters of a single one
        Real(0, 1, without=1), "Hold out this fraction of the corpus, to measure the loss.", 0.1
    )
    reading: Reading = field(default_factory=Reading)
    known: str = ""  # characters of the vocabulary that need not be in the corpus

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.examples not in ("auto", "lines") and self.reading.tidy:
            what = f"tidy is for lines, and examples are {self.examples}"
            raise SettingError(what, "Leave out [examples] or [tidy].", "tidy")
        if self.examples not in ("auto", "lines") and self.reading.column is not None:
            what = f"column excludes examples {self.examples}"
            raise SettingError(what, "With [column], each row is an example.", "column")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Checked):
    """How a network learns. Settings that are None are chosen to fit the corpus."""

    cell: str = network(
        OneOf(("tanh", "gru", "lstm", "output")),
        "Choose the recurrent cell; output feeds back only outputs (Deep Learning, figure 10.4).",
        "tanh",
    )
    teacher_forcing: bool = network(
        Flag(), "Feed the cell output the correct characters, so steps are independent.", False
    )
    ends: str = network(
        OneOf(("symbol", "halt", "length")),
        "Choose how a text ends. symbol: by an END symbol; halt: by an output that gives the"
        " probability of the end after each character; length: after a length that is drawn first.",
        "symbol",
    )
    clock: bool = network(Flag(), "Feed the network the position in the example.", False)
    init_radius: float = network(
        Real(0, 1000), "Begin with this spectral radius of W; above 1, gradients can explode.", 1.0
    )
    hidden: int | None = network(SIZE, "Set the number of units in a layer.")
    layers: int | None = network(Whole(1, 64), "Set the number of layers.")
    dropout: float | None = network(SHARE, "Drop up to this fraction of units between layers.")
    dropconnect: float | None = network(SHARE, "Drop up to this fraction of recurrent weights.")
    blank: float | None = network(SHARE, "Blank out up to this fraction of input characters.")
    bptt: int | None = learning(
        STEPS, "Truncate backpropagation to windows of this many steps; 0: whole examples."
    )
    own_inputs: float = learning(
        Real(0, 1), "Feed the network up to this fraction of its own samples as inputs.", 0.0
    )
    free_running: int = learning(
        STEPS, "In each window, feed the network its own samples for N steps in a row.", 0
    )
    batch: int | None = learning(SIZE, "Train on this many sequences at once.")
    optimizer: UpdateRule = learning(OneOf(UpdateRule), "Choose the optimiser.", "adam")
    lr: float | None = learning(
        Real(1e-12, 1e6), "Set the learning rate; U1 and V take more in a run of few steps."
    )
    schedule: Schedule = learning(OneOf(Schedule), "Choose how the learning rate falls.", "cosine")
    warmup: int | None = learning(
        Whole(0, 1 << 40),
        "Raise the learning rate from 0 over this many steps.",
        default_in_words="5% of the steps, at most 200",
    )
    clip: float = learning(Real(0, 1e12), "Clip gradients to this norm; 0 turns clipping off.", 1.0)
    weight_decay: float | None = learning(
        Real(0, 1e6),
        "Shrink weights by this rate (decoupled weight decay).",
        default_in_words="0.1 with adam, or less for many steps; otherwise 0",
    )
    epochs: int | None = learning(COUNT, "Read the corpus this many times.")
    minutes: float | None = learning(
        Real(1e-3, 1e7),
        "Stop after this many minutes, and choose a network size that suits them.",
        default_in_words="no limit",
    )
    patience: int | None = learning(
        Whole(0, 1 << 40),
        "Stop after this many check-ups without a better held-out loss; 0: a quarter of the run so"
        " far.",
        default_in_words="0, or no limit where epochs or minutes end the run",
    )
    check_every: int | None = learning(
        COUNT,
        "Measure the held-out loss after every N steps (a check-up).",
        default_in_words="up to 40 check-ups in a run",
    )
    seed: int = learning(
        SEED, "Set the seed of random numbers. The same seed gives the same model file.", 0
    )
    counts: bool = learning(
        Flag(),
        "Also store n-gram counts, which sample and eval combine with the network for a lower loss."
        " Anyone who gets the model file can read the training text.",
        False,
    )
    cores: int | None = learning(
        CORES,
        "Work with at most this many processes, where several are faster.",
        default_in_words="the number of cores, up to 8",
    )
    parts: int | None = setting(CORES, "Compute each batch in so many parts.", names=())

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
    lr: float = field()
    weight_decay: float = field()
    warmup: int = field()
    epochs: int = field()
    check_every: int = field()
    parts: int = field()


@dataclass(frozen=True, kw_only=True)
class SampleConfig(Checked):
    """How texts are drawn."""

    temperature: float = drawing(
        TEMPERATURE,
        "Draw with this temperature: below 1 for likelier characters, above 1 for more variety; 0"
        " always takes the likeliest character.",
        1.0,
        names=("-t", "--temp"),
    )
    top_k: int | None = drawing(
        MANY, "Draw only among the K likeliest characters.", default_in_words="all"
    )
    top_p: float | None = drawing(
        Real(0, 1, without=0),
        "Draw only among the likeliest characters that have this probability together.",
        default_in_words="all",
    )
    max_characters: int = drawing(
        MANY,
        "Cut a sample off after this many characters, the prime not counted.",
        2000,
        names=("--max-chars",),
    )
    seed: int | None = drawing(
        SEED,
        "Set the seed of random numbers. Sample k of a seed is always the same.",
        default_in_words=NEW_EACH_TIME,
    )


@dataclass(frozen=True, kw_only=True)
class FillConfig(Checked):
    """How the missing characters of a text are filled in."""

    count: int = filling(
        Whole(1, 1 << 12), "Show this many fillings of each text.", 5, names=("-n", "--count")
    )
    max_gap: int = filling(Whole(0, 1 << 10), "Fill at most this many characters into a gap.", 8)
    beam: int = filling(Whole(1, 1 << 20), "Try at most this many beginnings of each length.", 4096)

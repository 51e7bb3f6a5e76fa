"""Every setting, once: its type, its range or choices, the words of its help, its default.

A configuration checks itself by its fields, and the command line makes its options of the same
fields. So a setting is added here and where it is used, and nowhere else.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from charrnn.errors import SettingError
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS
from charrnn.values import Character, Checked, Flag, OneOf, Real, Text, Whole, check, setting

Rule = Literal["adam", "rmsprop", "adagrad", "sgd"]
Schedule = Literal["cosine", "linear", "constant"]
Kind = Literal["auto", "lines", "paragraphs", "files"]
Cut = Literal["lines", "paragraphs", "files"]
Newlines = Literal["translate", "keep"]
Normalization = Literal["none", "NFC", "NFKC"]
Errors = Literal["strict", "replace", "skip"]
Ending = Literal["epochs", "minutes", "patience", "interrupted"]

CORPUS, NETWORK, LEARNING, DRAWING = "Corpus", "Network", "Learning", "Drawing"  # panels of help
FILLING = "Filling"
FITS = "what fits the corpus"


LARGEST = 1 << 20  # units, lanes, steps: more is a slip of the keyboard
SIZE = Whole(1, LARGEST)
COUNT = Whole(1, 1 << 40)
MANY = Whole(1, 1 << 62)
SHARE = Real(0, 0.95)
SEED = Whole(0, (1 << 64) - 1)
DYNAMIC_RATE = Real(0, 1e6, above=True)


@dataclass(frozen=True)
class Reading(Checked):
    """How bytes become text."""

    encoding: str = setting(
        Text("NAME"),
        "How the text is encoded: utf-8, latin-1, utf-16, ...",
        panel=CORPUS,
        default="utf-8",
    )
    newlines: Newlines = setting(
        OneOf(get_args(Newlines)),
        "Read every kind of line end as one, or keep them as they are.",
        panel=CORPUS,
        default="translate",
    )
    normalize: Normalization = setting(
        OneOf(get_args(Normalization)),
        "Write letters that can be written in several ways in one.",
        panel=CORPUS,
        default="none",
    )
    errors: Errors = setting(
        OneOf(get_args(Errors)),
        "Refuse bytes that are no text, read each as one unknown character, or skip their line.",
        panel=CORPUS,
        default="strict",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            codecs.getincrementaldecoder(self.encoding)
            " ".encode(self.encoding)  # refuses what is a codec and no encoding: hex, rot13
        except (LookupError, ValueError):
            raise SettingError(
                f"{self.encoding!r} is not an encoding", "Try utf-8, utf-16, latin-1 or cp1252."
            ) from None

    @property
    def wants_bytes_without_nul(self) -> bool:
        """Whether a NUL byte, or the mark of a wider encoding, shows that this is not the text."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")


@dataclass(frozen=True)
class CorpusConfig(Checked):
    """How a corpus is cut into examples, and which of them are held out."""

    examples: Kind = setting(
        OneOf(get_args(Kind)),
        "What one example is; auto: lines, or paragraphs if many and short.",
        panel=CORPUS,
        default="auto",
    )
    holdout: float = setting(  # of the examples, or of the characters of a single one
        Real(0, 1, below=True), "Hold out this share of the corpus.", panel=CORPUS, default=0.1
    )
    seed: int = setting(SEED, default=0, names=())
    reading: Reading = field(default_factory=Reading)
    cuts: tuple[Cut, ...] = ()  # for each file, where it was found out before: auto keeps to it
    known: str = ""  # characters of the vocabulary even where they do not stand in the corpus

    def __post_init__(self) -> None:
        super().__post_init__()
        for cut in self.cuts:
            check("cuts", cut, OneOf(get_args(Cut)))

    def kinds(self, count: int, first: int = 0) -> list[Kind]:
        """How to cut so many files, of which there are some before."""
        known = self.cuts[first : first + count] if self.examples == "auto" else ()
        return [*known, *[self.examples] * (count - len(known))]


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Checked):
    """How to learn. What is None is fitted to the corpus."""

    cell: str = setting(
        OneOf(lambda: tuple(CELLS)),
        "What gets a layer from one state to the next: the book's tanh units, or gated ones.",
        panel=NETWORK,
        default="tanh",
    )
    ends: str = setting(
        OneOf(lambda: tuple(HEADS)),
        "How a text ends: a symbol like the others, or a unit that halts.",
        panel=NETWORK,
        default="symbol",
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
        "End after so many minutes.",
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


@dataclass(frozen=True, kw_only=True)
class SampleConfig(Checked):
    """How to draw."""

    temperature: float = setting(
        Real(0, 1e6),
        "Below 1 is more careful, above 1 bolder; 0 always takes the most likely character.",
        panel=DRAWING,
        default=1.0,
        names=("-t", "--temp"),
    )
    top_k: int | None = setting(
        MANY,
        "Draw among so many of the most likely characters.",
        panel=DRAWING,
        default_in_words="all",
    )
    top_p: float | None = setting(
        Real(0, 1, above=True),
        "Draw among the fewest characters that have this much of the chance.",
        panel=DRAWING,
        default_in_words="all",
    )
    max_characters: int = setting(
        MANY,
        "Cut a sample off after so many characters, the prime not counted.",
        panel=DRAWING,
        default=2000,
        names=("--max-chars",),
    )
    seed: int | None = setting(
        SEED,
        "Where random numbers start: same seed, same text, whatever -n is.",
        panel=DRAWING,
        default_in_words="another one each time",
    )


@dataclass(frozen=True, kw_only=True)
class FillConfig(Checked):
    """How to fill in what is missing of a text."""

    count: int = setting(
        Whole(1, 1 << 12),
        "How many fillings of each text, likeliest first.",
        panel=FILLING,
        default=5,
        names=("-n", "--count"),
    )
    blank: str = setting(
        Character(), "What stands for one missing character.", panel=FILLING, default="_"
    )
    gap: str = setting(
        Character(), "What stands for any number of them.", panel=FILLING, default="*"
    )
    max_gap: int = setting(
        Whole(0, 1 << 10), "The most that may be missing in a gap.", panel=FILLING, default=8
    )
    particles: int = setting(
        Whole(1, 1 << 20),
        "How many texts are drawn where there are too many to go through.",
        panel=FILLING,
        default=4096,
    )
    seed: int | None = setting(
        SEED,
        "Where random numbers start: same seed, same particles.",
        panel=FILLING,
        default_in_words="another one each time",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blank == self.gap:
            raise SettingError(
                f"gap cannot be {self.gap}, which is the blank", "Take another character.", "gap"
            )


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

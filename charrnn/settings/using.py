"""Settings of reading a corpus, of drawing, filling and exporting, of shared work and of sweeps."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypedDict, get_args

from charrnn.errors import SettingError
from charrnn.settings import fields
from charrnn.settings.fields import (
    MANY,
    SEED,
    Character,
    Checked,
    Flag,
    OneOf,
    Real,
    Text,
    Values,
    Whole,
    check,
    of_corpus,
    setting,
)
from charrnn.settings.training import TrainConfig
from charrnn.text import SCRIPTS

TEMPERATURE = Real(0, 1e6)
NEW_EACH_TIME: Final = "new each time"


@dataclass(frozen=True)
class Script(OneOf):
    """The name of a script, such as latin."""

    metavar: str = "SCRIPT"


@dataclass(frozen=True, kw_only=True)
class SampleConfig(Checked):
    """How texts are drawn."""

    temperature: float = fields.of_drawing(
        TEMPERATURE,
        "Draw with this temperature: below 1 for likelier characters, above 1 for more variety; 0"
        " always takes the likeliest character.",
        default=1.0,
        names=("-t", "--temp"),
    )
    top_k: int | None = fields.of_drawing(
        MANY, "Draw only among the K likeliest characters.", default_in_words="all"
    )
    top_p: float | None = fields.of_drawing(
        Real(0, 1, above=True),
        "Draw only among the likeliest characters that together have this probability.",
        default_in_words="all",
    )
    script: str | None = fields.of_drawing(
        Script(SCRIPTS),
        "Draw only characters of this script, such as latin or greek, and those that scripts share,"
        " such as spaces.",
        default_in_words="all",
    )
    max_characters: int = fields.of_drawing(
        MANY,
        "Cut a sample off after this many characters, the prime not counted.",
        default=2000,
        names=("--max-chars",),
    )
    seed: int | None = fields.of_drawing(
        SEED,
        "Set the seed of random numbers. The same seed gives the same samples, whatever -n is.",
        default_in_words=NEW_EACH_TIME,
    )


@dataclass(frozen=True, kw_only=True)
class FillConfig(Checked):
    """How the missing characters of a text are filled in."""

    count: int = fields.of_filling(
        Whole(1, 1 << 12),
        "Show this many fillings of each text.",
        default=5,
        names=("-n", "--count"),
    )
    blank: str = fields.of_filling(
        Character(), "Read this character as one missing character.", default="_"
    )
    gap: str = fields.of_filling(
        Character(), "Read this character as any number of missing characters.", default="*"
    )
    max_gap: int = fields.of_filling(
        Whole(0, 1 << 10), "Fill at most this many characters into a gap.", default=8
    )
    particles: int = fields.of_filling(
        Whole(1, 1 << 20),
        "Draw this many texts to estimate probabilities where there are too many to try all.",
        default=4096,
    )
    seed: int | None = fields.of_filling(
        SEED,
        "Set the seed of random numbers. The same seed gives the same estimate.",
        default_in_words=NEW_EACH_TIME,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blank == self.gap:
            what = f"gap and blank cannot both be {self.gap}"
            raise SettingError(what, "Choose another character.", "gap")


MOST_PARTS: Final = 1 << 20


class Part(NamedTuple):
    """One of several parts of a text: 2 of 8."""

    number: int
    of: int


@dataclass(frozen=True)
class Parts(Values):
    """A part as it is typed: 2/8."""

    metavar: str = "I/N"
    allowed: str = f"a part such as 2/8: I/N with I from 1 to N, and N at most {MOST_PARTS:,}"

    def plain(self, value: Any) -> Any:
        fields.ensure(isinstance(value, Part) and 1 <= value.number <= value.of <= MOST_PARTS)
        return value

    def read(self, typed: Any) -> Part:
        if isinstance(typed, Part):
            return typed
        number, _, of = str(typed).partition("/")
        return Part(int(number), int(of))


class Threshold(NamedTuple):
    """A surprisal per character, in the unit in which it was typed."""

    number: float
    unit: str = "bits"

    @property
    def bits(self) -> float:
        return self.number if self.unit == "bits" else self.number / math.log(2)

    def __str__(self) -> str:
        nats = self.bits * math.log(2)
        other = f"{nats:.4g} nats" if self.unit == "bits" else f"{self.bits:.4g} bits"
        return f"{self.number:g} {self.unit} ({other})"


@dataclass(frozen=True)
class Thresholds(Values):
    """A threshold as it is typed: 6, 6bits or 4nats."""

    metavar: str = "BITS"
    allowed: str = "a number of at least 0, of bits, or with a unit: 6bits or 4nats"

    def plain(self, value: Any) -> Any:
        fields.ensure(isinstance(value, Threshold) and 0 <= value.number < math.inf)
        return value

    def read(self, typed: Any) -> Threshold:
        if isinstance(typed, Threshold):
            return typed
        unit = "nats" if str(typed).endswith("nats") else "bits"
        return Threshold(float(str(typed).removesuffix(unit)), unit)


MOST_SEEDS = 1 << 16
FIXED = ("seed", "workers")  # settings of a run that a sweep chooses itself


def words_to_try() -> dict[str, str]:
    """Return the settings that a sweep can try, by the words that are typed for them."""
    known = fields.settings_of(TrainConfig)
    typed = {name: known[name].options(name)[-1] for name in known if name not in FIXED}
    return {option.partition("/")[0].lstrip("-"): name for name, option in typed.items()}


@dataclass(frozen=True)
class Seeds(Values):
    """Seeds and ranges of them, with commas between."""

    metavar: str = "N-N"
    allowed: str = f"seeds such as 0-4 or 1,5,7, ascending, without repeats, {MOST_SEEDS:,} at most"

    def plain(self, value: Any) -> tuple[int, ...]:
        fields.ensure(isinstance(value, tuple) and bool(value))
        return tuple(map(SEED.plain, value))

    def read(self, typed: Any) -> tuple[int, ...]:
        seeds: list[int] = []
        for piece in str(typed).split(","):
            first, dash, last = piece.partition("-")
            low, high = int(first), int(last if dash else first)
            fields.ensure(0 <= high - low < MOST_SEEDS - len(seeds))
            seeds += range(low, high + 1)
        fields.ensure(len(set(seeds)) == len(seeds))
        return tuple(seeds)


FILE = "File"  # a panel of help
_named_like_file = partial(fields.setting, panel=FILE, default_in_words="the name of FILE")


class Exporting(TypedDict, total=False):
    """The export options of Python: the first fields of ExportOptions."""

    bits: int
    title: str | None
    prefix: str | None
    without_counts: bool


@dataclass(frozen=True)
class ExportOptions(Checked):
    """Options of an exported file; each is for some kinds, and refused for the others."""

    bits: int = fields.setting(
        Whole(8, 32, "32|16|8"),
        "Store numbers of html, js and c files in this many bits. 16 or 8 make the file smaller and"
        " change a few samples.",
        panel=FILE,
        default=32,
    )
    title: str | None = _named_like_file(Text(), "Set the title of a page.")
    prefix: str | None = _named_like_file(Text("NAME"), "Begin all names in a C header with this.")
    without_counts: bool = fields.setting(
        Flag(),
        "If the model has n-gram counts, export its network alone, which draws other texts.",
        panel=FILE,
        default=False,
    )
    novel: tuple[str, ...] = ()  # texts that a page does not write
    name: str = "charrnn"  # of the exported file, without folder and suffix
    model: str = "MODEL"  # the file name of the model, if it has one

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits not in (32, 16, 8):
            raise SettingError(f"bits cannot be {self.bits}", "It may be 32, 16 or 8.", "bits")
        if self.prefix is not None and not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", self.prefix):
            hint = "It may have letters, digits and _, and does not begin with a digit."
            raise SettingError(f"prefix cannot be {self.prefix!r}", hint, "prefix")

    def check_for(self, kind: str, takes: Collection[str]) -> None:
        """Raise SettingError if an option is set that this kind of file does not use."""
        for name in ("bits", "title", "prefix", "novel"):
            if getattr(self, name) != getattr(ExportOptions, name) and name not in takes:
                raise SettingError(f"{name} does not apply to {kind}", "Leave it out.", name)


Kind = Literal["auto", "lines", "paragraphs", "files"]
Cut = Literal["lines", "paragraphs", "files"]
Newlines = Literal["translate", "keep"]
Normalization = Literal["none", "NFC", "NFKC"]
Errors = Literal["strict", "replace", "skip"]


@dataclass(frozen=True)
class Reading(Checked):
    """How bytes become text."""

    encoding: str = of_corpus(
        Text("NAME"),
        "Decode the text by this encoding, such as latin-1 or utf-16.",
        default="utf-8",
    )
    newlines: Newlines = of_corpus(
        OneOf(get_args(Newlines)),
        "Turn CRLF and CR line endings into LF, or keep them as characters.",
        default="translate",
    )
    normalize: Normalization = of_corpus(
        OneOf(get_args(Normalization)),
        "Normalise Unicode, so that the two ways to write an accented letter become the same"
        " character.",
        default="none",
    )
    errors: Errors = of_corpus(
        OneOf(get_args(Errors)),
        "Refuse undecodable bytes, replace each by an unknown character, or skip their line.",
        default="strict",
    )
    column: str | None = of_corpus(
        Text("NAME|N"),
        "Read this column of a CSV or TSV table; each row is an example. NAME stands in the first"
        " row; N counts columns from 1 in a table without such a row. The separator is the tab,"
        " semicolon or comma that the first row has most of.",
        default_in_words="whole lines",
    )
    strip: str | None = of_corpus(
        Text("CHARACTERS"),
        "Remove these characters from both ends of each line, such as ', ' or '0123456789. '.",
        default_in_words="nothing",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            codecs.getincrementaldecoder(self.encoding)
            b"    ".decode(self.encoding, "replace")  # refuses hex, rot13 and idna
        except (LookupError, ValueError):
            raise SettingError(
                f"{self.encoding!r} is not an encoding", "Try utf-8, utf-16, latin-1 or cp1252."
            ) from None
        if self.column is not None and self.column.isdecimal() and not int(self.column):
            raise SettingError("column cannot be 0", "The first column is 1.", "column")

    def kind(self, examples: Kind) -> Kind:
        """Return how to cut a text that is read so: each row of a table is an example."""
        return examples if self.column is None else "lines"

    @property
    def wants_bytes_without_nul(self) -> bool:
        """Return whether a NUL shows another encoding."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")


@dataclass(frozen=True)
class CorpusConfig(Checked):
    """How a corpus is cut into examples, and how many of them are held out."""

    examples: Kind = of_corpus(
        OneOf(get_args(Kind)),
        "Treat each line, paragraph or file as one example. auto takes paragraphs if the file has"
        " many short ones, else lines.",
        default="auto",
    )
    holdout: float = of_corpus(  # of the examples, or of the characters of a single one
        Real(0, 1, below=True),
        "Hold out this fraction of the corpus, to measure the loss on text that is not learned.",
        default=0.1,
    )
    seed: int = setting(SEED, default=0, names=())
    reading: Reading = field(default_factory=Reading)
    cuts: tuple[Cut, ...] = ()  # of each file in an earlier run: auto keeps to them
    known: str = ""  # characters of the vocabulary that need not be in the corpus

    def __post_init__(self) -> None:
        super().__post_init__()
        for cut in self.cuts:
            check("cuts", cut, OneOf(get_args(Cut)))
        if self.examples not in ("auto", "lines") and self.reading.column is not None:
            what = f"column excludes examples {self.examples}"
            raise SettingError(what, "With [column], each row is an example.", "column")

    def kinds(self, count: int, first: int = 0) -> list[Kind]:
        """Return how to cut ``count`` files, counted from the number ``first``."""
        known = self.cuts[first : first + count] if self.examples == "auto" else ()
        return [*known, *[self.reading.kind(self.examples)] * (count - len(known))]

"""How a corpus is read, cut into examples, and parted into what is learned and what is held out."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import Literal, get_args

from charrnn.errors import SettingError
from charrnn.settings.fields import CORPUS, SEED, Checked, OneOf, Real, Text, check, setting

Kind = Literal["auto", "lines", "paragraphs", "files"]
Cut = Literal["lines", "paragraphs", "files"]
Newlines = Literal["translate", "keep"]
Normalization = Literal["none", "NFC", "NFKC"]
Errors = Literal["strict", "replace", "skip"]


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
            b"    ".decode(self.encoding, "replace")  # refuses hex, rot13 and idna
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

"""Settings of reading a corpus, cutting it into examples, and holding some of them out."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import Literal, get_args

from charrnn.errors import SettingError
from charrnn.settings.fields import SEED, Checked, OneOf, Real, Text, check, of_corpus, setting

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
        "Turn CRLF and CR line ends into LF, or keep them as characters.",
        default="translate",
    )
    normalize: Normalization = of_corpus(
        OneOf(get_args(Normalization)),
        "Write letters with accents in one way only (Unicode normalisation); without it, the two"
        " ways to write an accent are different characters.",
        default="none",
    )
    errors: Errors = of_corpus(
        OneOf(get_args(Errors)),
        "Refuse undecodable bytes, replace each by an unknown character, or skip their line.",
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
        """Return whether a NUL shows another encoding."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")


@dataclass(frozen=True)
class CorpusConfig(Checked):
    """How a corpus is cut into examples, and how many of them are held out."""

    examples: Kind = of_corpus(
        OneOf(get_args(Kind)),
        "Learn each line, paragraph or file as one example. auto takes paragraphs if the file has"
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

    def kinds(self, count: int, first: int = 0) -> list[Kind]:
        """Return how to cut ``count`` files, counted from the number ``first``."""
        known = self.cuts[first : first + count] if self.examples == "auto" else ()
        return [*known, *[self.examples] * (count - len(known))]

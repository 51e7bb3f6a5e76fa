"""Settings of reading a corpus and cutting it into examples."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import Literal, get_args

from charrnn.errors import SettingError
from charrnn.settings.fields import Checked, OneOf, Real, Text, check, of_corpus

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
            what = f"{self.encoding!r} is not an encoding"
            raise SettingError(what, "Try utf-8, utf-16, latin-1 or cp1252.") from None
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

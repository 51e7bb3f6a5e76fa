"""Settings of a corpus: how bytes become text, and texts examples."""

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from charrnn.errors import SettingError
from charrnn.settings.values import Checked, Flag, OneOf, Real, Text, setting
from charrnn.system.visible import did_you_mean

Kind = Literal["auto", "lines", "paragraphs", "files"]
Normalization = Literal["none", "NFC", "NFKC"]
Errors = Literal["strict", "replace"]

CORPUS = "Corpus"
of_corpus = partial(setting, panel=CORPUS)


@dataclass(frozen=True)
class Reading(Checked):
    """How bytes become text."""

    encoding: str = of_corpus(
        Text("NAME"),
        "Decode the text by this encoding, such as latin-1 or utf-16.",
        "utf-8",
        short="Set the encoding of the text",
    )
    normalize: Normalization = of_corpus(
        OneOf(Normalization), "Normalise Unicode|; NFC gives an accented letter one form.", "none"
    )
    errors: Errors = of_corpus(
        OneOf(Errors),
        "Refuse or replace undecodable bytes.",
        "strict",
        short="Refuse or replace bad bytes",
    )
    column: str | None = of_corpus(
        Text("NAME|N"),
        "Read this column of a CSV or TSV table, by its NAME in the first row, or by its number"
        " if no row has names.",
        default_in_words="whole lines",
        short="Read a column of a table",
    )
    label_by: str | None = of_corpus(
        Text("file|NAME|N"),
        "Give each example a label: the name of its file, or a column by NAME or number N.",
        default_in_words="no labels",
        short="Label texts by file or column",
    )
    tidy: bool = of_corpus(
        Flag(),
        "Clean the lines of a list|: remove bullets, numbers, quotes, notes in brackets, commas,"
        " comments, headings and repeats.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            b"    ".decode(self.encoding, "replace")  # refuses hex, rot13 and idna
        except (LookupError, ValueError):
            what = f"{self.encoding!r} is not an encoding"
            raise SettingError(what, "Try utf-8, utf-16, latin-1 or cp1252.") from None
        for name, column in (("column", self.column), ("label_by", self.label_by)):
            if column == "" or (column is not None and column.isdecimal() and not int(column)):
                what = f"{name} cannot be {column or 'empty'}"
                raise SettingError(what, "The first column is 1.", name)

    def check_labels(self) -> None:
        """Raise SettingError if labels are in a column and it is not known where the texts are."""
        if self.label_by not in (None, "file") and self.column is None:
            what = f"label_by {self.label_by} is a column, and that of the texts is not known"
            hint = f"{did_you_mean(str(self.label_by), ['file'])} Name that with [column]."
            raise SettingError(what, hint.strip(), "label_by")


@dataclass(frozen=True)
class CorpusConfig(Checked):
    """How a corpus is cut into examples, and how many of them are held out."""

    examples: Kind = of_corpus(
        OneOf(Kind),
        "Choose what one example is|; auto: paragraphs if the text has many short ones, else"
        " lines.",
        "auto",
    )
    holdout: float = of_corpus(  # of the examples, or of the characters of a single one
        Real(0, 1, without=1),
        "Hold out this fraction of the corpus, to measure the loss.",
        0.1,
        short="Hold out a part of the corpus",
    )
    reading: Reading = field(default_factory=Reading)
    known: str = ""  # characters of the vocabulary that need not be in the corpus

    def __post_init__(self) -> None:
        super().__post_init__()
        self.reading.check_labels()
        if self.examples not in ("auto", "lines") and self.reading.tidy:
            what = f"tidy is for lines, and examples are {self.examples}"
            raise SettingError(what, "Leave out [examples] or [tidy].", "tidy")
        if self.examples not in ("auto", "lines") and self.reading.column is not None:
            what = f"column excludes examples {self.examples}"
            raise SettingError(what, "With [column], each row is an example.", "column")

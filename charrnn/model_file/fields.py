"""The values in a model file, checked before they are used, in every format so far.

The file may be untrusted, so each value is checked against what charrnn can write. A field that is
missing takes its default. A field that is unknown makes the file a newer one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from os import PathLike
from typing import Any, TypeVar

from charrnn.corpus.corpus import Corpus
from charrnn.corpus.files import NOWHERE, is_stream, locate, place_of, relative_place
from charrnn.model_file.container import JSON, Document, NewerFormatError, printable
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import settings_of
from charrnn.settings.training import Fitted
from charrnn.training.loop import LOSSES
from charrnn.vocabulary import Vocabulary

Record = TypeVar("Record")
Row = dict[str, float]

COUNTERS: dict[str, type] = dict.fromkeys(("step", "epoch", "window", "characters", "since"), int)
COUNTERS |= {"nats": float, "minutes": float}
MOST = 1 << 62
MOST_COUNTED = 1 << 26  # symbols
GONE: Mapping[str, object] = {"members": 1, "carry": False, "stride": None}  # settings
LEARNED = {"run", "best", "history"}  # the fields of each network
TOP = {"vocabulary", "settings", "corpus", "others", "counted", "slim", "bits"}
ROUNDING = 1e-3  # nats: the loss of a certain symbol may be rounded to a little below 0
ROW: dict[str, type] = {"step": int, "characters": int, "held_out": float}
ROW |= dict.fromkeys(LOSSES, float)
OPTIONAL = {"held_out", LOSSES[0]}  # fields of a row
KINDS = ("lines", "paragraphs", "files", "texts", "mixed")
BASELINE = re.compile(r"[a-z]{1,20}(-[0-9]{1,2})?")
FINGERPRINT = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class CorpusRecord:
    """The corpus of a run: enough to find it again and to recognise it."""

    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str
    examples_are: str
    holdout: float
    encoding: str
    newlines: str
    normalize: str
    examples: int
    characters: int
    held_out_examples: int
    held_out_characters: int
    baselines: dict[str, float] = field(default_factory=dict)  # held-out nats per character
    cuts: tuple[str, ...] = ()  # how each file is cut into examples, if they differ
    errors: str = "strict"
    digest: str = ""  # of the examples; format 1 has none
    places: tuple[str, ...] = ()  # the paths of sources and valid
    known: str = ""  # the characters of the model that the run started from, if any
    column: str | None = None
    strip: str | None = None

    @property
    def reading(self) -> Reading:
        """Return how the corpus is read."""
        return Reading(**{name: getattr(self, name) for name in settings_of(Reading)})

    def reading_of(self, source: str, typed: Mapping[str, Any]) -> Reading:
        """Return how to read a text: as the corpus, with what is typed.

        Column and strip are those of the files of the corpus, and not of other texts.
        """
        is_known = place_of(source) in self.places if place_of(source) else source in self.names
        others = {} if is_known and source != "-" else {"column": None, "strip": None}
        return replace(self.reading, **{**others, **typed})

    @property
    def config(self) -> CorpusConfig:
        """The settings that make the same corpus of the same files."""
        kind: Any = {"texts": "lines", "mixed": "auto"}.get(self.examples_are, self.examples_are)
        cuts: Any = self.cuts
        return CorpusConfig(kind, self.holdout, self.reading, cuts, self.known)

    @property
    def files(self) -> tuple[str, ...]:
        """The files of sources and valid, found from any current folder."""
        places = self.places or (NOWHERE,) * len(self.names)
        return tuple(locate(name, place) for name, place in zip(self.names, places, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """All files, as the user typed them."""
        return (*self.sources, *self.valid)

    @property
    def source_files(self) -> tuple[str, ...]:
        return self.files[: len(self.sources)]

    @property
    def valid_files(self) -> tuple[str, ...]:
        return self.files[len(self.sources) :]


@dataclass(frozen=True)
class Learned:
    """The progress of one network."""

    run: dict[str, Any]  # by the names of COUNTERS
    best: tuple[int, float] | None  # its step and its nats per character
    history: list[Row]


@dataclass(frozen=True)
class Contents:
    """The facts of a file, checked."""

    slim: bool  # whether the file holds no run to resume
    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusRecord
    learned: Learned
    counted: int | None  # symbols of the counted text, breaks included
    bits: int = 32  # of each number of a matrix


def facts_of(contents: Contents) -> dict[str, JSON]:
    """Return the facts as the text of a file states them."""
    facts = asdict(contents)
    learned = facts.pop("learned")
    del facts["config"]["cores"]  # any number of processes writes the same bytes
    for name in ("column", "strip"):  # a file without them is as it always was
        if facts["corpus"][name] is None:
            del facts["corpus"][name]
    if contents.bits == 32:
        del facts["bits"]
    return {"settings": facts.pop("config"), **facts, **learned}


def contents_of(document: Document) -> Contents:
    """Return the facts of a document. Raise NewerFormatError for an unknown field.

    Raise LookupError, TypeError or ValueError for values that charrnn cannot write.
    """
    facts: Mapping[str, Any] = document.facts
    _check_known(facts, TOP | LEARNED)
    settings = dict(facts["settings"])
    settings.setdefault("parts", settings.pop("workers", 1))
    for name, only in GONE.items():
        if settings.pop(name, only) != only:
            raise ValueError(f"{name} is not supported any more")
    config = from_fields(Fitted, settings)
    _number("bptt", config.bptt - 1, int)  # a user may set 0; a run never has it
    slim, counted, bits = facts.get("slim", False), facts.get("counted"), facts.get("bits", 32)
    if type(slim) is not bool:
        raise ValueError(f"slim is {slim!r:.40}")
    if type(bits) is not int or bits not in ((8, 16, 32) if slim else (32,)):
        raise ValueError(f"bits are {bits!r:.40}")
    learned = _learned(facts, slim)
    if counted is not None:
        _number("counted", counted, int, MOST_COUNTED)
    if (counted is not None) != config.counts:
        raise ValueError("the counted text contradicts the settings")
    vocabulary = from_fields(Vocabulary, facts["vocabulary"])
    corpus = _corpus(facts["corpus"])
    if document.version == 1:  # markov-6 had five characters of context, and the predicted one
        order = re.compile("^markov-([0-9]+)$")
        baselines = {
            order.sub(lambda found: f"markov-{int(found[1]) - 1}", name): nats
            for name, nats in corpus.baselines.items()
        }
        corpus = replace(corpus, baselines=baselines)
    return Contents(slim, vocabulary, config, corpus, learned, counted, bits)


def _check_known(facts: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise NewerFormatError if a field is not among the known ones."""
    if type(facts) is not dict:
        raise TypeError(f"{facts!r:.40} in place of fields")
    for name in facts:
        if name not in known:
            raise NewerFormatError(f"the field {printable(name)}")


def _learned(facts: Mapping[str, Any], slim: bool) -> Learned:
    _check_known(facts["run"], COUNTERS)
    run = {name: _number(name, facts["run"].get(name, 0), kind) for name, kind in COUNTERS.items()}
    best = facts["best"]
    if best is not None:
        step, nats = best
        best = _number("best", step, int, run["step"]), _number("best", nats, float)
    history = _history(facts["history"], run["step"])
    examined = history[-1]["step"] if history else 0
    if (run["since"] == 0) != (run["step"] == examined) and not slim:
        raise ValueError("the count of symbols since the last check-up contradicts the history")
    return Learned(run, best, history)


def _corpus(facts: dict[str, Any]) -> CorpusRecord:
    facts = dict(facts)
    if facts.pop("seed", 0) != 0:
        raise ValueError("its held-out part was drawn with another seed than 0")
    corpus = from_fields(CorpusRecord, facts)
    for name in ("examples", "characters", "held_out_examples", "held_out_characters"):
        _number(name, getattr(corpus, name), int)
    for name, nats in corpus.baselines.items():
        _matches("the name of a baseline", name, BASELINE)
        _number(name, nats, float)
    _matches("the fingerprint", corpus.fingerprint, FINGERPRINT)
    if corpus.digest:
        _matches("the digest", corpus.digest, FINGERPRINT)
    if corpus.examples_are not in KINDS:
        raise ValueError(f"examples are {corpus.examples_are!r:.40}")
    for name in ("sources", "valid", "cuts", "places"):
        texts: Any = tuple(getattr(corpus, name))
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("the name of a file is no text")
        corpus = replace(corpus, **{name: texts})
    if len(corpus.places) not in (0, len(corpus.names)):
        raise ValueError("the places of a corpus do not match its files")
    _ = corpus.config, Vocabulary(corpus.known)  # both check their values
    return corpus


def _history(rows: list[dict[str, Any]], last: int) -> list[Row]:
    if type(rows) is not list:
        raise ValueError("the history is no list")
    for row in rows:
        _check_known(row, ROW)
        if LOSSES[1] not in row:  # an older file, whose only training loss had the other name
            row[LOSSES[1]] = row.pop(LOSSES[0])
        has_held_out = [("held_out" in each) for each in (row, rows[0])]
        if has_held_out[0] != has_held_out[1] or set(row) | OPTIONAL != set(ROW):
            raise ValueError("a row of the history lacks a field")
        for name, value in row.items():
            _number(name, value, ROW[name])
    steps = [0, *(row["step"] for row in rows)]
    if any(there <= here for here, there in pairwise(steps)) or steps[-1] > last:
        raise ValueError("the steps of the history are out of order")
    return rows


def from_fields(kind: Callable[..., Record], facts: dict[str, Any]) -> Record:
    """Return an object of a dataclass. Raise ValueError for a value of an undeclared type."""
    declared = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    _check_known(facts, declared)
    record = kind(**facts)
    for name, types in declared.items():
        value = facts.get(name, getattr(record, name))
        words = {word.split("[")[0].strip() for word in types.split("|")}
        if type(value).__name__ not in words | {SAVED_AS[word] for word in words & set(SAVED_AS)}:
            raise ValueError(f"{name} is {type(value).__name__}, not {types}")
    return record


SAVED_AS = {"None": "NoneType", "tuple": "list", "float": "int", "Rule": "str", "Schedule": "str"}


def _number(name: str, value: Any, kind: type, most: int = MOST) -> Any:
    """Return the value. Raise ValueError unless it is a count or a measure within its range."""
    is_number = type(value) is int or (type(value) is float and kind is float)
    if not is_number or not (-ROUNDING if kind is float else 0) <= value <= most:
        raise ValueError(f"{name} is {value!r:.40}")
    return value


def _matches(name: str, text: str, form: re.Pattern[str]) -> None:
    if not form.fullmatch(text):
        raise ValueError(f"{name} is {text!r:.40}")


def record_of(corpus: Corpus, config: CorpusConfig, baselines: Mapping[str, float]) -> CorpusRecord:
    """Return the record of a corpus for a model file."""
    return CorpusRecord(
        corpus.sources,
        corpus.valid,
        corpus.fingerprint,
        corpus.examples_are,
        config.holdout,
        **asdict(config.reading),
        examples=len(corpus.train),
        characters=corpus.train.characters,
        held_out_examples=len(corpus.held_out),
        held_out_characters=corpus.held_out.characters,
        baselines=dict(baselines),
        cuts=tuple(each.are for each in corpus.cuts) if corpus.examples_are == "mixed" else (),
        digest=corpus.digest,
        places=tuple(map(place_of, (*corpus.sources, *corpus.valid))),
        known=config.known,
    )


def relative_to(model: str | PathLike[str], record: CorpusRecord) -> CorpusRecord:
    """Return the record with paths relative to a model file: no name in it is absolute.

    A pipe of the shell becomes standard input: neither can be read again.
    """
    places = tuple(relative_place(model, place) for place in record.places)
    names = [
        (place or os.path.basename(name)) if os.path.isabs(name) else name
        for name, place in zip(
            ("-" if is_stream(name) else name for name in record.names),
            places or (NOWHERE,) * len(record.names),
            strict=True,
        )
    ]
    first = len(record.sources)
    sources, valid = tuple(names[:first]), tuple(names[first:])
    return replace(record, sources=sources, valid=valid, places=places)

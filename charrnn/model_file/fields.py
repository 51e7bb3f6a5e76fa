"""What a model file says of itself, in every format so far, checked before it is believed.

The file may come from a stranger, and a checksum proves no more than that it is as the stranger
wrote it. So each number has a range, and each text a form, beyond which no run of ours can come.

What a model file keeps of a corpus: how it was read and cut, and where it was found."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from os import PathLike
from typing import Any, TypeVar

from charrnn.corpus.corpus import Corpus, CorpusConfig
from charrnn.corpus.decoding import Reading
from charrnn.corpus.files import NOWHERE, found, place_of, seen_from
from charrnn.model_file.reader import FORMAT, Document
from charrnn.settings.training import Fitted
from charrnn.vocabulary import Vocabulary

Record = TypeVar("Record")
Row = dict[str, float]

COUNTERS: dict[str, type] = {
    "step": int,
    "epoch": int,
    "window": int,
    "characters": int,
    "nats": float,
    "since": int,
    "minutes": float,
}
MOST = 1 << 62
MOST_COUNTED = 1 << 26  # symbols
ROUNDING = 1e-3  # nats: what is sure may come out as a little surer than that
ROWS = (  # of the history, without and with a held-out text
    {"step": int, "characters": int, "train": float},
    {"step": int, "characters": int, "train": float, "held_out": float},
)
KINDS = ("lines", "paragraphs", "files", "texts", "mixed")
BASELINE = re.compile(r"[a-z]{1,20}(-[0-9]{1,2})?")
FINGERPRINT = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class CorpusRecord:
    """What a run learned from: enough to find it again and to know that it is the same."""

    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str
    examples_are: str
    holdout: float
    seed: int
    encoding: str
    newlines: str
    normalize: str
    examples: int
    characters: int
    held_out_examples: int
    held_out_characters: int
    baselines: dict[str, float] = field(default_factory=dict)  # held-out nats per character
    cuts: tuple[str, ...] = ()  # of each file, where they differ
    errors: str = "strict"
    digest: str = ""  # of the examples as they are learned from; the first format had none
    places: tuple[str, ...] = ()  # of sources and valid: where they are
    known: str = ""  # the characters of the model that the run began from, if there was one

    @property
    def reading(self) -> Reading:
        """How the texts were read."""
        return Reading(self.encoding, self.newlines, self.normalize, self.errors)  # type: ignore[arg-type]

    @property
    def config(self) -> CorpusConfig:
        """What makes the same corpus of the same files."""
        kind: Any = {"texts": "lines", "mixed": "auto"}.get(self.examples_are, self.examples_are)
        cuts: Any = self.cuts
        return CorpusConfig(kind, self.holdout, self.seed, self.reading, cuts, self.known)

    @property
    def files(self) -> tuple[str, ...]:
        """What to read for sources and valid, from whatever folder."""
        places = self.places or (NOWHERE,) * len(self.names)
        return tuple(found(name, place) for name, place in zip(self.names, places, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """All files, as they were typed."""
        return (*self.sources, *self.valid)

    @property
    def source_files(self) -> tuple[str, ...]:
        """What to read for the sources."""
        return self.files[: len(self.sources)]

    @property
    def valid_files(self) -> tuple[str, ...]:
        """What to read to validate with."""
        return self.files[len(self.sources) :]


@dataclass(frozen=True)
class Learned:
    """How far one network has come."""

    run: dict[str, Any]
    best: tuple[int, float] | None  # its step, and its nats per character
    history: list[Row]


@dataclass(frozen=True)
class Contents:
    """What a file says, by now believed."""

    slim: bool  # whether there is no more in it than what draws and scores

    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusRecord
    learned: list[Learned]  # of each network
    counted: int | None  # symbols of the text that is counted, breaks among them


def checked(document: Document) -> Contents:
    """What the text says; LookupError, TypeError, ValueError ... where that cannot be."""
    facts: Mapping[str, Any] = document.facts
    is_whole = document.version == FORMAT  # an earlier format knows nothing of later fields
    config = _made(Fitted, facts["settings"], is_whole)
    _number("bptt", config.bptt - 1, int)  # 0 is what a user may ask for, and never what is done
    slim = facts["slim"] if is_whole else facts.get("slim", False)
    if type(slim) is not bool:
        raise ValueError(f"slim is {slim!r:.40}")
    others = facts["others"] if is_whole else facts.get("others", [])
    learned = [_learned(one, slim) for one in (facts, *others)]
    if len(learned) != config.members:
        raise ValueError(f"{len(learned)} networks, and the settings have {config.members}")
    counted = facts["counted"] if is_whole else facts.get("counted")
    if counted is not None:
        _number("counted", counted, int, MOST_COUNTED)
    if (counted is not None) != config.counts:
        raise ValueError("the text that is counted does not go with the settings")
    vocabulary = _made(Vocabulary, facts["vocabulary"], is_whole)
    corpus = _corpus(facts["corpus"], is_whole)
    if document.version == 1:
        corpus = replace(corpus, baselines=by_context(corpus.baselines))
    return Contents(slim, vocabulary, config, corpus, learned, counted)


def _learned(facts: Mapping[str, Any], slim: bool) -> Learned:
    run = {name: _number(name, facts["run"][name], kind) for name, kind in COUNTERS.items()}
    best = facts["best"]
    if best is not None:
        step, nats = best
        best = _number("best", step, int, run["step"]), _number("best", nats, float)
    history = _history(facts["history"], run["step"])
    examined = history[-1]["step"] if history else 0
    if (run["since"] == 0) != (run["step"] == examined) and not slim:
        raise ValueError("what was seen since the last check-up does not go with the history")
    return Learned(run, best, history)


def by_context(baselines: Mapping[str, float]) -> dict[str, float]:
    """The losses by the names of today: markov-6 has six characters of context.

    The first format counted the character that is predicted as well.
    """
    named: dict[str, float] = {}
    for name, nats in baselines.items():
        kind, _, order = name.partition("-")
        named[f"{kind}-{int(order) - 1}" if kind == "markov" and order else name] = nats
    return named


def _corpus(facts: dict[str, Any], is_whole: bool) -> CorpusRecord:
    corpus = _made(CorpusRecord, facts, is_whole)
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
    _ = corpus.config  # refuses what cannot be
    corpus = replace(
        corpus,
        sources=_texts(corpus.sources),
        valid=_texts(corpus.valid),
        cuts=_texts(corpus.cuts),
        places=_texts(corpus.places),
    )
    if len(corpus.places) not in (0, len(corpus.names)):
        raise ValueError("the places of a corpus are not those of its files")
    _ = Vocabulary(corpus.known)  # refuses what cannot be
    return corpus


def _history(rows: list[dict[str, Any]], last: int) -> list[Row]:
    if type(rows) is not list:
        raise ValueError("the history is no list")
    kinds = next((kinds for kinds in ROWS if rows and set(kinds) == set(rows[0])), {})
    for row in rows:
        if not kinds or set(row) != set(kinds):
            raise ValueError("a row of the history is not like the others")
        for name, kind in kinds.items():
            _number(name, row[name], kind)
    steps = [0, *(row["step"] for row in rows)]
    if any(there <= here for here, there in pairwise(steps)) or steps[-1] > last:
        raise ValueError("the steps of the history are out of order")
    return rows


def _made(kind: Callable[..., Record], facts: dict[str, Any], is_whole: bool) -> Record:
    """A record of these fields, none of another type than it declares.

    Where the record is not whole, what is missing has its default.
    """
    declared = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    if not set(facts) <= set(declared) or (is_whole and len(facts) < len(declared)):
        raise ValueError(f"the fields are not those of {kind.__name__}")
    for name, value in facts.items():
        if type(value).__name__ not in _types_of(declared[name]):
            raise ValueError(f"{name} is {type(value).__name__}, not {declared[name]}")
    return kind(**facts)


def _types_of(declared: str) -> set[str]:
    """The JSON types that a field declared so may have."""
    words = {word.split("[")[0].strip() for word in declared.split("|")}
    return {
        json
        for word in words
        for json in {
            "None": {"NoneType"},
            "tuple": {"list"},
            "float": {"float", "int"},
            "Rule": {"str"},
            "Schedule": {"str"},
        }.get(word, {word})
    }


def _texts(values: Any) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("the name of a text is no text")
    return tuple(values)


def _number(name: str, value: Any, kind: type, most: int = MOST) -> Any:
    """The value, if it could count something, or measure it."""
    is_one = type(value) is int or (type(value) is float and kind is float)
    if not is_one or not (-ROUNDING if kind is float else 0) <= value <= most:
        raise ValueError(f"{name} is {value!r:.40}")
    return value


def _matches(what: str, text: str, form: re.Pattern[str]) -> None:
    if not form.fullmatch(text):
        raise ValueError(f"{what} is {text!r:.40}")


def record_of(corpus: Corpus, config: CorpusConfig, baselines: Mapping[str, float]) -> CorpusRecord:
    """What to keep of a corpus."""
    return CorpusRecord(
        corpus.sources,
        corpus.valid,
        corpus.fingerprint,
        corpus.examples_are,
        config.holdout,
        config.seed,
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


def as_seen_from(model: str | PathLike[str], record: CorpusRecord) -> CorpusRecord:
    """The record as it stands in a model file: no name of a text in it is absolute."""
    places = tuple(seen_from(model, place) for place in record.places)
    ways = places or (NOWHERE,) * len(record.names)
    names = [
        (way or os.path.basename(name)) if os.path.isabs(name) else name
        for name, way in zip(record.names, ways, strict=True)
    ]
    first = len(record.sources)
    sources, valid = tuple(names[:first]), tuple(names[first:])
    return replace(record, sources=sources, valid=valid, places=places)

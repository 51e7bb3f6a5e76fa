"""Examples in the numbers of a vocabulary; a part of them is held out."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import CorpusError, SettingError
from charrnn.reading import END_CODE, SEPARATORS, choose_cut, cut, join, name_of, text_of
from charrnn.settings import CorpusConfig, Kind
from charrnn.tidy import Tidied, in_words, untidy
from charrnn.vocabulary import END, Codes, Ids, Vocabulary, is_surrogate

Starts = NDArray[np.unsignedinteger[Any]]
Texts = Iterable[str] | Path | Sequence[Path]  # examples, or files with examples

BLOCK: Final = 1 << 17  # symbols whose array of indices fits into the cache
STRATUM: Final = 1 << 16  # examples among which lots are drawn at once
TEXT_ENDS: Final = b"\xff"  # not in UTF-8, like the mark below
VALID_FOLLOWS: Final = b"\xfe"

LOOKED_FOR: Final = 1 << 16  # held-out examples: a warning must not delay the start
LOOKED_THROUGH: Final = 1 << 24  # symbols of the training part
LINES: Final = 1 << 10  # that may show a table
ENOUGH: Final = 10  # lines that show what all lines have in common
NEARLY_ALL: Final = 0.95
HEADINGS: Final = {
    *("name", "first name", "firstname", "given name", "last name", "surname"),
    *("title", "word", "words", "text", "label", "term", "sentence", "line", "string", "id"),
}  # of columns


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples end to end, each with its END."""

    ids: Ids  # (S,)
    starts: Starts  # (n + 1,)  example i is ids[starts[i] : starts[i + 1]], its END last

    @staticmethod
    def of(texts: Sequence[Ids]) -> Examples:
        """Return these examples, each with its END, end to end."""
        return Examples.cut(np.concatenate(texts))

    @staticmethod
    def cut(ids: Ids) -> Examples:
        """Return the examples that end in END."""
        kind = np.uint32 if len(ids) < 1 << 32 else np.uint64
        ends = np.flatnonzero(ids == END)
        return Examples(ids, np.append(0, ends + 1).astype(kind))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def characters(self) -> int:
        return len(self.ids) - len(self)  # ENDs not counted

    def nth(self, i: int) -> Ids:
        return self.ids[self.starts[i] : self.starts[i + 1]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """The examples to learn from and those held out, and where they come from."""

    vocabulary: Vocabulary  # of the training part, and of the model it starts from
    train: Examples
    held_out: Examples
    examples_are: str  # lines, paragraphs, files; texts if they come from Python
    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str  # SHA-256 of the text that was read: it identifies the corpus
    tidied: Tidied = field(default_factory=Tidied)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the encoded examples, wherever they come from."""
        digest = hashlib.sha256(self.vocabulary.characters.encode("utf-8", "surrogatepass"))
        for ids in (self.train.ids, self.held_out.ids):
            digest.update(f"{len(ids)} ".encode())
            for block in blocks_of(ids):
                digest.update(block.astype("<u4").tobytes())
        return digest.hexdigest()

    @cached_property
    def log_frequencies(self) -> NDArray[np.float64]:
        """The logarithm of how often each symbol is a target in training; -inf for never."""
        counts = _counts(self.train.ids, self.vocabulary.symbols)
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(counts / counts.sum())
        return logs

    @property
    def entropy(self) -> float:
        """The loss of the symbol frequencies alone (a unigram model), in nats per character."""
        seen = self.log_frequencies[np.isfinite(self.log_frequencies)]
        return -float(np.sum(np.exp(seen) * seen))


def read_files(
    sources: Sequence[str], config: CorpusConfig | None = None, valid: Sequence[str] = ()
) -> Corpus:
    """Read the corpus from files; validation files are held out, and everything else trains."""
    config, digest = config or CorpusConfig(), hashlib.sha256()
    is_list = config.reading.column is not None or config.reading.tidy
    kind: Kind = "lines" if is_list else config.examples
    tidied = Tidied()

    def read(names: Sequence[str]) -> Codes:
        nonlocal kind
        parts = []
        for name in names:
            text = text_of(name, config.reading, tidied)
            digest.update(text.encode("utf-8", "surrogatepass") + TEXT_ENDS)
            if kind == "auto" and text.strip():
                kind = choose_cut(text)  # of the first file for all
            parts.append(cut(text, kind))
        if not sum(map(len, parts)):
            others = f", with {len(names) - 1} more," if len(names) > 1 else ""
            what = f"{name_of(names[0])}{others} is empty"
            raise CorpusError(what, "A corpus needs at least one visible character.")
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    if not valid:
        train, held_out = hold_out(read(sources), config.holdout)
    else:
        train = read(sources)
        digest.update(VALID_FOLLOWS)
        held_out = read(valid)
    parts = _encode(train, held_out, config.known)
    return Corpus(*parts, kind, tuple(sources), tuple(valid), digest.hexdigest(), tidied)


def from_texts(texts: Iterable[str], config: CorpusConfig | None = None) -> Corpus:
    """Return the corpus of these texts, an example each. A lone surrogate is UNKNOWN."""
    config, digest = config or CorpusConfig(), hashlib.sha256()
    listed = [texts] if isinstance(texts, str) else list(texts)
    for text in listed:
        digest.update(text.encode("utf-8", "surrogatepass") + TEXT_ENDS)
    if not any(listed):
        raise CorpusError("the corpus is empty", "Give it a text with at least one character.")
    train, held_out = hold_out(join(listed), config.holdout)
    parts = _encode(train, held_out, config.known)
    return Corpus(*parts, "texts", (), (), digest.hexdigest())


def corpus_of(texts: Texts, config: CorpusConfig, valid: Sequence[str] = ()) -> Corpus:
    """Return the corpus of texts, an example each, or of files."""
    files = files_in(texts)
    return read_files(files, config, valid) if files else from_texts(check_texts(texts), config)


def files_in(texts: Texts) -> tuple[str, ...]:
    """Return the names of the files, if these are paths and not texts."""
    if isinstance(texts, str):
        hint = f"Give a list of texts, or Path({texts[:40]!r}) to read a file."
        raise SettingError("a str is one text, and a corpus has many", hint)
    if isinstance(texts, Path):
        return (str(texts),)
    if isinstance(texts, Sequence) and all(isinstance(path, Path) for path in texts):
        return tuple(map(str, texts))
    return ()


def check_texts(texts: object, name: str = "texts") -> Iterator[str]:
    """Yield each text; raise SettingError if something else is given, or a text alone."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise SettingError(f"{name} cannot be {type(texts).__name__}", "Give a list of texts.")
    for text in texts:
        if not isinstance(text, str):
            what = f"a text cannot be {type(text).__name__}"
            raise SettingError(what, "Give texts alone, or paths alone.")
        yield text


def hold_out(codes: Codes, share: float) -> tuple[Codes, Codes]:
    """Return training examples and those held out by lot; of a single one, hold out the tail."""
    lengths = np.diff(np.flatnonzero(codes == END_CODE), prepend=-1)  # (n,)  END counted
    if len(lengths) == 1 and share > 0:
        characters = len(codes) - 1
        size = max(1, min(int(characters * (1 - share)), characters - 1))
        tail = codes[size:] if size < characters else codes[:0]  # one character is not divided
        return np.append(codes[:size], END_CODE), tail
    trains = draw(len(lengths), share)
    if trains.all():
        return codes, codes[:0]
    in_train = trains.repeat(lengths)  # (S,)
    return codes[in_train], codes[~in_train]


def draw(count: int, share: float) -> NDArray[np.bool_]:
    """Return which examples train; at least one is held out, and never all.

    The number of examples and the share decide, so all seeds hold out the same text.
    """
    trains = np.ones(count, np.bool_)
    held = min(max(1, round(count * share)), count - 1) if share > 0 and count else 0
    lots = np.random.default_rng(0)
    for first in range(0, count, STRATUM):  # a permutation of all would take much memory
        last = min(first + STRATUM, count)
        size = held * last // count - held * first // count
        trains[first + lots.choice(last - first, size, replace=False, shuffle=False)] = False
    return trains


def _encode(train: Codes, held_out: Codes, known: str) -> tuple[Vocabulary, Examples, Examples]:
    """Return the vocabulary of the training part, with known characters, and both parts."""
    seen = np.zeros(int(END_CODE) + 1, np.bool_)
    for block in blocks_of(train):
        seen[block] = True
    distinct = np.flatnonzero(seen[:-1]).astype(np.uint32)
    characters = {chr(code) for code in distinct[~is_surrogate(distinct)].tolist()}.union(known)
    vocabulary = Vocabulary("".join(sorted(characters)))
    ids = encode(train, vocabulary)
    counts = _counts(ids, vocabulary.symbols)[2:].tolist()
    counted = dict(zip(vocabulary.characters, counts, strict=True))
    vocabulary = Vocabulary.counted(counted, len(ids))
    return vocabulary, Examples.cut(ids), Examples.cut(encode(held_out, vocabulary))


def encode(codes: Codes, vocabulary: Vocabulary) -> Ids:
    """Return the ids of code points, END for END_CODE."""
    ids: Ids = np.empty(len(codes), vocabulary.dtype)
    for start, block in zip(range(0, len(codes), BLOCK), blocks_of(codes), strict=True):
        ids[start : start + BLOCK] = vocabulary.encode_codes(block)
        ids[start : start + BLOCK][block == END_CODE] = END
    return ids


def blocks_of(symbols: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield views of an array, short enough to be used as indices."""
    for start in range(0, len(symbols), BLOCK):
        yield symbols[start : start + BLOCK]


def _counts(ids: Ids, symbols: int) -> NDArray[np.int64]:
    counts = np.zeros(symbols, np.int64)
    for block in blocks_of(ids):
        counts += np.bincount(block, minlength=symbols)
    return counts


@dataclass(frozen=True)
class Warned:
    """A warning, and the two numbers behind it."""

    kind: str  # few examples, repeated, header, or the separator of a table in lines
    count: int  # examples learned from; held-out examples that are known; lines
    of: int  # all examples; held-out examples that were looked for; lines that were looked at
    what: str = ""  # the column to read


def warnings(corpus: Corpus) -> list[Warned]:
    """Return the reasons why scores on this corpus may be unreliable."""
    train, held_out = corpus.train, corpus.held_out
    doubts = []
    if len(train) < 2 and corpus.examples_are != "files":  # one does not show how examples end
        doubts.append(Warned("few examples", len(train), len(train) + len(held_out)))
    every = -(-len(held_out) // LOOKED_FOR) or 1
    wanted = _texts(held_out.ids)[::every]
    trained = train.ids[: train.starts[train.starts <= LOOKED_THROUGH][-1]]
    count = sum(map(set(wanted).intersection(_texts(trained)).__contains__, wanted))
    if count:
        doubts.append(Warned("repeated", count, len(wanted)))
    if corpus.examples_are == "lines":
        lines, firsts = (
            [corpus.vocabulary.decode(part.nth(i)) for i in range(min(len(part), most))]
            for part, most in ((train, LINES), (held_out, 1))
        )
        doubts += table_in([*lines[:1], *firsts], lines)
        counts = untidy(lines)
        if counts:
            doubts.append(Warned("untidy", counts.total(), len(lines), in_words(counts)))
    return doubts


def _texts(ids: Ids) -> list[str]:
    """Return the examples, a character for each id."""
    text = ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return text.split(chr(END))[:-1]


def table_in(firsts: Sequence[str], lines: Sequence[str]) -> list[Warned]:
    """Return a warning if lines are rows of a table; one of ``firsts`` is the first line."""
    if len(lines) < ENOUGH:
        return []
    fields = [field.strip(" \"'") for line in firsts for field in re.split("[\t;,]", line)]
    headings = [field for field in fields if field.casefold() in HEADINGS]
    heading = min(headings, key=lambda field: field.casefold() == "id", default="")
    for separator, word in SEPARATORS.items():
        inner = Counter(line.strip(f"{separator} ").count(separator) for line in lines)
        often, count = inner.most_common(1)[0]
        if often and count >= NEARLY_ALL * len(lines):
            return [Warned(f"{word} in lines", count, len(lines), heading or "1")]
    return [Warned("header", 1, len(lines), heading)] if heading else []

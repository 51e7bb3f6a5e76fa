"""Checks of a corpus: too much held out, too little to learn from, texts that occur in both parts.

Some lists have more than the text in a line, such as numbers or the other columns of a table.

A set of texts keeps 64 bits of each. Against a million texts, a new text is taken for one of them
with a probability of 10^-13.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.columns import SEPARATORS
from charrnn.corpus.corpus import Corpus, Examples
from charrnn.corpus.segmentation import texts_in, whole_examples
from charrnn.text import script_of
from charrnn.vocabulary import END, Codes, codes_of

LOOKED_FOR: Final = 1 << 16  # held-out examples: a warning must not delay the start
LOOKED_THROUGH: Final = 1 << 24  # symbols of the training part
BLOCK: Final = 1 << 10  # examples compared at a time
MIXED: Final = 0.02  # of all examples have more than the usual script
LINES: Final = 1 << 10  # whose traits are looked at
ENOUGH: Final = 10  # lines that show what all lines have in common
NEARLY_ALL: Final = 0.95
NAMES: Final = {
    *("name", "first name", "firstname", "given name", "last name", "surname"),
    *("title", "word", "words", "text", "label", "term", "sentence", "line", "string", "id"),
}  # of columns
ENDINGS: Final = ",;:|/\"'"
NUMBER: Final = re.compile(r"\s*(?:\d+[.):]?|[-*•–])\s")
NUMBERS: Final = "0123456789.):-*•– "


@dataclass(frozen=True)
class Warned:
    """A warning, and the two numbers behind it."""

    kind: str  # much held out, few examples, repeated, scripts; or a trait of nearly all lines
    count: int  # characters held out; examples learned from; held-out examples that are known ...
    of: int  # all characters; all examples; held-out examples that were looked for ...
    what: str = ""  # the most frequent script; the column to read, or the characters to strip


def warnings(corpus: Corpus) -> list[Warned]:
    """Return the reasons why scores on this corpus may be unreliable."""
    train, held_out = corpus.train, corpus.held_out
    characters = train.characters + held_out.characters
    found = []
    if not corpus.valid and 3 * held_out.characters > characters:
        found.append(Warned("much held out", held_out.characters, characters))
    if len(train) < 2 and corpus.examples_are != "files":  # one does not show how examples end
        found.append(Warned("few examples", len(train), len(train) + len(held_out)))
    known, looked_for = repeated(train, held_out)
    if known:
        found.append(Warned("repeated", known, looked_for))
    found += other_scripts(corpus)
    if corpus.examples_are == "lines":
        lines, firsts = (
            [corpus.vocabulary.decode(part.nth(i)) for i in range(min(len(part), most))]
            for part, most in ((train, LINES), (held_out, 1))
        )
        found += findings([*lines[:1], *firsts], lines)
    return found


def other_scripts(corpus: Corpus) -> list[Warned]:
    """Return a warning if many examples have characters beside the most frequent script."""
    starts = corpus.train.starts
    size = int(np.searchsorted(starts, starts.dtype.type(LOOKED_THROUGH), "right")) - 1
    starts = starts[: size + 1]
    if not size:
        return []
    found = [*map(script_of, corpus.vocabulary.characters)]
    scripts = ["", "", *("cjk" if one in ("hiragana", "katakana") else one for one in found)]
    names, script = np.unique(scripts, return_inverse=True)  # "" comes first
    ids = corpus.train.ids[: int(starts[-1])]
    often = np.bincount(script, np.bincount(ids, minlength=len(scripts)))
    most = int(often[1:].argmax()) + 1 if len(often) > 1 else 0
    is_other = (script != 0) & (script != most)
    count = int(np.count_nonzero(np.logical_or.reduceat(is_other[ids], starts[:-1])))
    if count < MIXED * size:
        return []
    kinds = int(np.count_nonzero(often[1:]))
    return [Warned(f"{kinds} scripts", count, size, str(names[most]))]


def repeated(train: Examples, held_out: Examples) -> tuple[int, int]:
    """Count the held-out examples found in the training part, and those looked for: not all."""
    every = -(-len(held_out) // LOOKED_FOR) or 1
    wanted = list(islice(_texts(held_out, len(held_out)), 0, None, every))
    longest = max(map(len, wanted), default=0)
    first = int(np.searchsorted(train.starts, train.starts.dtype.type(LOOKED_THROUGH)))
    known = set(wanted).intersection(_texts(train, min(first, len(train)), longest))
    return sum(text in known for text in wanted), len(wanted)


def _texts(examples: Examples, count: int, longest: int | None = None) -> Iterator[str]:
    """Yield the first ``count`` examples, a character for each id; not those that are too long."""
    for at in range(0, count, BLOCK):
        starts = examples.starts[at : min(at + BLOCK, count) + 1]
        lengths = np.diff(starts)
        ids = examples.ids[starts[0] : starts[-1]]
        if longest is not None and lengths.max() > longest + 1:  # END counted
            ids = ids[(lengths <= longest + 1).repeat(lengths)]
        text = ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        yield from text.split(chr(END))[:-1]


BATCH: Final = 1 << 20  # hashes collected before duplicates are removed


def hash_of(text: str) -> int:
    """Return a hash of the text, of 64 bits."""
    return int.from_bytes(blake2b(codes_of(text).tobytes(), digest_size=8).digest(), "little")


class TextSet:
    """A set of texts, filled from a stream of examples and by ``add``."""

    def __init__(self, stream: Iterable[Codes] = (), *, ignoring_case: bool = False) -> None:
        """Read a stream of ``cut``. With case, ignore spaces at either end of a text too."""
        self._ignoring_case = ignoring_case
        self._read: NDArray[np.uint64] = np.empty(0, np.uint64)  # sorted
        self._added: set[int] = set()
        texts = (text for codes in whole_examples(stream) for text in texts_in(codes))
        hashes = map(self._hash, texts)
        while batch := array("Q", islice(hashes, max(BATCH, len(self._read)))):
            self._read = np.union1d(self._read, np.frombuffer(batch, np.uint64))

    def __len__(self) -> int:
        return len(self._read) + len(self._added)

    def __contains__(self, text: str) -> bool:
        return self.has_hash(self._hash(text))

    def add(self, text: str) -> None:
        if text not in self:
            self._added.add(self._hash(text))

    def has_hash(self, number: int) -> bool:
        """Return whether a text with this hash is in the set."""
        at = int(self._read.searchsorted(np.uint64(number)))
        is_read = at < len(self._read) and bool(self._read[at] == number)
        return is_read or number in self._added

    def _hash(self, text: str) -> int:
        return hash_of(text.strip().casefold() if self._ignoring_case else text)


def findings(firsts: Iterable[str], lines: Sequence[str]) -> list[Warned]:
    """Return the traits of a list that hardly belong to its texts; one of ``firsts`` begins it."""
    if len(lines) < ENOUGH:
        return []
    many = NEARLY_ALL * len(lines)
    fields = [one.strip(" \"'") for line in firsts for one in re.split("[\t;,]", line)]
    known = (one for one in fields if one.casefold() in NAMES)
    named = min(known, key=lambda one: one.casefold() == "id", default="")
    for separator, word in SEPARATORS.items():
        inner = Counter(line.strip(f"{separator} ").count(separator) for line in lines)
        often, count = inner.most_common(1)[0]
        if often and count >= many:
            return [Warned(f"{word} in lines", count, len(lines), named or "1")]
    if named:
        return [Warned("header", 1, len(lines), named)]
    found = []
    last, count = Counter(line.rstrip()[-1:] for line in lines).most_common(1)[0]
    if last and last in ENDINGS and count >= many:
        found.append(Warned("same ending", count, len(lines), last))
    count = sum(NUMBER.match(line) is not None for line in lines)
    if count >= many:
        found.append(Warned("numbered", count, len(lines), NUMBERS))
    return found

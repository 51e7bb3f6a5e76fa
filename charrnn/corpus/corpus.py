"""Files to examples, a part of them held out, all in numbers: what a network learns from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

import numpy as np

from charrnn.corpus.deciding import FileCut, Kind, are_all
from charrnn.corpus.draft import BLOCK, Draft, blocks_of, draft_of, ended_codes
from charrnn.corpus.examples import Examples, encode_draft, renumbered
from charrnn.corpus.holdout import split
from charrnn.corpus.reading import Reading, blocks
from charrnn.corpus.segmentation import Cut
from charrnn.corpus.sources import name_of
from charrnn.errors import CorpusError, SettingError
from charrnn.vocabulary import Vocabulary

__all__ = [
    "Corpus",
    "CorpusConfig",
    "Examples",
    "Kind",
    "from_texts",
    "load",
]

TEXT_ENDS: Final = b"\xff"  # neither stands in UTF-8
VALIDATION_FOLLOWS: Final = b"\xfe"


@dataclass(frozen=True)
class CorpusConfig:
    examples: Kind = "auto"
    holdout: float = 0.1  # the share of the examples, or of the characters of a single one
    seed: int = 0
    reading: Reading = field(default_factory=Reading)
    cuts: tuple[Cut, ...] = ()  # for each file, where it was found out before: auto keeps to it

    def __post_init__(self) -> None:
        for kind, choices in [(self.examples, Kind), *((cut, Cut) for cut in self.cuts)]:
            if kind not in get_args(choices):
                kinds = ", ".join(get_args(choices))
                raise SettingError(f"{kind!r} is no kind of example", f"One of {kinds}")
        if not 0 <= self.holdout < 1:
            raise SettingError(
                f"a share of {self.holdout} cannot be held out", "From 0 to below 1; 0.1 is usual."
            )
        if not 0 <= self.seed < 1 << 64:
            raise SettingError(f"{self.seed} is no seed", "From 0 to 2^64 - 1.")

    def kinds(self, count: int, first: int = 0) -> list[Kind]:
        """How to cut so many files, of which there are some before."""
        known = self.cuts[first : first + count] if self.examples == "auto" else ()
        return [*known, *[self.examples] * (count - len(known))]


@dataclass(frozen=True, eq=False)
class Corpus:
    vocabulary: Vocabulary  # of the training part only
    train: Examples
    held_out: Examples
    examples_are: str  # lines, paragraphs, files; mixed; or texts that came from Python
    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str  # SHA-256 over the text as it was read: two corpora with the same are the same
    cuts: tuple[FileCut, ...] = ()  # how each file was cut, those to validate with after the others


def load(
    sources: Sequence[str], config: CorpusConfig | None = None, valid: Sequence[str] = ()
) -> Corpus:
    """The corpus in some files, "-" for standard input.

    Where there are files to validate with, they are what is held out, and all the rest trains.
    """
    config = config or CorpusConfig()
    sources, valid = tuple(_each_of(sources)), tuple(_each_of(valid))
    digest = hashlib.sha256()
    draft, cuts = draft_of(
        _texts(sources, config.reading, digest.update), config.kinds(len(sources))
    )
    _check_not_empty(draft, sources)
    are = are_all(cuts)
    share = 0.0 if valid else config.holdout
    vocabulary, train, held_out = _settle(draft, share, config.seed)
    if valid:
        digest.update(VALIDATION_FOLLOWS)
        likewise: Any = [are] * len(valid)
        kinds = config.kinds(len(valid), len(sources)) if are == "mixed" else likewise
        draft, more = draft_of(_texts(valid, config.reading, digest.update), kinds)
        _check_not_empty(draft, valid)
        cuts += more
        held_out = encode_draft(draft, vocabulary)
    return Corpus(vocabulary, train, held_out, are, sources, valid, digest.hexdigest(), cuts)


def from_texts(texts: Iterable[str], config: CorpusConfig | None = None) -> Corpus:
    """The corpus of texts that are an example each, whatever is in them.

    Half a surrogate pair is no character: it is UNKNOWN wherever it stands.
    """
    config = config or CorpusConfig()
    digest = hashlib.sha256()
    draft = Draft()
    for codes in ended_codes(_hashed_whole(_each_of(texts), digest.update)):
        draft.add(codes)
    if draft.size == draft.examples:
        raise CorpusError("the corpus is empty", "Give it a text with something in it.")
    vocabulary, train, held_out = _settle(draft, config.holdout, config.seed)
    return Corpus(vocabulary, train, held_out, "texts", (), (), digest.hexdigest())


def _each_of(strings: Iterable[str]) -> Iterable[str]:
    """A string alone is meant as one, not as its characters."""
    return (strings,) if isinstance(strings, str) else strings


def _texts(
    sources: Sequence[str], reading: Reading, hash_in: Callable[[bytes], None]
) -> Iterator[Iterator[str]]:
    return (_hashed(blocks(source, reading), hash_in) for source in sources)


def _hashed(blocks: Iterable[str], hash_in: Callable[[bytes], None]) -> Iterator[str]:
    """The blocks of a text, as they come, each of them hashed on the way."""
    for block in blocks:
        hash_in(block.encode("utf-8", "surrogatepass"))
        yield block
    hash_in(TEXT_ENDS)


def _hashed_whole(texts: Iterable[str], hash_in: Callable[[bytes], None]) -> Iterator[str]:
    for text in texts:
        for at in range(0, len(text), BLOCK):
            hash_in(text[at : at + BLOCK].encode("utf-8", "surrogatepass"))
        hash_in(TEXT_ENDS)
        yield text


def _check_not_empty(draft: Draft, sources: Sequence[str]) -> None:
    if draft.size:
        return
    more = f", with {len(sources) - 1} more," if len(sources) > 1 else ""
    which = name_of(sources[0]) + more if sources else "the corpus"
    raise CorpusError(f"{which} is empty", "A corpus needs a character that can be seen.")


def _settle(draft: Draft, share: float, seed: int) -> tuple[Vocabulary, Examples, Examples]:
    """The vocabulary of the training part, and both parts in its numbers."""
    train, held_out = split(draft, share, seed)
    counts = np.zeros(len(draft.characters) + 2, np.int64)
    for block in blocks_of(train.ids):
        counts += np.bincount(block, minlength=len(counts))
    counted = zip(draft.characters, counts[2:].tolist(), strict=True)
    vocabulary = Vocabulary.counted(
        {chr(code): count for code, count in counted if count}, len(train.ids)
    )
    return (
        vocabulary,
        replace(train, ids=renumbered(train.ids, draft, vocabulary)),
        replace(held_out, ids=renumbered(held_out.ids, draft, vocabulary)),
    )

"""Files to examples, a part of them held out, all in numbers: what a network learns from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from charrnn.corpus.builder import BLOCK, Draft, blocks_of, draft_of, ended_codes
from charrnn.corpus.examples import Examples, encode_draft, renumbered
from charrnn.corpus.holdout import split
from charrnn.corpus.lines_or_paragraphs import FileCut, Kind, are_all
from charrnn.corpus.reading import Reading, blocks
from charrnn.corpus.sources import name_of
from charrnn.errors import CorpusError
from charrnn.settings.corpus import CorpusConfig
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


@dataclass(frozen=True, eq=False)
class Corpus:
    vocabulary: Vocabulary  # of the training part, and what was known before
    train: Examples
    held_out: Examples
    examples_are: str  # lines, paragraphs, files; mixed; or texts that came from Python
    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str  # SHA-256 over the text as it was read: two corpora with the same are the same
    cuts: tuple[FileCut, ...] = ()  # how each file was cut, those to validate with after the others

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the examples in their numbers: the same for the same, wherever they were."""
        digest = hashlib.sha256(self.vocabulary.characters.encode("utf-8", "surrogatepass"))
        for ids in (self.train.ids, self.held_out.ids):
            digest.update(f"{len(ids)} ".encode())
            for block in blocks_of(ids):
                digest.update(block.astype("<u4").tobytes())
        return digest.hexdigest()

    def is_that_of(self, fingerprint: str, digest: str) -> bool:
        """Whether it is the corpus that had these; files of the first format have no digest."""
        return self.fingerprint == fingerprint or (bool(digest) and self.digest == digest)


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
    vocabulary, train, held_out = _settle(draft, share, config)
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
    vocabulary, train, held_out = _settle(draft, config.holdout, config)
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


def _settle(
    draft: Draft, share: float, config: CorpusConfig
) -> tuple[Vocabulary, Examples, Examples]:
    """The vocabulary of the training part and of what is known, and both parts in its numbers."""
    train, held_out = split(draft, share, config.seed)
    counts = np.zeros(len(draft.characters) + 2, np.int64)
    for block in blocks_of(train.ids):
        counts += np.bincount(block, minlength=len(counts))
    counted = zip(draft.characters, counts[2:].tolist(), strict=True)
    found = {chr(code): count for code, count in counted if count}
    vocabulary = Vocabulary.counted({**dict.fromkeys(config.known, 0), **found}, len(train.ids))
    return (
        vocabulary,
        replace(train, ids=renumbered(train.ids, draft, vocabulary)),
        replace(held_out, ids=renumbered(held_out.ids, draft, vocabulary)),
    )

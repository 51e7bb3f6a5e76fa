"""Texts to score: files cut into examples as they stream by, or what a run had held out.

A model file does not keep its corpus. It knows where that was, its fingerprint, and the seed of the
lots that were drawn: enough to hold out the same examples again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np

from charrnn.corpus import corpus
from charrnn.corpus.corpus import Corpus, CorpusConfig, draft_of, split
from charrnn.corpus.decoding import Reading, blocks
from charrnn.corpus.files import path_of
from charrnn.corpus.segmentation import END_CODE, Kind, cut_as_decided
from charrnn.errors import CorpusError
from charrnn.scoring.pieces import Origins
from charrnn.vocabulary import REPLACEMENT, UNKNOWN, Codes, Ids, Vocabulary, codes_of

BLOCK: Final = 1 << 18  # symbols whose code points are looked up at a time
NAME_A_TEXT: Final = "Name a text"


class Facts(Protocol):
    """What a model file says of its corpus."""

    @property
    def sources(self) -> tuple[str, ...]: ...
    @property
    def valid(self) -> tuple[str, ...]: ...
    @property
    def source_files(self) -> tuple[str, ...]: ...
    @property
    def valid_files(self) -> tuple[str, ...]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def config(self) -> CorpusConfig: ...


def codes_in(
    sources: Sequence[str],
    kind: Kind | Sequence[Kind],
    reading: Reading,
    keep_blank: bool = False,
    origins: Origins | None = None,
) -> Iterator[Codes]:
    """The code points of some files, END_CODE after each example; "-" is standard input.

    The kind is that of all, or one for each. Where examples begin is noted in origins.
    """
    kinds: Sequence[Any] = [kind] * len(sources) if isinstance(kind, str) else kind
    for source, each in zip(sources, kinds, strict=True):
        begins = None if origins is None else origins.of_next_file()
        yield from cut_as_decided(blocks(source, reading), each, keep_blank, begins)[0]


def lengths(codes: Iterable[Codes]) -> list[int]:
    """How many characters each example has that ends in these."""
    found: list[int] = []
    before = 0
    for block in codes:
        ends = np.flatnonzero(block == END_CODE)
        found += np.diff(ends, prepend=-1 - before).tolist() if len(ends) else []
        before = len(block) - 1 - int(ends[-1]) if len(ends) else before + len(block)
    return [length - 1 for length in found]


def rebuilt(facts: Facts, vocabulary: Vocabulary) -> Corpus:
    """The corpus of a run, or CorpusError: it has moved, or it has changed."""
    check_there(facts)
    names = ", ".join(facts.sources + facts.valid)
    try:
        found = corpus.load(facts.source_files, facts.config, facts.valid_files)
    except CorpusError as error:
        raise CorpusError(f"the corpus has changed: {error.what}", NAME_A_TEXT, "text") from error
    if found.fingerprint != facts.fingerprint:
        raise CorpusError(
            f"the corpus has changed since the model was trained: {names}",
            f"Bring the old one back. {NAME_A_TEXT}",
            "text",
        )
    if found.vocabulary != vocabulary:  # by other lots, something else is held out
        raise CorpusError(
            "the corpus is no longer cut as it was when the model was trained",
            f"Use the NumPy that it was trained with. {NAME_A_TEXT}",
            "text",
        )
    return found


def check_there(facts: Facts) -> None:
    """Raise CorpusError where the files of a corpus are not where they were."""
    sources = facts.sources + facts.valid
    if not sources:
        raise CorpusError("the model was trained on texts that no file holds", NAME_A_TEXT, "text")
    if "-" in sources:
        raise CorpusError(
            "the model was trained on standard input, which is gone", NAME_A_TEXT, "text"
        )
    for source, file in zip(sources, facts.source_files + facts.valid_files, strict=True):
        if not os.path.exists(path_of(file)):
            raise CorpusError(
                f"the corpus has moved: {source} is not there",
                f"Bring it back to where it was, or beside the model file. {NAME_A_TEXT}",
                "text",
            )


def held_out_codes(found: Corpus, facts: Facts) -> Iterator[Codes]:
    """The code points of what was held out, also of characters that training has never seen."""
    ids = found.held_out.ids
    if not len(ids):
        raise CorpusError("nothing was held out when the model was trained", NAME_A_TEXT, "text")
    if not (ids == UNKNOWN).any():
        return codes_of_ids(ids, found.vocabulary)
    config, first = facts.config, len(facts.sources)
    if facts.valid:
        return codes_in(facts.valid_files, config.kinds(len(facts.valid), first), config.reading)
    # Their ids do not tell them apart. They are rare, so we read again, with an alphabet of all.
    texts = (blocks(source, config.reading) for source in facts.source_files)
    draft, _ = draft_of(texts, config.kinds(first))
    characters = np.array(draft.characters, np.uint32)
    return _looked_up(split(draft, config.holdout, config.seed)[1].ids, characters)


def codes_of_ids(ids: Ids, vocabulary: Vocabulary) -> Iterator[Codes]:
    """The code points that these stand for, END_CODE and U+FFFD where there is none."""
    return _looked_up(ids, codes_of(vocabulary.characters))


def _looked_up(ids: Ids, characters: Iterable[int] | Codes) -> Iterator[Codes]:
    codes = np.concatenate([[END_CODE, REPLACEMENT], characters]).astype(np.uint32)
    return (codes[ids[at : at + BLOCK]] for at in range(0, len(ids), BLOCK))

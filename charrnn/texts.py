"""Texts to score: files cut into examples as they stream by, or the held-out part of a corpus.

A model file records where its corpus was, the fingerprint and the share held out, so the same
examples can be held out again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from charrnn.corpus import corpus
from charrnn.corpus.corpus import Corpus, read_draft, split
from charrnn.corpus.files import blocks, path_of
from charrnn.corpus.segmentation import END_CODE, codes_of_ids, cut_file
from charrnn.errors import CorpusError
from charrnn.model_file import CorpusRecord
from charrnn.scoring.pieces import Origins
from charrnn.settings.corpus import Kind, Reading
from charrnn.vocabulary import UNKNOWN, Codes, Vocabulary, codes_of

NAME_A_TEXT: Final = "Name a text to read."


def codes_in(
    sources: Sequence[str],
    kind: Kind | Sequence[Kind],
    reading: Reading | Sequence[Reading],
    keep_blank: bool = False,
    origins: Origins | None = None,
) -> Iterator[Codes]:
    """Yield the code points of files, read in one way or in a way each; END_CODE ends an example.
    ``origins`` notes where each example begins.
    """
    kinds: Sequence[Any] = [kind] * len(sources) if isinstance(kind, str) else kind
    ways = [reading] * len(sources) if isinstance(reading, Reading) else reading
    for source, own, way in zip(sources, kinds, ways, strict=True):
        begins = None if origins is None else origins.of_next_file()
        text = blocks(source, way, None if origins is None else origins.records)
        yield from cut_file(text, way.kind(own), keep_blank, begins)[0]


def codes_like(
    record: CorpusRecord, sources: Sequence[str], typed: Mapping[str, Any], kind: Kind | None = None
) -> Iterator[Codes]:
    """Yield the code points of files, read as the corpus of a model but for what is typed."""
    readings = [record.reading_of(source, typed) for source in sources]
    return codes_in(sources, kind or record.config.examples, readings)


def example_lengths(codes: Iterable[Codes]) -> list[int]:
    """Return the number of characters of each example."""
    lengths: list[int] = []
    begun = 0  # characters of the example that a block ends in
    for block in codes:
        ends = np.flatnonzero(block == END_CODE)
        lengths += (np.diff(ends, prepend=-1 - begun) - 1).tolist()
        begun = len(block) - 1 - int(ends[-1]) if len(ends) else begun + len(block)
    return lengths


def rebuild_corpus(record: CorpusRecord, vocabulary: Vocabulary) -> Corpus:
    """Return the corpus of a model; raise CorpusError if it has moved or changed."""
    check_files_exist(record)
    try:
        rebuilt = corpus.read_files(record.sources, record.config, record.valid)
    except CorpusError as error:
        raise CorpusError(f"the corpus has changed: {error.what}", NAME_A_TEXT) from error
    if rebuilt.fingerprint != record.fingerprint:
        what = f"the corpus has changed since the model was trained: {', '.join(record.names)}"
        if all(path_of(name) != name for name in record.names):  # the user cannot restore them
            what = f"the model was trained on other texts than {', '.join(record.names)} alone"
            raise CorpusError(what, NAME_A_TEXT)
        raise CorpusError(what, f"Restore the old one. Or: {NAME_A_TEXT}")
    if rebuilt.vocabulary != vocabulary:  # other random numbers hold out other examples
        what = "the corpus is no longer split as it was when the model was trained"
        raise CorpusError(what, f"Use the version of NumPy that it was trained with. {NAME_A_TEXT}")
    return rebuilt


def check_files_exist(record: CorpusRecord) -> None:
    """Raise CorpusError if the files of a corpus are not where they were."""
    sources = record.sources + record.valid
    if not sources:
        raise CorpusError("the model was trained on texts from no file", NAME_A_TEXT)
    if "-" in sources:
        what = "the model was trained on standard input, which was not kept"
        raise CorpusError(what, NAME_A_TEXT)
    for source, file in zip(sources, record.sources + record.valid, strict=True):
        if not os.path.exists(path_of(file)):
            what = f"the corpus has moved: {source} is not there"
            hint = f"Put it back where it was, or beside the model file. Or: {NAME_A_TEXT}"
            raise CorpusError(what, hint)


def held_out_codes(rebuilt: Corpus, record: CorpusRecord) -> Iterator[Codes]:
    """Return the code points that were held out, with those of characters unseen in training."""
    ids = rebuilt.held_out.ids
    if not len(ids):
        raise CorpusError("nothing was held out when the model was trained", NAME_A_TEXT)
    if not (ids == UNKNOWN).any():
        return codes_of_ids(ids, codes_of(rebuilt.vocabulary.characters))
    config, first = record.config, len(record.sources)
    if record.valid:
        return codes_in(record.valid, config.kinds(len(record.valid), first), config.reading)
    # All unseen characters share one id, so read again with a vocabulary of all characters.
    texts = (blocks(source, config.reading) for source in record.sources)
    draft, _ = read_draft(texts, config.kinds(first))
    characters = np.array(draft.characters, np.uint32)
    return codes_of_ids(split(draft, config.holdout)[1].ids, characters)

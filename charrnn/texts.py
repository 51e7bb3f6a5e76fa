"""Texts to score: files cut into examples as they stream by, or the held-out part of a corpus.

A model file records where its corpus was, the fingerprint and the share held out, so the same
examples can be held out again.
"""

from __future__ import annotations

import codecs
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from charrnn.corpus import corpus
from charrnn.corpus.columns import column_of
from charrnn.corpus.corpus import Corpus, read_draft, split
from charrnn.corpus.files import blocks, name_of, path_of
from charrnn.corpus.segmentation import (
    LineNumbers,
    codes_of_ids,
    cut_file,
    texts_in,
    whole_examples,
)
from charrnn.errors import CorpusError
from charrnn.model_file import CorpusRecord
from charrnn.settings.corpus import Kind, Reading
from charrnn.vocabulary import UNKNOWN, Codes, Vocabulary, codes_of

NAME_A_TEXT: Final = "Name a text to read."


class Example(NamedTuple):
    number: int  # its line
    text: str
    file: str | None = None


def examples_in(
    record: CorpusRecord,
    sources: Sequence[str],
    typed: Mapping[str, Any],
    kind: Kind,
    lacking: Callable[[str], object],
    is_live: bool = False,
) -> Iterator[list[Example]]:
    """Yield the examples of each file, read as the corpus of a model but for what is typed.

    The column of the corpus is read where the first row has it; else ``lacking`` gets a message.
    With ``is_live``, lines of standard input come as soon as they are there.
    """
    reading = replace(record.reading, **typed)
    for source in sources:
        if source == "-" and is_live and reading.column is None and kind in ("auto", "lines"):
            number = 1
            for lines in lines_of_input(reading):
                numbered = enumerate(lines, number)
                yield [Example(at, line, source) for at, line in numbered if line.strip()]
                number += len(lines)
            continue
        name, skipped = name_of(source), 0
        text = "".join(blocks(source, replace(reading, column=None)))
        if reading.column is not None and text:
            try:
                text = "".join(column_of([text], reading.column, name))
                skipped = int(not reading.column.isdecimal())
            except CorpusError:
                if "column" in typed:
                    raise
                lacking(f"{name} has no column {reading.column}, which the model was trained on")
        begins: list[Any] = [np.zeros(0, np.int64)]
        cut = cut_file([text], reading.kind(kind), lines=LineNumbers(begins.append))[0]
        texts = [one for codes in whole_examples(cut) for one in texts_in(codes)]
        numbers = (np.concatenate(begins) + skipped).tolist()
        yield [Example(at, one, name) for at, one in zip(numbers, texts, strict=True)]


def lines_of_input(reading: Reading) -> Iterator[list[str]]:
    """Yield the lines of standard input as soon as they come, all that are there at once."""
    decoder = codecs.getincrementaldecoder(reading.encoding)(reading.errors)
    stream: Any = sys.stdin.buffer
    begun, data = "", b"-"
    while data:
        data = stream.read1(1 << 20)
        try:
            *lines, begun = (begun + decoder.decode(data, not data)).split("\n")
        except UnicodeError as error:
            what = f"standard input is not {reading.encoding.upper()}: {error}"
            raise CorpusError(what, "Name the encoding of the text with [encoding].") from None
        lines += [begun] if begun and not data else []
        lines = [line.removesuffix("\r").lstrip("\ufeff") for line in lines]
        if reading.normalize != "none":
            lines = [unicodedata.normalize(reading.normalize, line) for line in lines]
        yield lines


def codes_in(
    sources: Sequence[str],
    kind: Kind | Sequence[Kind],
    reading: Reading | Sequence[Reading],
) -> Iterator[Codes]:
    """Yield the code points of files, read in one way or a way each; END_CODE ends an example."""
    kinds: Sequence[Any] = [kind] * len(sources) if isinstance(kind, str) else kind
    ways = [reading] * len(sources) if isinstance(reading, Reading) else reading
    for source, own, way in zip(sources, kinds, ways, strict=True):
        yield from cut_file(blocks(source, way), way.kind(own))[0]


def codes_like(
    record: CorpusRecord, sources: Sequence[str], typed: Mapping[str, Any], kind: Kind | None = None
) -> Iterator[Codes]:
    """Yield the code points of files, read as the corpus of a model but for what is typed."""
    readings = [record.reading_of(source, typed) for source in sources]
    return codes_in(sources, kind or record.config.examples, readings)


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


def held_out_examples(rebuilt: Corpus, record: CorpusRecord) -> list[Example]:
    """Return the examples that were held out, by number."""
    blocks = whole_examples(held_out_codes(rebuilt, record))
    texts = [text for codes in blocks for text in texts_in(codes)]
    return [Example(number, text) for number, text in enumerate(texts, 1)]

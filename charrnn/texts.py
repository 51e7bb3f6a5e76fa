"""Texts to score: files cut into examples as they stream by, or the held-out part of a corpus.

A model file records where its corpus was, the fingerprint and the share held out, so the same
examples can be held out again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from charrnn.checkpoint import CorpusRecord
from charrnn.corpus import Corpus, hold_out, read_files
from charrnn.errors import CorpusError
from charrnn.reading import (
    END_CODE,
    choose_cut,
    column_of,
    cut,
    line_numbers,
    lines_of_input,
    name_of,
    text_of,
    texts_of,
)
from charrnn.settings import Kind, Reading
from charrnn.system import path_of
from charrnn.tidy import Tidied, clean_lines
from charrnn.vocabulary import REPLACEMENT, UNKNOWN, Codes, Vocabulary, codes_of

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
        text = text_of(source, replace(reading, column=None, tidy=False))
        how: Kind = kind if reading.column is None and not reading.tidy else "lines"
        if reading.column is not None and text:
            try:
                text = column_of(text, reading.column, name)
                skipped = int(not reading.column.isdecimal())
            except CorpusError:
                if "column" in typed:
                    raise
                lacking(f"{name} has no column {reading.column}, which the model was trained on")
        if reading.tidy:
            text = clean_lines(text)
        if how == "auto":
            how = choose_cut(text)
        numbers = (line_numbers(text, how) + skipped).tolist()
        texts = texts_of(cut(text, how))
        yield [Example(at, one, name) for at, one in zip(numbers, texts, strict=True)]


def codes_in(
    sources: Sequence[str],
    kind: Kind,
    reading: Reading | Sequence[Reading],
    tidied: Tidied | None = None,
) -> Iterator[Codes]:
    """Yield the code points of files, read in one way or a way each; END_CODE ends an example."""
    readings = [reading] * len(sources) if isinstance(reading, Reading) else reading
    for source, way in zip(sources, readings, strict=True):
        yield cut(text_of(source, way, tidied), kind if way.column is None else "lines")


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
        rebuilt = read_files(record.sources, record.config, record.valid)
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


def held_out_codes(rebuilt: Corpus, record: CorpusRecord) -> Codes:
    """Return the code points that were held out, with those of characters unseen in training."""
    ids = rebuilt.held_out.ids
    if not len(ids):
        raise CorpusError("nothing was held out when the model was trained", NAME_A_TEXT)
    if not (ids == UNKNOWN).any():
        characters = np.append([END_CODE, REPLACEMENT], codes_of(rebuilt.vocabulary.characters))
        return characters.astype(np.uint32)[ids]
    # All unseen characters share one id, so read the files again.
    kind: Any = rebuilt.examples_are
    parts = [*codes_in(record.names, kind, record.config.reading, Tidied())]
    if record.valid:
        return np.concatenate(parts[len(record.sources) :])
    return hold_out(np.concatenate(parts), record.config.holdout)[1]


def held_out_examples(rebuilt: Corpus, record: CorpusRecord) -> list[Example]:
    """Return the examples that were held out, by number."""
    texts = texts_of(held_out_codes(rebuilt, record))
    return [Example(number, text) for number, text in enumerate(texts, 1)]

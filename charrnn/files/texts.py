"""Texts to score or to avoid: files read as the corpus of a model, or parts of that corpus.

A model file records where its corpus was, the fingerprint and the share held out, so the same
examples can be held out again.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from charrnn.errors import CharrnnError, CorpusError
from charrnn.files.model_contents import CorpusRecord, Trained
from charrnn.prediction.conditions import folded
from charrnn.settings.corpus import Kind, Normalization
from charrnn.system.packaged import path_of
from charrnn.text.corpus import Corpus, read_files
from charrnn.text.examples import choose_kind, line_numbers, split_examples, texts_of
from charrnn.text.reading import lines_of_input, name_of, text_of
from charrnn.text.tables import column_of
from charrnn.text.tidy import Tidied, clean_lines
from charrnn.text.vocabulary import END, Vocabulary

NAME_A_TEXT: Final = "Without the corpus, name a text."


class Example(NamedTuple):
    number: int  # its line
    text: str
    file: str | None = None


def examples_in(
    record: CorpusRecord,
    sources: Sequence[str],
    typed: Mapping[str, Any],
    kind: Kind,
    warn: Callable[[str], object] | None = None,
    is_live: bool = False,
) -> Iterator[list[Example]]:
    """Yield the examples of each file, read as the corpus of a model but for what is typed.

    Where the first row lacks the column of the corpus, whole lines are read with a warning; without
    ``warn``, that is an error.
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
        how: Kind = "lines" if reading.column is not None or reading.tidy else kind
        if reading.column is not None and text:
            try:
                text = column_of(text, reading.column, name)
                skipped = int(not reading.column.isdecimal())
            except CorpusError:
                if "column" in typed:
                    raise
                what = f"{name} has no column {reading.column}, which the model was trained on"
                if warn is None:
                    hint = "Name a column with [column], or leave out [above]."
                    raise CorpusError(what, hint) from None
                warn(f"{what}: whole lines are scored")
        text = clean_lines(text) if reading.tidy else text
        how = choose_kind(text) if how == "auto" else how
        numbers = (line_numbers(text, how) + skipped).tolist()
        texts = texts_of(split_examples(text, how))
        yield [Example(at, example, name) for at, example in zip(numbers, texts, strict=True)]


def texts_like(record: CorpusRecord, sources: Sequence[str], kind: Kind | None = None) -> list[str]:
    """Return the examples of files; the column is that of the files of the corpus alone."""
    texts = []
    for source in sources:
        typed = {} if source in record.names and source != "-" else {"column": None}
        for examples in examples_in(record, [source], typed, kind or record.config.examples):
            texts += [example.text for example in examples]
    return texts


def read_typed(text: str, form: Normalization) -> str:
    """Return a text of the command line as it would be read from a file."""
    with suppress(UnicodeError):  # bytes that the locale cannot decode may be UTF-8
        text = os.fsencode(text).decode()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if form == "none" else unicodedata.normalize(form, text)


def training_texts(trained: Trained) -> tuple[list[str], str]:
    """Return the texts that a model was trained on, read again, and a note if they have changed.

    Raise CorpusError if they are gone. A model with counts has its text.
    """
    record, counted = trained.corpus, trained.counted
    if counted is not None:
        pieces = np.split(counted, np.flatnonzero(counted == END))
        return [trained.model.vocabulary.decode(ids) for ids in pieces], ""
    check_files_exist(record)
    kind, tidied = record.config.examples, Tidied()
    parts = [
        split_examples(text_of(source, record.reading, tidied), kind) for source in record.sources
    ]
    texts = texts_of(np.concatenate(parts))
    held_out = 0 if record.valid else record.held_out_examples
    has_changed = len(texts) != record.examples + held_out
    names = ", ".join(record.sources)
    return texts, f"{names} has changed since the training" if has_changed else ""


def texts_to_avoid(
    models: Iterable[Trained], *, novel: bool, best: bool, note: Callable[[str], object]
) -> set[str]:
    """Return the training texts of models, folded, if samples may be none of them.

    Where they are gone, samples that have to be novel are refused. The best are drawn all the same.
    """
    known: set[str] = set()
    for trained in models if novel or best else ():
        try:
            texts, change = training_texts(trained)
        except CorpusError as error:
            if novel:
                raise CharrnnError(error.what, "Name the list with [not_in].") from None
            note(f"{error.what}: samples may be copies of it")
            continue
        known.update(map(folded, texts))
        if change:
            note(change)
    return known


def rebuild_corpus(record: CorpusRecord, vocabulary: Vocabulary) -> Corpus:
    """Return the corpus of a model; raise CorpusError if it has moved or changed."""
    check_files_exist(record)
    corpus = read_files(record.sources, record.config, record.valid)
    if corpus.fingerprint != record.fingerprint or corpus.vocabulary != vocabulary:
        names = ", ".join(record.names)
        what = f"the corpus has changed since the model was trained: {names}"
        if all(path_of(name) != name for name in record.names):  # the user cannot restore them
            what = f"the model was trained on other texts than {names} alone"
        raise CorpusError(what, NAME_A_TEXT)
    return corpus


def check_files_exist(record: CorpusRecord) -> None:
    """Raise CorpusError if the files of a corpus are not where they were."""
    if not record.names:
        raise CorpusError("the model was trained on texts from no file", NAME_A_TEXT)
    if "-" in record.names:
        what = "the model was trained on standard input, which was not kept"
        raise CorpusError(what, NAME_A_TEXT)
    for name in record.names:
        if not os.path.exists(path_of(name)):
            hint = f"Put it back where it was, or beside the model file. {NAME_A_TEXT}"
            raise CorpusError(f"the corpus has moved: {name} is not there", hint)


def held_out_examples(corpus: Corpus) -> list[Example]:
    """Return the examples that were held out, by number."""
    texts = texts_of(corpus.held_out_codes)
    if not texts:
        raise CorpusError("nothing was held out when the model was trained", NAME_A_TEXT)
    return [Example(number, text) for number, text in enumerate(texts, 1)]

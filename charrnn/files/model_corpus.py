"""Texts to score or to avoid: files read as the corpus of a model, or parts of that corpus.

A model file records where its corpus was, and the share held out, so the same examples can be held
out again. It may come from a stranger: a file that it names is opened only where the texts are
needed, and its text is used only if size and hash are those of the record.
"""

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np

from charrnn.errors import CharrnnError, CorpusError
from charrnn.files.model_contents import CorpusRecord, Trained, is_foreign
from charrnn.prediction.conditions import Conditions, folded
from charrnn.settings.corpus import Kind, Normalization
from charrnn.system.packaged import corpus_at
from charrnn.text.corpus import Corpus, read_files
from charrnn.text.counts import predicted_in
from charrnn.text.examples import choose_kind, line_numbers, split_examples, texts_of
from charrnn.text.reading import (
    Warn,
    content_of,
    label_of,
    labelled_rows,
    lines_of_input,
    name_of,
    text_of,
)
from charrnn.text.tables import rows_of
from charrnn.text.tidy import clean_lines

READ_WITHOUT_WAITING: Final = (  # a pipe may have taken the place of a file
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
NAME_A_TEXT: Final = "Without the corpus, name a text."
NAME_THE_LIST: Final = "Name the list with [not_in]."


Names = Sequence[str]  # of files


class Example(NamedTuple):
    number: int  # its line
    text: str
    file: str | None = None
    label: str | None = None


def examples_in(
    record: CorpusRecord,
    sources: Sequence[str],
    typed: Mapping[str, Any],
    kind: Kind,
    warn: Warn | None = None,
    *,
    needs_column: bool = False,
    is_live: bool = False,
) -> Iterator[list[Example]]:
    """Yield the examples of each file, read as the corpus of a model but for what is typed.

    Where the first row lacks the column of the corpus, whole lines are read with a warning; without
    ``warn``, or if the column is needed, that is an error.
    With ``is_live``, lines of standard input come as soon as they are there.
    Examples have labels only if ``label_by`` is typed.
    """
    reading = replace(record.reading, **{"label_by": None, **typed})
    reading.check_labels()
    columns = [reading.label_by] if reading.label_by not in (None, "file") else []
    for source in sources:
        is_list = reading.column is None and reading.label_by is None
        if source == "-" and is_live and is_list and kind in ("auto", "lines"):
            number = 1
            for lines in lines_of_input(reading, warn):
                numbered = enumerate(lines, number)
                yield [Example(at, line, source) for at, line in numbered if line.strip()]
                number += len(lines)
            continue
        name, starts, labels = name_of(source), list[int](), list[str]()
        text = text_of(source, replace(reading, column=None, tidy=False, label_by=None), warn=warn)
        how: Kind = "lines" if reading.column is not None or reading.tidy else kind
        if reading.column is not None and text:
            try:
                read = labelled_rows if columns else rows_of
                rows, starts = read(text, [reading.column, *map(str, columns)], name)
                text = "".join([f"{row[0]}\n" for row in rows])
                labels = [row[1].strip() for row in rows] if columns else []
            except CorpusError:
                if "column" in typed or columns:
                    raise
                what = f"{name} has no column {reading.column}, which the model was trained on"
                if warn is None or needs_column:
                    hint = "Name a column with [column], or leave out [above]."
                    raise CorpusError(what, hint) from None
                warn(f"{what}: whole lines are scored")
        text = clean_lines(text) if reading.tidy else text
        how = choose_kind(text) if how == "auto" else how
        numbers = line_numbers(text, how).tolist()
        kinds = [labels[number - 1] if labels else None for number in numbers]
        if reading.label_by == "file":
            kinds = [label_of(source)] * len(numbers)
        numbers = [starts[number - 1] for number in numbers] if starts else numbers
        named = zip(numbers, texts_of(split_examples(text, how)), repeat(name), kinds, strict=False)
        yield [Example(*example) for example in named]


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


def training_texts(trained: Trained | Corpus) -> tuple[list[str], str]:
    """Return the texts that a model was trained on, and a note if it learned from more than these.

    Raise CorpusError if they are gone or have changed. A model with counts has its text, but for
    what was held out.
    """
    if isinstance(trained, Corpus):
        return texts_in(trained), ""
    record, counted, texts = trained.corpus, trained.counted, list[str]()
    if counted is not None:
        vocabulary = trained.model.vocabulary
        texts = texts_of(vocabulary.codes[predicted_in(counted, vocabulary.symbols)])
    try:
        corpus = read_again(record)
    except CorpusError as error:
        if counted is None:
            raise
        lost = f"{error.what}: samples may be texts that were held out"
        return texts, lost if record.held_out_examples else ""
    texts += texts_in(corpus)
    return texts, "" if corpus.digest == record.digest else trained_on_others(record)


def texts_in(corpus: Corpus) -> list[str]:
    """Return all texts of a corpus, first those learned from, then those held out."""
    return texts_of(np.append(corpus.vocabulary.codes[corpus.train.ids], corpus.held_out_codes))


def texts_to_compare(
    models: Iterable[Trained | Corpus], *, novel: bool, best: bool, needed: bool = False, note: Warn
) -> set[str]:
    """Return the training texts of models or corpora, folded, if samples are compared with them.

    Where they are gone, that is an error. Only the best are drawn all the same.
    """
    known: set[str] = set()
    for model in models if novel or best or needed else ():
        try:
            texts, change = training_texts(model)
        except CorpusError as error:
            if novel or needed:
                hint = "Resume the run with the list named once." if needed else NAME_THE_LIST
                raise CharrnnError(error.what, hint) from None
            note(f"{error.what}: samples may be copies of it")
            continue
        known.update(map(folded, texts))
        if change:
            note(change)
    return known


def conditions_on(
    models: Iterable[Trained | Corpus], taken: Iterable[str], note: Warn, **wishes: Any
) -> Conditions:
    """Return the conditions that a user asks for, of which some need the training texts."""
    compared = wishes["known_words"] or wishes["distance"] is not None
    novel, best = wishes["novel"], wishes["best"]
    texts = texts_to_compare(models, novel=novel, best=best, needed=compared, note=note)
    return Conditions(texts, taken, **wishes)


def rebuild_corpus(record: CorpusRecord, hint: str = NAME_A_TEXT) -> Corpus:
    """Return the corpus of a model; raise CorpusError if it is gone or has changed."""
    corpus = read_again(record, hint=hint)
    if corpus.digest != record.digest:
        raise CorpusError(trained_on_others(record), hint)
    return corpus


def trained_on_others(record: CorpusRecord) -> str:
    return f"the model was trained on other texts than {', '.join(record.names)} alone"


def read_again(
    record: CorpusRecord, sources: Names = (), valid: Names = (), hint: str = NAME_A_TEXT
) -> Corpus:
    """Return a corpus read as that of a model: from files that are typed, or those on record."""
    typed = {*sources, *valid}

    def read(name: str) -> bytes:
        return content_of(name) if name in typed else content_in(record, name, hint)

    if not (sources or record.sources):
        raise CorpusError("the model was trained on texts from Python", hint)
    return read_files(sources or record.sources, record.config, valid or record.valid, read, typed)


def content_in(record: CorpusRecord, name: str, hint: str) -> bytes:
    """Return the content of a file on record; raise CorpusError if it is gone or has changed.

    Devices and pipes are not opened, and no more is read than the record says.
    """
    if name == "-":
        raise CorpusError("the model was trained on standard input, which was not kept", hint)
    if name not in record.files:
        if corpus_at(name) != name:  # of the package: files of version 0.3 have no hashes
            return content_of(corpus_at(name))
        what = f"{name} is not opened: the model file has no hash of it"
        raise CorpusError(what, f"Resume the run with it named once. {hint}")
    size, digest = record.files[name]
    try:
        path = corpus_at(name)
        if is_foreign(name) or not stat.S_ISREG(os.stat(path).st_mode):
            raise FileNotFoundError
        with open(os.open(path, READ_WITHOUT_WAITING), "rb") as file:
            has_size = os.fstat(file.fileno()).st_size == size
            data = file.read(size) if has_size else b""
    except (OSError, ValueError):
        raise CorpusError(f"{name} is gone", hint) from None
    if not has_size or sha256(data).hexdigest() != digest:
        raise CorpusError(f"{name} has changed", hint)
    return data


def held_out_examples(corpus: Corpus) -> list[Example]:
    """Return the examples that were held out, by number."""
    texts = texts_of(corpus.held_out_codes)
    if not texts:
        raise CorpusError("nothing was held out when the model was trained", NAME_A_TEXT)
    vocabulary, labels = corpus.vocabulary, corpus.held_out.labels
    names, first = list(vocabulary.labels), vocabulary.symbols
    kinds = [None] * len(texts) if labels is None else [names[at - first] for at in labels.tolist()]
    numbered = enumerate(zip(texts, kinds, strict=True), 1)
    return [Example(number, text, None, label) for number, (text, label) in numbered]

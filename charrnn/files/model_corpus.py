"""Texts to score or to avoid: files read as the corpus of a model, or parts of that corpus.

A model file records where its corpus was, and the share held out, so the same examples can be held
out again. It may come from a stranger: a file that it names is opened only where the texts are
needed, and its text is used only if size and hash are those of the record.
"""

import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, NamedTuple

import numpy as np

from charrnn.errors import CharrnnError, CorpusError, EncodingError, NoColumnError, unbracketed
from charrnn.files.model_contents import CorpusRecord, Trained, is_foreign
from charrnn.files.model_file import is_model
from charrnn.prediction.sample_conditions import Conditions, folded
from charrnn.settings.corpus import CorpusConfig, Kind, Reading
from charrnn.system.packaged import corpus_at
from charrnn.text.corpus import Corpus, read_files
from charrnn.text.counts import predicted_in
from charrnn.text.examples import choose_kind, line_numbers, split_examples, texts_of
from charrnn.text.reading import Warn, content_of, label_of, lines_of_input, name_of, text_of
from charrnn.text.tables import Row, normalized, rows_of
from charrnn.text.tidy import clean

# A pipe may have taken the place of a file.
WITHOUT_WAITING: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
NAME_A_TEXT: Final = "Without the corpus, name a text."
NAME_THE_LIST: Final = "Name the list with [not_in] in place of [novel]."
NAME_IT_ONCE: Final = "Resume a model that holds its run, with the list named once, by [resume]."

Names = Sequence[str]  # of files


class Example(NamedTuple):
    number: int  # its line
    text: str
    file: str | None = None
    label: str | None = None


def examples_in(
    record: CorpusRecord,
    sources: Names,
    typed: Mapping[str, Any],
    kind: Any,  # of examples; None: as in training
    warn: Warn,  # says that whole lines are read where the column is not there
    *,
    needs_column: bool = False,  # else that is an error
    is_live: bool = False,  # whether lines of standard input are read as soon as they are there
) -> Iterator[list[Example]]:
    """Yield the examples of each file, read as the corpus of a model but for what is typed."""
    reading = replace(record.reading, **{"label_by": None, **typed})
    CorpusConfig(kind or "auto", reading=reading)  # which checks them
    kind = kind or record.config.examples
    is_list = reading.column is None and reading.label_by is None and kind == "lines"
    for source in sources:
        if os.path.isfile(source) and is_model(source):
            hint = f"Did you mean [model] {unbracketed(shlex.quote(source))}?"
            raise CorpusError(f"{source} is a model, and no text", hint)
        if source == "-" and is_live and is_list:
            for lines in lines_of_input(reading, warn):
                yield [Example(at, line, source) for at, line in lines if line.strip()]
            continue
        name, text = name_of(source), text_like(source, reading, typed, warn)
        try:
            rows = rows_in(text, reading, kind, name)
        except NoColumnError:
            if "column" in typed or reading.label_by not in (None, "file"):
                raise
            what = f"{name} has no column {reading.column}, which the model was trained on"
            if needs_column:
                hint = "Name a column with [column], or leave out [above]."
                raise CorpusError(what, hint) from None
            warn(f"{what}: whole lines are read")
            text = normalized(text, reading.normalize)
            rows = rows_in(text, replace(reading, column=None), "lines", name)
        of_file = label_of(source) if reading.label_by == "file" else None
        yield [Example(line, text, name, of_file or label or None) for line, text, label in rows]


def text_like(
    source: str, reading: Reading, typed: Mapping[str, Any], warn: Warn | None = None
) -> str:
    """Return the text of a source; the hint of an error names options only if there are some."""
    try:
        return text_of(source, reading, warn)
    except EncodingError as error:
        hint = error.hint_pattern if typed.get("errors") else f"Save it as {reading.encoding}."
        raise CorpusError(error.what, hint) from None


def rows_in(text: str, reading: Reading, kind: Kind, name: str) -> list[Row]:
    """Return the examples of a text, each with its line and its label, if a column has that."""
    if reading.column is not None:
        rows = rows_of(text, reading, name)
    else:
        how: Kind = "lines" if reading.tidy else kind
        divided = text.replace("\r", "\n")
        how = choose_kind(divided) if how == "auto" else how
        examples = texts_of(split_examples(divided, how))
        lines = line_numbers(text, how).tolist()
        rows = [(line, example, "") for line, example in zip(lines, examples, strict=True)]
    if reading.tidy:
        rows = [(line, clean(example)[0] or example, label) for line, example, label in rows]
    return [row for row in rows if row[1].strip()]


def texts_like(record: CorpusRecord, sources: Names) -> list[str]:
    """Return the examples of files, and where these are tables the column of the corpus, too."""
    texts, reading = [], replace(record.reading, label_by=None)
    without = CorpusError if (reading.column or "").isdecimal() else NoColumnError  # in any list
    for source in sources:
        name, text = name_of(source), text_like(source, reading, {})
        whole = normalized(text, reading.normalize), replace(reading, column=None)
        rows = rows_in(*whole, record.config.examples, name)
        if reading.column is not None:
            with suppress(without):
                rows += rows_in(text, reading, "lines", name)
        texts += [example for _, example, _ in rows]
    return texts


def training_texts(trained: Trained | Corpus) -> tuple[list[str], str]:
    """Return the texts that a model was trained on, and a note if not all; or raise CorpusError."""
    if isinstance(trained, Corpus):
        return texts_in(trained), ""
    record, counted, texts = trained.corpus, trained.counted, list[str]()
    if counted is not None:  # all but what was held out
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


def conditions_on(
    models: Iterable[Trained | Corpus], taken: Iterable[str], note: Warn, **wishes: Any
) -> Conditions:
    """Return the conditions that a user asks for; CharrnnError if they need texts that are gone."""
    needs_list = wishes["known_words"] or wishes["distance"] is not None
    needs_texts, known = needs_list or wishes["novel"], set[str]()
    # Of models of the same texts in the same files, the one that holds most of them is asked.
    models = sorted(models, key=lambda m: 2 if isinstance(m, Corpus) else m.counted is not None)
    records = [(m if isinstance(m, Corpus) else m.corpus, m) for m in models]
    of_texts = {(record.digest, record.sources): model for record, model in records}
    for model in of_texts.values() if needs_texts or wishes["best"] else ():
        try:
            texts, change = training_texts(model)
        except CorpusError as error:
            if needs_texts:
                hint = NAME_IT_ONCE if needs_list else NAME_THE_LIST
                raise CharrnnError(error.what, hint) from None
            note(f"{error.what}: samples may be copies of it")
            continue
        known.update(map(folded, texts))
        if change:
            note(change)
    return Conditions(known, taken, **wishes)


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
    names = sources or record.sources, record.config, valid or record.valid
    try:
        return read_files(*names, read, typed)
    except (EncodingError, NoColumnError) as error:  # those of the run are kept
        raise CorpusError(error.what, hint) from None


def content_in(record: CorpusRecord, name: str, hint: str) -> bytes:
    """Return the content of a regular file on record; CorpusError if it is gone or has changed."""
    if name == "-":
        raise CorpusError("the model was trained on standard input, which was not kept", hint)
    if name not in record.files:
        what = f"{name} is not opened: the model file has no hash of it"
        raise CorpusError(what, f"Resume the run with it named once. {hint}")
    size, digest = record.files[name]
    try:
        path = corpus_at(name)
        if is_foreign(name) or not stat.S_ISREG(os.stat(path).st_mode):
            raise FileNotFoundError
        with open(os.open(path, WITHOUT_WAITING), "rb") as file:
            has_size = os.fstat(file.fileno()).st_size == size
            data = file.read(size) if has_size else b""  # no more than the record says
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

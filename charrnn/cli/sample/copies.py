"""Copies of training texts, and of --novel, among samples: whole texts and long runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import tee

import numpy as np

from charrnn.cli.console import Console
from charrnn.cli.sample.options import Options
from charrnn.cli.terminal.tables import count
from charrnn.corpus.checks import TextSet
from charrnn.corpus.files import is_stream, path_of
from charrnn.corpus.segmentation import END_CODE
from charrnn.errors import CharrnnError, CorpusError
from charrnn.model import Model
from charrnn.sampling.copied import Runs, copied_runs
from charrnn.sampling.sampler import Sample
from charrnn.scoring.texts import check_files_exist, codes_in, codes_like, codes_of_ids
from charrnn.vocabulary import Codes, codes_of

FEW_BYTES = 1 << 20  # of a corpus: a larger one is searched for runs only with --show-copied
SHOWN = 40  # characters of the longest run


def training_texts(model: Model) -> Iterator[Codes]:
    """Yield the corpus of a model; raise CorpusError if a file is missing."""
    corpus = model.corpus
    check_files_exist(corpus)
    kinds = corpus.config.kinds(len(corpus.source_files))
    return codes_in(corpus.source_files, kinds, corpus.config.reading)


def known_texts(model: Model, options: Options) -> Iterator[Codes]:
    """Yield the training text, from its files or as the model counts it, and that of --novel."""
    counted = model.trained.counted
    try:
        yield from training_texts(model)
    except CorpusError as error:
        if counted is None and not options.novel:
            raise CorpusError(error.what, "Name the corpus with --novel.") from None
        if counted is not None:
            characters = codes_of(model.vocabulary.characters)
            yield from codes_of_ids(counted, np.append(characters, END_CODE))  # for breaks
    files = [name for name in options.novel if not is_stream(name)]  # which were read before
    yield from codes_like(model.corpus, files, options.reading)


def are_at_hand(model: Model, most: int, novel: Sequence[str] = ()) -> bool:
    """Return True if the corpus of a model, or --novel, can be read and has few bytes."""
    names = list(novel)
    with suppress(CharrnnError):
        check_files_exist(model.corpus)
        names += model.corpus.source_files
    with suppress(OSError):
        files = list(map(path_of, names))
        is_small = all(map(os.path.isfile, files)) and sum(map(os.path.getsize, files)) <= most
        return bool(files) and is_small
    return False


def note_copies(hashes: Sequence[int], model: Model, console: Console) -> None:
    """Note how many samples are exact copies of training texts."""
    with suppress(CharrnnError, OSError):
        copies = sum(map(TextSet(training_texts(model)).has_hash, hashes))
        if len(hashes) > 1:
            console.note(f"exact copies of training texts: {copies:,} of {len(hashes):,} samples")
        elif copies:
            console.note("the sample is an exact copy of a training text")


def note_runs(texts: list[str], model: Model, options: Options, console: Console) -> None:
    """Note how long the runs of samples are that stand in the training text."""
    with suppress(CharrnnError, OSError):
        runs = list(copied_runs(texts, partial(known_texts, model, options)))
        longest = max((each.longest for each in runs), key=len)
        median = Runs([size for each in runs for size in each.lengths], longest).median
        if longest:
            shown = repr(longest) if len(longest) <= SHOWN else f"{longest[:SHOWN]!r}..."
            most = f"at most {count(len(longest), 'character')} in a row, {shown}"
            console.note(f"copied from known texts: {most}; the median run has {median}")


def with_runs(samples: Iterable[Sample], known: Callable[[], Iterable[Codes]]) -> Iterator[Sample]:
    """Yield the samples with their runs in known texts."""
    samples, again = tee(samples)
    for sample, runs in zip(again, copied_runs((one.text for one in samples), known), strict=True):
        yield replace(sample, copied=runs)

"""To go on as before: what may be wanted of a run that is in a file, and what contradicts it.

--epochs, --minutes and --patience may be raised. Whatever else is given has to be what it was, and
the corpus has to be the same, or it would be another run.
"""

from __future__ import annotations

import codecs
import math
import os
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from charrnn.cli.hints import option_for
from charrnn.corpus.bundled import path_of
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.file_locations import place_of
from charrnn.errors import CorpusError, ResumeError
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.schema import CorpusRecord
from charrnn.presets import FOREVER, fitted
from charrnn.settings.common import had_in_words
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.training.single_process import Ranks
from charrnn.training.state import check_patience

if TYPE_CHECKING:
    from charrnn.cli.train import Options

MAY_RISE = ("epochs", "minutes", "patience")


def read_again(run: Checkpoint, options: Options, ranks: Ranks) -> Corpus:
    """The corpus that the run learned from; ResumeError if it is another one by now."""
    record = run.corpus
    check_cutting(record, options)
    sources = options.sources or record.source_files
    valid = options.valid or record.valid_files
    options.check_metrics(*sources, *valid)
    if not sources:
        raise ResumeError(
            f"{options.model} learned from texts that Python gave it",
            "Go on from Python, with charrnn.resume.",
        )
    try:
        corpus = ranks.load(sources, record.config, valid)
    except CorpusError as error:
        if options.sources:
            raise
        raise CorpusError(
            error.what, f"Say where it is now: {options.line('train', 'CORPUS', '--resume')}"
        ) from error
    check_same(corpus, run, options)
    return replace(
        corpus,
        sources=options.sources or record.sources,
        valid=options.valid or record.valid,
    )


def check_cutting(record: CorpusRecord, options: Options) -> None:
    """Raise ResumeError where the corpus is to be read or cut in another way."""
    had: dict[str, Any] = {
        "examples": record.examples_are,
        "holdout": record.holdout,
        "encoding": record.encoding,
        "newlines": record.newlines,
        "normalize": record.normalize,
        "errors": record.errors,
    }
    wanted = {**options.cutting, **options.reading}
    if wanted.get("examples") == "auto":  # which is how it may have been found
        del wanted["examples"]
    for name, value in wanted.items():
        if name == "encoding" and codecs.lookup(value).name == codecs.lookup(had[name]).name:
            continue
        check_equal(name, had[name], value, options)


def check_same(corpus: Corpus, run: Checkpoint, options: Options) -> None:
    """Raise ResumeError unless this is the corpus that the run learned from."""
    now, then = corpus.fingerprint, run.corpus.fingerprint
    if not corpus.is_that_of(then, run.corpus.digest):
        raise ResumeError(
            f"{', '.join(corpus.sources)} is not what {options.model} learned from"
            f" ({', '.join(run.corpus.sources)}): SHA-256 {now[:12]}, and it was {then[:12]}",
            "Give it the same text again, or train anew into another file with -m.",
        )
    if corpus.vocabulary != run.vocabulary:
        raise ResumeError(
            f"this corpus is no longer cut as it was when {options.model} was begun",
            "Go on with the version of NumPy that began it, or train anew.",
        )


def settings(had: Fitted, options: Options, corpus: Corpus) -> Fitted:
    """The settings to go on with; ResumeError where others than those of the run were given."""
    learning = dict(options.learning)
    rising = {name: learning.pop(name) for name in MAY_RISE if name in learning}
    check_patience(rising.get("patience"), corpus)
    for name, value in rising.items():
        check_rise(name, getattr(had, name), value, options)
    fixed = fitted(TrainConfig(**{**asdict(had), **learning}), corpus)  # as small as it was made
    for name in learning:
        check_equal(name, getattr(had, name), getattr(fixed, name), options)
    return replace(had, **rising)


def check_equal(name: str, had: object, wanted: object, options: Options) -> None:
    """Raise ResumeError unless both are the same."""
    if had != wanted:
        typed = option_for(name) if wanted is True else f"{option_for(name)} {shown(wanted)}"
        if wanted is False:
            typed = option_for(name, denied=True)
        if had is True:
            had_it = f"was trained with {option_for(name)}"
        else:
            had_it = had_in_words(had if had is None or had is False else shown(had))
        raise ResumeError(
            f"{typed} contradicts {options.model}, which {had_it}",
            "Leave it out to go on, or train anew into another file with -m.",
        )


def check_rise(name: str, had: float | None, wanted: float, options: Options) -> None:
    """Raise ResumeError where a limit is lowered; none at all is the highest."""
    limit, option = math.inf if had is None or had == FOREVER else had, option_for(name)
    if wanted < limit:
        raise ResumeError(
            f"{option} {shown(wanted)} contradicts {options.model}, which has {shown(limit)}",
            f"{option} may be raised, not lowered.",
        )


def shown(value: object) -> str:
    """A value in a message."""
    if value == math.inf:
        return "no limit"
    return f"{value:g}" if isinstance(value, float) else str(value)


def named_anew(record: CorpusRecord, corpus: Corpus) -> CorpusRecord:
    """The record with the names that the corpus has now, if it is no longer where it was.

    The old names stay as long as they lead somewhere: the file of a run that was interrupted is
    that of one that was not, however its corpus was called meanwhile.
    """
    if all(os.path.exists(path_of(file)) for file in record.files):
        return record
    places = tuple(map(place_of, (*corpus.sources, *corpus.valid)))
    return replace(record, sources=corpus.sources, valid=corpus.valid, places=places)

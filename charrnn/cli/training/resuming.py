"""To go on as before: what may be asked of a run that is in a file, and what contradicts it.

--epochs, --minutes and --patience may be raised. Whatever else is given has to be what it was, and
the corpus has to be the same, or it would be another run.
"""

from __future__ import annotations

import codecs
import math
import os
from dataclasses import asdict, replace
from typing import Any

from charrnn.cli.training.arguments import Asked
from charrnn.corpus.bundled import path_of
from charrnn.corpus.corpus import Corpus, load
from charrnn.errors import CorpusError, ResumeError
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.schema import CorpusRecord
from charrnn.presets import FOREVER, fitted
from charrnn.settings import Fitted, TrainConfig
from charrnn.training.loop import check_patience

MAY_RISE = ("epochs", "minutes", "patience")


def read_again(run: Checkpoint, asked: Asked) -> Corpus:
    """The corpus that the run learned from; ResumeError if it is another one by now."""
    facts = run.corpus
    check_cutting(facts, asked)
    sources, valid = asked.sources or facts.sources, asked.valid or facts.valid
    asked.check_metrics(*sources, *valid)
    if not sources:
        raise ResumeError(
            f"{asked.model} learned from texts that Python gave it",
            "Go on from Python, with charrnn.resume.",
        )
    try:
        corpus = load(sources, facts.config, valid)
    except CorpusError as error:
        if asked.sources:
            raise
        raise CorpusError(
            error.what, f"Say where it is now: {asked.line('train', 'CORPUS', '--resume')}"
        ) from error
    check_same(corpus, run, asked)
    return corpus


def check_cutting(facts: CorpusRecord, asked: Asked) -> None:
    """Raise ResumeError where the corpus is to be read or cut in another way."""
    had: dict[str, Any] = {
        "examples": facts.examples_are,
        "holdout": facts.holdout,
        "encoding": facts.encoding,
        "newlines": facts.newlines,
        "normalize": facts.normalize,
        "errors": facts.errors,
    }
    wanted = {**asked.cutting, **asked.reading}
    if wanted.get("examples") == "auto":  # which is how it may have been found
        del wanted["examples"]
    for name, value in wanted.items():
        if name == "encoding" and codecs.lookup(value).name == codecs.lookup(had[name]).name:
            continue
        check_equal(name, had[name], value, asked)


def check_same(corpus: Corpus, run: Checkpoint, asked: Asked) -> None:
    """Raise ResumeError unless this is the corpus that the run learned from."""
    now, then = corpus.fingerprint, run.corpus.fingerprint
    if now != then:
        raise ResumeError(
            f"{', '.join(corpus.sources)} is not what {asked.model} learned from"
            f" ({', '.join(run.corpus.sources)}): SHA-256 {now[:12]}, and it was {then[:12]}",
            "Give it the same text again, or train anew into another file with -m.",
        )
    if corpus.vocabulary != run.vocabulary:
        raise ResumeError(
            f"this corpus is no longer cut as it was when {asked.model} was begun",
            "Go on with the version of NumPy that began it, or train anew.",
        )


def settings(had: Fitted, asked: Asked, corpus: Corpus) -> Fitted:
    """The settings to go on with; ResumeError where others than those of the run were given."""
    learning = dict(asked.learning)
    rising = {name: learning.pop(name) for name in MAY_RISE if name in learning}
    check_patience(rising.get("patience"), corpus)
    for name, value in rising.items():
        check_rise(name, getattr(had, name), value, asked)
    fixed = fitted(TrainConfig(**{**asdict(had), **learning}), corpus)  # as small as it was made
    for name in learning:
        check_equal(name, getattr(had, name), getattr(fixed, name), asked)
    return replace(had, **rising)


def check_equal(name: str, had: object, wanted: object, asked: Asked) -> None:
    """Raise ResumeError unless both are the same."""
    if had != wanted:
        raise ResumeError(
            f"{option(name)} {shown(wanted)} contradicts {asked.model}, which has {shown(had)}",
            "Leave it out to go on, or train anew into another file with -m.",
        )


def check_rise(name: str, had: float | None, wanted: float, asked: Asked) -> None:
    """Raise ResumeError where a limit is lowered; none at all is the highest."""
    limit = math.inf if had is None or had == FOREVER else had
    if wanted < limit:
        raise ResumeError(
            f"{option(name)} {shown(wanted)} contradicts {asked.model}, which has {shown(limit)}",
            f"{option(name)} may be raised, not lowered.",
        )


def option(name: str) -> str:
    """What to type for it."""
    return "--" + {"workers": "threads"}.get(name, name.replace("_", "-"))


def shown(value: object) -> str:
    """A value in a message."""
    if value == math.inf:
        return "no limit"
    return f"{value:g}" if isinstance(value, float) else str(value)


def named_anew(facts: CorpusRecord, corpus: Corpus) -> CorpusRecord:
    """The facts with the names that the corpus has now, if it is no longer where it was.

    The old names stay as long as they lead somewhere: the file of a run that was interrupted is
    that of one that was not, however its corpus was called meanwhile.
    """
    if all(is_there(name) for name in (*facts.sources, *facts.valid)):
        return facts
    return replace(facts, sources=corpus.sources, valid=corpus.valid)


def is_there(name: str) -> bool:
    """Whether a source can be read once more."""
    return os.path.exists(path_of(name))

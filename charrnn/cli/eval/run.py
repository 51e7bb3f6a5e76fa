"""``charrnn eval``: find the text, score it, and show the result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import tee
from typing import Any

from charrnn import texts
from charrnn.cli.console import Console
from charrnn.cli.eval import rows
from charrnn.cli.eval.options import Options
from charrnn.cli.eval.summary import TOGETHER, Summary, show
from charrnn.cli.terminal.colours import Painter
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.files import PACKED, name_of
from charrnn.errors import CorpusError, ModelFileError
from charrnn.model import Model
from charrnn.runs import load
from charrnn.scoring import pieces
from charrnn.scoring.baselines import TextCollector, comparisons
from charrnn.scoring.pieces import Origins, ScoredBlock, Scorer, score_blocks
from charrnn.scoring.predictor import (
    MIXABLE_HEADS,
    Predictor,
    combine,
    part_names,
    scorer_of,
)
from charrnn.scoring.score import bytes_of
from charrnn.vocabulary import Codes

SOON = 1.0  # seconds until the bar is drawn
COSTLY = 1 << 16  # symbols in a block if each symbol becomes a line

Listener = Callable[[ScoredBlock], object]  # receives each block of the first scorer


@contextmanager
def reading_bar(
    size: int | None, console: Console, *, is_alone: bool
) -> Iterator[Sequence[Listener]]:
    """Yield a listener that moves a progress bar over the bytes of the text, if one is drawn."""
    if not console.is_animated or (console.out.is_terminal and not is_alone):  # rows show progress
        yield []
        return
    how = {"delay": SOON, "unit": "B", "unit_scale": True, "miniters": 1}
    with closing(console.bar(total=size, desc="reading", **how)) as bar:
        yield [lambda block: bar.update(bytes_of(block.codes))]


def run(options: Options, threads: int, console: Console) -> None:
    models = [load(path) for path in options.models]
    corpus = None
    if options.baselines or not options.sources:
        corpus = corpus_of(options, models[0])
    if not options.sources:
        warn_of_other_corpora(options, models, console)
    console.note_if_waiting(options.sources)
    text = text_to_score(options, models[0], corpus)
    predictors = predictors_of(options, models, console)
    scorers = [scorer_of(each, threads, ranking=options.per_char) for _, each in predictors]
    summaries = [
        Summary(text.name, text.examples_are, name, predictor.ends != "symbol")
        for name, predictor in predictors
    ]
    began = time.monotonic()
    collector = TextCollector()
    above, alarm = options.above, None
    if above is not None:
        alarm = rows.Alarm(above, of_characters=options.per_char)
    writer = writer_for(options, text, part_names(predictors[0][1]), console)
    named = len(predictors) - len(models)  # the place of the first model that was named
    listeners: list[Listener] = [collector.add] if options.baselines else []
    listeners += [each.add for each in (writer, alarm) if each is not None]
    with reading_bar(text.size, console, is_alone=not options.shows_rows) as bar:
        listeners += bar
        pass_on(score(scorers, text, symbols_at_once(options)), summaries, named, listeners, text)
    for summary in summaries:
        summary.seconds = time.monotonic() - began
    if writer is not None:
        writer.finish()
    if corpus is not None and options.baselines:
        summaries[0].baselines = list(comparisons(corpus, collector))
        summaries[0].trained_on = len(corpus.train.ids)
    show(summaries, options, console, rows.above_json(alarm))
    if alarm is not None:
        alarm.report(console)


def corpus_of(options: Options, model: Model) -> Corpus:
    """Return the corpus of the model, for its held-out text or for --baselines."""
    try:
        return texts.rebuild_corpus(model.corpus, model.vocabulary)
    except CorpusError as error:
        if options.sources:
            what = f"--baselines learns from the training text, but {error.what}"
            other = error.hint.removesuffix(texts.NAME_A_TEXT).removesuffix("Or: ").strip()
            hint = f"{other} Or leave out --baselines." if other else "Leave out --baselines."
            raise CorpusError(what, hint) from error
        raise


@dataclass(frozen=True)
class Text:
    """A stream of code points to score, with END_CODE after each example."""

    name: str
    codes: Iterator[Codes]
    examples_are: str
    size: int | None = None  # about the number of bytes, if that is known
    origins: Origins = field(default_factory=Origins)  # of the examples


def text_to_score(options: Options, model: Model, corpus: Corpus | None) -> Text:
    """Return the named text or the held-out text of the corpus."""
    origins = Origins(*(["rows"] if options.shows_examples else []))
    record = model.corpus
    if corpus is not None and not options.sources:
        name = ", ".join(record.valid) or f"held out of {', '.join(record.sources)}"
        codes = texts.held_out_codes(corpus, record)
        return Text(name, codes, record.examples_are, record.held_out_characters, origins)
    kind: Any = options.examples or record.config.examples
    reading = [record.reading_of(source, options.reading) for source in options.sources]
    codes = texts.codes_in(options.sources, kind, reading, options.keeps_order, origins)
    packed = tuple(suffix for suffix, _ in PACKED.values())
    size = None  # of a stream or of compressed bytes
    if all(os.path.isfile(name) and not name.endswith(packed) for name in options.sources):
        size = sum(map(os.path.getsize, options.sources))
    return Text(", ".join(map(name_of, options.sources)), codes, kind, size, origins)


def warn_of_other_corpora(options: Options, models: Sequence[Model], console: Console) -> None:
    """Warn if a model may have been trained on the held-out text of the first model."""
    for path, model in zip(options.models[1:], models[1:], strict=True):
        first, other = models[0].corpus, model.corpus
        is_same = first.digest == other.digest != ""  # another seed may hold out the same text
        if not is_same and (first.fingerprint, first.config) != (other.fingerprint, other.config):
            console.warn(f"{path} may have been trained on held-out text of {options.models[0]}")


def predictors_of(
    options: Options, models: Sequence[Model], console: Console
) -> list[tuple[str, Predictor]]:
    """Return the predictors by name: for several models, their mean comes first."""
    each = [
        (str(path), model.predictor(options.use))
        for path, model in zip(options.models, models, strict=True)
    ]
    if len(each) == 1:
        return each
    why = ""
    for path, one in each:
        if one.vocabulary.characters != models[0].vocabulary.characters:
            why = f"the vocabularies of {path} and {options.models[0]} differ"
            break
        if one.ends not in MIXABLE_HEADS:
            why = why or f"{path} draws the length before the text"
    if not why:
        return [(TOGETHER, combine([one for _, one in each])), *each]
    if options.needs_one_distribution:
        what = f"{options.needs_one_distribution} needs models that can be mixed, but {why}"
        raise ModelFileError(what, "Name a single model with -m.")
    console.warn(f"{why}: the models are compared, but not mixed")
    return each


def writer_for(
    options: Options, text: Text, parts: Sequence[str], console: Console
) -> rows.ExampleRows | rows.CharacterRows | rows.HeatMap | None:
    if options.shows_examples:
        return rows.ExampleRows(options, text.origins, parts, console)
    if not options.per_char:
        return None
    if options.as_json or options.above is not None or not Painter(console.out).has_colours:
        return rows.CharacterRows(console, options.above, as_json=options.as_json)
    return rows.HeatMap(text.examples_are, console)


def symbols_at_once(options: Options) -> int:
    if options.keeps_order:
        return pieces.AS_THEY_COME
    return COSTLY if options.per_char else pieces.AT_ONCE


def score(scorers: Sequence[Scorer], text: Text, symbols: int) -> Iterator[Sequence[ScoredBlock]]:
    """Yield each block of the text as scored by every scorer; all get the same blocks in step."""
    copies = tee(text.codes, len(scorers))
    whole = any(scorer.needs_whole_examples for scorer in scorers)
    read = [
        score_blocks(reader, codes, symbols, whole=whole)
        for reader, codes in zip(scorers, copies, strict=True)
    ]
    return zip(*read, strict=True)


def pass_on(
    scored: Iterator[Sequence[ScoredBlock]],
    summaries: Sequence[Summary],
    named: int,
    listeners: Sequence[Listener],
    text: Text,
) -> None:
    """Give each summary its blocks, and the listeners those of the first scorer.

    Each model is compared with the first one that was named, at the place ``named``.
    """
    is_empty = True
    for blocks in scored:
        is_empty = False
        for number, (summary, block) in enumerate(zip(summaries, blocks, strict=True)):
            summary.add(block)
            if number != named:
                summary.pair(block, blocks[named])
        for listener in listeners:
            listener(blocks[0])
    if is_empty:
        hint = "Name a text with at least one visible character."
        raise CorpusError(f"{text.name} has nothing to score", hint)

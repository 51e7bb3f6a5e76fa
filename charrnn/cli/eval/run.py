"""``charrnn eval``: find the text, score it, and show the result."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import tee
from typing import TYPE_CHECKING, Any

import numpy as np

from charrnn.analysis import drawn_texts
from charrnn.cli.console import Console
from charrnn.cli.eval import rows
from charrnn.cli.eval.options import Options, Threshold
from charrnn.cli.eval.summary import TOGETHER, Summary, show
from charrnn.cli.files import OutputFile
from charrnn.cli.options import cluster_for, note_if_refused
from charrnn.cli.terminal.colours import Painter
from charrnn.cli.terminal.tables import count
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.files import PACKED, name_of
from charrnn.corpus.segmentation import END_CODE
from charrnn.errors import CorpusError, ModelFileError, SettingError
from charrnn.folds import check_folds, validate
from charrnn.model import Model
from charrnn.model_file import texts
from charrnn.runs import load
from charrnn.scoring import pieces
from charrnn.scoring.baselines import TextCollector, comparisons
from charrnn.scoring.heat_map import is_page, page
from charrnn.scoring.pieces import Origins, ScoredBlock, Scorer, score_blocks
from charrnn.scoring.predictor import (
    MIXABLE_HEADS,
    Predictor,
    combine,
    part_names,
    rate_for,
    scorer_of,
)
from charrnn.scoring.score import bytes_of
from charrnn.vocabulary import Codes

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster
    from charrnn.cluster.worker import TextPiece

SOON = 1.0  # seconds until the bar is drawn
SLOWLY = 1 << 13  # symbols in a block if the network learns from each window
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
    if options.add:
        rows.add_up(options, console)
        return
    models = [load(path) for path in options.models]
    page_file = None
    if options.html is not None:
        page_file = OutputFile(options.html, "--html", force=options.force, is_ours=is_page)
        texts_read = *options.sources, *options.reference
        page_file.check(*options.models, *texts_read, corpus=models[0].corpus.files)
    check_models(models, options)
    corpus = None
    if options.baselines or not options.sources:
        corpus = corpus_of(options, models[0])
    if not options.sources:
        warn_of_other_corpora(options, models, console)
    if corpus is not None and options.folds is not None:
        check_folds(corpus, options.folds)  # before the scoring, which takes long
    console.note_if_waiting(options.sources)
    text = text_to_score(options, models[0], corpus)
    predictors = predictors_of(options, models, console)
    rates = [rate_for(each, options.dynamic) for _, each in predictors]
    scorers = [
        scorer_of(each, threads, ranking=options.per_char, fast=options.fast, rate=rate)
        for rate, (_, each) in zip(rates, predictors, strict=True)
    ]
    if options.quantile is not None:
        limit = limit_of(options, models[0], scorers[0], console)
        options = replace(options, above=Threshold(limit))
    summaries = [
        Summary(text.name, text.examples_are, name, rate, predictor.ends != "symbol")
        for rate, (name, predictor) in zip(rates, predictors, strict=True)
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
    with (
        cluster_for(options, console) as cluster,
        reading_bar(text.size, console, is_alone=not options.shows_rows) as bar,
    ):
        listeners += bar
        if cluster is None:
            scored = score(scorers, text, symbols_at_once(options))
        else:
            scored = score_by_workers(cluster, models, options, text, is_mixed=named > 0)
        stream = pass_on(scored, summaries, named, listeners, text)
        if page_file is None:
            deque(stream, maxlen=0)
        else:
            gap = "" if text.examples_are == "lines" else "\n"
            page_file.write(0, page(text.name, stream, summaries[0].page_figures, gap))
    for summary in summaries:
        summary.seconds = time.monotonic() - began
    if writer is not None:
        writer.finish()
    if corpus is not None and options.baselines:
        summaries[0].baselines = list(comparisons(corpus, collector))
        summaries[0].trained_on = len(corpus.train.ids)
    if corpus is not None and options.drawn is not None:
        draw_texts(summaries, models, corpus, options, threads)
    if corpus is not None and options.folds is not None:
        config = replace(models[0].config, workers=threads)
        note, use = console.note, options.use or "both"
        summaries[0].validated = validate(corpus, config, options.folds, note, use=use)
    more: dict[str, object] = {"fast": options.fast, **rows.above_json(alarm)}
    if options.part is not None and text.extent is not None:
        if not summaries[0].score.overall.count:
            number, of = options.part
            few = f"only {count(text.extent.pieces, 'piece')} of about 250,000 characters"
            it = "it" if text.extent.pieces == 1 else "the last"
            console.note(f"part {number}/{of} is empty: the text has {few}; {of}/{of} scores {it}")
        more["part"] = rows.part_json(options.part, text.extent, options, summaries)
    note_if_refused(console)
    show(summaries, options, console, more)
    if options.html is not None:
        console.note(f"coloured text saved to {options.html}")
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
    may_be_empty: bool = False
    extent: pieces.Extent | None = None  # of the whole text, with --part
    origins: Origins = field(default_factory=Origins)  # of the examples


def text_to_score(options: Options, model: Model, corpus: Corpus | None) -> Text:
    """Return the named text or the held-out text of the corpus; with --part, a part of it."""
    readers = ["rows"] if options.shows_examples else []
    readers += ["workers"] if options.has_workers else []
    origins = Origins(*readers)
    text = replace(whole_text(options, model, corpus, origins), origins=origins)
    part = options.part
    if part is None:
        return text
    extent = pieces.extent_of(whole_text(options, model, corpus, Origins()).codes)
    before, codes = pieces.pieces_within(text.codes, pieces.span_of(part, extent.pieces))
    for reader in readers:
        origins.take(reader, before)  # the examples before the part
    named = text.name if options.as_json else f"{text.name}, part {part.number:,} of {part.of:,}"
    return replace(
        text, name=named, codes=codes, size=None, may_be_empty=extent.pieces > 0, extent=extent
    )


def whole_text(options: Options, model: Model, corpus: Corpus | None, origins: Origins) -> Text:
    record = model.corpus
    if corpus is not None and not options.sources:
        name = ", ".join(record.valid) or f"held out of {', '.join(record.sources)}"
        codes = texts.held_out_codes(corpus, record)
        return Text(name, codes, record.examples_are, record.held_out_characters)
    kind: Any = options.examples or record.config.examples
    reading = [record.reading_of(source, options.reading) for source in options.sources]
    codes = texts.codes_in(options.sources, kind, reading, options.keeps_order, origins)
    packed = tuple(suffix for suffix, _ in PACKED.values())
    size = None  # of a stream or of compressed bytes
    if all(os.path.isfile(name) and not name.endswith(packed) for name in options.sources):
        size = sum(map(os.path.getsize, options.sources))
    return Text(", ".join(map(name_of, options.sources)), codes, kind, size)


def limit_of(options: Options, model: Model, scorer: Scorer, console: Console) -> float:
    """Return the bits per character at the --quantile of the reference, and report them."""
    corpus = None
    if not options.reference:
        corpus = texts.rebuild_corpus(model.corpus, model.vocabulary)
    options = replace(options, sources=options.reference, sort=None, as_csv=False)
    text = whole_text(options, model, corpus, Origins())
    alarm = rows.Alarm(Threshold(0), of_characters=options.per_char)
    costs = [alarm.costs(block) for block in score_blocks(scorer, text.codes)]
    values = np.concatenate([np.zeros(0), *costs])
    if not len(values):
        raise CorpusError(f"{text.name} has nothing to score", "Name another --reference.")
    limit = float(np.quantile(values, options.quantile or 0, method="higher"))
    of = count(len(values), "character" if options.per_char else "example")
    console.note(f"{limit:.3f} bits per character: the {options.quantile:g} quantile of {of}")
    return limit


def check_models(models: Sequence[Model], options: Options) -> None:
    if options.folds is not None and (len(models) > 1 or models[0].corpus.known):
        what = "--folds trains one model again from its beginning"
        raise SettingError(what, "Name a single model with -m, not one of train --from.")
    for path, model in zip(options.models, models, strict=True):
        if model.carry and (options.part is not None or options.has_workers):
            what = f"{path} carries its state across examples, so the text cannot be shared out"
            raise SettingError(what, "Score the text in one piece, or train without --carry.")


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
    if options.dynamic is not None:
        return SLOWLY
    return COSTLY if options.per_char or options.html is not None else pieces.AT_ONCE


def score(scorers: Sequence[Scorer], text: Text, symbols: int) -> Iterator[Sequence[ScoredBlock]]:
    """Yield each block of the text as scored by every scorer; all get the same blocks in step."""
    copies = tee(text.codes, len(scorers))
    whole = any(scorer.needs_whole_examples for scorer in scorers)
    read = [
        score_blocks(reader, codes, symbols, whole=whole)
        for reader, codes in zip(scorers, copies, strict=True)
    ]
    return zip(*read, strict=True)


def score_by_workers(
    cluster: Cluster, models: Sequence[Model], options: Options, text: Text, *, is_mixed: bool
) -> Iterator[Sequence[ScoredBlock]]:
    from charrnn.cluster.pool import scored
    from charrnn.cluster.worker import ScoringJob

    slim = tuple(model.slim() for model in models)
    compares = options.baselines or len(models) > 1 or models[0].counts is not None
    rank, detailed = options.per_char, bool(options.needs_one_distribution or compares)
    job = ScoringJob(slim, options.use, is_mixed, options.fast, ranking=rank, detailed=detailed)
    return scored(cluster, job, name_pieces(text, [name_of(source) for source in options.sources]))


def name_pieces(text: Text, files: Sequence[str]) -> Iterator[TextPiece]:
    """Yield the pieces for workers, named by file and line; without files, by example numbers."""
    from charrnn.cluster.worker import TextPiece

    for codes in pieces.whole_pieces(text.codes):
        of, lines = text.origins.take("workers", int(np.count_nonzero(codes == END_CODE)))
        begins, ends = int(lines[0]), int(lines[-1])
        if not files:
            name = f"examples {begins:,} to {ends:,} of the held-out text"
        elif of[0] == of[-1]:
            name = f"{files[int(of[0])]}, lines {begins:,} to {ends:,},"
        else:
            name = f"{files[int(of[0])]}, line {begins:,}, to {files[int(of[-1])]}, line {ends:,},"
        yield TextPiece(codes, name)


def pass_on(
    scored: Iterator[Sequence[ScoredBlock]],
    summaries: Sequence[Summary],
    named: int,
    listeners: Sequence[Listener],
    text: Text,
) -> Iterator[ScoredBlock]:
    """Yield the blocks of the first scorer, after each summary and each listener has got its own.

    Each model is compared with the first one that was named, at the place ``named``.
    """
    is_empty = not text.may_be_empty
    for blocks in scored:
        is_empty = False
        for number, (summary, block) in enumerate(zip(summaries, blocks, strict=True)):
            summary.add(block)
            if number != named:
                summary.pair(block, blocks[named])
        for listener in listeners:
            listener(blocks[0])
        yield blocks[0]
    if is_empty:
        hint = "Name a text with at least one visible character."
        raise CorpusError(f"{text.name} has nothing to score", hint)


def draw_texts(
    summaries: list[Summary], models: list[Model], corpus: Corpus, options: Options, threads: int
) -> None:
    first = models[0]
    for summary, model in zip(summaries[-len(models) :], models, strict=True):
        own = corpus
        if (model.corpus, model.vocabulary) != (first.corpus, first.vocabulary):
            own = texts.rebuild_corpus(model.corpus, model.vocabulary)
        summary.drawn = drawn_texts(model.predictor(options.use), own, options.drawn or 0, threads)

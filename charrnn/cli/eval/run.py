"""``charrnn eval``: find the text, score it, and show the result."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from charrnn.analysis.drawn_texts import drawn_texts
from charrnn.cli.console import Console
from charrnn.cli.eval.options import Options
from charrnn.cli.eval.parts import add_up, part_json
from charrnn.cli.eval.rows import Alarm, CharacterRows, ExampleRows, HeatMap
from charrnn.cli.eval.summary import TOGETHER, Summary, show
from charrnn.cli.eval.text import Text, text_to_score
from charrnn.cli.files import check_may_be_replaced
from charrnn.cli.options import cluster_for, note_if_refused
from charrnn.cli.terminal.colours import Painter
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.files import name_of
from charrnn.corpus.segmentation import END_CODE
from charrnn.errors import CorpusError, ModelFileError, SaveError, SettingError
from charrnn.model import Model
from charrnn.model_file import container
from charrnn.model_file.saving import replace
from charrnn.runs import load
from charrnn.scoring import texts
from charrnn.scoring.baselines import TextCollector
from charrnn.scoring.heat_map import is_page, page
from charrnn.scoring.mixed import part_names, scorer_of
from charrnn.scoring.pieces import (
    AS_THEY_COME,
    AT_ONCE,
    ScoredBlock,
    Scorer,
    score_blocks,
    whole_pieces,
)
from charrnn.scoring.predictor import MIXABLE_HEADS, Predictor, combine
from charrnn.scoring.score import bytes_of

if TYPE_CHECKING:
    from charrnn.cluster.jobs import TextPiece
    from charrnn.cluster.pool import Cluster

SOON = 1.0  # seconds until the bar is drawn
SLOWLY = 1 << 13  # symbols in a block if the network learns from each window
COSTLY = 1 << 16  # symbols in a block if each symbol becomes a line


class Listener(Protocol):
    """Receives each block of the text after it is scored."""

    def add(self, block: ScoredBlock) -> None:
        """Add a block."""

    def finish(self) -> None:
        """Complete the work after the last block."""


class ReadingBar:
    """A progress bar on the terminal for the bytes of the text; it appears after a while."""

    def __init__(self, size: int | None, console: Console, *, is_alone: bool) -> None:
        # Rows on the same terminal show the progress themselves.
        is_drawn = console.is_animated and (is_alone or not console.out.is_terminal)
        how = {"delay": SOON, "unit": "B", "unit_scale": True, "miniters": 1}
        self._bar = console.bar(total=size, desc="reading", **how) if is_drawn else None

    def __enter__(self) -> ReadingBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def add(self, block: ScoredBlock) -> None:
        """Move on by the bytes of a block."""
        if self._bar is not None:
            self._bar.update(bytes_of(block.codes))

    def finish(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


def run(options: Options, threads: int, console: Console) -> None:
    """Score the text, or add up what other jobs scored (--add)."""
    if options.add:
        add_up(options, console)
        return
    models = [load(path) for path in options.models]
    check_models(models, options)
    corpus = None
    if options.baselines or not options.sources:
        corpus = texts.rebuild_corpus(models[0].corpus, models[0].vocabulary)
        warn_of_other_corpora(options, models, console)
    console.note_if_waiting(options.sources)
    text = text_to_score(options, models[0], corpus)
    predictors = predictors_of(options, models, console)
    summaries = [
        Summary(text.name, text.examples_are, name, options.dynamic, predictor.ends)
        for name, predictor in predictors
    ]
    collector = TextCollector()
    alarm = None
    if options.above is not None:
        alarm = Alarm(options.above, of_characters=options.per_char)
    listeners: list[list[Listener]] = [[summary] for summary in summaries]
    listeners[0] += [collector] if options.baselines else []
    listeners[0] += rows(options, text, part_names(predictors[0][1]), console)
    listeners[0] += [] if alarm is None else [alarm]
    with (
        cluster_for(options.processes, options.scheduler, console) as cluster,
        ReadingBar(text.size, console, is_alone=not options.shows_rows) as bar,
    ):
        listeners[0].append(bar)
        if cluster is None:
            scorers = [
                scorer_of(
                    predictor,
                    threads,
                    ranking=options.per_char,
                    fast=options.fast,
                    rate=options.dynamic,
                )
                for _, predictor in predictors
            ]
            scored = score(scorers, text, symbols_at_once(options))
        else:
            is_mixed = len(predictors) > len(models)
            scored = score_by_workers(cluster, models, options, text, is_mixed=is_mixed)
        stream = pass_on(scored, listeners, text)
        if options.html is None:
            deque(stream, maxlen=0)
        else:
            gap = "" if text.examples_are == "lines" else "\n"
            write_page(options.html, page(text.name, stream, summaries[0].page_figures, gap))
    for each in listeners:
        for listener in each:
            listener.finish()
    if corpus is not None:
        if options.baselines:
            summaries[0].compare(corpus, collector)
        if options.drawn is not None:
            draw_texts(options.drawn, summaries, models, corpus, options, threads)
    more: dict[str, object] = {
        "fast": options.fast,
        "above": None if alarm is None else alarm.count,
    }
    if options.part is not None and text.extent is not None:
        more["part"] = part_json(options.part, text.extent, options, summaries)
    note_if_refused(console)
    show(summaries, console, more, as_json=options.as_json, is_aside=options.shows_rows)
    if options.html is not None:
        console.note(f"coloured text saved to {options.html}")
    if alarm is not None:
        alarm.ring(console)


def check_models(models: Sequence[Model], options: Options) -> None:
    """Raise an error if the page cannot be written, or the text cannot be cut for a model."""
    options.check_page(*(source for source in models[0].corpus.files if source != "-"))
    if options.html is not None:
        check_page(options.html, force=options.force)
    for path, model in zip(options.models, models, strict=True):
        if options.is_shared_out and model.carry:
            raise SettingError(
                f"{path} carries its state across examples, so the text cannot be shared out",
                "Score the text in one piece, or train without --carry.",
            )


def warn_of_other_corpora(options: Options, models: Sequence[Model], console: Console) -> None:
    """Warn if a model may have been trained on the held-out text of the first model."""
    for path, model in zip(options.models[1:], models[1:], strict=True):
        if options.sources:
            return
        first, other = models[0].corpus, model.corpus
        if (first.fingerprint, first.config) != (other.fingerprint, other.config):
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
    known = models[0].vocabulary.characters
    others = [path for path, one in each if one.vocabulary.characters != known]
    unmixable = [path for path, one in each if one.ends not in MIXABLE_HEADS]
    why = ""
    if others:
        why = f"{others[0]} has another vocabulary than {options.models[0]}"
    elif unmixable:
        why = f"{unmixable[0]} draws the length before the text"
    if not why:
        return [(TOGETHER, combine([one for _, one in each])), *each]
    if options.needs_one_distribution:
        raise ModelFileError(
            f"{options.needs_one_distribution} needs models that can be mixed, but {why}",
            "Name a single model with -m.",
        )
    console.warn(f"{why}: the models are compared, but not mixed")
    return each


def rows(
    options: Options, text: Text, parts: Sequence[str], console: Console
) -> Sequence[Listener]:
    """Return the writer of rows or of coloured text, if an option needs one."""
    if options.shows_examples:
        return [
            ExampleRows(
                [name_of(source) for source in options.sources],
                text.origins,
                console,
                sort=options.sort or "surprise",
                top=options.top,
                above=options.above,
                as_json=options.as_json,
                parts=parts,
            )
        ]
    if not options.per_char:
        return []
    if options.as_json or not Painter(console.out).has_colours:
        return [CharacterRows(console, as_json=options.as_json)]
    return [HeatMap(text.examples_are, console)]


def symbols_at_once(options: Options) -> int:
    """Return how many symbols are scored before anything is shown."""
    if options.sort == "input":
        return AS_THEY_COME
    if options.dynamic is not None:
        return SLOWLY
    return COSTLY if options.per_char or options.html is not None else AT_ONCE


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
    """Yield each block of the text as scored by workers, for every model."""
    from charrnn.cluster.jobs import ScoringJob, scored

    job = ScoringJob(
        tuple(model.slim() for model in models),
        options.use,
        is_mixed,
        options.fast,
        ranking=options.per_char,
        detailed=options.shows_rows
        or options.baselines
        or options.above is not None
        or options.html is not None,
    )
    return scored(cluster, job, name_pieces(text, [name_of(source) for source in options.sources]))


def name_pieces(text: Text, files: Sequence[str]) -> Iterator[TextPiece]:
    """Yield the pieces for workers, named by file and line; without files, by example numbers."""
    from charrnn.cluster.jobs import TextPiece

    for codes in whole_pieces(text.codes):
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
    scored: Iterator[Sequence[ScoredBlock]], listeners: Sequence[Sequence[Listener]], text: Text
) -> Iterator[ScoredBlock]:
    """Yield the blocks of the first scorer, after the listeners of each scorer have got theirs."""
    is_empty = not text.may_be_empty
    for by_scorer in scored:
        is_empty = False
        for block, each in zip(by_scorer, listeners, strict=True):
            for listener in each:
                listener.add(block)
        yield by_scorer[0]
    if is_empty:
        hint = "Name a text with at least one visible character."
        raise CorpusError(f"{text.name} has nothing to score", hint)


def draw_texts(
    count: int,
    summaries: Sequence[Summary],
    models: Sequence[Model],
    corpus: Corpus,
    options: Options,
    threads: int,
) -> None:
    """Draw texts from each model and compare them with its held-out text (--drawn)."""
    first = models[0]
    for summary, model in zip(summaries[-len(models) :], models, strict=True):
        own = corpus
        if (model.corpus, model.vocabulary) != (first.corpus, first.vocabulary):
            own = texts.rebuild_corpus(model.corpus, model.vocabulary)
        summary.drawn = drawn_texts(model.predictor(options.use), own, count, threads)


def check_page(path: Path, *, force: bool) -> None:
    """Raise an error, before any work, if the page may not or cannot be written."""
    check_may_be_replaced(path, is_page, force=force, option="--html")
    with _refused(path):
        container.check_writable(path, 0)


def write_page(path: Path, page: Iterator[bytes]) -> None:
    """Write the page under a temporary name, and rename it when it is complete."""
    with _refused(path):
        replace(path, 0, page)


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except SaveError as error:
        cause = error.__cause__
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else error.what
        raise SaveError(
            f"{path} cannot be written: {reason}", "Name another file with --html."
        ) from error

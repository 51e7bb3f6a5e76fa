"""What ``charrnn eval`` does: find the text, score it, and let everybody see each piece of it.

A text to score that is shared out to workers, and how its pieces are called."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace as changed
from itertools import chain, tee
from typing import TYPE_CHECKING, Protocol

import numpy as np

from charrnn.analysis.drawn_texts import drawn_texts
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.eval.options import Options
from charrnn.cli.eval.parts import add_up, part_json
from charrnn.cli.eval.rows import Alarm, ExampleRows, heat_map
from charrnn.cli.eval.summary import TOGETHER, Summary, show
from charrnn.cli.eval.text import Text, part_of, the_text
from charrnn.cli.files import OutputFile
from charrnn.cli.options import cluster_for
from charrnn.corpus.files import name_of
from charrnn.corpus.segmentation import END_CODE
from charrnn.errors import CorpusError, ModelFileError, SettingError
from charrnn.model import Model
from charrnn.runs import load
from charrnn.scoring import texts
from charrnn.scoring.baselines import TextCollector
from charrnn.scoring.heat_map import is_page, page
from charrnn.scoring.mixed import part_names, scorer_of
from charrnn.scoring.pieces import (
    AS_THEY_COME,
    AT_ONCE,
    NumberedOrigins,
    Origins,
    ScoredBlock,
    Scorer,
    SharedOrigins,
    extent_of,
    score_blocks,
    whole_pieces,
)
from charrnn.scoring.predictor import MIXABLE_HEADS, Predictor, combine
from charrnn.scoring.score import bytes_of
from charrnn.vocabulary import Codes

if TYPE_CHECKING:
    from charrnn.cluster.jobs import ScoringJob, TextPiece
    from charrnn.cluster.pool import Cluster


def job_of(models: Sequence[Model], options: Options, *, mixed: bool) -> ScoringJob:
    """What the workers are told."""
    from charrnn.cluster.jobs import ScoringJob

    return ScoringJob(
        tuple(model.slim() for model in models),
        options.use,
        mixed,
        options.fast,
        ranking=options.per_char,
        detailed=options.shows_rows
        or options.baselines
        or options.above is not None
        or options.html is not None,
    )


def scored_by_workers(
    cluster: Cluster, job: ScoringJob, text: Iterable[Codes], places: Origins, files: Sequence[str]
) -> Iterator[Sequence[ScoredBlock]]:
    """The pieces of a text, as each reader has them."""
    from charrnn.cluster.jobs import scored

    return scored(cluster, job, named_pieces(text, places, files))


def named_pieces(
    text: Iterable[Codes], places: Origins, files: Sequence[str]
) -> Iterator[TextPiece]:
    """The pieces, each called by where it stands; no files: by the numbers of its examples."""
    from charrnn.cluster.jobs import TextPiece

    for codes in whole_pieces(text):
        of, lines = places.take(int(np.count_nonzero(codes == END_CODE)))
        begins, ends = int(lines[0]), int(lines[-1])
        if not files:
            name = f"examples {begins:,} to {ends:,} of what was held out"
        elif of[0] == of[-1]:
            name = f"{files[int(of[0])]}, lines {begins:,} to {ends:,},"
        else:
            name = f"{files[int(of[0])]}, line {begins:,}, to {files[int(of[-1])]}, line {ends:,},"
        yield TextPiece(codes, name)


SOON = 1.0  # seconds until the bar is drawn
SLOWLY = 1 << 13  # symbols in a piece where the network learns from each window
COSTLY = 1 << 16  # and where each of them becomes a line


class Listener(Protocol):
    """Whoever looks at each piece of the text when it has been scored."""

    def hear(self, piece: ScoredBlock) -> None:
        """Look at one."""

    def finish(self) -> None:
        """That was all."""


class ReadingBar:
    """How much of a text has been read, of about so many bytes: on a terminal, after a while."""

    def __init__(self, size: int | None, console: Console, *, is_alone: bool) -> None:
        # Rows on the same screen tell by themselves how it goes.
        is_drawn = console.is_animated and (is_alone or not console.out.is_terminal)
        how = {"delay": SOON, "unit": "B", "unit_scale": True, "miniters": 1}
        self._bar = console.bar(total=size, desc="reading", **how) if is_drawn else None

    def __enter__(self) -> ReadingBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def hear(self, piece: ScoredBlock) -> None:
        """So much more."""
        if self._bar is not None:
            self._bar.update(bytes_of(piece.codes))

    def finish(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def run(options: Options, threads: int, console: Console) -> None:
    """Score the text, or add up what other jobs scored."""
    if options.add:
        add_up(options, console)
        return
    page_file = None
    if options.html is not None:
        page_file = OutputFile(options.html, "--html", force=options.force, is_ours=is_page)
    models = [load(path) for path in options.models]
    model = models[0]
    if page_file is not None:
        page_file.check(*options.models, *options.sources, corpus=model.corpus.files)
    corpus = None
    if options.baselines or not options.sources:
        corpus = texts.rebuild_corpus(model.corpus, model.vocabulary)
        note_other_corpora(options, models, console)
    console.note_if_waiting(options.sources)
    if options.is_shared_out:
        check_has_no_carry(models, options)
    origins, places = (Origins() if options.sources else NumberedOrigins() for _ in range(2))
    asking = {origins: options.shows_examples, places: options.has_workers}
    noted = SharedOrigins(*(one for one, asks in asking.items() if asks))
    text = the_text(options, model, corpus, noted)
    extent = None
    if options.part is not None:
        extent = extent_of(the_text(options, model, corpus, SharedOrigins()).codes)
        text = part_of(text, extent, options.part, noted)
        if not options.as_json:
            part = f"part {options.part.number:,} of {options.part.of:,}"
            text = changed(text, name=f"{part} of {text.name}")
    asked = predictors(options, models, console)
    summaries = [
        Summary(text.name, text.examples_are, name, options.dynamic, one.ends)
        for name, one in asked
    ]
    others: Sequence[Listener] = summaries[1:]
    heard = TextCollector()
    alarm = None
    if options.above is not None:
        alarm = Alarm(options.above, of_characters=options.per_char)
    listeners: list[Listener] = [summaries[0], *([heard] if options.baselines else [])]
    parts = part_names(asked[0][1])
    listeners += [
        *rows(options, text, origins, parts, console),
        *([] if alarm is None else [alarm]),
    ]
    everybody = [listeners, *([one] for one in others)]
    with (
        cluster_for(options.processes, options.scheduler, console) as cluster,
        ReadingBar(text.size, console, is_alone=not options.shows_rows) as bar,
    ):
        listeners.append(bar)
        if cluster is None:
            readers = [the_reader(options, one, threads) for _, one in asked]
            read = read_by_all(readers, text, symbols_at_once(options))
        else:
            job = job_of(models, options, mixed=len(asked) > len(models))
            files = [name_of(source) for source in options.sources]
            read = scored_by_workers(cluster, job, text.codes, places, files)
        stream = heard_by_all(read, everybody, text)
        if page_file is None:
            deque(stream, maxlen=0)
        else:
            gap = "" if text.examples_are == "lines" else "\n"
            page_file.write(0, page(text.name, stream, summaries[0].page_figures, gap))
    for listener in chain.from_iterable(everybody):
        listener.finish()
    if options.baselines and corpus is not None:
        summaries[0].compare(corpus, heard)
    if options.drawn is not None and corpus is not None:
        each = summaries[-len(models) :]  # without that of all together
        for summary, one in zip(each, models, strict=True):
            its = corpus
            if (one.corpus, one.vocabulary) != (model.corpus, model.vocabulary):
                its = texts.rebuild_corpus(one.corpus, one.vocabulary)
            summary.drawn = drawn_texts(one.predictor(options.use), its, options.drawn, threads)
    more: dict[str, object] = {
        "fast": options.fast,
        "above": None if alarm is None else alarm.found,
    }
    if options.part is not None and extent is not None:
        more["part"] = part_json(options.part, extent, options, summaries)
    thread_count.note_if_refused(console)
    show(summaries, console, more, as_json=options.as_json, is_aside=options.shows_rows)
    if options.html is not None:
        console.note(f"the coloured text is in {options.html}")
    if alarm is not None:
        alarm.tell(console)


def note_other_corpora(options: Options, models: Sequence[Model], console: Console) -> None:
    """Say so where what one model was kept from may be what another has learned."""
    for path, model in zip(options.models[1:], models[1:], strict=True):
        if options.sources:
            return
        mine, its = models[0].corpus, model.corpus
        if (mine.fingerprint, mine.config) != (its.fingerprint, its.config):
            console.warn(f"{path} may have learned some of what {options.models[0]} did not see")


def symbols_at_once(options: Options) -> int:
    """How many symbols are read before anything is shown."""
    if options.sort == "input":
        return AS_THEY_COME
    if options.dynamic is not None:
        return SLOWLY
    return COSTLY if options.per_char or options.html is not None else AT_ONCE


def predictors(
    options: Options, models: Sequence[Model], console: Console
) -> list[tuple[str, Predictor]]:
    """Who is asked, by name: of several models, first all of them together."""
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
        why = f"{others[0]} has not the vocabulary of {options.models[0]}"
    elif unmixable:
        why = f"{unmixable[0]} draws the length before the text"
    if not why:
        return [(TOGETHER, combine([one for _, one in each])), *each]
    if options.of_one:
        raise ModelFileError(
            f"{options.of_one} is for models that can be mixed, and {why}",
            "Name one alone with -m.",
        )
    console.warn(f"{why}: they are set side by side, and not mixed")
    return each


def the_reader(options: Options, predictor: Predictor, workers: int) -> Scorer:
    """Who stays as it is, or learns from what it reads."""
    ranking = options.per_char
    return scorer_of(predictor, workers, ranking=ranking, fast=options.fast, rate=options.dynamic)


def rows(
    options: Options, text: Text, origins: Origins, parts: Sequence[str], console: Console
) -> list[Listener]:
    """Whoever shows more than the sums."""
    if options.shows_examples:
        return [
            ExampleRows(
                [name_of(source) for source in options.sources],
                origins,
                console,
                sort=options.sort or "surprise",
                top=options.top,
                above=options.above,
                as_json=options.as_json,
                parts=parts,
            )
        ]
    if options.per_char:
        return [heat_map(text.examples_are, console, as_json=options.as_json)]
    return []


def check_has_no_carry(models: Sequence[Model], options: Options) -> None:
    """Raise SettingError where a text cannot be cut for one of these models."""
    for path, model in zip(options.models, models, strict=True):
        if model.carry:
            raise SettingError(
                f"{path} goes on from one example to the next, so its text cannot be shared out",
                "Score the text in one piece, or train without --carry.",
            )


def read_by_all(
    readers: Sequence[Scorer], text: Text, symbols: int
) -> Iterator[Sequence[ScoredBlock]]:
    """The pieces as each reader has them, cut alike. No one reads ahead of another: a stream passes
    once.
    """
    copies = tee(text.codes, len(readers))
    whole = any(reader.needs_whole_examples for reader in readers)
    read = [score_blocks(*both, symbols, whole=whole) for both in zip(readers, copies, strict=True)]
    return zip(*read, strict=True)


def heard_by_all(
    read: Iterator[Sequence[ScoredBlock]], listeners: Sequence[Sequence[Listener]], text: Text
) -> Iterator[ScoredBlock]:
    """The pieces as the first reader has them. Each reader has listeners of its own."""
    is_missing = not text.may_be_empty
    for same in read:
        is_missing = False
        for piece, its in zip(same, listeners, strict=True):
            for listener in its:
                listener.hear(piece)
        yield same[0]
    if is_missing:
        raise CorpusError(
            f"there is nothing to score in {text.name}",
            "A text needs a character that can be seen.",
        )

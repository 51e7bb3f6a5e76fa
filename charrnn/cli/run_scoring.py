"""What ``charrnn eval`` does: find the text, score it, and let everybody see each piece of it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from charrnn.api import Model, load
from charrnn.cli import threads
from charrnn.cli.console import Console
from charrnn.cli.per_character import heat_map
from charrnn.cli.per_example import ExampleRows
from charrnn.cli.score_summary import Summary
from charrnn.corpus.corpus import Corpus
from charrnn.errors import SaveError
from charrnn.model_file import container
from charrnn.model_file.replacement import replace
from charrnn.scoring import texts
from charrnn.scoring.baselines import Heard
from charrnn.scoring.blocks import AS_THEY_COME, AT_ONCE, Piece, Reader, pieces
from charrnn.scoring.dynamic import DynamicScorer
from charrnn.scoring.html_page import page
from charrnn.scoring.score import bytes_of
from charrnn.scoring.scorer import Scorer
from charrnn.vocabulary import Codes

if TYPE_CHECKING:
    from charrnn.cli.eval import Options

SOON = 1.0  # seconds until the bar is drawn
SLOWLY = 1 << 13  # symbols in a piece where the network learns from each window
COSTLY = 1 << 16  # and where each of them becomes a line


@dataclass(frozen=True)
class Text:
    """What is scored."""

    name: str
    codes: Iterator[Codes]
    examples_are: str
    size: int | None  # about so many bytes, if that is known before


class Listener(Protocol):
    """Whoever looks at each piece of the text when it has been scored."""

    def hear(self, piece: Piece) -> None:
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

    def hear(self, piece: Piece) -> None:
        """So much more."""
        if self._bar is not None:
            self._bar.update(bytes_of(piece.codes))

    def finish(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def run(options: Options, workers: int, console: Console) -> None:
    """Do all of it."""
    model = load(options.model)
    learned_from = (*model.corpus.sources, *model.corpus.valid)
    options.check_page(*(source for source in learned_from if source != "-"))
    if options.html is not None:
        check_page(options.html)
    corpus = None
    if options.baselines or not options.sources:
        corpus = texts.rebuilt(model.corpus, model.vocabulary)
    console.note_if_waiting(options.sources)
    text = the_text(options, model, corpus)
    summary = Summary(text.name, text.examples_are, str(options.model), options.dynamic)
    heard = Heard()
    listeners: list[Listener] = [summary, *([heard] if options.baselines else [])]
    listeners += rows(options, text, console)
    scored = pieces(the_reader(options, model, workers), text.codes, symbols_at_once(options))
    with ReadingBar(text.size, console, is_alone=not options.shows_rows) as bar:
        stream = seen(scored, [*listeners, bar])
        if options.html is None:
            deque(stream, maxlen=0)
        else:
            gap = "" if text.examples_are == "lines" else "\n"
            write_page(options.html, page(text.name, stream, summary.sums, gap))
    for listener in listeners:
        listener.finish()
    if options.baselines and corpus is not None:
        summary.compare(corpus, heard)
    threads.note_if_refused(console)
    summary.show(console, as_json=options.as_json, is_aside=options.shows_rows)
    if options.html is not None:
        console.note(f"the coloured text is in {options.html}")


def the_text(options: Options, model: Model, corpus: Corpus | None) -> Text:
    """What was named, or what was held out of this corpus."""
    record = model.corpus
    if corpus is not None and not options.sources:
        name = ", ".join(record.valid) or f"held out of {', '.join(record.sources)}"
        codes = texts.held_out_codes(corpus, record)
        return Text(name, codes, record.examples_are, record.held_out_characters)
    kind: Any = options.examples or record.config.examples
    reading = changed(model.reading, **options.reading)
    codes = texts.codes_in(options.sources, kind, reading, keep_blank=options.sort == "input")
    names = ["standard input" if source == "-" else source for source in options.sources]
    return Text(", ".join(names), codes, kind, size_of(options.sources))


def size_of(sources: Sequence[str]) -> int | None:
    """The bytes of these files; None where one of them is a stream, or packed."""
    packed = (".gz", ".xz", ".bz2")
    if any(not os.path.isfile(source) or source.endswith(packed) for source in sources):
        return None
    return sum(os.path.getsize(source) for source in sources)


def symbols_at_once(options: Options) -> int:
    """How many symbols are read before anything is shown."""
    if options.sort == "input":
        return AS_THEY_COME
    if options.dynamic is not None:
        return SLOWLY
    return COSTLY if options.per_char or options.html is not None else AT_ONCE


def the_reader(options: Options, model: Model, workers: int) -> Reader:
    """A network that stays as it is, or one that learns from what it reads."""
    ranking = options.per_char
    if options.dynamic is not None:
        return DynamicScorer(model.language_model, options.dynamic, ranking)
    return Scorer(model.language_model, workers, ranking=ranking)


def rows(options: Options, text: Text, console: Console) -> list[Listener]:
    """Whoever shows more than the sums."""
    if options.per_example:
        return [ExampleRows(options.sort or "surprise", console, as_json=options.as_json)]
    if options.per_char:
        return [heat_map(text.examples_are, console, as_json=options.as_json)]
    return []


def seen(scored: Iterator[Piece], listeners: Sequence[Listener]) -> Iterator[Piece]:
    """The pieces, each looked at by all."""
    for piece in scored:
        for listener in listeners:
            listener.hear(piece)
        yield piece


def check_page(path: Path) -> None:
    """Find out before the work, not after it, whether the file can be written."""
    with _refused(path):
        container.check_writable(path, 0)


def write_page(path: Path, page: Iterator[bytes]) -> None:
    """Write the page as it comes, under another name until it is complete."""
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

"""What ``charrnn eval`` does: find the text, score it, and let everybody see each piece of it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from charrnn.api import Model, load
from charrnn.cli.console import Talk
from charrnn.cli.scoring import html_file
from charrnn.cli.scoring.arguments import Asked
from charrnn.cli.scoring.per_character import heat_map
from charrnn.cli.scoring.per_example import ExampleRows
from charrnn.cli.scoring.reading_progress import ReadingBar
from charrnn.cli.scoring.summary import Verdict
from charrnn.corpus.corpus import Corpus
from charrnn.scoring import texts
from charrnn.scoring.baselines import Heard
from charrnn.scoring.blocks import AS_THEY_COME, AT_ONCE, Piece, Reader, pieces
from charrnn.scoring.dynamic import DynamicScorer
from charrnn.scoring.html_page import page
from charrnn.scoring.scorer import Scorer
from charrnn.vocabulary import Codes

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


def run(asked: Asked, workers: int, talk: Talk) -> None:
    """Do all of it."""
    asked.check()
    model = load(asked.model)
    learned_from = (*model.corpus.sources, *model.corpus.valid)
    asked.check_page(*(source for source in learned_from if source != "-"))
    if asked.html is not None:
        html_file.check(asked.html)
    corpus = None
    if asked.baselines or not asked.sources:
        corpus = texts.rebuilt(model.corpus, model.vocabulary)
    talk.note_if_waiting(asked.sources)
    text = the_text(asked, model, corpus)
    verdict = Verdict(text.name, text.examples_are, str(asked.model), asked.dynamic)
    heard = Heard()
    listeners: list[Listener] = [verdict, *([heard] if asked.baselines else [])]
    listeners += rows(asked, text)
    scored = pieces(the_reader(asked, model, workers), text.codes, symbols_at_once(asked))
    with ReadingBar(text.size, talk, is_alone=not asked.shows_rows) as bar:
        stream = seen(scored, [*listeners, bar])
        if asked.html is None:
            deque(stream, maxlen=0)
        else:
            gap = "" if text.examples_are == "lines" else "\n"
            html_file.write(asked.html, page(text.name, stream, verdict.sums, gap))
    for listener in listeners:
        listener.finish()
    if asked.baselines and corpus is not None:
        verdict.compare(corpus, heard)
    verdict.show(talk, as_json=asked.as_json, is_aside=asked.shows_rows)
    if asked.html is not None:
        talk.note(f"the coloured text is in {asked.html}")


def the_text(asked: Asked, model: Model, corpus: Corpus | None) -> Text:
    """What was named, or what was held out of this corpus."""
    facts = model.corpus
    if corpus is not None and not asked.sources:
        name = ", ".join(facts.valid) or f"held out of {', '.join(facts.sources)}"
        codes = texts.held_out_codes(corpus, facts)
        return Text(name, codes, facts.examples_are, facts.held_out_characters)
    kind: Any = asked.examples or facts.config.examples
    reading = replace(model.reading, **asked.reading)
    codes = texts.codes_in(asked.sources, kind, reading, keep_blank=asked.sort == "input")
    names = ["standard input" if source == "-" else source for source in asked.sources]
    return Text(", ".join(names), codes, kind, size_of(asked.sources))


def size_of(sources: Sequence[str]) -> int | None:
    """The bytes of these files; None where one of them is a stream, or packed."""
    packed = (".gz", ".xz", ".bz2")
    if any(not os.path.isfile(source) or source.endswith(packed) for source in sources):
        return None
    return sum(os.path.getsize(source) for source in sources)


def symbols_at_once(asked: Asked) -> int:
    """How many symbols are read before anything is shown."""
    if asked.sort == "input":
        return AS_THEY_COME
    if asked.dynamic is not None:
        return SLOWLY
    return COSTLY if asked.per_char or asked.html is not None else AT_ONCE


def the_reader(asked: Asked, model: Model, workers: int) -> Reader:
    """A network that stays as it is, or one that learns from what it reads."""
    ranking = asked.per_char
    if asked.dynamic is not None:
        return DynamicScorer(model.language_model, asked.dynamic, ranking)
    return Scorer(model.language_model, workers, ranking=ranking)


def rows(asked: Asked, text: Text) -> list[Listener]:
    """Whoever shows more than the sums."""
    if asked.per_example:
        return [ExampleRows(asked.sort or "surprise", as_json=asked.as_json)]
    if asked.per_char:
        return [heat_map(text.examples_are, as_json=asked.as_json)]
    return []


def seen(scored: Iterator[Piece], listeners: Sequence[Listener]) -> Iterator[Piece]:
    """The pieces, each looked at by all."""
    for piece in scored:
        for listener in listeners:
            listener.hear(piece)
        yield piece

"""The text that ``charrnn eval`` scores: files, a stream, held-out text, or a part of these."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from charrnn.cli.eval.options import Options
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.files import PACKED, name_of
from charrnn.model import Model
from charrnn.scoring import texts
from charrnn.scoring.pieces import Extent, Origins, extent_of, pieces_within, span_of
from charrnn.vocabulary import Codes


@dataclass(frozen=True)
class Text:
    """A stream of code points to score, with END_CODE after each example."""

    name: str
    codes: Iterator[Codes]
    examples_are: str
    size: int | None = None  # about the number of bytes, if that is known
    may_be_empty: bool = False
    extent: Extent | None = None  # of the whole text, with --part
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
    extent = extent_of(whole_text(options, model, corpus, Origins()).codes)
    before, codes = pieces_within(text.codes, span_of(part, extent.pieces))
    for reader in readers:
        origins.take(reader, before)  # the examples before the part
    named = text.name if options.as_json else f"part {part.number:,} of {part.of:,} of {text.name}"
    return replace(
        text, name=named, codes=codes, size=None, may_be_empty=extent.pieces > 0, extent=extent
    )


def whole_text(options: Options, model: Model, corpus: Corpus | None, origins: Origins) -> Text:
    """Return the named text, or the held-out text of the corpus."""
    record = model.corpus
    if corpus is not None and not options.sources:
        name = ", ".join(record.valid) or f"held out of {', '.join(record.sources)}"
        codes = texts.held_out_codes(corpus, record)
        return Text(name, codes, record.examples_are, record.held_out_characters)
    kind: Any = options.examples or record.config.examples
    reading = replace(model.reading, **options.reading)
    keep_blank = options.sort == "input"
    codes = texts.codes_in(options.sources, kind, reading, keep_blank, origins)
    return Text(", ".join(map(name_of, options.sources)), codes, kind, size_of(options.sources))


def size_of(sources: Sequence[str]) -> int | None:
    """Return the bytes of these files; None if one is a stream or compressed."""
    packed = tuple(suffix for suffix, _ in PACKED.values())
    if any(not os.path.isfile(source) or source.endswith(packed) for source in sources):
        return None
    return sum(os.path.getsize(source) for source in sources)

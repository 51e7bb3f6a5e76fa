"""The text that is to be scored: files, a stream, what was held out, or a part of these."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any

from charrnn.cli.eval.options import Options
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.files import PACKED, name_of
from charrnn.model import Model
from charrnn.scoring import texts
from charrnn.scoring.pieces import Extent, Origins, pieces_within, span_of
from charrnn.settings.using import Part
from charrnn.vocabulary import Codes


@dataclass(frozen=True)
class Text:
    """What is scored."""

    name: str
    codes: Iterator[Codes]
    examples_are: str
    size: int | None  # about so many bytes, if that is known before
    may_be_empty: bool = False


def the_text(options: Options, model: Model, corpus: Corpus | None, origins: Origins) -> Text:
    """What was named, or what was held out of this corpus."""
    record = model.corpus
    if corpus is not None and not options.sources:
        name = ", ".join(record.valid) or f"held out of {', '.join(record.sources)}"
        codes = texts.held_out_codes(corpus, record)
        return Text(name, codes, record.examples_are, record.held_out_characters)
    kind: Any = options.examples or record.config.examples
    reading = changed(model.reading, **options.reading)
    keep_blank = options.sort == "input"
    codes = texts.codes_in(options.sources, kind, reading, keep_blank, origins)
    return Text(", ".join(map(name_of, options.sources)), codes, kind, size_of(options.sources))


def size_of(sources: Sequence[str]) -> int | None:
    """The bytes of these files; None where one of them is a stream, or packed."""
    packed = tuple(suffix for suffix, _ in PACKED.values())
    if any(not os.path.isfile(source) or source.endswith(packed) for source in sources):
        return None
    return sum(os.path.getsize(source) for source in sources)


def part_of(text: Text, extent: Extent, part: Part, origins: Origins) -> Text:
    """A part of a text; where the examples before it begin is nothing to anybody."""
    before, codes = pieces_within(text.codes, span_of(part, extent.pieces))
    origins.take(before)
    return changed(text, codes=codes, size=None, may_be_empty=extent.pieces > 0)

"""The texts that a command reads: files, standard input, or what a model had held out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from charrnn.model import Model
from charrnn.scoring import texts
from charrnn.vocabulary import Codes

if TYPE_CHECKING:
    from charrnn.cli.console import Console


class Reads(NamedTuple):
    """What is to be read, and how."""

    sources: Sequence[str]  # none: what was held out
    examples: str | None  # None, and what reading does not have: as in training
    reading: Mapping[str, Any]


def codes_for(model: Model, reads: Reads) -> Iterator[Codes]:
    """The code points of these texts, END_CODE after each example."""
    record = model.corpus
    if not reads.sources:
        return texts.held_out_codes(texts.rebuilt(record, model.vocabulary), record)
    kind: Any = reads.examples or record.config.examples
    return texts.codes_in(reads.sources, kind, replace(model.reading, **reads.reading))


def note_if_several(model: Model, console: Console) -> None:
    """Say which network is looked at, where only one of them is."""
    if model.trained.others_learned:
        console.note("the first of several networks is looked at")

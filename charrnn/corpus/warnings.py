"""What is doubtful about a corpus: figures that may not mean what they seem to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from charrnn.corpus.corpus import Corpus
from charrnn.corpus.repeats import repeated

MUCH: Final = Fraction(1, 3)  # of the characters
FEWEST: Final = 2  # examples: from one alone nobody learns how examples end


@dataclass(frozen=True)
class Warned:
    """A doubt, and the two numbers that it rests on."""

    kind: Literal["much held out", "few examples", "repeated"]
    count: int  # characters held out; examples learned from; held-out examples that are known
    of: int  # all characters; all examples; held-out examples that were looked at


def warnings(corpus: Corpus) -> list[Warned]:
    """What should be told before anybody believes a figure. It takes a look at every example.

    Files to validate with take nothing away, however large they are; and a file as a whole is one
    example only because somebody wished it.
    """
    train, held_out = corpus.train, corpus.held_out
    known, looked_at = repeated(train, held_out)
    characters = train.characters + held_out.characters
    found = [
        Warned("much held out", held_out.characters, characters),
        Warned("few examples", len(train), len(train) + len(held_out)),
        Warned("repeated", known, looked_at),
    ]
    is_so = (
        not corpus.valid and held_out.characters > MUCH * characters,
        len(train) < FEWEST and corpus.examples_are != "files",
        known > 0,
    )
    return [one for one, so in zip(found, is_so, strict=True) if so]

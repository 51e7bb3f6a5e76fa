"""The text that samples go on from: how it is read, and what is said and shown of it."""

from __future__ import annotations

import os
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING

from charrnn.cli.console import Console
from charrnn.corpus.reading import Reading, blocks
from charrnn.model import Model
from charrnn.prediction.predictor import Predictor
from charrnn.sampling.sampler import REACH
from charrnn.vocabulary import Vocabulary

if TYPE_CHECKING:
    from charrnn.cli.sample import Options

NAMED = 12  # of the characters that were never seen


def read_prime(options: Options, model: Model, reading: Reading) -> str:
    """The text to go on from."""
    if options.prime_file is not None:
        return prime_in_file(options.prime_file, reading, model.examples_are)
    return as_read(options.prime or "", reading)


def as_read(text: str, reading: Reading) -> str:
    """A text from the command line, with newlines and letters as a corpus would have them."""
    text = as_typed(text)
    if reading.newlines == "translate":
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if reading.normalize == "none" else unicodedata.normalize(reading.normalize, text)


def as_typed(text: str) -> str:
    """The text. Bytes that the locale has no letters for are those of UTF-8, if they can be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        with suppress(UnicodeDecodeError):
            return os.fsencode(text).decode()
    return text


def prime_in_file(source: str, reading: Reading, examples_are: str) -> str:
    """The text of a file. Where examples are lines, a newline at its end is none of the text."""
    text = "".join(blocks(source, reading))
    return text.removesuffix("\n") if examples_are in ("lines", "texts") else text


def note_prime(prime: str, vocabulary: Vocabulary, console: Console) -> None:
    """Say what of a prime cannot be taken as it is."""
    if len(prime) > REACH:
        console.note(
            f"the prime is long: its last {REACH:,} characters are read, and no more matter"
        )
    unknown = vocabulary.unknown_in(prime)
    if unknown:
        names = " ".join(f"{character} (U+{ord(character):04X})" for character in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED:,} more" if len(unknown) > NAMED else ""
        console.note(f"never seen in training, and read as unknown: {names}{more}")


def nats_of(prime: str, predictor: Predictor) -> float:
    """What the model says of the prime."""
    if len(predictor.asked) == 1 and predictor.asked[0].architecture.head.lengths is not None:
        from charrnn.sampling.lengths import nats_of_beginning

        return nats_of_beginning(predictor.asked[0], prime)
    from charrnn.scoring.mixed_scorer import scorer_of

    scorer = scorer_of(predictor)
    return float(scorer.read(predictor.vocabulary.encode(prime))[0].sum())


def prime_shown(options: Options, prime: str, predictor: Predictor) -> tuple[str, float]:
    """What of the prime is shown, and what it cost."""
    if options.hide_prime or not prime:
        return "", 0.0
    return prime, nats_of(prime, predictor)

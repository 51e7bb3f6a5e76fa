"""What ``charrnn sample`` does: load, read the prime, draw, write."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from charrnn.api import Model, load
from charrnn.cli import threads
from charrnn.cli.console import Console
from charrnn.cli.sample_output import Frame, style_for, write_pieces
from charrnn.corpus.reading import Reading, blocks
from charrnn.escaping import Visible, encodable
from charrnn.sampling.sampler import REACH, Piece, Sample, SampleConfig, Sampler
from charrnn.vocabulary import Vocabulary

if TYPE_CHECKING:
    from charrnn.cli.sample import Options


NAMED = 12  # of the characters that were never seen


@dataclass
class Tally:
    """What became of the samples."""

    written: int = 0
    limited: int = 0  # of those

    def of(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Let them pass, counted."""
        for sample in samples:
            self.written += 1
            self.limited += sample.ended == "limit"
            yield sample

    def of_pieces(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """The same, where they come in pieces."""
        for piece in pieces:
            self.written += piece.ended is not None
            self.limited += piece.ended == "limit"
            yield piece


def run(options: Options, workers: int, console: Console) -> None:
    """Do all of it."""
    config = SampleConfig(**options.sampling)
    model = load(options.model)
    reading = replace(model.reading, **options.reading)
    console.note_if_waiting(options.files)
    prime = read_prime(options, model, reading)
    sampler = Sampler(model.language_model, config, prime, workers)
    note_prime(prime, model.vocabulary, console)

    tally = Tally()
    shown = "" if options.hide_prime else prime
    redrawn = None
    if options.novel or options.unique:
        redrawn = samples_redrawn(options, sampler, prime, model, reading)
    numbers = range(options.count)
    if options.as_json:
        samples = sampler.samples(numbers) if redrawn is None else redrawn
        nats = nats_of(shown, model) if shown else 0.0
        write_lines(tally.of(samples), console, shown, nats)
    else:
        pieces = sampler.pieces(numbers) if redrawn is None else map(whole_piece, redrawn)
        write_text(tally.of_pieces(pieces), shown, options, model, console)
    note_what_is_missing(tally, options, config, console)
    threads.note_if_refused(console)


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


def nats_of(prime: str, model: Model) -> float:
    """What the model says of the prime."""
    from charrnn.scoring.scorer import Scorer

    scorer = Scorer(model.language_model)
    return float(scorer.read(model.vocabulary.encode(prime))[0].sum())


def samples_redrawn(
    options: Options, sampler: Sampler, prime: str, model: Model, reading: Reading
) -> Iterator[Sample]:
    """The samples, drawn again where they are not wanted."""
    from charrnn.sampling import redrawing
    from charrnn.scoring.texts import codes_in

    known = None
    if options.novel:
        known = redrawing.Known(codes_in(options.novel, model.corpus.config.examples, reading))
    samples = redrawing.redrawn(
        sampler, options.count, lambda sample: prime + sample.text, known, options.unique
    )
    return (sample for sample in samples if sample is not None)


def whole_piece(sample: Sample) -> Piece:
    """A sample in one piece."""
    return Piece(sample.number, sample.text, sample.nats, sample.ended)


def write_lines(samples: Iterable[Sample], console: Console, prime: str, prime_nats: float) -> None:
    """A line of JSON for each sample."""
    for sample in samples:
        text = prime + sample.text
        nats = prime_nats + sum(sample.nats)
        symbols = len(text) + (sample.ended == "end")
        console.json(
            "sample",
            {
                "text": encodable(text),
                "characters": len(text),
                "nats": nats,
                "nats_per_character": nats / symbols,
                "ended": sample.ended,
            },
        )


def write_text(
    pieces: Iterable[Piece], prime: str, options: Options, model: Model, console: Console
) -> None:
    """The samples as text."""
    painter = None
    if options.surprise:
        from charrnn.cli.surprisal_colours import Painter

        painter = Painter(console.out)
        if painter.has_colours:
            console.say(Painter(console.err).legend())
    has_newlines = "\n" in model.vocabulary.characters or "\n" in prime
    frame = Frame(
        before=prime,
        after=Visible("\0" if options.null else "\n"),
        between="\n" if has_newlines and not options.null else "",
    )
    style = style_for(console.out, raw=options.raw, painter=painter)
    write_pieces(pieces, console.out, style, frame)


def note_what_is_missing(
    tally: Tally, options: Options, config: SampleConfig, console: Console
) -> None:
    """Say which samples are not what was asked for."""
    if tally.limited:
        many = f"{tally.limited:,} of {options.count:,} samples"
        console.note(
            f"{many if options.count > 1 else 'the sample'} reached --max-chars"
            f" {config.max_characters} before the end"
        )
    if tally.written < options.count:
        from charrnn.sampling.redrawing import ATTEMPTS

        wish = " and ".join(
            [*(["novel"] if options.novel else []), *(["unique"] if options.unique else [])]
        )
        console.warn(
            f"gave up {options.count - tally.written:,} of {options.count:,} samples:"
            f" {ATTEMPTS} draws brought nothing {wish}"
        )

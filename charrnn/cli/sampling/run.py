"""What ``charrnn sample`` does: load, read the prime, draw, tell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from charrnn.api import Model, load
from charrnn.cli.console import Talk, write_json
from charrnn.cli.sampling import prime as priming
from charrnn.cli.sampling.output import Frame, tell, voice_for
from charrnn.corpus.reading import Reading
from charrnn.errors import SettingError
from charrnn.escaping import encodable
from charrnn.sampling.sampler import Piece, Sample, SampleConfig, Sampler


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options, as they were typed."""

    model: Path
    count: int
    config: dict[str, Any]  # fields of SampleConfig
    prime: str | None
    prime_file: str | None
    hide_prime: bool
    reading: dict[str, Any]  # fields of Reading
    novel: tuple[str, ...]
    unique: bool
    null: bool
    surprise: bool
    raw: bool
    as_json: bool

    def check(self) -> None:
        """Raise SettingError where the options contradict each other."""
        if self.prime is not None and self.prime_file is not None:
            raise SettingError(
                "--prime and --prime-file exclude each other", "Leave one of them out."
            )
        if self.files.count("-") > 1:
            raise SettingError("standard input can be read only once", "Name one - at most.")

    @property
    def files(self) -> list[str]:
        """The texts that are to be read."""
        return [*([] if self.prime_file is None else [self.prime_file]), *self.novel]


@dataclass
class Tally:
    """What became of the samples."""

    told: int = 0
    limited: int = 0  # of those

    def of(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Let them pass, counted."""
        for sample in samples:
            self.told += 1
            self.limited += sample.ended == "limit"
            yield sample

    def of_pieces(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """The same, where they come in pieces."""
        for piece in pieces:
            self.told += piece.ended is not None
            self.limited += piece.ended == "limit"
            yield piece


def draw(asked: Asked, workers: int, talk: Talk) -> None:
    """Do all of it."""
    asked.check()
    config = SampleConfig(**asked.config)
    model = load(asked.model)
    reading = replace(model.reading, **asked.reading)
    talk.note_if_waiting(asked.files)
    prime = read_prime(asked, model, reading)
    sampler = Sampler(model.language_model, config, prime, workers)
    priming.note(prime, model.vocabulary, talk)

    tally = Tally()
    shown = "" if asked.hide_prime else prime
    wanted = redrawn(asked, sampler, prime, model, reading) if asked.novel or asked.unique else None
    if asked.as_json:
        samples = sampler.samples(range(asked.count)) if wanted is None else wanted
        write_lines(tally.of(samples), shown, nats_of(shown, model) if shown else 0.0)
    else:
        pieces = sampler.pieces(range(asked.count)) if wanted is None else map(whole_piece, wanted)
        write_text(tally.of_pieces(pieces), shown, asked, model, talk)
    say_what_is_missing(tally, asked, config, talk)


def read_prime(asked: Asked, model: Model, reading: Reading) -> str:
    """The text to go on from."""
    if asked.prime_file is not None:
        return priming.from_file(asked.prime_file, reading, model.examples_are)
    return priming.as_read(asked.prime or "", reading)


def nats_of(prime: str, model: Model) -> float:
    """What the model says of the prime."""
    from charrnn.scoring.scorer import Scorer

    scorer = Scorer(model.language_model)
    return float(scorer.read(model.vocabulary.encode(prime))[0].sum())


def redrawn(
    asked: Asked, sampler: Sampler, prime: str, model: Model, reading: Reading
) -> Iterator[Sample]:
    """The samples, drawn again where they are not wanted."""
    from charrnn.sampling import redrawing
    from charrnn.scoring.texts import codes_in

    known = None
    if asked.novel:
        kind = model.corpus.config.examples
        known = redrawing.Known(codes_in(asked.novel, kind, reading))
    samples = redrawing.redrawn(
        sampler, asked.count, lambda sample: prime + sample.text, known, asked.unique
    )
    return (sample for sample in samples if sample is not None)


def whole_piece(sample: Sample) -> Piece:
    """A sample in one piece."""
    return Piece(sample.number, sample.text, sample.nats, sample.ended)


def write_lines(samples: Iterable[Sample], prime: str, prime_nats: float) -> None:
    """A line of JSON for each sample."""
    for sample in samples:
        text = prime + sample.text
        nats = prime_nats + sum(sample.nats)
        symbols = len(text) + (sample.ended == "end")
        write_json(
            "sample",
            {
                "text": encodable(text),
                "characters": len(text),
                "nats": nats,
                "nats_per_character": nats / symbols,
                "ended": sample.ended,
            },
        )


def write_text(pieces: Iterable[Piece], prime: str, asked: Asked, model: Model, talk: Talk) -> None:
    """The samples as text."""
    painter = None
    if asked.surprise:
        from charrnn.cli.surprisal_colours import Painter

        painter = Painter(sys.stdout)
        if painter.has_colours and not talk.quiet:
            sys.stderr.write(Painter(sys.stderr).legend() + "\n")
    has_newlines = "\n" in model.vocabulary.characters or "\n" in prime
    frame = Frame(
        before=prime,
        after="\0" if asked.null else "\n",
        between="\n" if has_newlines and not asked.null else "",
    )
    tell(pieces, voice_for(raw=asked.raw, painter=painter), frame)


def say_what_is_missing(tally: Tally, asked: Asked, config: SampleConfig, talk: Talk) -> None:
    """Say which samples are not what was asked for."""
    if tally.limited:
        many = f"{tally.limited:,} of {asked.count:,} samples"
        talk.note(
            f"{many if asked.count > 1 else 'the sample'} reached --max-chars"
            f" {config.max_characters} before the end"
        )
    if tally.told < asked.count:
        from charrnn.sampling.redrawing import ATTEMPTS

        wish = " and ".join(
            [*(["novel"] if asked.novel else []), *(["unique"] if asked.unique else [])]
        )
        talk.warn(
            f"gave up {asked.count - tally.told:,} of {asked.count:,} samples:"
            f" {ATTEMPTS} draws brought nothing {wish}"
        )

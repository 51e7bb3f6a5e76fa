"""Which samples are wanted: not known, not said before, of some length, the best of many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING

from charrnn.corpus.reading import Reading
from charrnn.model import Model
from charrnn.sampling.redrawing import Known, redrawn
from charrnn.sampling.sampler import Sample, Sampler
from charrnn.scoring.texts import codes_in

if TYPE_CHECKING:
    from charrnn.cli.sample import Options


@dataclass
class Wanted:
    """What was asked for, for samples of one prime."""

    options: Options
    prime: str
    known: Known | None
    said: set[int] = field(default_factory=set)  # at whatever temperature

    def samples(self, sampler: Sampler) -> Iterator[Sample]:
        """Those that are wanted, as many as were found."""
        options = self.options
        found = redrawn(
            sampler,
            options.numbers,
            lambda sample: self.prime + sample.text,
            self.is_unwanted,
            self.said if options.unique else None,
        )
        wanted = (sample for sample in found if sample is not None)
        if options.best:
            return iter(nsmallest(options.count, wanted, key=nats_per_character))
        return wanted

    def is_unwanted(self, sample: Sample) -> bool:
        """Whether it is to be drawn again, whatever was said before."""
        options, text = self.options, self.prime + sample.text
        if options.longest is not None and (len(text) > options.longest or sample.ended == "limit"):
            return True
        if len(text) < (options.shortest or 0):
            return True
        return self.known is not None and text in self.known


def wanted(options: Options, prime: str, model: Model, reading: Reading) -> Wanted:
    """The same with the corpus read that is not to be repeated, if there is one."""
    known = None
    if options.novel:
        codes = codes_in(options.novel, model.corpus.config.examples, reading)
        known = Known(codes, ignoring_case=options.ignore_case)
    return Wanted(options, prime, known)


def nats_per_character(sample: Sample) -> float:
    """What a symbol of it cost, its end counted where it was drawn."""
    return sum(sample.nats) / len(sample.nats)

"""Which samples are wanted: not known, not said before, of some length, the best of many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING

from charrnn.corpus.reading import Reading
from charrnn.model import Model
from charrnn.sampling.redrawing import Known, Wishes, redrawn
from charrnn.sampling.sampler import Sample, Sampler
from charrnn.scoring.texts import codes_in

if TYPE_CHECKING:
    from charrnn.cli.sample import Options


@dataclass
class Wanted:
    """What was asked for, for samples of one prime."""

    options: Options
    wishes: Wishes
    before: tuple[str, float]  # what is shown of the prime, and what it cost
    said: set[int] = field(default_factory=set)  # at whatever temperature

    def samples(self, sampler: Sampler) -> Iterator[Sample]:
        """Those that are wanted, as many as were found."""
        said = self.said if self.options.unique else None
        wishes = self.wishes
        return self.chosen(
            redrawn(sampler, self.options.numbers, wishes.whole, wishes.refuses, said)
        )

    def chosen(self, found: Iterator[Sample | None]) -> Iterator[Sample]:
        """The same, of those that somebody has drawn; None is one that was given up."""
        wanted = (sample for sample in found if sample is not None)
        if self.options.best:
            return iter(nsmallest(self.options.count, wanted, key=self.nats_per_character))
        return wanted

    def nats_per_character(self, sample: Sample) -> float:
        """What a symbol of the text that is shown cost, its end counted where it was drawn."""
        prime, nats = self.before
        return (nats + sum(sample.nats)) / (len(prime) + len(sample.nats))


def wanted(
    options: Options, prime: str, before: tuple[str, float], model: Model, reading: Reading
) -> Wanted:
    """The same with the corpus read that is not to be repeated, if there is one."""
    known = None
    if options.novel:
        codes = codes_in(options.novel, model.corpus.config.examples, reading)
        known = Known(codes, ignoring_case=options.ignore_case)
    return Wanted(options, Wishes(prime, known, options.shortest, options.longest), before)

"""The plan of a sweep in words, and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import starmap
from typing import Any

from charrnn.cli.formatting import bytes_in_words, clock, count
from charrnn.cli.hints import option_for
from charrnn.cli.plan_display import best_in_words, corpus_in_words, part_in_words
from charrnn.cli.prepare_sweep import PreparedSweep
from charrnn.cli.sweep_options import typed
from charrnn.cli.table import Entry
from charrnn.cli.training_json import corpus_json, in_order, warnings_json
from charrnn.counts.markov import Baseline
from charrnn.sweeping.forecast import alike
from charrnn.sweeping.grid import value_in_words


def in_words(sweep: PreparedSweep) -> Iterator[Entry]:
    """What is learned from, what is tried on it, and what it will take."""
    corpus, grid = sweep.split.corpus, sweep.begun.grid
    yield from corpus_in_words(corpus, sweep.warnings)
    for name, values in grid.tried.items():
        yield "tried", f"{option_for(name)} {', '.join(map(value_in_words, values))}"
    if sweep.begun.learning:
        yield "for all", " ".join(starmap(typed, sweep.begun.learning.items()))
    sizes = sorted(one.plan.parameters for one in sweep.combinations)
    if sizes[0] == sizes[-1]:
        yield "networks", f"{sizes[0]:,} parameters"
    else:
        yield "networks", f"{sizes[0]:,} to {sizes[-1]:,} parameters"
    for first, second in alike(sweep.combinations):
        yield (
            "warning",
            f"{second.name} comes to the same as {first.name}: the corpus fills no more",
        )
    combinations, seeds = len(sweep.combinations), len(grid.seeds)
    runs = count(len(sweep.trials), "run")
    yield "runs", f"{count(combinations, 'combination')} x {count(seeds, 'seed')}: {runs}"
    done, missing = len(sweep.trials) - len(sweep.missing), sweep.missing
    if done:
        yield "resumes", f"{done:,} of them {'is' if done == 1 else 'are'} done"
    if missing:
        at_once = min(sweep.at_once, len(missing))
        yield "memory", f"about {bytes_in_words(at_once * sweep.largest)}"
        each = [sweep.seconds_of(one) for one in missing]
        longest = f"the longest takes {clock(max(each))}"
        yield (
            "time",
            f"about {clock(sweep.seconds_left)}, with {count(at_once, 'run')} at once; {longest}",
        )


def baselines_in_words(sweep: PreparedSweep, found: Iterable[Baseline]) -> Iterator[Entry]:
    """What there is to beat, on what the first seed holds out."""
    last = None
    losses = {}
    for last in found:
        losses[last.name] = last.nats_per_character
    if last is not None:
        yield "to beat", best_in_words(losses)
        if part := part_in_words(last, sweep.split.corpus):
            yield "", part


def as_json(sweep: PreparedSweep) -> dict[str, Any]:
    """The plan for programs."""
    corpus = sweep.split.corpus
    missing = {one.name for one in sweep.missing}
    return {
        "folder": str(sweep.folder.path),
        "corpus": corpus_json(sweep.split.record, corpus.vocabulary.symbols),
        "tried": dict(sweep.begun.grid.tried),
        "seeds": sweep.begun.grid.seeds,
        "at_once": sweep.at_once,
        "seconds": sweep.seconds_left,
        "baselines": in_order(sweep.split.record.baselines),
        "runs": [
            {
                "name": one.name,
                "settings": one.settings,
                "seed": one.seed,
                "model": str(sweep.folder.model_of(one.name)),
                "done": one.name not in missing,
                "seconds": sweep.seconds_of(one),
            }
            for one in sweep.trials
        ],
        "warnings": warnings_json(sweep.warnings),
    }

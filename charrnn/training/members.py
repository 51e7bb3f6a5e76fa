"""Several networks that learn side by side, from a seed each, told as one run.

    member 1    -> step -> step -> check-up ..      the seed of the run
    member 2    -> step -> step -> check-up ..      the next one, and so on

Each is the run that it would be alone, so whatever holds of one holds of all; they are shared out
to the threads there are. What is told of them is the mean: of a step, its loss; of a check-up, the
loss of one of them on held-out text, and beside it what all of them and the counts make together.
A network that has ended counts with its last check-up, at those of all that are still learning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.counts.model import Counts
from charrnn.counts.ngrams import sequence_of
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.readout import add_novelty, nats_of
from charrnn.network.threads import Threads
from charrnn.scoring.mixed import MixedScorer, scorer_of
from charrnn.scoring.pieces import Floats
from charrnn.scoring.predictor import Predictor, check_mixable, mean_logits, mix_with_counts
from charrnn.scoring.score import Score, tally
from charrnn.scoring.scorer import NetworkScorer
from charrnn.settings.training import Ending, Fitted, TrainConfig, of_member
from charrnn.training.loop import (
    AT_ONCE,
    SHARE,
    Checkup,
    Done,
    Event,
    Step,
    Stopwatch,
    checkup_again,
    ended,
    part_of,
    progress,
    train,
)
from charrnn.training.ranks import ALONE, Ranks
from charrnn.training.state import TrainState, start
from charrnn.vocabulary import UNKNOWN, Ids

COUNTED = 10_000_000  # symbols that are kept to be counted, at most
PART = 1 << 13  # symbols on which all are mixed at a check-up
NUMBERS = 1 << 20  # of logits in that part, at most


def check_together(config: TrainConfig) -> None:
    """Raise SettingError where networks of such settings cannot be mixed, and would have to be."""
    if config.counts or config.members > 1:
        check_mixable(config.ends)


def start_all(
    corpus: Corpus, config: Fitted, model: LanguageModel | None = None
) -> tuple[TrainState, ...]:
    """Return the states of all networks before the first step."""
    check_together(config)
    return tuple(start(corpus, of_member(config, i), model) for i in range(config.members))


def text_to_count(corpus: Corpus, config: TrainConfig) -> Ids | None:
    """What a model file keeps of the corpus, where it is to be counted."""
    if not config.counts:
        return None
    return sequence_of(corpus.train.ids, corpus.vocabulary.symbols, COUNTED)


def all_ended(states: Sequence[TrainState], config: Fitted) -> Ending | None:
    """What has ended the run, if anything has."""
    why = [ended(state, of_member(config, i)) for i, state in enumerate(states)]
    return last_ending(why, [state.step for state in states])


def last_ending(why: Sequence[Ending | None], steps: Sequence[int]) -> Ending | None:
    """Of what has ended several networks, that of the one that has learned longest; None as long as
    one of them goes on.
    """
    if None in why:
        return None
    return max(zip(steps, why, strict=True), key=lambda one: one[0])[1]


def share_done(states: Sequence[TrainState], config: Fitted, symbols: int) -> float:
    """The share of the run that is done, from 0 to 1, on a corpus of so many symbols."""
    shares = [progress(state, of_member(config, i), symbols) for i, state in enumerate(states)]
    return sum(shares) / len(shares)


def train_all(
    states: Sequence[TrainState],
    corpus: Corpus,
    config: Fitted,
    counted: Ids | None = None,
    ranks: Ranks = ALONE,
) -> Iterator[Event]:
    """Go on with all of them until the last has come to its end, changing the states in place."""
    configs = [of_member(config, i) for i in range(len(states))]
    each = max(1, config.workers // len(states))  # threads
    runs = [
        train(state, corpus, replace(own, workers=each), ranks)
        for state, own in zip(states, configs, strict=True)
    ]
    if len(runs) == 1 and counted is None:
        yield from runs[0]
        return
    threads = Threads(min(config.workers, len(runs)))
    models = [LanguageModel(s.parameters, corpus.vocabulary, config.carry) for s in states]
    together = Together(models, corpus, config, counted) if len(corpus.held_out) else None
    latest = {
        i: checkup
        for i, (state, own) in enumerate(zip(states, configs, strict=True))
        if ended(state, own) and (checkup := checkup_again(state, corpus, own)) is not None
    }
    lowest = lowest_so_far(states)
    clock = Stopwatch()
    why: Ending = "epochs"
    going = dict(enumerate(runs))
    while going:
        if threads.most > 1:
            jobs = [threads.submit(next, run) for run in going.values()]
            events = dict(zip(going, [job.result() for job in jobs], strict=True))
        else:
            events = {i: next(run) for i, run in going.items()}
        if steps := [event for event in events.values() if isinstance(event, Step)]:
            yield mean_step(steps)
        checkups = {i: event for i, event in events.items() if isinstance(event, Checkup)}
        latest |= checkups
        still = {i for i, event in events.items() if not isinstance(event, Done)}
        if checkups and checkups.keys() == still:  # else steps would be told before it
            step = next(iter(checkups.values())).step
            found = replace(mean_checkup([latest[i] for i in sorted(latest)], lowest), step=step)
            if found.score is not None and together is not None:
                lowest = min(lowest, found.score.nats_per_character)
                clock.lap()
                together_now = found.score.nats_per_character - together.gain()
                found = replace(found, together_nats_per_character=together_now)
                if config.minutes is not None and ranks.count == 1:  # others know of no mixture
                    took = clock.lap() / 60 * min(config.workers, len(runs)) / len(runs)
                    for i in still:  # they all wait, and have their parts of the time
                        states[i].minutes += took
            yield found
        why = next((event.why for event in events.values() if isinstance(event, Done)), why)
        going = {i: going[i] for i in sorted(still)}
    yield Done(why)


def mean_step(steps: Sequence[Step]) -> Step:
    """One step of all of them."""
    first, share = steps[0], 1 / len(steps)
    return replace(
        first,
        nats_per_character=sum(one.nats_per_character for one in steps) * share,
        gradient_norm=sum(one.gradient_norm for one in steps) * share,
    )


def mean_checkup(checkups: Sequence[Checkup], lowest: float) -> Checkup:
    """The last check-ups of all of them as one; it is the best where their mean is the lowest."""
    first, share = checkups[0], 1 / len(checkups)
    scores = [one.score for one in checkups if one.score is not None]
    score: Score | None = None
    if scores:
        names = ("units", "units_of_ends", "units_of_unknown")
        means = {name: sum(getattr(s, name) for s in scores) // len(scores) for name in names}
        score = replace(scores[0], **means)
    return replace(
        first,
        score=score,
        train_nats_per_character=sum(c.train_nats_per_character for c in checkups) * share,
        familiar_nats_per_character=sum(c.familiar_nats_per_character for c in checkups) * share,
        is_best=score is None or score.nats_per_character < lowest,
    )


def mean_of_bests(bests: Sequence[tuple[int, float] | None]) -> tuple[int, float] | None:
    """The step by which each of several networks had its best check-up, and the mean of what they
    lost there: the figure of a network alone, which is what their parameters are kept for.
    """
    found = [best for best in bests if best is not None]
    if len(found) < len(bests):
        return None
    return max(step for step, _ in found), sum(nats for _, nats in found) / len(found)


def best_of_all(states: Sequence[TrainState]) -> tuple[int, float] | None:
    """The same of runs that are at hand."""
    bests = [one.best for one in states if one.best is not None]
    if len(bests) < len(states):
        return None
    return mean_of_bests([(best.step, best.nats_per_character) for best in bests])


def lowest_so_far(states: Sequence[TrainState]) -> float:
    """The lowest mean of the held-out losses at a check-up that has been."""
    rows = [
        (row["step"], i, row["held_out"])
        for i, state in enumerate(states)
        for row in state.history
        if "held_out" in row
    ]
    lowest = math.inf
    latest: dict[int, float] = {}
    for step, together in groupby(sorted(rows), key=lambda row: row[0]):
        found = {i: loss for _, i, loss in together}
        latest |= found
        if all(i in found for i, state in enumerate(states) if state.step >= step):
            lowest = min(lowest, sum(latest.values()) / len(latest))
    return lowest


def scores_of_best(
    states: Sequence[TrainState],
    corpus: Corpus,
    config: Fitted,
    counted: Ids | None,
    *,
    however_long: bool = False,
) -> dict[str, Score]:
    """What the best parameters so far make of all that is held out, to the last digit: "network",
    and where there are counts, "counts" and "both"; of several networks also "alone", what they
    lose one by one, in the mean.

    A check-up is quick, and may have looked at a part. Nothing where there is nothing to score; nor
    where it would take long beside what the run has learned from, unless that is asked for.
    """
    held_out, vocabulary = corpus.held_out, corpus.vocabulary
    symbols, seen = len(held_out.ids), states[0].characters
    is_long = symbols > max(AT_ONCE, int(SHARE * seen))
    if states[0].best is None or not symbols or (is_long and not however_long):
        return {}
    networks = [
        LanguageModel(
            Parameters(one.parameters.architecture, one.best.flat), vocabulary, config.carry
        )
        for one in states
        if one.best is not None
    ]
    counts = None if counted is None else Counts(counted, vocabulary.symbols)
    scorer = scorer_of(Predictor(tuple(networks), counts), config.workers)
    nats, _ = scorer.read(held_out.ids)
    parts: dict[str, Floats] = {"network": nats}
    if isinstance(scorer, MixedScorer):
        parts = {**scorer.parts, **({"alone": scorer.mean_alone} if len(networks) > 1 else {})}
    return {name: tally(held_out.ids, cost) for name, cost in parts.items()}


class Together:
    """What all of them make of a fixed part of what is held out, at a small part of the cost."""

    def __init__(
        self, models: Sequence[LanguageModel], corpus: Corpus, config: Fitted, counted: Ids | None
    ) -> None:
        symbols = corpus.vocabulary.symbols
        self._part = part_of(corpus.held_out, max(1 << 8, min(PART, NUMBERS // symbols)))
        self._scorers = [
            NetworkScorer(one, config.workers, fast=True, keep_logits=True) for one in models
        ]
        self._of_counts = None
        if counted is not None:
            counts = Counts(counted, symbols)
            ids = self._part.examples.ids
            contexts, _ = counts.contexts_of(ids, counts.after_end())
            self._of_counts = np.log(counts.probabilities(contexts))

    @np.errstate(all="ignore")  # what overflows shows in the loss
    def gain(self) -> float:
        """By how many nats per character they are better than one of them, in the mean."""
        examples, counted = self._part
        ids = examples.ids
        alone = [scorer.nats_in_chunks(examples)[counted].mean() for scorer in self._scorers]
        o = mean_logits([scorer.logits for scorer in self._scorers if scorer.logits is not None])
        o = o.copy() if self._of_counts is None else mix_with_counts(o, self._of_counts)
        nats: Floats = nats_of(o, ids.astype(np.intp), UNKNOWN, ranking=False)[0].astype(np.float64)
        add_novelty(self._scorers[0].model, ids, nats, None)
        return float(np.mean(alone) - nats[counted].mean())

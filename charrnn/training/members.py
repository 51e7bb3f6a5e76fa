"""Several networks that train side by side, each from a seed of its own, as one run.

Each member trains exactly as it would alone; threads share the members. Events hold mean losses,
and a check-up also that of the mixture. The mean keeps the last check-up of a member that ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from charrnn.corpus.corpus import Corpus
from charrnn.network.parameters import LanguageModel
from charrnn.network.threads import Threads, results
from charrnn.scoring.predictor import check_mixable
from charrnn.settings.training import Ending, Fitted, TrainConfig, of_member
from charrnn.training.loop import Checkup, Done, Event, JointCheckups, Step, train
from charrnn.training.ranks import ALONE, Ranks
from charrnn.training.state import Best, Stopwatch, TrainState, progress, start
from charrnn.vocabulary import Ids


def check_mixture(config: TrainConfig) -> None:
    """Raise SettingError if the networks and counts of a run cannot be mixed."""
    if config.counts or config.members > 1:
        check_mixable(config.ends)


def start_all(
    corpus: Corpus, config: Fitted, model: LanguageModel | None = None
) -> tuple[TrainState, ...]:
    check_mixture(config)
    return tuple(start(corpus, of_member(config, i), model) for i in range(config.members))


def train_all(
    states: Sequence[TrainState],
    corpus: Corpus,
    config: Fitted,
    counted: Ids | None = None,
    ranks: Ranks = ALONE,
) -> Iterator[Event]:
    """Train all networks until the last has ended, changing the states in place."""
    runs = [
        train(state, corpus, replace(of_member(config, i), workers=config.threads_each), ranks)
        for i, state in enumerate(states)
    ]
    if len(runs) == 1 and counted is None:
        yield from runs[0]
        return
    pool = Threads(min(config.threads, len(runs)))
    joint = JointCheckups(states, corpus, config, counted)
    clock = Stopwatch()
    timed = config.minutes is not None and ranks.count == 1  # other ranks have no mixture
    why: Ending = "epochs"
    going = dict(enumerate(runs))
    while going:
        minutes = {i: states[i].minutes for i in going}
        clock.lap()
        if pool.most > 1:
            jobs = [pool.submit(next, run) for run in going.values()]
            events = dict(zip(going, results(jobs), strict=True))
        else:
            events = {i: next(run) for i, run in going.items()}
        still = {i for i, event in events.items() if not isinstance(event, Done)}
        checkups = {i: event for i, event in events.items() if isinstance(event, Checkup)}
        joint.latest |= checkups
        checkup = None
        if checkups and checkups.keys() == still:  # else it would come before their last step
            checkup = joint.mean(next(iter(checkups.values())).step)
        taken = clock.lap() / 60 / config.rounds
        for i in still if timed else ():  # each takes its part of the time, since all wait
            states[i].minutes = minutes[i] + taken
        if steps := [event for event in events.values() if isinstance(event, Step)]:
            share = 1 / len(steps)
            loss = sum(step.nats_per_character for step in steps) * share
            norm = sum(step.gradient_norm for step in steps) * share
            yield replace(steps[0], nats_per_character=loss, gradient_norm=norm)
        elif checkup is not None:
            yield checkup
        why = next((event.why for event in events.values() if isinstance(event, Done)), why)
        going = {i: going[i] for i in sorted(still)}
    yield Done(why)


def share_done(states: Sequence[TrainState], config: Fitted, symbols: int) -> float:
    """Return the share of a run on a corpus of that size that is done, from 0 to 1."""
    shares = [progress(state, of_member(config, i), symbols) for i, state in enumerate(states)]
    return sum(shares) / len(shares)


def mean_of_bests(bests: Sequence[tuple[int, float] | Best | None]) -> tuple[int, float] | None:
    """Return the step by which each network had its best check-up, and their mean loss, if any."""
    known = [best[:2] for best in bests if best is not None]
    if len(known) < len(bests):
        return None
    return max(step for step, _ in known), sum(nats for _, nats in known) / len(known)

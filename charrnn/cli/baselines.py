"""What there is to beat: the held-out loss of models that only count, each said as it is found."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from charrnn.cli import layout
from charrnn.cli.console import Talk
from charrnn.cli.layout import Growing
from charrnn.cli.loss_history import best_of
from charrnn.cli.numbers import of_bits
from charrnn.corpus.corpus import Corpus
from charrnn.scoring.markov import Baseline


def tell_baselines(found: Iterable[Baseline], corpus: Corpus, talk: Talk) -> dict[str, float]:
    """The loss of each, by name."""
    if talk.quiet or not len(corpus.held_out):
        return {one.name: one.nats_per_character for one in found}
    growing, losses, part = Growing("to beat", sys.stderr), {}, ""
    for one in found:
        growing.add(f"{one.name} {one.nats_per_character:.3f}")
        losses[one.name] = one.nats_per_character
        part = part_in_words(one, corpus)
    growing.close()
    if losses:
        layout.say([("", best_in_words(losses)), *([("", part)] if part else [])], sys.stderr)
    return losses


def best_in_words(losses: Mapping[str, float]) -> str:
    """Which is the best, and how good it is."""
    name = best_of(losses)
    return f"the best by counting: {name}, {of_bits(losses[name])} per held-out character"


def part_in_words(one: Baseline, corpus: Corpus) -> str:
    """Which part of a large corpus was counted and scored; nothing where it was all."""
    whole, held_out = len(corpus.train.ids), len(corpus.held_out.ids)
    if one.train_symbols >= whole and one.held_out_symbols >= held_out:
        return ""
    return (
        f"counted on {one.train_symbols / whole:.1%} of what is learned from, scored on"
        f" {one.held_out_symbols / held_out:.1%} of what is held out: evenly spaced pieces"
    )


def in_order(losses: Mapping[str, float]) -> dict[str, float]:
    """From the simplest to the longest memory; a file has them in the order of their names."""
    first = ("uniform", "unigram")

    def place(name: str) -> tuple[int, str]:
        return (first.index(name), "") if name in first else (len(name) + 1, name)

    return {name: losses[name] for name in sorted(losses, key=place)}


def remembered(losses: Mapping[str, float], corpus: Corpus) -> list[Baseline]:
    """What was found when the run began."""
    sizes = len(corpus.train.ids), len(corpus.held_out.ids)
    return [Baseline(name, nats, "none", *sizes) for name, nats in losses.items()]

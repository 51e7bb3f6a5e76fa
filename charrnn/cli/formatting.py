"""Numbers in words: how long, how many, how much."""

from __future__ import annotations

import math

TOGETHER = "\u00a0"  # a space at which no line ends


def clock(seconds: float) -> str:
    """A duration, at least a moment: 1.2 s, 12 s, 3:05 min, 2:03 h, 5 days."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 9.95:
        return f"{max(seconds, 0.1):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 60:
        return f"{minutes}:{whole % 60:02} min"
    return f"{hours}:{minutes % 60:02} h" if days < 3 else f"{days} days"


def counted(number: float) -> str:
    """A rate or a size, to three figures: 950, 58.2k, 1.25M."""
    units = iter(("", "k", "M"))
    unit = next(units)
    while number >= 999.5 and unit != "M":
        number /= 1000
        unit = next(units)
    digits = 0 if not unit or number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:.{digits}f}{unit}"


def bytes_in_words(number: float) -> str:
    """An amount of memory."""
    if number < 1 << 20:
        return f"{math.ceil(number / (1 << 10)):,} KiB"
    if number < 1 << 30:
        return f"{math.ceil(number / (1 << 20)):,} MiB"
    return f"{number / (1 << 30):,.1f} GiB"


def count(number: float, what: str, are: str = "") -> str:
    """1 layer, 2,000 layers, 0.5 minutes; where examples are lines, 1 line, 2 lines."""
    word = are.removesuffix("s") if are not in ("", "mixed") else what
    shown = f"{number:g}" if isinstance(number, float) else f"{number:,}"
    return f"{shown} {word}{'' if number == 1 else 's'}"


def epochs_in_words(done: int) -> str:
    """How often the corpus was read to its end."""
    return count(done, "epoch") if done else "less than 1 epoch"


def bits(nats: float) -> float:
    """The same in bits."""
    return nats / math.log(2)


def of_bits(nats: float) -> str:
    """A loss in both units."""
    return f"{nats:.3f} nats or {bits(nats):.3f} bits"


def of_held_out(nats: float, step: int | None, networks: int = 1) -> str:
    """The loss of the best check-up in all units, and when it was; a mean for several networks."""
    perplexity = f"perplexity {math.exp(min(nats, 700)):,.2f}"
    where = f"at step {step or 0:,}".replace(" ", TOGETHER)
    if networks > 1:
        where = f"each of {networks} alone, in the mean, by step {step or 0:,}"
    return f"{of_bits(nats)} per held-out character, {perplexity}, {where}"


def pieces_in_words(learned: float, scored: float, text: str) -> str:
    """Which part of a large corpus was counted and which of a text was scored; nothing where it was
    all.
    """
    if learned >= 1 and scored >= 1:
        return ""
    return (
        f"counted on {learned:.1%} of what is learned from, scored on {scored:.1%} of {text}:"
        " evenly spaced pieces"
    )

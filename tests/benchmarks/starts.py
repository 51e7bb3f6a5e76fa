"""Loss of short lists alone, and from models that come along: ``train LIST --from NAME``.

python -m tests.benchmarks starts

Each list is a random part of a longer one; 300 other lines of that are scored, or a third of it. No
line is known to a model: where a model has learned the list, it is trained again without the list.
Place names come from the time zones of Python, words from its manual; user names are made of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from functools import cache
from statistics import mean
from zoneinfo import available_timezones

import charrnn
from tests.make_models import LATIN, fitted, latin_lines, lines_of

SIZES = (8, 30, 100, 300, 1000)
SEEDS = (0, 1, 2)
SCORED = 300
NEAREST = {
    "given names": "given-names",
    "dinosaurs": "given-names",
    "place names": "given-names",
    "words": "verses",
    "user names": "given-names",
}
REGIONS = {"Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian"}
REGIONS |= {"Pacific"}


@cache
def own_lines() -> dict[str, list[str]]:
    """Return the lines of the corpora, the given names in a random order."""
    lines = {name: lines_of(name) for name in LATIN}
    random.Random(0).shuffle(lines[LATIN[0]])
    return lines


def known_half() -> list[str]:
    """Return the given names that models know when other given names are scored."""
    names = own_lines()[LATIN[0]]
    return names[: len(names) // 2]


@cache
def lists() -> dict[str, list[str]]:
    """Return the lists. No line of one occurs in the corpus of a model that it starts from."""
    from pydoc_data.topics import topics

    draw, own = random.Random(0), own_lines()
    names, genera, _ = own.values()
    known = {line.lower() for line in latin_lines(*own.values())}
    zones = (zone.split("/") for zone in available_timezones() if "/" in zone)
    places = [at[-1].replace("_", " ") for at in zones if at[0] in REGIONS]
    text = "\n".join(topics.values())
    words = sorted(set(re.findall(r"(?<![\w\\*])[a-z]{3,}(?![\w*])", text)) - known)

    def user() -> str:
        one, other = draw.choice(words), draw.choice(words)
        year = draw.choice(("", "", str(draw.randint(0, 99)), str(draw.randint(1950, 2015))))
        sign = draw.choice(("", "", "_", "-", "."))
        return draw.choice(
            (f"{one}{sign}{other[:5]}{year}", f"{one[:5]}{year}", other + sign + one)
        )

    return {
        "given names": names[len(names) // 2 :],
        "dinosaurs": genera,
        "place names": sorted({p for p in places if p.istitle() and p.lower() not in known}),
        "words": words,
        "user names": sorted({user() for _ in range(2000)} - known),
    }


@cache
def model_for(kind: str, name: str) -> charrnn.Model:
    """Return the model of this name, or one that does not know this list."""
    names, genera, verses = own_lines().values()
    if kind == "given names" and name == "given-names":
        return fitted(name, known_half())
    if kind == "given names":
        return fitted(name, latin_lines(known_half(), genera, verses))
    if (kind, name) == ("dinosaurs", "latin"):
        return fitted(name, latin_lines(names, [], verses))
    return charrnn.load(name)


def losses(kind: str, size: int, seed: int) -> dict[str, float]:
    """Return the nats per character of a list of this size on other lines, by what learned it."""
    lines = list(lists()[kind])
    random.Random(seed).shuffle(lines)
    held_out = min(SCORED, len(lines) // 3)
    learned, scored = lines[held_out:][:size], lines[:held_out]
    if len(learned) < size:
        return {}
    alone = charrnn.fit(learned, seed=seed, counts=True)
    found = {use: alone.score(scored, use=use) for use in ("network", "counts")}
    for column, name in (("latin", "latin"), ("nearest", NEAREST[kind])):
        model = charrnn.fit(learned, seed=seed, start_from=model_for(kind, name))
        found[column] = model.score(scored)
    return {column: score.nats_per_character for column, score in found.items()}


def report(kinds: Iterable[str] = NEAREST, sizes: Iterable[int] = SIZES) -> None:
    """Print a row for each list and size: means over the seeds."""
    print("| list | lines | counts | network alone | from latin | from | nearest |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for kind in kinds:
        for size in sizes:
            rows = [row for seed in SEEDS if (row := losses(kind, size, seed))]
            if rows:
                means = [f"{mean(row[name] for row in rows):.3f}" for name in rows[0]]
                network, counts, latin, nearest = means
                cells = (kind, f"{size:,}", counts, network, latin, NEAREST[kind], nearest)
                print(f"| {' | '.join(cells)} |", flush=True)

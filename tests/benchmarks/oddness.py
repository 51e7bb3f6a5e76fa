"""Which of network, counts and both tells odd texts from normal ones, after half a minute.

The normal texts are the held-out words of Python's own manual. Odd are the same words with their
letters shuffled, or with one letter replaced. The area is the share of pairs, one normal and one
odd, of which the odd text has more bits per character.
"""

import random
import re
import string
from pydoc_data.topics import topics

import charrnn
from charrnn.prediction.predictor import Use

USES: tuple[Use, ...] = ("network", "counts", "both")
MINUTES = 0.5


def shuffled(word: str, r: random.Random) -> str:
    return "".join(r.sample(word, len(word)))


def with_another_letter(word: str, r: random.Random) -> str:
    at = r.randrange(len(word))
    return word[:at] + r.choice(string.ascii_lowercase.replace(word[at], "")) + word[at + 1 :]


def area(normal: list[float], odd: list[float]) -> float:
    """Return the share of pairs in which the odd text has the larger number; a tie is a half."""
    return sum((a < b) + (a == b) / 2 for a in normal for b in odd) / len(normal) / len(odd)


def report() -> None:
    """Print the areas, for both kinds of odd words and by use."""
    words, r = re.findall(r"\b[a-z]{4,}\b", " ".join(topics.values())), random.Random(1)
    words = sorted({*words})
    r.shuffle(words)
    held_out, learned = words[: len(words) // 5], words[len(words) // 5 :]
    model = charrnn.fit(learned, minutes=MINUTES, counts=True)
    print(f"{len(learned):,} words learned, {len(held_out):,} held out\n")
    print(f"| odd words | {' | '.join(USES)} |\n|---|{'---|' * len(USES)}")
    for change in (shuffled, with_another_letter):
        odd = [change(word, r) for word in held_out]
        areas = []
        for use in USES:
            scored = [model.scores(texts, use=use) for texts in (held_out, odd)]
            normal_bits, odd_bits = ([one.bits_per_character for one in of] for of in scored)
            areas.append(f"{area(normal_bits, odd_bits):.3f}")
        print(f"| {change.__name__.replace('_', ' ')} | {' | '.join(areas)} |")

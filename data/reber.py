r"""Draw strings from the embedded Reber grammar, and say exactly how probable each one is.

The inner grammar (Reber 1967) is this automaton; wherever two arrows leave a state, each is
taken with probability 1/2:

                     .-S-.
                      \ v
                T ---> 2 -X-> 4 --S--.
               /            / ^       \
              /            /  |        \
    -- B --> 1            X   P         6 -- E -->
              \          /    |        /
               \        v     |       /
                P ---> 3 -V-> 5 --V--'
                      / ^
                     '-T-'

The embedded grammar (the first benchmark of Hochreiter & Schmidhuber 1997) wraps one inner
string in a choice to be remembered across it:

              T --> [ inner ] --> T
             /                     \
    -- B -->                        --> E --> done
             \                     /
              P --> [ inner ] --> P

So BTBPVVETE is a string of the grammar and BTBPVVEPE is not. Run this file to write reber.txt
beside it: 4,000 draws, one a line, in the order drawn, repeats and all.
"""

import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

SEED = 1997
STRINGS = 4000
START, DONE = "start", "done"

Branches = list[tuple[str, str]]  # (symbol, next state), all equally probable

INNER: dict[int, list[tuple[str, int]]] = {
    0: [("B", 1)],
    1: [("T", 2), ("P", 3)],
    2: [("S", 2), ("X", 4)],
    3: [("T", 3), ("V", 5)],
    4: [("X", 3), ("S", 6)],
    5: [("P", 4), ("V", 6)],
    6: [("E", 7)],
}


def _embed() -> dict[str, Branches]:
    """Return the whole grammar: two copies of INNER, T0 to T7 and P0 to P7, and the wrapping."""
    table: dict[str, Branches] = {
        START: [("B", "choice")],
        "choice": [("T", "T0"), ("P", "P0")],
        "last": [("E", DONE)],
    }
    for outer in "TP":
        for state, branches in INNER.items():
            table[f"{outer}{state}"] = [(symbol, f"{outer}{after}") for symbol, after in branches]
        table[f"{outer}7"] = [(outer, "last")]
    return table


# Every state but DONE. No state has two branches with the same symbol, so a string has one path.
GRAMMAR = _embed()


def draw(rng: random.Random) -> str:
    """Return one string of the grammar, drawn with its own probability."""
    state, string = START, ""
    while state != DONE:
        branches = GRAMMAR[state]
        # random() is the one method Python promises to keep the same for a given seed.
        symbol, state = branches[int(len(branches) * rng.random())]
        string += symbol
    return string


def nats(string: str) -> float:
    """Return -log P(string), exactly; math.inf if the grammar cannot make the string."""
    state, choices = START, 0
    for symbol in string:
        after = dict(GRAMMAR.get(state, [])).get(symbol)
        if after is None:
            return math.inf
        choices += len(GRAMMAR[state]) == 2
        state = after
    return choices * math.log(2) if state == DONE else math.inf


def _expected(gain: Callable[[int], float]) -> float:
    """Return the expected sum of gain(number of branches) over the states a string passes.

    From each state the expected sum is its own gain plus the mean over its branches of the
    expected sum from there: a linear system, one equation a state, with nothing left at DONE.
    """
    row = {state: number for number, state in enumerate(GRAMMAR)}
    system = np.eye(len(GRAMMAR))
    for state, branches in GRAMMAR.items():
        for _, after in branches:
            if after != DONE:
                system[row[state], row[after]] -= 1 / len(branches)
    gains = np.array([gain(len(branches)) for branches in GRAMMAR.values()])
    return float(np.linalg.solve(system, gains)[row[START]])


def entropy_nats() -> float:
    """Return the expected nats(string) of a draw: the least mean loss any model can have."""
    return _expected(math.log)


def expected_length() -> float:
    """Return the expected number of characters of a draw, with no end symbol counted."""
    return _expected(lambda _: 1.0)


def main() -> None:
    """Write reber.txt beside this file; print the grammar's entropy and expected length."""
    rng = random.Random(SEED)
    text = "".join(draw(rng) + "\n" for _ in range(STRINGS))
    Path(__file__).with_name("reber.txt").write_text(text, encoding="ascii", newline="\n")
    print(f"entropy: {entropy_nats():.6f} nats a string")
    print(f"expected length: {expected_length():.6f} characters a string")


if __name__ == "__main__":
    main()

"""How far training on many machines goes, calculated: no network was there to try it on.

    T(P) = C + A + 8 n (P - 1) / P / B + (2 h + log2 P) L

Each of P machines finds the gradient of its lanes in C seconds and takes the step in A. Of n
numbers, of four bytes each, it sends (P - 1) / P twice, at B bytes a second: to whom adds them up,
and the sums to all. Each time it waits for h messages of L seconds: P - 1 where one follows the
other, log2 P where they go along a tree; and once more along a tree for the nats. Machines that
wait for a slower one are not in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

BYTES_IN_A_GIGABIT = 0.11e9  # a second, as they arrive: some are spent on the way
MACHINES = (2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Costs:
    """What one machine does in a step, and what lies between it and the others."""

    gradient: float  # seconds
    update: float  # seconds, of clipping and Adam
    numbers: int  # that are learned
    bandwidth: float  # bytes a second
    latency: float  # seconds, of a message

    def step(self, machines: int, *, tree: bool) -> float:
        """The seconds of a step of so many."""
        deep = math.log2(machines)
        sent = 8 * self.numbers * (machines - 1) / machines
        messages = 2 * (deep if tree else machines - 1) + deep
        return self.gradient + self.update + sent / self.bandwidth + messages * self.latency

    def efficiency(self, machines: int, *, tree: bool) -> float:
        """The share of their time in which so many do what one would, each with as many lanes."""
        return self.step(1, tree=tree) / self.step(machines, tree=tree)


def table(costs: dict[str, Costs]) -> list[str]:
    """A row for each: the efficiencies with messages one by one, and along a tree."""
    rows = [f"| | {' | '.join(map(str, MACHINES))} |", f"|---|{'---|' * len(MACHINES)}"]
    for name, cost in costs.items():
        shares = [
            f"{cost.efficiency(count, tree=False):.2f} / {cost.efficiency(count, tree=True):.2f}"
            for count in MACHINES
        ]
        rows.append(f"| {name} | {' | '.join(shares)} |")
    return rows

"""A formula for the speed of training on many machines.

    T(P) = C + A + 8 n (P - 1) / P / B + (2 h + log2 P) L

Each of P machines computes the gradient of its lanes in C seconds and the update in A seconds. It
sends (P - 1) / P of n numbers of four bytes twice, at B bytes a second: the parts to be summed, and
the sums. Both times it waits for h messages with a latency of L seconds: h is P - 1 in a ring and
log2 P in a tree. One more tree of messages sums the nats. Waiting for slower machines is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

BYTES_IN_A_GIGABIT = 0.11e9  # a second, as they arrive: some are spent on the way
MACHINES = (2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Costs:
    """Costs of a step on one machine, and of its network."""

    gradient: float  # seconds
    update: float  # seconds, of clipping and Adam
    numbers: int  # that are learned
    bandwidth: float  # bytes a second
    latency: float  # seconds, of a message

    def step(self, machines: int, *, tree: bool) -> float:
        """Return the seconds of a step on this many machines."""
        deep = math.log2(machines)
        sent = 8 * self.numbers * (machines - 1) / machines
        messages = 2 * (deep if tree else machines - 1) + deep
        return self.gradient + self.update + sent / self.bandwidth + messages * self.latency

    def efficiency(self, machines: int, *, tree: bool) -> float:
        """Return the efficiency of this many machines, each with the same number of lanes."""
        return self.step(1, tree=tree) / self.step(machines, tree=tree)


def table(costs: dict[str, Costs]) -> list[str]:
    """Return a row for each: the efficiencies of a ring and of a tree."""
    rows = [f"| | {' | '.join(map(str, MACHINES))} |", f"|---|{'---|' * len(MACHINES)}"]
    for name, cost in costs.items():
        shares = [
            f"{cost.efficiency(count, tree=False):.2f} / {cost.efficiency(count, tree=True):.2f}"
            for count in MACHINES
        ]
        rows.append(f"| {name} | {' | '.join(shares)} |")
    return rows

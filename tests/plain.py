"""A network and what is done with it, written for clarity: one text, one symbol after the other."""

import math
from typing import Any

import numpy as np

from charrnn.network.arrays import Array64
from charrnn.network.parameters import LanguageModel, Parameters, count_features
from charrnn.prediction.sampling import keys, uniform
from charrnn.settings.drawing import SampleConfig
from charrnn.text.vocabulary import END, SCALARS, UNKNOWN


def sigmoid(a: Array64) -> Array64:
    s: Array64 = np.exp(-np.logaddexp(0, -a))
    return s


class PlainNetwork:
    """A network that reads a text, whose length it may be told: the equations of the cells."""

    def __init__(self, model: LanguageModel, tau: int = 0) -> None:
        self.model, self.tau, self.read = model, tau, 0
        a = model.architecture
        self.p = Parameters(a, model.parameters.flat.astype(np.float64))
        zeros = [np.zeros(a.hidden) for _ in a.cell.states]  # h, c
        self.states = {layer: list(zeros) for layer in range(1, a.layers + 1)}
        self.o = self.p["c"]

    def step(self, x: int) -> Array64:
        """Read a symbol and return the outputs (10.8) to (10.10)."""
        p, a, counts = self.p, self.model.architecture, {"clock": self.read, "to_come": 0}
        counts["to_come"] = self.tau - self.read
        below = self.o
        for layer, state in self.states.items():
            fed = np.eye(a.symbols)[x] if a.forced else self.o
            u = p[f"U{layer}"] @ below if layer > 1 else p["U1"][x].copy()
            for name in a.inputs if layer == 1 else ():
                counted = np.array([counts[name]])
                u += (p[f"U1.{name}"] @ count_features(name, counted, np.float64)[0]).ravel()
            wh = p[f"W{layer}"] @ (fed if a.cell.feeds_back else state[0])
            gates = (u + p[f"b{layer}"]).reshape(-1, a.hidden), wh.reshape(-1, a.hidden)
            self.states[layer] = next_state(a.cell_name, *gates, state, p.get(f"d{layer}"))
            below = self.states[layer][0]
        self.read += 1
        self.o = p["V"] @ below + p["c"]
        return self.o

    def log_p(self, x: int) -> Array64:
        """Read a symbol and return log P of each symbol that may come next (10.11)."""
        o, head = self.step(x), self.model.architecture.head_name
        if head == "symbol":
            log_p: Array64 = o - np.logaddexp.reduce(o)
            return log_p
        ends, others = (-np.logaddexp(0, -o[END]), -np.logaddexp(0, o[END])), o[1:]
        if head == "length":
            ends = (-np.inf, 0.0)  # the length says where the end is
        rest: Array64 = ends[1] + others - np.logaddexp.reduce(others)
        return np.append(ends[0], rest)


def next_state(cell: str, a: Array64, wh: Array64, state: list[Array64], d: Any) -> list[Array64]:
    if cell == "gru":
        r, z = sigmoid(a[0] + wh[0]), sigmoid(a[1] + wh[1])
        n = np.tanh(a[2] + r * (wh[2] + d))
        return [(1 - z) * n + z * state[0]]
    if cell == "lstm":
        i, f, o = (sigmoid(a[k] + wh[k]) for k in (0, 1, 3))
        c = f * state[1] + i * np.tanh(a[2] + wh[2])
        return [o * np.tanh(c), c]
    return [np.tanh(a[0] + wh[0])]


def cost(model: LanguageModel, log_p: Array64, y: int) -> float:
    """Return -log P(y), where a new character takes its share of the novelty."""
    novelty, p = model.vocabulary.novelty, math.exp(log_p[y]) if y == UNKNOWN else 0.0
    if y != UNKNOWN:
        return float(-log_p[y] - math.log1p(-novelty))
    unseen = SCALARS - len(model.vocabulary.characters)
    return -math.log((p * (1 - novelty) + novelty) / unseen)


def length_cost(p: Parameters, tau: int) -> float:
    """Return -log P(tau) of a mixture of log-logistic distributions over [tau, tau + 1)."""
    w = np.exp(p["tau.share"]) / np.exp(p["tau.share"]).sum()
    total = 0.0
    for share, place, width in zip(w, p["tau.place"], p["tau.width"], strict=True):
        spread = math.exp(min(3.0, max(-6.0, width)))
        first, last = ((math.log(n) - place) / spread if n else -700 for n in (tau, tau + 1))
        if last > 0:  # both are near 1: their distances from it are precise
            first, last = -last, -first
        total += share * float(sigmoid(np.array(last)) - sigmoid(np.array(first)))
    return -math.log(total) if total else math.inf


def plain_costs(model: LanguageModel, text: str) -> tuple[list[float], list[int]]:
    """Return the cost of each character and of the end, and ranks: 1 if none is likelier."""
    ids = [*model.vocabulary.encode(text).tolist(), END]
    network, costs, ranks = PlainNetwork(model, len(text)), [], []
    for x, y in zip([END, *ids], ids, strict=False):
        log_p = network.log_p(x)
        likelier = [k for k in range(len(log_p)) if k != UNKNOWN and log_p[k] > log_p[y]]
        costs.append(0.0 if log_p[y] == -np.inf else cost(model, log_p, y))
        ranks.append(len(log_p) if y == UNKNOWN else 1 + len(likelier))
    if model.architecture.head_name == "length":
        costs[-1] = length_cost(network.p, len(text))
    return costs, ranks


def plain_draw(
    model: LanguageModel, config: SampleConfig, prime: str, number: int, attempt: int = 0
) -> tuple[str, float, str]:
    """Draw a text symbol by symbol: its characters, its cost, and what ended it."""
    network, nats, text = PlainNetwork(model), 0.0, prime
    log_p = network.log_p(END)
    for y in model.vocabulary.encode(prime).tolist():
        nats += cost(model, log_p, y)
        log_p = network.log_p(y)
    for step in range(config.max_characters):
        shown = log_p.copy()
        shown[UNKNOWN] = -np.inf
        if not text:
            shown[END] = -np.inf
        chance = uniform(keys(config.seed or 0, [number], [attempt]), step, 1)[0, 0]
        y = chosen(shown - shown.max(), config, float(chance))
        nats += cost(model, log_p, y)
        if y == END:
            return text, nats, "end"
        text += model.vocabulary.decode(np.array([y]))
        log_p = network.log_p(y)
    return text, nats, "limit"


def chosen(log_p: Array64, config: SampleConfig, chance: float) -> int:
    """Return the symbol that this chance draws."""
    if config.temperature == 0:
        return int(log_p.argmax())
    weights = dict(enumerate(np.exp(log_p / config.temperature).tolist()))
    ranked = sorted(weights, key=lambda k: -weights[k])[: config.top_k]
    total, kept = sum(weights[k] for k in ranked), list[int]()
    for k in ranked:
        if not kept or sum(weights[j] for j in kept) < (config.top_p or 1) * total:
            kept.append(k)
    room = chance * sum(weights[k] for k in kept)
    for k in sorted(kept):
        room -= weights[k]
        if room < 0:
            return k
    return max(kept)

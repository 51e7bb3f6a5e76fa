"""The unfolded network of figure 10.3 on one text: every value of every step, and its equation.

Losses and states are those of scoring, to the last bit. Gradients come from the code that trains:
the cells of its layers note dL/dh on the way back. An equation is a template such as "tanh {a(t)}".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from charrnn.analysis import LENGTH, stretches
from charrnn.errors import SettingError
from charrnn.network.layer import Layer
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.rounding import OFTEN, Array, Array64, Integers, States
from charrnn.network.unfolded import Unfolded, Window
from charrnn.scoring.predictor import softmax
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import END, REPLACEMENT

BACKWARD: Final = "dL/"  # begins the names of gradients
LIKELIEST: Final = 5
NAME: Final = re.compile(r"\{([^}]+)\}")


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the figure at all steps: a layer, the output or the loss."""

    values: dict[str, Array]  # (T, N) each; 1 in place of T or N if all steps or units share it
    equations: Mapping[str, str]  # value -> template
    cells: Sequence[str] = ()  # the values that are drawn

    def at(self, name: str, t: int, unit: int) -> float:
        """Return a value at step t, counted from 0; "h(t-1)" is that of the step before."""
        if name not in self.values:
            name, _, when = name.rpartition("(")
            t -= when == "t-1)"
        rows = self.values[name]
        return float(rows[t % len(rows), unit % rows.shape[1]]) if t >= 0 else 0.0

    def filled(self, name: str, t: int, unit: int) -> str:
        """Return the equation of a value with the numbers of a unit."""

        def number(found: re.Match[str]) -> str:
            shown = f"{self.at(found[1], t, unit):.4g}"
            return f"({shown})" if shown.startswith("-") else shown

        template = self.equations[name].partition("  ")[0]
        return f"{self.at(name, t, unit):.4g} = {NAME.sub(number, template)}"


@dataclass(frozen=True, eq=False)
class Unfolding:
    """A text of T - 1 characters and its END, over K symbols."""

    symbols: list[str]  # K names
    reads: list[str]  # T names: END comes first
    targets: list[str]  # T names: END comes last
    counts: dict[str, Integers]  # (T,) each: the inputs besides symbols
    layers: list[Part]
    output: Part
    loss: Part
    gradient: Parameters  # of the sum of the losses

    @property
    def nats(self) -> float:
        return float(self.loss.values["L"].sum())

    def likeliest(self, t: int) -> list[int]:
        """Return the likeliest symbols after step t."""
        order = np.argsort(-self.output.values["y_hat"][t], kind="stable")
        return [int(symbol) for symbol in order[:LIKELIEST]]

    def norms(self, value: str) -> Array64:
        """Return the norm of a value over the units of all layers, (T,)."""
        squares = [np.square(part.values[value]).sum(1) for part in self.layers]
        return np.asarray(np.sqrt(np.sum(squares, 0)))

    def as_json(self, *, backward: bool) -> dict[str, Any]:
        """Return everything; END is None."""

        def in_json(part: Part) -> dict[str, Any]:
            kept = [name for name in part.values if backward or BACKWARD not in name]
            equations = {name: part.equations[name] for name in part.equations if name in kept}
            values = {name: part.values[name].tolist() for name in kept}
            return {"values": values, "equations": equations}

        h, d_h = self.norms("h").tolist(), self.norms("dL/dh").tolist()
        reads, targets = [None, *self.reads[1:]], [*self.targets[:-1], None]
        steps = [
            {"reads": reads[t], "target": targets[t], "nats": self.loss.at("L", t, 0)}
            | {"norm_h": h[t], "norm_dh": d_h[t]}
            | {name: int(count[t]) for name, count in self.counts.items()}
            for t in range(len(h))
        ]
        symbols = [None, *self.symbols[1:]]
        found = {
            "text": "".join(self.reads[1:]),
            "nats": self.nats,
            "symbols": symbols,
            "steps": steps,
        }
        found |= {"layers": [in_json(layer) for layer in self.layers]}
        found |= {"output": in_json(self.output), "loss": in_json(self.loss)}
        if backward:
            norms = {name: float(np.linalg.norm(array)) for name, array in self.gradient.items()}
            found["gradient"] = norms
        return found


def unfold(model: LanguageModel, text: str) -> Unfolding:
    """Compute all values of a text."""
    if len(text) >= LENGTH:
        what = f"the text has {len(text):,} characters, and at most {LENGTH - 1} can be unfolded"
        raise SettingError(what, "Give a shorter text.")
    head, vocabulary = model.architecture.head, model.vocabulary
    own = Parameters(model.architecture, model.parameters.flat.astype(np.float64))
    p, of_plain, gradient = model.parameters.exact(), own.plain().like(), own.like()
    ids = np.append(vocabulary.encode(text), np.array(END, vocabulary.dtype))
    scorer = NetworkScorer(model, keep_logits=True)
    nats, _ = scorer.read(ids)
    logits, steps = scorer.logits, np.arange(len(ids))
    assert logits is not None
    settles = (steps % OFTEN == OFTEN - 1)[:, None]
    window = replace(stretches(ids, carry=model.carry), settles=settles)
    unfolded = Unfolded(p.architecture, len(ids), 1, np.float64, model.architecture.grid)
    unfolded.read(p, window)
    layers = [
        layer_at(number, own, p, unfolded, window) for number in range(1, len(unfolded.layers) + 1)
    ]
    for state in unfolded.states:
        state[0] = 0  # reading has moved it on
    unfolded.nats_and_gradient(p, window, of_plain)
    own.gradient_from(of_plain, gradient)
    for layer, part in zip(unfolded.layers, layers, strict=True):
        d_a = np.concatenate(layer.d_ux(len(ids)), 1)
        part.values["dL/da"] = d_a

    y = window.y[:, 0]
    o, y_hat = layers[-1].values["h"] @ p["V"].T + own["c"], softmax(logits)
    d_o = y_hat.copy()
    head.gradient(d_o, steps * y_hat.shape[1] + y, 1.0)
    values = {"o": o, "c": own["c"][None], "V h(t)": o - own["c"], "y_hat": y_hat, "dL/do": d_o}
    values |= {"logit": logits, "log sum exp": np.logaddexp.reduce(logits, 1)[:, None]}
    values |= {"1 at y(t)": np.eye(y_hat.shape[1])[y]}
    equations = {
        "o": "{c} + {V h(t)}  (10.10)",
        "y_hat": "exp({logit(t)} - {log sum exp})  (10.11)",
    }
    output = Part(values, equations | dict(head.equations))
    cost = -np.log(np.maximum(y_hat[steps, y], 1e-300))
    if head.lengths is not None:
        cost[y == END] = head.lengths.nats(p, steps[-1:])
    room = "room for unknown characters"
    values = {"L": nats[:, None], "P(y(t))": np.exp(-cost)[:, None], room: (nats - cost)[:, None]}
    loss = Part(values, {"L": f"-log {{P(y(t))}} + {{{room}}}  (10.14)"})
    counts = {name: getattr(window, name)[:, 0] for name in own.architecture.inputs}
    symbols = ["END", chr(REPLACEMENT), *vocabulary.characters]
    texts = [symbols[END], *text], [*text, symbols[END]]
    return Unfolding(symbols, *texts, counts, layers, output, loss, gradient)


def layer_at(
    number: int, own: Parameters, p: Parameters, unfolded: Unfolded, window: Window
) -> Part:
    """Return the values of a layer that has read the window, and make its way back note dL/dh."""
    layer, cell, x = unfolded.layers[number - 1], own.architecture.cell, window.x[:, 0]
    equations, gates = dict(cell.equations), list(cell.equations)[: cell.gates]
    values = {
        name: state[1:, 0].copy() for name, state in zip(cell.states, layer.states, strict=True)
    }
    h, b = values["h"], own[f"b{number}"]
    wh = np.vstack([np.zeros_like(h[:1]), h[:-1]]) @ p[f"W{number}"].T + p[f"b{number}"] - b
    if number == 1:
        ux = own["U1"][x]
        wh += p["U1"][x] - ux  # of a network that reads the true y(t-1)
        for name in own.architecture.inputs:
            ux = ux + unfolded.seen(name, window)[:, 0] @ p[f"U1.{name}"].T
    else:
        ux = unfolded.layers[number - 2].h[1:, 0] @ p[f"U{number}"].T
    terms = {"W": wh, "U": ux, "b": b[None], "d": own.get(f"d{number}", b)[None]}
    for i, gate in enumerate(gates):
        for name in NAME.findall(equations[gate]):
            if (term := terms.get(name[0])) is not None:
                block = np.split(term, range(len(h[0]), term.shape[1], len(h[0])), 1)
                values[name] = block[min(i, len(block) - 1)]
        values[gate] = wh + ux + b if cell.gates == 1 else layer.ux[i, :, 0].copy()
    if number < own.architecture.layers and "dL/dh" in equations:
        equations["dL/dh"] = equations["dL/dh"].replace("V' dL/do(t)", "U' dL/da(t) from above")
    back, above = NAME.findall(equations.get("dL/dh", "{back}{above}"))
    note_gradient(layer, values, back, above)
    return Part(values, equations, [*cell.states, *gates[: cell.gates * (cell.gates > 1)]])


def note_gradient(layer: Layer, values: dict[str, Array], back: str, above: str) -> None:
    """Make the cell of a layer note dL/dh on the way back, and its two parts."""
    steps, _, hidden = layer.d.shape
    values["dL/dh"], values[back], values[above] = np.zeros((3, steps, hidden))
    before, left = layer.cell.backward, iter(range(steps - 1, -1, -1))

    def backward(d_after: States, ux: Array, tape: Array, kept: Array, d_before: States) -> None:
        if (t := next(left)) == steps - 1:
            values[above][...] = layer.d[:, 0]
        values["dL/dh"][t] = d_after[0][0]
        values[back][t] = d_after[0][0] - values[above][t]
        before(d_after, ux, tape, kept, d_before)

    layer.cell = replace(layer.cell, backward=backward)


def bands(name: str, values: Array) -> Integers:
    """Return the colour of each value, from 0 for -1 or less to 6 for 1 or more.

    The largest gradients have the strongest colours; a tenth of them has the next.
    """
    levels = 3 * values.clip(-1, 1)
    if name.startswith(BACKWARD):
        most = float(np.abs(values).max(initial=0)) or 1.0
        tenths = np.log10((np.abs(values) / most).clip(1e-3))
        levels = np.sign(values) * (np.ceil(tenths) + 3)
    return np.asarray(np.rint(levels) + 3, np.intp)

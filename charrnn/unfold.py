"""The unfolded network of figure 10.3 for one text: every number of every step.

    L(1)   L(2)   L(3)           (10.14)
    o(1)   o(2)   o(3)           (10.10), (10.11)
    h(1)-> h(2)-> h(3)           (10.8), (10.9), or the equations of a gated cell
    x(1)   x(2)   x(3)

Losses and states are those of scoring, to the last bit; gradients come from the code that trains.
An equation is a template with the names of values: "{b} + {Wh} + {Ux}".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from charrnn.analysis import LENGTH, stretches
from charrnn.errors import SettingError
from charrnn.network.architecture import Architecture
from charrnn.network.cells import Cell
from charrnn.network.layer import Layer
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.rounding import OFTEN, Array, Array64, Integers, States
from charrnn.network.unfolded import Unfolded, Window
from charrnn.scoring.predictor import softmax
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import END, UNKNOWN

LETTERS: Final = {  # value -> how the book writes it, and the number of its equation, if any
    "a": ("a(t)", "10.8"),
    "h": ("h(t)", "10.9"),
    "o": ("o(t)", "10.10"),
    "y_hat": ("y_hat(t)", "10.11"),
    "L": ("L(t)", "10.14"),
    "do": ("dL/do(t)", "10.18"),
    "dh": ("dL/dh(t)", "10.19, 10.21"),
    "da": ("dL/da(t)", "10.20"),
    **{name: (name, "") for name in "bdc"},
    "Wh": ("W h(t-1)", ""),
    "Ux": ("U x(t)", ""),
    "Vh": ("V h(t)", ""),
    "log_sum": ("log sum exp", ""),
    "hit": ("1[y(t)]", ""),
    "P": ("P(y(t))", ""),
    "above": ("V' dL/do(t)", ""),
    "back": ("W' diag(1 - h(t+1)^2) dL/dh(t+1)", ""),
    "room": ("room for new characters", ""),
}
BACKWARD: Final = ("do", "hit", "dh", "above", "back", "da")
LIKELIEST: Final = 5
VALUE: Final = re.compile(r"\{([^}]+)\}")


class Equation(NamedTuple):
    value: str  # the name of its result
    number: str  # in the book, or ""
    letters: str
    template: str  # with the names of values in braces


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the figure at all steps."""

    values: dict[str, Array]  # (T, N) each; 1 in place of T or N if all steps or units share it
    equations: list[Equation]
    cells: Sequence[str] = ()  # values to draw as cells, the most important first

    def at(self, name: str, t: int, unit: int) -> float:
        """Return a value at step t, counted from 0; "h-" is the h of the step before."""
        t, name = (t - 1, name[:-1]) if name.endswith("-") else (t, name)
        rows = self.values[name]
        return float(rows[t % len(rows), unit % rows.shape[1]]) if t >= 0 else 0.0

    def filled(self, equation: Equation, t: int, unit: int) -> str:
        """Return an equation with the numbers of a unit."""
        numbers = (f"{self.at(name, t, unit):.4g}" for name in VALUE.findall(equation.template))
        signed = iter([f"({one})" if one.startswith("-") else one for one in numbers])
        right = VALUE.sub(lambda _: next(signed), equation.template)
        return f"{self.at(equation.value, t, unit):.4g} = {right}"

    def as_json(self, *, backward: bool) -> dict[str, object]:
        """Return the values by name, and the equations."""
        kept = [name for name in self.values if backward or not is_backward(name)]
        return {
            "values": {name: self.values[name].tolist() for name in kept},
            "equations": [one._asdict() for one in self.equations if one.value in kept],
        }


@dataclass(frozen=True, eq=False)
class Unfolding:
    """The values of a text with T steps, over K symbols."""

    text: str
    symbols: list[str]  # K
    x: Integers  # (T,) the symbols read: END comes first
    y: Integers  # (T,) the targets: END comes last
    ranks: Integers  # (T,) of the targets
    counts: dict[str, Integers]  # (T,) each: inputs besides symbols
    layers: list[Part]
    output: Part  # (T, K)
    loss: Part  # (T, 1)
    gradient: Parameters  # of the sum of the losses

    @property
    def nats(self) -> float:
        return float(self.loss.values["L"].sum())

    def likeliest(self, t: int) -> list[int]:
        """Return the likeliest symbols after step t."""
        order = np.argsort(-self.output.values["y_hat"][t], kind="stable")
        return [int(symbol) for symbol in order[:LIKELIEST]]

    def name(self, symbol: int, t: int) -> str:
        """Return the name of the symbol before (t) or after (t + 1) a step; a new one is itself."""
        return self.text[t - 1] if symbol == UNKNOWN else self.symbols[symbol]

    def norms(self, value: str) -> Array64:
        """Return the norm of a value of the layers at each step, over all layers, (T,)."""
        squares = [np.square(part.values[value]).sum(1) for part in self.layers]
        return np.asarray(np.sqrt(np.sum(squares, 0)))


def unfold(model: LanguageModel, text: str) -> Unfolding:
    """Compute all values of a text and its END."""
    if len(text) >= LENGTH:
        what = f"the text has {len(text):,} characters, and at most {LENGTH - 1} can be unfolded"
        raise SettingError(what, "Give a shorter text.")
    head, vocabulary = model.architecture.head, model.vocabulary
    own = Parameters(model.architecture, model.parameters.flat.astype(np.float64))
    p = model.parameters.exact()
    ids = np.append(vocabulary.encode(text), np.array(END, vocabulary.dtype))
    scorer = NetworkScorer(model, ranking=True, keep_logits=True)
    nats, ranks = scorer.read(ids)
    logits = scorer.logits
    assert logits is not None
    assert ranks is not None
    steps = np.arange(len(ids))
    settles = (steps % OFTEN == OFTEN - 1)[:, None]
    window = replace(stretches(ids, carry=model.carry), settles=settles)
    unfolded = Unfolded(p.architecture, len(ids), 1, np.float64, model.architecture.grid)
    unfolded.read(p, window)
    layers = [layer_part(i, own, p, unfolded, window) for i in range(len(unfolded.layers))]
    for state in unfolded.states:
        state[0] = 0  # reading has moved it on
    for layer, part in zip(unfolded.layers, layers, strict=True):
        watch(layer, part.values)
    of_plain, gradient = p.like(), own.like()
    unfolded.nats_and_gradient(p, window, of_plain)
    own.gradient_from(of_plain, gradient)
    for layer, part in zip(unfolded.layers, layers, strict=True):
        part.values["back"] = part.values["dh"] - part.values["above"]
        gates = prefixes(layer.cell)
        for gate, d_a in zip(gates, layer.d_ux(len(ids)), strict=True):
            part.values[f"{gate}da"] = d_a

    y, o = window.y[:, 0], layers[-1].values["h"] @ p["V"].T + own["c"]
    y_hat = softmax(logits)
    d_o, at_y = y_hat.copy(), steps * y_hat.shape[1] + y
    head.gradient(d_o, at_y, 1.0)
    sums = np.logaddexp.reduce(logits, 1)[:, None]
    values = {"c": own["c"][None], "Vh": o - own["c"], "o": o, "logit": logits, "log_sum": sums}
    values |= {"y_hat": y_hat, "hit": np.eye(y_hat.shape[1])[y], "do": d_o}
    equations = {"o": "{c} + {Vh}", **head.equations}
    output = Part(values, [equation(*one) for one in equations.items()])
    cost = -np.log(np.maximum(y_hat[steps, y], 1e-300))
    if head.lengths is not None:
        cost[y == END] = head.lengths.nats(p, steps[-1:])
    values = {"P": np.exp(-cost)[:, None], "room": (nats - cost)[:, None], "L": nats[:, None]}
    loss = Part(values, [equation("L", "-log {P} + {room}")])
    return Unfolding(
        text,
        ["END", "new", *vocabulary.characters],
        window.x[:, 0],
        y,
        ranks,
        {name: getattr(window, name)[:, 0] for name in own.architecture.inputs},
        layers,
        output,
        loss,
        gradient,
    )


def layer_part(
    index: int, own: Parameters, p: Parameters, unfolded: Unfolded, window: Window
) -> Part:
    """Return the values of a layer before the walk back, which overwrites its gates."""
    layer, number, x = unfolded.layers[index], index + 1, window.x[:, 0]
    cell, inputs = own.architecture.cell, own.architecture.inputs
    U, b, W = p[f"U{number}"], p[f"b{number}"], p[f"W{number}"]
    states = {
        name: state[1:, 0].copy() for name, state in zip(cell.states, layer.states, strict=True)
    }
    h_before = np.concatenate([np.zeros_like(states["h"][:1]), states["h"][:-1]])
    terms = {"b": own[f"b{number}"][None], "Wh": h_before @ W.T + b - own[f"b{number}"]}
    if index:
        terms["Ux"] = unfolded.layers[index - 1].h[1:, 0] @ U.T
    else:
        terms["Ux"] = own["U1"][x]
        terms["Wh"] += U[x] - terms["Ux"]  # if the cell reads y(t-1)
        for name in inputs:
            terms["Ux"] = terms["Ux"] + unfolded.seen(name, window)[:, 0] @ p[f"U1.{name}"].T
    values, gates = dict[str, Array](), prefixes(cell)
    for name, term in terms.items():
        by_gate = zip(gates, np.split(term, cell.gates, 1), strict=True)
        values |= {f"{gate}{name}": each for gate, each in by_gate}
    if f"d{number}" in own:
        values[f"{gates[-1]}d"] = own[f"d{number}"][None]
    names = list(cell.equations)[: cell.gates]
    if cell.gates == 1:
        values |= dict.fromkeys(names, np.asarray(sum(terms.values())))
    else:
        values |= {name: gate[:, 0].copy() for name, gate in zip(names, layer.ux, strict=False)}
    others = [*list(states)[1:], *names[: cell.gates * (cell.gates > 1)]]
    return Part(values | states, equations_of(number, own.architecture), ["h", *others])


def watch(layer: Layer, values: dict[str, Array]) -> None:
    """Make the walk back through a layer note dL/dh, and its part from above."""
    steps, _, hidden = layer.d.shape
    values["above"], values["dh"] = np.empty((2, steps, hidden))
    before, left = layer.cell.backward, iter(range(steps - 1, -1, -1))

    def backward(d_after: States, ux: Array, tape: Array, kept: Array, d_before: States) -> None:
        if (t := next(left)) == steps - 1:
            values["above"][...] = layer.d[:, 0]
        values["dh"][t] = d_after[0][0]
        before(d_after, ux, tape, kept, d_before)

    layer.cell = replace(layer.cell, backward=backward)


def prefixes(cell: Cell) -> list[str]:
    """Return the beginning of the names of the values of each gate."""
    if cell.gates == 1:
        return [""]
    names = [*cell.equations, *map(str, range(cell.gates))]
    return [f"{name}." for name in names[: cell.gates]]


def equations_of(number: int, architecture: Architecture) -> list[Equation]:
    """Return the equations of a layer, forwards and backwards."""
    cell, inputs = architecture.cell, architecture.inputs
    own = {"Wh": f"W {cell.reads}"}
    if number > 1:
        own["Ux"] = f"U h{number - 1}(t)"
    elif inputs:
        own["Ux"] = "U x(t)" + "".join(f" + C f({name})" for name in inputs)
    if number < architecture.layers:
        own["above"] = f"U' dL/da(t) of h{number + 1}"
    if cell.feedback is not None:
        own["back"] = f"V' {LETTERS['back'][0]}"
    if cell.gates > 1:  # other equations than the book's
        own |= {value: f"{value}(t)" for value in cell.equations if value != "dh"}
        own["back"] = "the part from step t+1"
    found = []
    for value, template in cell.equations.items():
        gate = f"{value}." if cell.gates > 1 else ""
        template = re.sub(r"\{(b|d|Wh|Ux)\}", rf"{{{gate}\1}}", template)
        found.append(equation(value, template, own))
    return found


def equation(value: str, template: str, own: Mapping[str, str] = MappingProxyType({})) -> Equation:
    """Return an equation in the letters of the book and as a template."""

    def letters(name: str) -> str:
        gate, _, term = name.rpartition(".")
        before = f"{term[:-1]}(t-1)" if term.endswith("-") else f"{term}(t)"
        shown = own.get(term, LETTERS.get(term, (before, ""))[0])
        return f"{shown[0]}_{gate}{shown[1:]}" if gate else shown

    right = VALUE.sub(lambda name: letters(name[1]), template)
    number = "" if value in own else LETTERS[value][1]
    return Equation(value, number, f"{letters(value)} = {right}", template)


def is_backward(value: str) -> bool:
    return value.rpartition(".")[2] in BACKWARD


def bands(name: str, values: Array) -> Integers:
    """Return the colour of each value, from 0 for the lowest to 6; 3 is near zero.

    A gradient has the largest colours within a tenth of the largest, the next within a hundredth.
    """
    most = float(np.abs(values).max(initial=0))
    if not is_backward(name):
        return np.rint(3 * values / max(1.0, most)).astype(int) + 3
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.ceil(np.log10(np.abs(values) / most)).clip(-3, 0) + 3
    return 3 + (np.sign(values) * np.nan_to_num(level)).astype(int)

"""The unfolded network of figure 10.3 on one text: every value of every step, and its equation.

Losses are those of scoring. Gradients come from the code that trains: the cells of its layers note
dL/dh on the way back. An equation is a template such as "tanh {a}(t)", with values in braces.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np

from charrnn.errors import SettingError
from charrnn.network.arrays import Array, Integers, softmax
from charrnn.network.parameters import LanguageModel, Parameters, count_features
from charrnn.network.through_time import Unfolded, Window
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.reach import window_before
from charrnn.prediction.scoring import score_ids
from charrnn.text.vocabulary import END, REPLACEMENT

Factors = tuple[Array, Array]  # (T, N) and (T, M): a gradient is the sum of their products
BACKWARD: Final = "dL/"  # begins the names of gradients
LIKELIEST: Final = 5
UNFOLD_LIMIT: Final = 600  # steps
NAME: Final = re.compile(r"\{([^}]+)\}(?:\(t\))?")


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the figure at all steps: a layer, the output or the loss."""

    values: dict[str, Array]  # (T, N) each; 1 in place of T or N if all steps or units share it
    equations: Mapping[str, str]  # value -> template

    def at(self, name: str, t: int, unit: int) -> float:
        rows = self.values[name]
        return float(rows[t % len(rows), unit % rows.shape[1]])

    def filled(self, name: str, t: int, unit: int) -> str:
        """Return the equation of a value with the numbers of a unit."""

        def number(match: re.Match[str]) -> str:
            shown = f"{self.at(match[1], t, unit):.4g}"
            return f"({shown})" if shown.startswith("-") else shown

        template = self.equations[name].partition("  ")[0]
        return f"{self.at(name, t, unit):.4g} = {NAME.sub(number, template)}"

    def bands(self, name: str) -> Integers:
        """Return the colour of each value, from 0 for -1 or less to 6 for 1 or more.

        The largest gradients have the strongest colours; a tenth of them has the next.
        """
        values = self.values[name]
        if name.startswith(BACKWARD):
            sizes = np.abs(values)
            powers = np.ceil(np.log10((sizes / (sizes.max() or 1)).clip(1e-3)))  # 0, -1, -2 or -3
            values = np.sign(values) * (1 + powers / 3)
        return np.asarray(np.rint(3 * values.clip(-1, 1)) + 3, np.intp)

    def without_gradients(self) -> Self:
        values = {name: rows for name, rows in self.values.items() if BACKWARD not in name}
        equations = {name: text for name, text in self.equations.items() if BACKWARD not in name}
        return replace(self, values=values, equations=equations)

    def as_json(self) -> dict[str, Any]:
        values = {name: rows.tolist() for name, rows in self.values.items()}
        return {"values": values, "equations": dict(self.equations)}


@dataclass(frozen=True, eq=False)
class Unfolding:
    """A text and its END, over K symbols; END is None. A label stands where it is read."""

    text: str
    nats: float
    symbols: list[str | None]  # K names
    inputs: list[str | None]  # and those of the labels
    y: list[int]  # the targets
    time_steps: list[dict[str, Any]]  # reads, target, nats, the norms of h and dL/dh, and counts
    layers: list[Part]
    output: Part
    loss: Part
    gradient: Parameters | None  # of the sum of the losses
    factors: dict[str, Factors]  # of the terms of each gradient, by the name of its array

    def chances(self, t: int) -> dict[int, float]:
        """Return the probabilities of the likeliest symbols after step t, and of the target."""
        y_hat = self.output.values["y_hat"][t]
        order = np.argsort(-y_hat, kind="stable")[:LIKELIEST]
        target = {self.y[t]: self.loss.at("P(y(t))", t, 0)}  # END may have one of its own
        return {k: float(y_hat[k]) for k in order.tolist()} | target

    def largest(self, name: str, count: int) -> list[tuple[int, int, float, list[float]]]:
        """Return row, column and value of the largest entries of a gradient, and their terms."""
        assert self.gradient is not None
        entries, (left, right) = [], self.factors[name]
        rows = self.gradient[name].reshape(left.shape[1], -1)
        for place in np.argsort(-np.abs(rows), axis=None, kind="stable")[:count].tolist():
            i, j = divmod(place, rows.shape[1])
            terms: Array = left[:, i] * right[:, j] + 0.0  # no -0
            entries.append((i, j, float(rows[i, j]), terms.tolist()))
        return entries

    def as_json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"text": self.text, "nats": self.nats, "symbol_names": self.symbols}
        facts["time_steps"] = self.time_steps
        facts["by_layer"] = [layer.as_json() for layer in self.layers]
        facts |= {"output": self.output.as_json(), "loss": self.loss.as_json()}
        if self.gradient is not None:
            norms = {name: float(np.linalg.norm(array)) for name, array in self.gradient.items()}
            facts["gradient"] = norms
        return facts


def unfold(
    model: LanguageModel, text: str, label: str | None = None, *, backward: bool = True
) -> Unfolding:
    """Compute all values of a text; without ``backward``, of gradients only the norms."""
    if len(text) >= UNFOLD_LIMIT:
        what = f"the text has {len(text):,} characters, and {UNFOLD_LIMIT - 1} can be unfolded"
        raise SettingError(what, "Give a shorter text.")
    vocabulary, architecture = model.vocabulary, model.architecture
    ids = np.append(vocabulary.encode(text), np.array(END, vocabulary.dtype))
    labels = np.full(len(ids), vocabulary.id_of(label))
    nats = score_ids(Predictor([model]), ids, labels)[0]["network"]
    window = window_before(ids, np.array([len(ids) - 1]), len(ids), labels)
    stored = Parameters(architecture, model.parameters.flat.astype(np.float64))
    p = stored.plain()  # of the network without outputs that are fed back
    net = Unfolded(p.architecture, len(ids), 1, np.float64)
    net.read(p, window)
    for state in net.states:
        state[0] = 0  # reading has moved it on
    layers = [layer_at(index, stored, p, net, window) for index in range(architecture.layers)]
    gradient = add_gradients(layers, stored, p, net, window)
    output, loss = output_and_loss(stored, layers[-1].values["h"], window.y[:, 0], nats)
    factors = factors_of(layers, output.values["dL/do"], net, window)
    if architecture.cell.feeds_back:  # W reads no h(t-1), and what it reads may come from c and V
        factors = {name: factors[name] for name in ["b1", "U1"] + ["c", "V"] * architecture.forced}
    columns = {"reads": [label, *text], "target": [*text, None], "nats": nats.tolist()}
    for name, value in (("norm_h", "h"), ("norm_dh", "dL/dh")):
        of_layers = np.hstack([layer.values[value] for layer in layers])
        columns[name] = np.linalg.norm(of_layers, axis=1).tolist()
    columns |= {name: getattr(window, name)[:, 0].tolist() for name in architecture.inputs}
    time_steps = [{name: column[t] for name, column in columns.items()} for t in range(len(ids))]
    if not backward:
        layers, output = [layer.without_gradients() for layer in layers], output.without_gradients()
    symbols = [None, chr(REPLACEMENT), *vocabulary.characters]
    inputs, y = [*symbols, *vocabulary.labels], window.y[:, 0].tolist()
    facts = text, float(nats.sum()), symbols, inputs, y, time_steps
    return Unfolding(*facts, layers, output, loss, gradient if backward else None, factors)


def add_gradients(
    layers: list[Part], stored: Parameters, p: Parameters, net: Unfolded, window: Window
) -> Parameters:
    """Add their gradients to the values of the layers; return that of the parameters."""
    gradient, of_plain = stored.like(), p.like()
    noted = [layer.note_gradients(len(window.x)) for layer in net.layers]
    net.nats_and_gradient(p, window, of_plain)
    stored.gradient_from(of_plain, gradient)
    for layer, part, (above, d_h, *_) in zip(net.layers, layers, noted, strict=True):
        terms = above[:, 0], (d_h - above)[:, 0]  # the last is from later steps, if they read h
        names = reversed(NAME.findall(part.equations["dL/dh"]))
        part.values.update(zip(names, terms, strict=False))
        part.values["dL/dh"] = d_h[:, 0]
        part.values["dL/da"] = np.concatenate(layer.d_ux(len(window.x)), 1)
    return gradient


def factors_of(layers: list[Part], d_o: Array, net: Unfolded, window: Window) -> dict[str, Factors]:
    """Return the factors of the gradients (10.22) to (10.28), after the way back."""
    x = window.x[:, 0]
    rows = net.architecture.shapes["U1"][0]  # of symbols, then of labels
    below: Array = (np.arange(rows) == x[:, None]).astype(float)
    ones: Array = np.ones((len(x), 1))
    factors: dict[str, Factors] = {"c": (d_o, ones)}  # (10.22)
    for number, (part, layer) in enumerate(zip(layers, net.layers, strict=True), 1):
        d_a, d_wh = part.values["dL/da"], np.concatenate(layer.d_wh_rows[:, : len(x)], 1)
        factors[f"b{number}"] = d_a, ones  # (10.23)
        factors[f"W{number}"] = d_wh, part.values["h(t-1)"]  # (10.26)
        factors[f"U{number}"] = (d_a, below) if number > 1 else (below, d_a)  # (10.28)
        below = part.values["h"]
    factors["V"] = d_o, below  # (10.24)
    return factors


def output_and_loss(p: Parameters, h: Array, y: Integers, nats: Array) -> tuple[Part, Part]:
    """Return the values above the layers, from the states h (T, H) of the top layer."""
    head, steps, symbols, c = p.architecture.head, np.arange(len(y)), len(p["c"]), p["c"]
    o = h @ p["V"].T + c  # (T, K)
    logits = o.copy()
    head.logits(logits)
    y_hat = softmax(logits)
    d_o = y_hat.copy()
    head.gradient(d_o, y, steps * symbols + y, 1.0)
    chance = np.maximum(y_hat[steps, y], 1e-300)
    if head.lengths is not None:  # END costs what the length costs
        chance[-1:] = np.exp(-head.lengths.nats(p, steps[-1:]))
    values = {"o": o, "c": c[None], "V h(t)": o - c, "y_hat": y_hat, "dL/do": d_o}
    values |= {"logit": logits, "log sum exp": np.logaddexp.reduce(logits, 1)[:, None]}
    values |= {"1 at y(t)": (np.arange(symbols) == y[:, None]).astype(float)}
    equations = {"o": "{c} + {V h(t)}  (10.10)"}
    equations |= {"y_hat": "exp({logit}(t) - {log sum exp})  (10.11)", **head.equations}
    output = Part(values, equations)
    values = {"L": nats[:, None], "P(y(t))": chance[:, None]}
    values["room for unknown characters"] = (nats + np.log(chance))[:, None]
    return output, Part(values, {"L": "-log {P(y(t))} + {room for unknown characters}  (10.14)"})


def layer_at(index: int, stored: Parameters, p: Parameters, net: Unfolded, window: Window) -> Part:
    """Return the values of a layer that has read the window: states, gates and their terms."""
    layer, cell, number = net.layers[index], stored.architecture.cell, index + 1
    equations = dict(cell.equations)
    values: dict[str, Array] = {}
    for name, state in zip(cell.states, layer.states, strict=True):
        values |= {name: state[1:, 0].copy(), f"{name}(t-1)": state[:-1, 0].copy()}
    b = stored[f"b{number}"][None]  # (1, G H)
    wh = layer.h[:-1, 0] @ p[f"W{number}"].T + p[f"b{number}"] - b  # (T, G H), with W c if fed back
    if index:
        ux: Array = net.layers[index - 1].h[1:, 0] @ p[f"U{number}"].T  # (T, G H)
    else:
        x = window.x[:, 0]
        ux = stored["U1"][x]
        wh += p["U1"][x] - ux  # of a network that reads the true y(t-1)
        for name in stored.architecture.inputs:
            features = count_features(name, getattr(window, name), np.float64)[:, 0]  # (T, F)
            ux = ux + features @ p[f"U1.{name}"].T
    terms = {"W": wh, "U": ux, "b": b}  # by the letter that begins the name of a term
    for gate, name in enumerate(list(equations)[: cell.gates]):
        for term in NAME.findall(equations[name]):
            if term[0] in terms:
                values[term] = np.split(terms[term[0]], cell.gates, 1)[gate]
        values[name] = wh + ux + b if cell.gates == 1 else layer.ux[gate, :, 0].copy()
    if cell.own_bias:
        values["d"] = stored[f"d{number}"][None]
    if number < len(net.layers):
        equations["dL/dh"] = equations["dL/dh"].replace("V' dL/do(t)", "U' dL/da(t) from above")
    return Part(values, equations)

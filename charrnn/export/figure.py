"""The unfolded network as a picture: an SVG file for a slide, or a web page to walk through.

Steps stand in lines, as words do. The page has the values as JSON, and a script that writes
equations from them. All text is escaped, and the page may load nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from charrnn.export.html import STATES, colours_in_css, fill, legend, policy
from charrnn.export.js import asset, plain_json
from charrnn.network import Integers
from charrnn.text import visible_in_html
from charrnn.unfold import LIKELIEST, Unfolding

BANDS = "".join(STATES)  # the class of each colour
LINE = 8  # steps in a line
NORMS = {"norm_h": "|h|", "norm_dh": "|dL/dh|"}
LEFT, GAP, ROW = 90, 44, 18  # the margin, between steps, and a row of text
TIP = '<marker id="tip" orient="auto" overflow="visible"><path d="M-6 -3L0 0L-6 3z"/></marker>'


def page(found: Unfolding) -> str:
    """Return a web page, with a picture for each line of steps."""
    steps, digits = range(len(found.steps)), lambda number: float(f"{float(number):.4g}")
    facts = json.loads(json.dumps(found.as_json()), parse_float=digits, parse_constant=str)
    title, script = escape(visible_in_html(found.text)), f"\n{asset('figure.js')}"
    style = fill(asset("page.css") + asset("figure.css"), colours_in_css())
    drawing = Drawing(found)
    lines = [drawing.svg(steps[at : at + LINE]) for at in steps[::LINE]]
    values = {"policy": policy([script], style), "style": style, "script": script}
    values |= {"title": f"{title}: the unfolded network", "text": title}
    values |= {"legend": legend(STATES), "figure": "\n".join(lines), "facts": plain_json(facts)}
    return fill(asset("page.html").partition("<header>")[0] + asset("figure.html"), values)


def picture(found: Unfolding) -> str:
    """Return one picture, in light colours."""
    colours = dict(re.findall(r"--([\w-]+): (#\w+);", asset("page.css").partition("@media")[0]))
    drawn = asset("figure.css").partition("/* page */")[0]
    style = re.sub(r"var\(--([\w-]+)\)", lambda name: colours[name[1]], drawn)
    return Drawing(found).svg(range(len(found.steps)), f"<style>{style}</style>")


class Box(NamedTuple):
    """A value of a step, as it is drawn."""

    part: str  # its place in the JSON, such as layers.0
    name: str
    label: str
    high: int
    inside: str
    about: str = ""
    up: str | None = None  # the name of the arrow from here to the box above
    back: str = ""  # the label of what W multiplies


class Drawing:
    """The figure of a text: a column of boxes for each step."""

    def __init__(self, found: Unfolding) -> None:
        self.found, self.units = found, found.layers[0].values["h"].shape[1]
        self.across = min(self.units, math.ceil(math.sqrt(1.6 * self.units)))
        self.cell = max(6, 96 // self.across)
        self.width = self.across * self.cell
        self.bands = [{name: part.bands(name) for name in part.cells} for part in found.layers]
        self.high = sum(box.high + ROW for box in self.boxes(0)) + (len(found.steps[0]) - 1) * ROW

    def svg(self, steps: range, style: str = "") -> str:
        """Return a picture of steps; with the last one comes the sum."""
        column, count = self.width + GAP, len(self.found.steps)
        line = min(LINE, count)
        wide, high = LEFT + line * column, self.high * -(-len(steps) // line) + 2 * ROW
        parts = [style, TIP, f'<rect class="ground" width="{wide}" height="{high}"/>']
        if steps.stop == count:
            total = f"L = {self.found.nats:.3f} nats, the sum of all steps"
            parts.append(text(LEFT, high - ROW, total))
        for i, t in enumerate(steps):
            x, y = LEFT + i % line * column, i // line * self.high
            parts += [f'<g transform="translate({x} {y})">', *self.column(t, i % line == 0), "</g>"]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {wide} {high}">'
            f"<title>Steps {steps[0] + 1} to {steps[-1] + 1}</title>{''.join(parts)}</svg>"
        )

    def column(self, t: int, begins_line: bool) -> Iterator[str]:
        """Yield the boxes, arrows and counts of a step; where a line begins, also the labels."""
        top, middle, heights = ROW // 2, self.width / 2, dict[str, float]()
        for box in self.boxes(t):
            here = heights[box.label] = top + box.high / 2
            yield (
                f'<g class="node" role="img" aria-label="{box.name}({t + 1}){escape(box.about)}"'
                f' data-t="{t}" data-part="{box.part}" data-name="{box.name}"'
                f' transform="translate(0 {top})"><rect class="block" width="{self.width}"'
                f' height="{box.high}"/>{box.inside}</g>'
            )
            if begins_line:
                yield text(-GAP, here + 4, box.label, "end faint")
            if box.name == "L":
                yield arrow(middle, top - ROW + 2, middle, top - 2)  # from y
            if box.up is not None:
                yield arrow(middle, top - 2, middle, top - ROW + 2, box.up * (t == 0))
            if box.back and t:
                name = box.label.replace("h", "W") * (t == 1)
                yield arrow(2 - GAP, heights[box.back], -2, here, name)
            top += box.high + ROW
        _reads, _target, _nats, *counts = self.found.steps[t].items()
        for name, count in [("t =", t + 1), *counts]:
            yield text(middle, top, f"{NORMS.get(name, name)} {count:.3g}", "middle faint")
            top += ROW

    def boxes(self, t: int) -> Iterator[Box]:
        """Yield the values of a step from top to bottom."""
        step, chances, up = self.found.steps[t], self.found.chances(t), "V"
        bars = [self.bar(i, k, chances[k], k == self.found.y[t]) for i, k in enumerate(chances)]
        yield self.word("", "y", shown(step["target"]))
        yield self.word("loss", "L", f"{step['nats']:.3f}")
        yield Box("output", "y_hat", "o", (LIKELIEST + 1) * ROW, "".join(bars), up="")
        tall = -(-self.units // self.across) * self.cell
        for index, part in reversed([*enumerate(self.found.layers)]):
            of_W = re.search(r"\{W\S* ([oy])", part.equations.get("a", ""))
            back = of_W[1] if of_W else f"h{part.number}"
            for name, bands in self.bands[index].items():
                where = f"layers.{index}", name, name + part.number, tall
                links = (up, back) if name == "h" else ()
                yield Box(*where, self.cells(bands[t]), f" of layer {index + 1}", *links)
            up = f"U{part.number}"
        yield self.word("", "x", shown(step["reads"]), up)

    def word(self, part: str, name: str, word: str, up: str | None = None) -> Box:
        inside = text(self.width / 2, 13, word, "middle mono")
        return Box(part, name, name, ROW, inside, f" is {word}", up)

    def bar(self, i: int, unit: int, chance: float, is_target: bool) -> str:
        """Return a symbol with its probability."""
        words = text(4, 13, shown(self.found.symbols[unit]), "mono")
        words += text(self.width - 4, 13, f"{chance:.3f}", "end")
        return (
            f'<g class="cell{" target" * is_target}" data-unit="{unit}"'
            f' transform="translate(0 {i * ROW})"><rect class="block" width="{self.width}"'
            f' height="{ROW}"/><rect class="bar" width="{self.width * chance:.1f}"'
            f' height="{ROW}"/>{words}</g>'
        )

    def cells(self, bands: Integers) -> str:
        """Return the cells of a layer."""
        parts, side = [], self.cell - 1
        for unit, band in enumerate(bands.tolist()):
            y, x = divmod(unit, self.across)
            square = f"M{x * self.cell} {y * self.cell}h{side}v{side}h-{side}z"
            parts.append(f'<path class="cell {BANDS[band]}" d="{square}"/>')
        return "".join(parts)


def shown(symbol: str | None) -> str:
    """Return a symbol as one word."""
    return visible_in_html(symbol.replace(" ", "space") if symbol else "END")


def text(x: float, y: float, words: str, classes: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{classes}">{escape(words)}</text>'


def arrow(x: float, y: float, to_x: float, to_y: float, name: str = "") -> str:
    """Return an arrow with its name beside it."""
    line = f'<path class="arrow" marker-end="url(#tip)" d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>'
    return line + (text(x + 4, y - 4, name, "name") if name else "")

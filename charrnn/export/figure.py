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

import numpy as np

from charrnn.export.html import STATES, fill, legend, policy
from charrnn.export.js import asset, plain_json
from charrnn.scoring.heat_map import colours_in_css
from charrnn.text import visible_in_html
from charrnn.unfold import BACKWARD, LIKELIEST, Unfolding, bands

BANDS = "".join(STATES)  # the class of each colour; the one in the middle is none
LINE = 8  # steps in a line of a page
WIDE = 1.6  # the width of a picture over its height
LEFT, GAP, ROW, ARROW = 90, 44, 18, 26  # the margin, between steps, a row of text, an arrow


class Drawing:
    """The figure of a text: rows of parts, a column for each step."""

    def __init__(self, found: Unfolding, *, backward: bool) -> None:
        self.found, self.backward, self.steps = found, backward, len(found.targets)
        units = found.layers[0].values["h"].shape[1]
        self.across = min(units, math.ceil(math.sqrt(1.6 * units)))
        self.cell = max(6, 96 // self.across)
        self.width, self.tall = self.across * self.cell, -(-units // self.across) * self.cell
        self.levels = [
            {name: bands(name, part.values[name]) for name in (*part.cells, *["dL/dh"] * backward)}
            for part in found.layers
        ]
        self.numbers = (
            [""] if len(self.levels) == 1 else [*map(str, range(1, len(self.levels) + 1))]
        )
        self.rows: dict[tuple[int, str], int] = {}  # layer and name of a value -> its top
        y = (LIKELIEST + 5) * ROW + ARROW + 2  # below o and the arrow to it
        for index in reversed(range(len(self.levels))):
            for name in self.levels[index]:
                self.rows[index, name] = y
                y += self.tall + (ROW if name.startswith(BACKWARD) else 6)
            y += ARROW
        self.bottom, self.height = y, y + (3 + len(found.counts)) * ROW
        self.sum = f"L = {found.nats:.3f} nats, the sum of {self.steps} steps"

    def page(self) -> str:
        """Return a web page, with a picture for each line of steps."""
        facts = json.loads(  # with four digits
            json.dumps(self.found.as_json(backward=self.backward)),
            parse_float=lambda digits: float(f"{float(digits):.4g}"),
            parse_constant=str,
        )
        lines = [self.svg(range(at, at + LINE), LINE) for at in range(0, self.steps, LINE)]
        script, style = f"\n{asset('figure.js')}", asset("page.css") + asset("figure.css")
        style = fill(style, colours_in_css())
        values = {
            "policy": policy([script], style),
            "title": escape(visible_in_html("".join(self.found.reads[1:]))),
            "style": style,
            "sum": self.sum,
            "legend": legend(STATES),
            "figure": "\n".join(lines),
            "facts": plain_json(facts | {"across": self.across}),
            "script": script,
        }
        return fill(asset("figure.html"), values)

    def picture(self) -> str:
        """Return one picture, in light colours."""
        line = math.ceil(math.sqrt(WIDE * self.steps * self.height / (self.width + GAP)))
        colours = dict(re.findall(r"--([\w-]+): (#\w+);", asset("page.css").partition("@media")[0]))
        drawn = asset("figure.css").partition("/* page */")[0]
        style = re.sub(r"var\(--([\w-]+)\)", lambda name: colours[name[1]], drawn)
        return self.svg(range(self.steps), min(line, self.steps), f"<style>{style}</style>")

    def svg(self, steps: range, line: int, style: str = "") -> str:
        """Return steps as a picture, so many in a line; one with a style stands alone."""
        steps = range(steps.start, min(steps.stop, self.steps))
        column, parts = self.width + GAP, [style]
        wide, high = LEFT + line * column, self.height * -(-len(steps) // line)
        if style:
            high += 2 * ROW
            parts.append(f'<rect class="ground" width="{wide}" height="{high}"/>')
            parts.append(text(LEFT, high - ROW, self.sum))
        for i, t in enumerate(steps):
            x, y = LEFT + i % line * column, i // line * self.height + 8
            parts += [f'<g transform="translate({x} {y})">', *self.step(t)]
            parts += ["</g>"] if i % line else [*self.margin(), "</g>"]
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {wide} {high}">'
        )
        name = f"The unfolded network, steps {steps[0] + 1} to {steps[-1] + 1}"
        return f"{head}<title>{name}</title>{''.join(parts)}</svg>"

    def margin(self) -> Iterator[str]:
        """Yield the names of the rows."""
        rows = {"y": ROW, "L": 2.8 * ROW, "o": 7 * ROW, "x": self.bottom + ROW}
        for (index, name), y in self.rows.items():
            rows[f"{name}{self.numbers[index]}"] = y + self.tall / 2 + 4
        return (text(-GAP, y, name, "end faint") for name, y in rows.items())

    def step(self, t: int) -> Iterator[str]:
        """Yield the parts of a step, and the arrows to them."""
        found, middle = self.found, self.width / 2
        names, up = [*(f"U{number}" for number in self.numbers), "V"], 8 - ARROW
        for letter, symbol, y in (("y", found.targets[t], 0), ("x", found.reads[t], self.bottom)):
            inside = text(middle, 0.95 * ROW, shown(symbol), "middle mono")
            about = f"{letter}({t + 1}) is {shown(symbol)}"
            yield self.node(t, "", letter, about, y, 1.3 * ROW, inside, "0")
        for i, (name, counts) in enumerate(found.counts.items(), 2):
            yield text(middle, self.bottom + i * ROW + 4, f"{name} {counts[t]}", "middle faint")
        yield text(middle, self.height - ROW, f"t = {t + 1}", "middle faint")
        loss = f"L = {found.loss.at('L', t, 0):.3f}"
        inside = text(middle, 0.75 * ROW, loss, "middle")
        yield self.node(t, "loss", "L", loss, 2 * ROW, ROW, inside, "0")
        yield self.output(t)
        yield arrow(middle, 1.35 * ROW, 0, 0.6 * ROW)
        yield arrow(middle, 3.9 * ROW, 0, -0.8 * ROW)
        yield arrow(middle, self.bottom - 4, 0, up, names[0] * (t == 0))
        for (index, name), y in self.rows.items():
            yield self.block(t, index, name, y)
            if name == "h":
                yield arrow(middle, y - 4, 0, up, names[index + 1] * (t == 0))
                yield self.back(t, index, y + self.tall / 2)

    def output(self, t: int) -> str:
        """Return the likeliest symbols with their probabilities, and the target."""
        found, target = self.found, self.found.targets[t]
        y = int(found.output.values["1 at y(t)"][t].argmax())
        chances = {k: found.output.at("y_hat", t, k) for k in found.likeliest(t)}
        chances[y] = found.loss.at("P(y(t))", t, 0)  # END may have a distribution of its own
        rows = []
        for i, (k, chance) in enumerate(chances.items()):
            mark, at = "target" * (k == y), (i + 0.75) * ROW
            size = f'width="{self.width * chance:.1f}" height="{ROW - 2}"'
            rows.append(f'<rect class="bar {mark}" y="{i * ROW + 1}" {size}/>')
            rows.append(text(4, at, shown(found.symbols[k]), f"mono {mark}"))
            rows.append(text(self.width - 4, at, f"{chance:.3f}", f"end {mark}"))
        about = f"o({t + 1}): the target {shown(target)} has probability {chances[y]:.3f}"
        units, high = " ".join(map(str, chances)), ROW * len(chances)
        return self.node(t, "output", "y_hat", about, 4 * ROW, high, "".join(rows), units)

    def block(self, t: int, index: int, name: str, y: float) -> str:
        """Return the cells of a layer."""
        values, levels = self.found.layers[index].values[name][t], self.levels[index][name][t]
        shapes, side = [], self.cell - 1
        for level in set(levels.tolist()) - {len(BANDS) // 2}:
            cells = (divmod(int(unit), self.across) for unit in np.flatnonzero(levels == level))
            places = (f"M{x * self.cell} {y * self.cell}" for y, x in cells)
            path = "".join(f"{place}h{side}v{side}h-{side}z" for place in places)
            shapes.append(f'<path class="{BANDS[level]}" d="{path}"/>')
        norm = f"norm {np.linalg.norm(values):.3g}"
        if name.startswith(BACKWARD):
            shapes.append(text(self.width / 2, self.tall + 13, norm, "middle"))
        about = f"{name}({t + 1}) of layer {index + 1}: {len(values)} units, {norm}"
        return self.node(t, f"layers.{index}", name, about, y, self.tall, "".join(shapes))

    def back(self, t: int, index: int, y: float) -> str:
        """Return the arrow to h from what W multiplies: h, o or y of the step before."""
        formulas = " ".join(self.found.layers[index].equations.values())
        source = re.search(r"\{W\S* (\w)", formulas)
        start = {"o": 7 * ROW, "y": 0.6 * ROW}.get(source[1] if source else "h", y)
        name = f"W{self.numbers[index]}" * (t == 1)
        return arrow(4 - GAP, start, GAP - 8, y - start, name) if t else ""

    def node(
        self,
        t: int,
        part: str,
        name: str,
        about: str,
        y: float,
        high: float,
        inside: str,
        units: str = "",
    ) -> str:
        """Return a part of the figure that can be pointed at, with the numbers of its units."""
        return (
            f'<g class="node" role="img" aria-label="{escape(about)}" data-t="{t}"'
            f' data-part="{part}" data-name="{name}" data-units="{units}"'
            f' transform="translate(0 {y:g})"><rect class="block" width="{self.width}"'
            f' height="{high:g}"/>{inside}</g>'
        )


def shown(symbol: str) -> str:
    return "space" if symbol == " " else visible_in_html(symbol)


def text(x: float, y: float, words: str, classes: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{classes}">{escape(words)}</text>'


def arrow(x: float, y: float, dx: float, dy: float, name: str = "") -> str:
    """Return an arrow with its name beside it."""
    length = math.hypot(dx, dy) / 5
    ux, uy, tip = dx / length, dy / length, f"{x + dx:g} {y + dy:g}"
    one = f"{x + dx - ux + 0.6 * uy:.1f} {y + dy - uy - 0.6 * ux:.1f}"
    other = f"{x + dx - ux - 0.6 * uy:.1f} {y + dy - uy + 0.6 * ux:.1f}"
    line = f'<path class="arrow" d="M{x:g} {y:g}L{tip}M{one}L{tip}L{other}"/>'
    place = (x + 7, y + dy / 2 + 4) if dx == 0 else (x + dx / 2 - 8, y + dy / 2 - 6)
    return line + (text(*place, name, "name") if name else "")

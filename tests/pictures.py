"""Draw the pictures of the README and the guide: ``python -m tests.pictures [NAME ...]``.

The program runs in a pseudo-terminal of 80 columns, without bars. No picture loads a font. Pictures
of web pages need Chromium.
"""

import math
import re
import shlex
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cached_property
from html import escape
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import charrnn
from tests.browser import CHROMIUM, Browser
from tests.child import CHARRNN, NOTHING, PYTHON, finished, on_a_terminal, program_with
from tests.pages import GUIDE, blocks_of

FOLDER = GUIDE / "pictures"
OF_TERMINALS = ("training", "surprise", "temperatures", "alarm", "seconds")
OF_PAGES = ("phone", "unfold")
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
PROMPT = "\x1b[32m$\x1b[0m \x1b[1m{}\x1b[0m"
NO_BARS = """
from charrnn.cli.console import Console
from tqdm import tqdm
Console.bar = lambda console, **how: tqdm(disable=True)
"""
BLUE, ORANGE = "#6cb2ff", "#ffb454"
TEMPERATURES = (0.2, 0.5, 0.8, 1.0, 1.3, 1.6)
WORDS = ("Tyrannosaurus", "Velociraptor", "Charlotte", "Xqzwkjv")
SECONDS = (1, 10, 60)
WIDTH, HEIGHT, MARGIN = 8.4, 19, 14  # of a character and around them, in pixels
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
GROUND, INK, FAINT, EDGE = "#14181f", "#dfe4ea", "#8d97a5", "#59636e"
THEME = TerminalTheme(
    (20, 24, 31),
    (223, 228, 234),
    [
        *((60, 66, 77), (255, 123, 114), (126, 211, 133), (227, 179, 65)),
        *((121, 176, 255), (210, 150, 255), (86, 200, 214), (223, 228, 234)),
    ],
)
POINT = """(() => {
  const rows = [...document.querySelectorAll("tr")];
  const row = rows.find((one) => one.textContent.startsWith("dL/dh"));
  row.children[2].children[0].dispatchEvent(new Event("pointerover", { bubbles: true }));
})()"""


class Studio:
    """A folder in which commands run. Each public function draws the picture of its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def training(self) -> str:
        """Show how a list is learned, and names that are drawn then."""
        return picture_of([*self._learned, *self._shown("charrnn sample -n 5 --best --seed 1")])

    def surprise(self) -> str:
        """Show words that are coloured by surprisal."""
        assert self._learned
        (self.folder / "words.txt").write_text("\n".join(WORDS) + "\n")
        return picture_of(self._shown("charrnn eval words.txt --per-char"))

    def temperatures(self) -> str:
        """Show a row of names for each temperature."""
        assert self._learned
        model = charrnn.load(self.folder / "model.npz")
        lines = ["temperature"]
        for temperature in TEMPERATURES:
            row = f"{temperature:11}"
            for name in model.sample(9, temperature=temperature, unique=True, longest=15, seed=1):
                row += f"  {name}" * (len(row) + len(name) < 79)
            lines.append(f"\x1b[36m{row[:11]}\x1b[0m{row[11:]}")
        return picture_of(lines)

    def alarm(self) -> str:
        """Show each line of a log as a dot, and a threshold before the strange ones."""
        files = {b.direction("file"): b.code for b in blocks_of(GUIDE / "scoring.md")}
        (self.folder / "day.py").write_text(files["day.py"])
        for day, name in ((1, "yesterday.log"), (2, "today.log")):
            log = finished([*PYTHON, "day.py", str(day)], self.folder, NOTHING, None).out
            (self.folder / name).write_text(log + files["odd.log"] * (day == 2))
        self._shown("charrnn train yesterday.log -m log.npz --minutes 0.5")
        scored = ["eval", "today.log", "-m", "log.npz", "--per-example", "--json", "-q"]
        rows = finished([*CHARRNN, *scored], self.folder, NOTHING, None).rows
        return strip([(row["x_oddest"], row["text"]) for row in rows], 1.5)

    def seconds(self) -> str:
        """Show the losses of a table of the guide as curves."""
        page = (GUIDE / "results.md").read_text("utf-8")
        rows = re.findall(r"(?m)^\| (charrnn|PyTorch)\b.*?((?: \| \d\.\d{3}){3}) \|$", page)
        return curves({name: [float(loss) for loss in row.split(" | ")[1:]] for name, row in rows})

    def phone(self) -> bytes:
        """Show the exported page on a phone."""
        assert self._learned
        self._shown("charrnn export dinosaurs.html")
        return self._photo("dinosaurs.html#seed=1", 390, 800, 1)

    def unfold(self) -> bytes:
        """Show back-propagation at (10.21), with numbers."""
        self._shown("charrnn train dinosaurs --layers 1 --hidden 20 -m book.npz -q")
        self._shown("charrnn unfold Raptor -m book.npz --backward -o unfold.html")
        return self._photo("unfold.html", 900, 760, 1.5, POINT)

    @cached_property
    def _learned(self) -> list[str]:
        return self._shown("charrnn train dinosaurs --counts")

    def _shown(self, command: str) -> list[str]:
        """Run a command on a terminal. Return its line and those that the terminal shows."""
        line = [*program_with(NO_BARS), *shlex.split(command)[1:]]
        status, output = on_a_terminal(line, self.folder, TERMINAL, 80)
        assert status == 0, output
        return [PROMPT.format(command), *output.split("\n")]

    def _photo(self, page: str, width: int, height: int, scale: float, code: str = "0") -> bytes:
        """Return a PNG of a page on a screen of this size, after this JavaScript."""
        name, _, part = page.partition("#")
        with closing(Browser(self.folder)) as browser:
            shown = browser.open((self.folder / name).as_uri())
            size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": True}
            shown.call("Emulation.setDeviceMetricsOverride", **size)
            shown.ask(f"location.hash = '{part}'; {code}")
            shown.ask("new Promise((done) => setTimeout(() => done(1), 1500))")  # it draws
            return b64decode(shown.call("Page.captureScreenshot", format="png")["data"])


def strip(rows: list[tuple[float, str]], threshold: float) -> str:
    """Return a dot for each line along x oddest; those above the threshold have their texts."""
    odd = sorted((row for row in rows if row[0] > threshold), reverse=True)
    bottom = 150 + 22 * len(odd)
    dots = {
        f"M{place(x):.0f} {bottom - 15 - number * 37 % 83}h0"
        for number, (x, _) in enumerate(rows)
        if x <= threshold
    }
    line = f'stroke="{BLUE}" stroke-width="3" stroke-linecap="round"'
    x = place(threshold)
    parts = [*axis((0.1, 0.3, 1, 3, 10, 30), bottom), f'<path d="{"".join(sorted(dots))}" {line}/>']
    parts += [f'<path d="M{x:.1f} 30V{bottom}" stroke="{ORANGE}" stroke-dasharray="6 4"/>']
    parts += [words(x, 22, f"--above {threshold}x", ORANGE, "middle")]
    for number, (value, text) in enumerate(odd):
        x, y = place(value), 50 + 22 * number
        parts += [dot(x, y, ORANGE), words(x + 12, y + 5, text)]
    parts += [words(435, bottom - 50, f"{len(rows) - len(odd):,} other lines", BLUE)]
    unit = "bits per character, in times of the oddest held-out line"
    parts += [words(40, bottom + 44, unit, FAINT)]
    return panel(760, bottom + 58, parts)


def curves(losses: dict[str, list[float]]) -> str:
    """Return the loss of each program after 1, 10 and 60 seconds."""
    low, high = min(map(min, losses.values())), max(map(max, losses.values()))
    parts = [*axis(SECONDS, 270)]
    for (name, values), colour in zip(losses.items(), (ORANGE, BLUE), strict=True):
        xs = [place(second, 1, 60) for second in SECONDS]
        ys = [245 - 190 * (loss - low) / (high - low) for loss in values]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        parts += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>']
        for x, y, loss in zip(xs, ys, values, strict=True):
            parts += [dot(x, y, colour), words(x, y - 10, f"{loss:.3f}", INK, "middle")]
        parts += [words(xs[-1] + 28, ys[-1] + 5, name, colour)]
    parts += [words(40, 314, "held-out nats per character, after seconds of training", FAINT)]
    return panel(560, 328, parts)


def place(value: float, low: float = 0.1, high: float = 30) -> float:
    """Return where a value is on a logarithmic axis."""
    return 40 + 380 * math.log(max(value, low) / low) / math.log(high / low)


def axis(values: tuple[float, ...], bottom: float) -> Iterator[str]:
    for value in values:
        x = place(value, values[0], values[-1])
        yield f'<path d="M{x:.1f} 30V{bottom}" stroke="{EDGE}" stroke-width=".5"/>'
        yield words(x, bottom + 20, f"{value:g}", FAINT, "middle")


def dot(x: float, y: float, fill: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}"/>'


def words(x: float, y: float, text: str, fill: str = INK, anchor: str = "start") -> str:
    look = f'fill="{fill}" text-anchor="{anchor}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {look}>{escape(text)}</text>'


def picture_of(lines: Iterable[str]) -> str:
    """Return lines of a terminal as an SVG."""
    console = Console(width=200, color_system="truecolor", force_terminal=True)
    texts = [Text.from_ansi(line) for line in lines]
    while texts and not texts[-1].plain.strip():
        texts.pop()
    parts: list[str] = []
    for row, text in enumerate(texts):
        column = 0
        for segment in text.render(console):
            style = segment.style or Style()
            parts += drawn(segment.text.rstrip("\n"), style, MARGIN + column * WIDTH, row)
            column += segment.cell_length
    width = max(48, *(text.cell_len for text in texts)) * WIDTH + 2 * MARGIN
    return panel(width, len(texts) * HEIGHT + 2 * MARGIN, parts)


def drawn(text: str, style: Style, x: float, row: int) -> Iterator[str]:
    """Yield the elements of a piece of a line: its ground, and its words."""
    y = MARGIN + row * HEIGHT
    if style.bgcolor:
        ground = style.bgcolor.get_truecolor(THEME).hex
        width = len(text) * WIDTH
        yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}" fill="{ground}"/>'
    ink = style.color.get_truecolor(THEME).hex if style.color else INK
    ink = FAINT if style.dim else ink
    weight = ' font-weight="700"' if style.bold else ""
    for found in re.finditer(r"\S+(?: \S+)*", text):  # runs of spaces are not drawn
        at, length = x + found.start() * WIDTH, len(found[0]) * WIDTH
        place = f'x="{at:.1f}" y="{y + 14}" textLength="{length:.1f}"'
        yield f'<text {place} fill="{ink}"{weight}>{escape(found[0])}</text>'


def panel(width: float, height: float, parts: Iterable[str]) -> str:
    """Return an SVG with a dark ground of its own, which light and dark pages can show."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    edge = f'width="{width - 1:.0f}" height="{height - 1:.0f}" fill="{GROUND}" stroke="{EDGE}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" font-size="14">'
    ground = f'<rect x=".5" y=".5" rx="8" {edge}/>'
    return "\n".join([head, ground, *parts, "</svg>\n"])


def main() -> None:
    """Draw the pictures that the command line names, or all."""
    if unknown := {*sys.argv[1:]} - {*OF_TERMINALS, *OF_PAGES}:
        names = ", ".join([*OF_TERMINALS, *OF_PAGES])
        sys.exit(f"{', '.join(sorted(unknown))}: no picture; there are {names}")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        studio = Studio(Path(folder))
        for name in sys.argv[1:] or (*OF_TERMINALS, *(OF_PAGES if CHROMIUM else ())):
            drawn = getattr(studio, name)()
            content = drawn.encode() if isinstance(drawn, str) else drawn
            path = FOLDER / (f"{name}.png" if name in OF_PAGES else f"{name}.svg")
            path.write_bytes(content)
            print(f"{path.name}: {len(content):,} bytes", flush=True)


if __name__ == "__main__":
    main()

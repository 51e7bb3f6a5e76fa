"""A model as one web page that draws texts, colours texts and predicts characters, offline.

The page holds no text of the model that a browser could take for markup: the vocabulary is code
points, labels are escaped JSON, the numbers are base64, and the title is escaped. The content
security policy allows the page's own scripts and style, by their hashes, and forbids every request.
"""

import hashlib
import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Mapping, Set
from html import escape
from importlib.resources import files
from typing import Final

from charrnn.files.model_contents import Trained
from charrnn.network.parameters import Architecture, Parameters
from charrnn.prediction.losses import BITS, in_bits
from charrnn.prediction.unfold import Unfolding
from charrnn.system.visible import CONTROLS, count, visible, visible_line

SHOWN_AT_FIRST: Final = 10  # texts shown at first, if they are short
LONG_NAME: Final = 25  # characters

BOUNDS: Final = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)  # in bits: where the next band of colour begins
# The ink and the background of each band but the lowest, which is plain: by light and in the dark.
BAND_COLOURS: Final = (
    ("var(--ink) #fbf0cf", "var(--ink) #34332c"),
    ("var(--ink) #fbe09a", "var(--ink) #534619"),
    ("var(--ink) #fbc265", "#fff4dc #7d570e"),
    ("#1c1206 #f4914e", "#ffffff #ad4f12"),
    ("#ffffff #d33c3a", "#ffffff #d92f3c"),
    ("#ffffff #8d1170", "#2a0020 #ff8fe0"),
)
LIGHT, DARK = zip(*BAND_COLOURS, strict=True)


def band_of(nats: float) -> int:
    """Return the number of the band of colour of a surprisal, from 0."""
    return bisect_right(BOUNDS, nats * BITS)


def module(trained: Trained) -> bytes:
    """Return a JavaScript module for a page of one's own: the engine of the page, and numbers."""
    facts, numbers = plain_json(facts_of(trained)), encode(trained.model.parameters)
    model = f'const model = new charrnn.Model({facts}, charrnn.bytesOf("{numbers}"));'
    return f"{asset('engine.js')}{model}\nexport {{ charrnn }};\nexport default model;\n".encode()


def export(trained: Trained, title: str) -> bytes:
    corpus = trained.corpus
    is_short = corpus.examples_are in ("lines", "texts")
    are_names = is_short and corpus.characters < LONG_NAME * max(1, corpus.examples)
    # A class of characters for a regular expression of JavaScript with the flag u.
    steering = "".join(c if c == "-" else f"\\u{{{ord(c):x}}}" for c in CONTROLS)
    facts = facts_of(trained)
    facts |= {"isShort": is_short, "bounds": BOUNDS, "steering": f"[{steering}]"}
    values = {
        "title": escape(visible(title)),
        "kind": "names" if are_names else "texts",
        "count": str(SHOWN_AT_FIRST if is_short else 1),
        "about": about(trained),
        "facts": plain_json(facts),
        "numbers": encode(trained.model.parameters),
    }
    template = asset("page.html", kinds_of(trained.model.architecture))
    return fill_page(template, asset("page.css"), asset("engine.js") + asset("page.js"), values)


def unfolded(unfolding: Unfolding) -> bytes:
    """Return a page with each value of an unfolded text, and a script that writes its equation."""

    def shown(symbol: str | None) -> str | None:
        return symbol and visible_line(symbol)

    facts = json.loads(
        json.dumps(unfolding.as_json()),
        parse_float=lambda number: float(f"{float(number):.4g}"),  # four digits
        parse_constant=str,
    )
    for step in facts["time_steps"]:
        step |= {name: shown(step[name]) for name in ("reads", "target")}
    facts["symbol_names"] = [*map(shown, facts["symbol_names"])]
    text = escape(visible(unfolding.text))
    values = {"title": f"{text}: the unfolded network", "text": text, "facts": plain_json(facts)}
    template = asset("page.html").partition("<header>")[0] + asset("unfold.html")
    return fill_page(template, asset("page.css") + asset("unfold.css"), asset("unfold.js"), values)


def fill_page(template: str, css: str, script: str, values: Mapping[str, str]) -> bytes:
    """Return a page with its style, its script, and a policy that allows these and no more."""
    ours = {"style": fill(f"\n{css}", colours_in_css()), "script": f"\n{script}"}
    digests = {name: hashlib.sha256(text.encode()).digest() for name, text in ours.items()}
    hashes = {f"{name}_hash": b64encode(digest).decode() for name, digest in digests.items()}
    return fill(template, {**ours, **hashes, **values}).encode()


def asset(name: str, kinds: Set[str] = frozenset(["unlabelled"])) -> str:
    """Return a file of the folder, with the lines for all networks and for those of these kinds.

    A line that begins so: @gru lstm@, is only for networks with one of these cells.
    """

    def line(match: re.Match[str]) -> str:
        return match[2] if kinds & set(match[1].split()) else ""

    text = files("charrnn.export").joinpath("assets", name).read_text("utf-8")
    return re.sub(r"(?m)^@([a-z ]+)@(.*\n)", line, text)


def kinds_of(architecture: Architecture) -> Set[str]:
    has_labels = "labelled" if architecture.labels else "unlabelled"
    return {architecture.cell_name, architecture.head_name, has_labels}


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the template with a value for each name in braces."""
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], template)


def colours_in_css() -> dict[str, str]:
    """Return the colours of the bands by light and in the dark, and the rules of all colours."""
    values, names = {}, "bcdefg"
    for mode, colours in ("light", LIGHT), ("dark", DARK):
        pairs = zip(names, map(str.split, colours), strict=True)
        properties = [f"--{name}-ink: {ink}; --{name}: {ground};" for name, (ink, ground) in pairs]
        values[mode] = " ".join(properties)
    inks = dict.fromkeys("stuwxy", "state") | dict(zip(names, names, strict=True))
    rule = ".{0} {{ color: var(--{1}-ink); background: var(--{0}); }}"
    return values | {"bands": "\n".join(rule.format(*pair) for pair in inks.items())}


def about(trained: Trained) -> str:
    """Return the sizes of the network and of its corpus, and its held-out loss."""
    config, text = trained.config, trained.corpus
    cell = config.cell if config.cell == "tanh" else config.cell.upper()
    network = count(config.hidden, f"{cell} unit")
    examples = count(text.examples, text.examples_are.removesuffix("s"))
    rows = {
        "Network": network if config.layers == 1 else f"{config.layers} layers of {network}",
        "Characters": f"{trained.model.vocabulary.symbols - 2:,}",
        "Trained on": f"{examples}, {count(text.characters, 'character')}",
    }
    if trained.best is not None and text.held_out_characters:
        rows["Held-out loss"] = f"{in_bits(trained.best[1])} bits per character"
    return "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in rows.items())


def facts_of(trained: Trained) -> dict[str, object]:
    """Return the facts beside the numbers."""
    architecture, vocabulary = trained.model.architecture, trained.model.vocabulary
    labels = {"labels": [*vocabulary.labels.items()]} if vocabulary.labels else {}
    return {
        **{name: getattr(architecture, name) for name in ("symbols", "hidden", "layers")},
        "cell": architecture.cell_name,
        "head": architecture.head_name,
        "codes": [ord(character) for character in vocabulary.characters],
        "novelty": vocabulary.novelty,
        "normalize": trained.corpus.reading.normalize,
        **labels,
    }


def plain_json(value: object) -> str:
    """Return JSON in printable ASCII without characters that open or close markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def encode(p: Parameters) -> str:
    """Return all parameters in base64, little-endian: matrices in 16-bit floats, vectors in 32."""
    kinds = {1: "<f4", 2: "<f2"}  # by the number of axes
    numbers = b"".join(array.astype(kinds[array.ndim]).tobytes() for array in p.values())
    return b64encode(numbers).decode()

"""A model as one web page: it writes, reads and shows what comes next, with nothing to load.

Of the model there is no text in it that could be taken for markup: the vocabulary is code points,
the numbers are base64, and what is left, the title, is escaped. The policy of the page lets run
what its own two scripts are, by their hashes, and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import numpy as np

from charrnn.export.encoding import baked
from charrnn.export.js import asset, engine, facts_of, in_base64, plain_json
from charrnn.model_file.checkpoint import Trained
from charrnn.sampling.draws import keys_of_texts
from charrnn.scoring import heat_map
from charrnn.scoring.heat_map import DARK, LIGHT, NAMES, visible
from charrnn.settings.using import ExportOptions, SampleConfig
from charrnn.text import STEERING

BITS_A_TEXT: Final = 20  # of the filter: then one text in some 14,000 is taken for known and is not
FEWEST_BITS: Final = 1 << 16  # so that few texts, too, have bits that are not those of others
HASHES: Final = 14
SEVERAL: Final = 10  # texts to begin with, where they are short
STATES: Final = dict(zip("stuvwxy", ("-1", "-⅔", "-⅓", "0", "⅓", "⅔", "1"), strict=True))


def exported(trained: Trained, options: ExportOptions) -> bytes:
    """The page."""
    title = options.name if options.title is None else options.title
    config, corpus = trained.config, trained.corpus
    is_short = not config.carry and corpus.examples_are != "files"
    scripts = [f"\n{engine()}", f"\n{asset('colours.js')}{asset('page.js')}"]
    style = styled()
    facts = facts_of(trained, options) | {
        "model": options.model,
        "maxCharacters": SampleConfig().max_characters,
        "bounds": heat_map.BOUNDS,
        "steering": in_a_regular_expression(STEERING),
        "novel": filter_of(options.novel) if options.novel else None,
    }
    return filled(
        asset("page.html"),
        {
            "policy": policy(scripts, style),
            "title": escape(visible(title)),
            "style": style,
            "count": str(SEVERAL if is_short else 1),
            "layers": str(config.layers),
            "hidden": str(config.hidden),
            "legend": legend(dict(zip(NAMES, heat_map.names(), strict=True))),
            "unit_legend": legend(STATES),
            "about": about(trained),
            "facts": plain_json(facts),
            "numbers": in_base64(baked(trained.model.parameters, options.bits)),
            "engine": scripts[0],
            "page": scripts[1],
        },
    ).encode()


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with a value for each name in braces."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)


def styled() -> str:
    """The style sheet, with the colours of surprisal that ``eval --html`` has."""
    light, dark = (
        " ".join(
            f"--{name}-ink: {ink}; --{name}: {ground};"
            for name, (ink, ground) in zip(NAMES[1:], map(str.split, colours), strict=True)
        )
        for colours in (LIGHT, DARK)
    )
    bands = "\n".join(
        f".{name} {{ color: var(--{name}-ink); background: var(--{name}); }}" for name in NAMES[1:]
    )
    return filled(asset("page.css"), {"light": light, "dark": dark, "bands": bands})


def policy(scripts: Sequence[str], style: str) -> str:
    """The Content Security Policy: these scripts, this style, and nothing else."""
    allowed = " ".join(map(digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def digest(text: str) -> str:
    """What a policy knows a block by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def legend(names: Mapping[str, str]) -> str:
    """A patch of each colour, by its class."""
    return "".join(f'<i class="{name}">{escape(words)}</i>' for name, words in names.items())


def about(trained: Trained) -> str:
    """What to say of the network and of what it has learned: sizes, and how well."""
    config, corpus = trained.config, trained.corpus
    kind = "texts" if corpus.examples_are == "mixed" else corpus.examples_are
    cell = config.cell if config.cell == "tanh" else config.cell.upper()
    network = f"{config.hidden} {cell} units"
    rows = {
        "Network": network if config.layers == 1 else f"{config.layers} layers of {network}",
        "Characters it knows": f"{trained.model.vocabulary.symbols - 2:,}",
        "Learned from": f"{corpus.examples:,} {kind}, {corpus.characters:,} characters",
    }
    if trained.best_nats_per_character is not None:
        bits = trained.best_nats_per_character * heat_map.BITS
        rows["Surprise at texts it has not seen"] = f"{bits:.2f} bits a character"
    return "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in rows.items())


def in_a_regular_expression(characters: str) -> str:
    """A class of characters, ranges among them, for JavaScript's flag u."""
    named = (c if c == "-" else f"\\u{{{ord(c):x}}}" for c in characters)
    return f"[{''.join(named)}]"


def filter_of(texts: Sequence[str]) -> dict[str, object]:
    """A Bloom filter of these texts. The lower half of a text's key is where its first bit is, and
    the upper half how far it is to the next, made odd: the size is even, and an even step would
    come back to where it was the sooner.
    """
    keys = np.unique(keys_of_texts(texts))
    size = -(-max(FEWEST_BITS, len(keys) * BITS_A_TEXT) // 8)  # bytes
    bits = np.zeros(8 * size, np.bool_)
    first, step = keys & np.uint64(0xFFFFFFFF), keys >> np.uint64(32) | np.uint64(1)
    for i in range(HASHES):
        bits[(first + np.uint64(i) * step) % np.uint64(len(bits))] = True
    return {"bits": in_base64(np.packbits(bits, bitorder="little").tobytes()), "hashes": HASHES}

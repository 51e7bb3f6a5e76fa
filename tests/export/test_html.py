"""An exported page: what stands in it is ours, and nothing of the model is markup."""

import base64
import hashlib
import json
import re
import string
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest

from charrnn.export.html import BOUNDS, asset
from charrnn.export.write import ExportOptions, export
from charrnn.files.model_contents import Trained
from charrnn.model import load
from charrnn.system.visible import CONTROLS
from tests.browser import Reading, ask
from tests.networks import model_of
from tests.program import Program

HOSTILE = "\x00\n<>&\"'/!-\\\u2028\u202e\ufeff\U0010ffffscript"
TITLE = "</title><script>alert(1)</script>\u202e"


def page_of(trained: Trained, title: str | None = None) -> str:
    return export(trained, ".html", ExportOptions(title)).decode()


@pytest.fixture(scope="module")
def hostile() -> str:
    """The page of a model whose every character is meant to harm."""
    model = model_of(HOSTILE, layers=1, hidden=4, labels=[HOSTILE, TITLE])
    return page_of(model.trained, title=TITLE)


def test_nothing_in_it_is_fetched_and_nothing_runs_but_its_scripts(hostile: str) -> None:
    read = Reading(hostile)
    names = {name for _, attributes in read.elements for name in attributes}
    assert not {name for name in names if name in ("src", "href", "style") or name[:2] == "on"}
    assert not {tag for tag, _ in read.elements} & {"link", "iframe", "object", "base", "img"}
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_policy_names_the_scripts_and_the_style_by_their_hashes(hostile: str) -> None:
    read = Reading(hostile)
    metas = {one.get("http-equiv"): one for tag, one in read.elements if tag == "meta"}
    policy = str(metas["Content-Security-Policy"]["content"])
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert rules["require-trusted-types-for"] == ["'script'"]

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules["style-src"] == [hashed(text) for text in read.texts["style"]]
    assert rules["script-src"] == [hashed(text) for text in read.texts["script"][2:]]
    assert "unsafe" not in policy


def test_a_vocabulary_and_a_title_that_spell_markup_do_nothing(hostile: str) -> None:
    assert hostile.lower().count("<script") == hostile.lower().count("</script") == 3
    assert asset("engine.js").isascii()
    read = Reading(hostile)
    assert read.texts["title"] == read.texts["h1"] == [TITLE.replace("\u202e", r"\u202e")]
    facts, numbers = read.texts["script"][:2]
    printable = set(string.printable) - set("<>&\t\n\r\x0b\x0c")
    assert set(facts) | set(numbers) <= printable


def test_the_page_says_nothing_of_where_the_corpus_was(well_trained: Program) -> None:
    trained = load("model.npz").trained
    record = replace(trained.corpus, sources=("/home/alice/secret-names.txt",))
    trained = replace(trained, corpus=record)
    for kind in (".html", ".mjs"):
        page = export(trained, kind, ExportOptions()).decode()
        for secret in ("alice", "secret-names", "names.txt", record.fingerprint):
            assert secret not in page
        assert str(trained.history[-1]) not in page
        assert export(trained, kind, ExportOptions()).decode() == page


@pytest.mark.parametrize(
    ("are", "characters", "kind"),
    [("lines", 99, "names"), ("lines", 100, "texts"), ("texts", 9, "names"), ("files", 9, "texts")],
)
def test_a_page_of_short_lines_speaks_of_names(are: Any, characters: int, kind: str) -> None:
    trained = model_of(layers=1, hidden=4).trained
    record = replace(trained.corpus, examples_are=are, characters=characters, examples=4)
    assert f"has learned to spell {kind} and" in page_of(replace(trained, corpus=record))
    one = replace(trained, corpus=replace(record, examples=1, characters=1))
    assert f"<dd>1 {are.removesuffix('s')}, 1 character</dd>" in page_of(one)


def test_a_page_tells_the_size_of_its_network() -> None:
    for cell, size, told in (("gru", 1, "1 GRU unit"), ("tanh", 4, "2 layers of 4 tanh units")):
        model = model_of("ab", hidden=size, cell=cell, layers=1 + (cell == "tanh"))
        assert f"<dd>{told}</dd>" in page_of(model.trained)
        assert "<dt>Characters</dt><dd>2</dd>" in page_of(model.trained)


def test_what_steers_a_page_is_the_same_in_both_languages() -> None:
    facts = json.loads(Reading(page_of(model_of(layers=1, hidden=4).trained)).texts["script"][0])
    steers = f"((c) => new RegExp({json.dumps(facts['steering'])}, 'u').test(c))"
    codes = [*range(0x300), *range(0x2000, 0x2100), 0x61C, 0xD800, 0xDFFF, 0xE000, 0x1F600]
    found = ask(f"{codes}.map((code) => {steers}(String.fromCodePoint(code)))")
    assert found == [bool(re.match(f"[{CONTROLS}]", chr(code))) for code in codes]


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("is_dark", [False, True])
def test_everything_can_be_read_in_the_light_and_in_the_dark(is_dark: bool) -> None:
    (style,) = Reading(page_of(model_of(layers=1, hidden=4).trained)).texts["style"]
    roots = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    shades_of = re.findall(r"--([\w-]+): ([^;]+);", "".join(roots[: 1 + is_dark]))
    colours: dict[str, str] = dict(shades_of)
    pairs = [*product(("ink", "faint"), ("ground", "field")), ("on-main", "main"), ("ink", "bar")]
    pairs += [(f"{band}-ink", band) for band in "bcdefg"]
    pairs += [("state-ink", state) for state in "stuwxy"]
    lines = [("edge", "ground"), ("edge", "field"), ("focus", "ground")]
    for one, other in pairs + lines:
        shades = (str(colours.get(name[6:-1], name)) for name in (colours[one], colours[other]))
        dark, light = sorted(map(luminance, shades))
        assert (light + 0.05) / (dark + 0.05) >= (4.5 if (one, other) in pairs else 3), (one, other)


def test_the_legend_names_the_bounds_of_bands() -> None:
    words = Reading(page_of(model_of(layers=1, hidden=4).trained)).texts["i"]
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(BOUNDS)]
    assert words == [f"<{BOUNDS[0]:g}", *inner, f">{BOUNDS[-1]:g}"]


@pytest.mark.parametrize("labels", [None, ["b", "a"]])
def test_every_field_has_a_name_and_every_button_a_word(labels: list[str] | None) -> None:
    page = page_of(model_of(layers=1, hidden=4, labels=labels).trained)
    assert ("<select" in page) is bool(labels)
    read = Reading(page)
    ids = {attributes["id"] for _, attributes in read.elements if "id" in attributes}
    for _, attributes in read.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert {*(attributes.get(name) or "").split()} <= ids
    labelled = re.sub(r"<label\b.*?</label>", "", page, flags=re.DOTALL)
    for tag, attributes in Reading(labelled).elements:
        if tag in ("input", "textarea", "select"):
            assert "aria-labelledby" in attributes or f'<label for="{attributes["id"]}">' in page
    assert all(word.strip() for word in read.texts["button"])
    assert [tag for tag, _ in read.elements if tag in ("h1", "h2")] == ["h1", *["h2"] * 3]
    (root,) = (attributes for tag, attributes in read.elements if tag == "html")
    assert root["lang"] == "en"


@pytest.mark.parametrize(("holdout", "count"), [("0", 0), ("0.1", 1)])
def test_the_page_has_the_held_out_loss_if_any(program: Program, holdout: str, count: int) -> None:
    program.train("names.txt", "--holdout", holdout)
    program.run("export", "page.html").says()
    assert (program / "page.html").read_text("utf-8").count("Held-out loss") == count

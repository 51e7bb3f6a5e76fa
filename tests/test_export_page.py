"""An exported page: what stands in it is ours, and nothing of the model is markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import string
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pytest

from charrnn.export import ExportOptions, export
from charrnn.export.html import HASHES, filter_of
from charrnn.export.js import asset
from charrnn.model_file import Trained
from charrnn.network.parameters import Parameters
from charrnn.runs import load
from charrnn.scoring.scorer import NetworkScorer
from charrnn.text import STEERING
from charrnn.vocabulary import Vocabulary
from tests.javascript import ask, holding, lively, small
from tests.program import Program
from tests.scoring import score_texts

HOSTILE = Vocabulary("".join(sorted("\x00\n<>&\"'/!-\\\u2028\u202e\ufeff\U0010ffffscript")), 0.01)
TITLE = "</title><script>alert(1)</script>\u202e"


class Reading(HTMLParser):
    """The elements of a page, their attributes, and the text of some."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]][-1] += data


def page_of(trained: Trained, **options: object) -> str:
    return export(trained, "html", replace(ExportOptions(), **options)).decode()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def hostile() -> str:
    """The page of a model whose every character is meant to harm."""
    return page_of(holding(lively(vocabulary=HOSTILE)), title=TITLE, novel=("</script>", "-->"))


def test_nothing_in_it_is_fetched_and_nothing_runs_but_its_scripts(hostile: str) -> None:
    read = Reading(hostile)
    names = {name for _, attributes in read.elements for name in attributes}
    assert not {name for name in names if name in ("src", "href", "style") or name[:2] == "on"}
    assert not {tag for tag, _ in read.elements} & {"link", "iframe", "object", "base", "img"}
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "name", ["network.js", "core.js", "colours.js", "page.js", "page.css", "page.html"]
)
def test_the_assets_hold_nothing_that_loads_or_makes_markup(name: str) -> None:
    text = asset(name)
    for harm in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert harm not in text
    for harm in ("Function(", "import(", "fetch(", "XMLHttp", "url(", "http:", "https:", "@import"):
        assert harm not in text


def test_the_policy_names_the_scripts_and_the_style_by_their_hashes(hostile: str) -> None:
    read = Reading(hostile)
    (policy,) = (
        str(attributes["content"])
        for tag, attributes in read.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert rules["require-trusted-types-for"] == ["'script'"]

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules["style-src"] == [hashed(text) for text in read.texts["style"]]
    assert rules["script-src"] == [hashed(text) for text in read.texts["script"][2:]]
    assert "unsafe" not in policy


def test_a_vocabulary_and_a_title_that_spell_markup_do_nothing(hostile: str) -> None:
    assert hostile.lower().count("<script") == hostile.lower().count("</script") == 4
    read = Reading(hostile)
    assert read.texts["title"] == read.texts["h1"] == [TITLE.replace("\u202e", r"\u202e")]
    facts, numbers = read.texts["script"][:2]
    printable = set(string.printable) - set("<>&\t\n\r\x0b\x0c")
    assert set(facts) | set(numbers) <= printable


def test_facts_and_numbers_give_back_the_model_to_the_bit() -> None:
    model = lively("lstm", layers=2, vocabulary=HOSTILE)
    facts, numbers = Reading(page_of(holding(model))).texts["script"][:2]
    told = json.loads(facts)
    assert "".join(map(chr, told["codes"])) == HOSTILE.characters
    assert told["novelty"] == HOSTILE.novelty
    flat = np.frombuffer(base64.b64decode(numbers), "<f4")
    exact = model.parameters.exact()
    assert np.array_equal(flat, exact.flat)
    off = np.abs(flat - model.parameters.flat)
    assert off.max() < 1e-6  # all that the grid changes


def test_the_page_says_nothing_of_where_the_corpus_was(well_trained: Program) -> None:
    trained = load("model.npz").trained
    record = replace(trained.corpus, sources=("/home/alice/secret-names.txt",))
    trained = replace(trained, corpus=record)
    for kind in ("html", "js"):
        page = export(trained, kind, ExportOptions()).decode()
        for secret in ("alice", "secret-names", "names.txt", record.fingerprint):
            assert secret not in page
        assert str(trained.history[-1]) not in page
        assert export(trained, kind, ExportOptions()).decode() == page


@pytest.mark.parametrize(("bits", "most"), [(16, 1e-5), (8, 1e-3)])
def test_fewer_bits_make_it_smaller_and_score_the_same(
    bits: int, most: float, well_trained: Program
) -> None:
    trained = load("model.npz").trained
    p = trained.model.parameters
    numbers = Reading(page_of(trained, bits=bits)).texts["script"][1]
    data = base64.b64decode(numbers)
    rows = sum(len(array) for array in p.values() if array.ndim == 2)
    matrices = sum(array.size for array in p.values() if array.ndim == 2)
    assert len(data) == 2 * rows + bits // 8 * matrices + 4 * (p.flat.size - matrices)
    coarse = replace(trained.model, parameters=unpacked(data, p, bits))
    texts = (well_trained / "names.txt").read_text().split()
    before, after = (
        score_texts(NetworkScorer(model), texts).nats_per_character
        for model in (trained.model, coarse)
    )
    assert 0 < abs(before - after) < most


def unpacked(data: bytes, like: Parameters, bits: int) -> Parameters:
    """What the numbers of a page stand for."""
    p, at = like.copy(), 0
    for array in p.values():
        if array.ndim == 1:
            array[...] = np.frombuffer(data, "<f4", array.size, at)
            at += 4 * array.size
            continue
        for row in array:
            exponent = np.frombuffer(data, "<i2", 1, at)[0]
            wholes = np.frombuffer(data, f"<i{bits // 8}", row.size, at + 2)
            row[...] = np.ldexp(wholes.astype(float), exponent)
            at += 2 + bits // 8 * row.size
    assert at == len(data)
    return p


def test_what_steers_a_page_is_the_same_in_both_languages() -> None:
    facts = json.loads(Reading(page_of(small())).texts["script"][0])
    steers = f"((c) => new RegExp({json.dumps(facts['steering'])}, 'u').test(c))"
    codes = [*range(0x300), *range(0x2000, 0x2100), 0x61C, 0xD800, 0xDFFF, 0xE000, 0x1F600]
    found = ask(f"{codes}.map((code) => {steers}(String.fromCodePoint(code)))")
    expected = [bool(re.match(f"[{STEERING}]", chr(code))) for code in codes]
    assert found == expected


@pytest.mark.parametrize(("count", "taken"), [(1, 0), (10, 0), (100, 0), (4000, 2)])
def test_a_filter_knows_all_of_its_texts_and_next_to_no_other(count: int, taken: int) -> None:
    texts = [f"name {number}" for number in range(count)]
    made = filter_of(texts)

    def in_javascript(some: list[str]) -> list[bool]:
        source = asset("page.js")
        function = source[source.index("  function isKnown") : source.index("  // Writing.")]
        told = json.dumps({"novel": made})
        found: list[bool] = ask(
            f"(() => {{ const facts = {told}, known = charrnn.bytesOf(facts.novel.bits);"
            f" {function}; return {json.dumps(some)}.map(isKnown); }})()"
        )
        return found

    assert all(in_javascript(texts))
    assert sum(in_javascript([f"other {number}" for number in range(5000)])) <= taken
    assert len(base64.b64decode(str(made["bits"]))) == max(2**16, count * 20) // 8


@pytest.mark.parametrize("count", [1, 30, 1000, 6000])
def test_each_text_of_a_filter_has_bits_of_its_own(count: int) -> None:
    """As many are set as if each had been drawn by lot."""
    bits = np.unpackbits(
        np.frombuffer(
            base64.b64decode(str(filter_of([f"name {n}" for n in range(count)])["bits"])), np.uint8
        )
    )
    expected = len(bits) * -np.expm1(-HASHES * count / len(bits))
    assert bits.sum() == pytest.approx(expected, rel=0.01)


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(ink: str, ground: str) -> float:
    light, dark = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("is_dark", [False, True])
def test_everything_can_be_read_in_the_light_and_in_the_dark(is_dark: bool) -> None:
    (style,) = Reading(page_of(small())).texts["style"]
    roots = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours: dict[str, str] = {}
    for root in roots[: 1 + is_dark]:
        colours |= dict(re.findall(r"--([\w-]+): ([^;]+);", root))
    colours = {
        name: colours[value[6:-1]] if value.startswith("var") else value
        for name, value in colours.items()
    }
    pairs = [*product(("ink", "faint"), ("ground", "field")), ("on-main", "main"), ("ink", "bar")]
    pairs += [(f"{band}-ink", band) for band in "bcdefg"]
    pairs += [("state-ink", state) for state in "stuwxy"]
    for ink, ground in pairs:
        assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for line, ground in [("edge", "ground"), ("edge", "field"), ("focus", "ground")]:
        assert contrast(colours[line], colours[ground]) >= 3, (line, ground)


def test_every_field_has_a_name_and_every_button_a_word() -> None:
    page = page_of(small())
    read = Reading(page)
    ids = {attributes["id"] for _, attributes in read.elements if "id" in attributes}
    for _, attributes in read.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert {*(attributes.get(name) or "").split()} <= ids
    labelled = re.sub(r"<label\b.*?</label>", "", page, flags=re.DOTALL)
    for tag, attributes in Reading(labelled).elements:
        if tag in ("input", "textarea", "select"):
            named = "aria-labelledby" in attributes
            assert named or f'<label for="{attributes["id"]}">' in page
    assert all(word.strip() for word in read.texts["button"])
    assert [tag for tag, _ in read.elements if tag in ("h1", "h2")] == ["h1", *["h2"] * 4]
    (root,) = (attributes for tag, attributes in read.elements if tag == "html")
    assert root["lang"] == "en"

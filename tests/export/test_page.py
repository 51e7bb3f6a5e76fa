"""Exported pages at work: in Chromium where it is there, and everywhere in V8 with a stub."""

import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn.export.html import band_of, unfolded
from charrnn.export.write import ExportOptions, export
from charrnn.model import Model
from charrnn.prediction.unfold import unfold
from charrnn.text.vocabulary import END, UNKNOWN
from tests.browser import CHROMIUM, Browser, Page, Stub, assert_quiet
from tests.export.test_html import HOSTILE
from tests.export.test_write import slim
from tests.networks import LABELS, model_of

WAYS = ["v8", pytest.param("chromium", marks=pytest.mark.skipif(not CHROMIUM, reason="not here"))]
Open = Callable[..., Page | Stub]
HELPERS = """(() => {
  globalThis.get = (id) => document.getElementById(id);
  globalThis.rows = (id) => Array.from(get(id).children, (row) => row.children[0].textContent);
  globalThis.type = (id, value) => {
    get(id).value = value;
    get(id).dispatchEvent(new Event("input"));
  };
  globalThis.check = (id, isChecked) => { get(id).checked = isChecked; };
  globalThis.follow = (hash) => {
    location.hash = hash;
    if (typeof view !== "undefined") view.dispatchEvent(new Event("hashchange"));
  };
  globalThis.press = (key, shiftKey = false) => get("figure").dispatchEvent(
    Object.assign(new Event("keydown"), { key, shiftKey }));
})()"""


@pytest.fixture(params=WAYS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Open a page at an address that ends in these settings; Chromium loads it from a server."""
    pages: list[Page] = []

    def in_v8(page: str, settings: str = "") -> Stub:
        stub = Stub(page, settings)
        stub.ask(HELPERS)
        return stub

    def in_chromium(page: str, settings: str = "") -> Page:
        name = f"page{len(pages)}.html"
        (tmp_path / name).write_text(page, "utf-8")
        shown = browser.open(f"http://localhost:{server.server_port}/{name}{settings}")
        pages.append(shown)
        shown.ask(HELPERS)
        return shown

    if request.param == "v8":
        yield in_v8
        return
    browser: Browser = request.getfixturevalue("browser")
    folder = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("localhost", 0), folder) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever, 0.01)  # seconds until it sees that it is over
        yield in_chromium
        server.shutdown()
    for page in pages:
        assert_quiet(page, f"http://localhost:{server.server_port}/")


def until(page: Page | Stub, expression: str) -> None:
    """Wait until an expression is true. In V8 all has been done that waited."""
    if isinstance(page, Stub):
        assert page.ask(f"Boolean({expression})"), expression
        return
    look = f"const look = () => ({expression}) ? go(true) : setTimeout(look, 10); look();"
    page.ask(f"new Promise((go) => {{ {look} }})")


def settle(page: Page | Stub, act: str = "0") -> list[str]:
    """Do something in a page, wait until it has drawn, and return its texts."""
    if act != "0":
        page.ask(f"get('samples').setAttribute('aria-busy', 'true'), {act}, 0")
    until(page, "get('samples').getAttribute('aria-busy') === null")
    texts: list[str] = page.ask("rows('samples')")
    return texts


def page_of(model: Model, kind: str = "texts") -> str:
    corpus = replace(model.trained.corpus, examples_are=kind)
    trained = replace(model.trained, corpus=corpus)
    return export(trained, ".html", ExportOptions(title="names")).decode()


TYPED = "\uff41e\u0301"  # a wide letter, and one that is composed
HOW: dict[str, Any] = {"prime": "ab", "temperature": 0.7, "seed": 12}
ADDRESS = "#prime=ab&temperature=0.7&seed=12&count=7"


def test_it_draws_what_python_draws(opened: Open, tmp_path: Path) -> None:
    model = model_of("abcdé", cell="gru", layers=2, hidden=6)
    small = slim(model, tmp_path)
    page = opened(page_of(model), ADDRESS)
    assert settle(page) == small.sample(7, **HOW)
    assert settle(page, "type('longest', '4')") == small.sample(7, longest=4, **HOW)
    page = opened(page_of(model, "files"), f"{ADDRESS}&best=1")
    with pytest.warns(UserWarning, match="may be copies"):
        best = small.sample(7, best=True, **HOW)
    assert settle(page) == best
    plain = settle(page, "check('best', false), type('longest', '')")
    assert plain == small.sample(7, **HOW) != best


def test_a_choice_of_label_draws_and_reads_as_python_does(opened: Open, tmp_path: Path) -> None:
    model = model_of("abcdé", cell="gru", layers=1, hidden=6, labels=LABELS)
    small, page_text = slim(model, tmp_path), page_of(model)
    page = opened(page_text, ADDRESS)
    assert settle(page) == small.sample(7, **HOW)
    shown = page.ask("Array.from(get('label').children, (one) => one.textContent)")
    assert shown[-len(small.labels) :] == small.labels
    page.ask("type('typed', 'abé'), 0")
    cost = "get('cost').textContent"
    for label in (*small.labels, None):
        place = "" if label is None else str(small.labels.index(label))
        drawn = settle(page, f"type('label', '{place}')")
        assert drawn == small.sample(7, label=label, **HOW)
        link = page.ask("location.hash")
        nats = small.surprisal("abé", label=label).nats[:-1]
        assert page.ask(cost).startswith(f"{sum(nats) / math.log(2):.1f} bits")
        assert settle(opened(page_text, link)) == drawn
    assert settle(opened(page_text, f"{ADDRESS}&label=none")) == small.sample(7, **HOW)
    assert settle(page, f"follow('{ADDRESS}&label=2')") == small.sample(7, label="2", **HOW)
    nats = small.surprisal("abé", label="2").nats[:-1]
    until(page, f"{cost}.startsWith('{sum(nats) / math.log(2):.1f} bits')")


def test_best_is_off_with_a_seed_and_for_long_texts(opened: Open) -> None:
    model = model_of("abcdé", hidden=6, layers=1)
    ways = (("texts", ""), ("files", ""), ("texts", "#seed=3"), ("files", "#best=1"))
    for kind, settings in ways:
        page = opened(page_of(model, kind), settings)
        settle(page)
        assert page.ask("get('best').checked") is ((kind, settings) == ("texts", ""))


def test_lengths_hold_and_what_cannot_be_found_is_said(opened: Open) -> None:
    page = opened(page_of(model_of("abcdé", hidden=6, layers=1)), "#seed=3&count=9")
    said = "get('said').textContent"
    first = settle(page)
    assert len(first) == 9
    settle(page, "type('shortest', '4')")
    drawn = settle(page, "type('longest', '5')")
    assert {len(text) for text in drawn} == {4, 5}
    assert (len(drawn), page.ask(said)) == (9, "")
    assert settle(page, "type('longest', '3')") == []
    assert page.ask(said) == "found only 0"
    assert settle(page, "follow('#seed=3&count=9')") == first  # a link without lengths
    assert page.ask(said) == ""
    assert settle(page, "type('shortest', '-4')") == first  # as without it
    for typed, count in (("0", 1), ("-3", 1), ("2.9", 2), ("", 1)):
        assert len(settle(page, f"type('count', '{typed}')")) == count
        assert f"count={count}" in page.ask("location.hash").split("&")


def test_what_is_shown_is_copied_while_texts_are_drawn(opened: Open) -> None:
    page = opened(page_of(model_of("abcdé", hidden=6, layers=1), "files"), "#seed=3&count=2")
    settle(page)
    page.ask("globalThis.clock = 0, performance.now = () => (clock += 99), 0")
    keep = "writeText(text) { globalThis.copied = text; }"
    page.ask(f"Object.defineProperty(navigator, 'clipboard', {{ value: {{ {keep} }} }}), 0")
    shown, copied = page.ask(
        "(get('others').click(), get('copy').click(), [rows('samples').join('\\n'), copied])"
    )
    assert copied == f"{shown}\n"


def test_a_link_has_the_seed_and_settings_and_others_differ(opened: Open, tmp_path: Path) -> None:
    model = model_of("abcdé", hidden=6, layers=1)
    small, page_text = slim(model, tmp_path), page_of(model)
    page = opened(page_text, ADDRESS)
    first = settle(page)
    again = settle(page, "type('prime', 'é')")
    assert all(text.startswith("é") for text in again)
    others = settle(page, "get('others').click()")
    assert others != again
    assert not page.ask("get('link').hidden")
    page.ask("get('link').click(), 0")
    until(page, "get('said').textContent === 'link copied'")
    copied = "navigator.clipboard.readText()" if isinstance(page, Page) else "navigator.copied"
    link = page.ask(copied)
    assert settle(opened(page_text, link[link.index("#") :])) == others
    page.ask("Object.defineProperty(navigator, 'clipboard', { value: undefined }), 0")
    page.ask("globalThis.getSelection = () => ({ selectAllChildren(one) { one.is = 1; } }), 0")
    page.ask("get('link').click(), 0")
    until(page, "get('said').is")
    assert page.ask("get('said').textContent") == link
    assert settle(opened(page_text, ADDRESS)) == first
    assert settle(page, f"follow('{ADDRESS}')") == first
    for seed in (2**53 + 1, 2**64 - 1):
        drawn = small.sample(10, seed=seed, temperature=0.8)
        assert settle(opened(page_text, f"#seed={seed}")) == drawn
    for odd in ("#seed=x&count=&temperature=1e9&prime=a", "#seed=-1&shortest=2;", "#", "#%20"):
        assert len(settle(opened(page_text, odd))) == 10


def test_reading_has_the_costs_of_the_model(opened: Open, tmp_path: Path) -> None:
    model = model_of("abcdé", cell="lstm", hidden=6, layers=1)
    small, page = slim(model, tmp_path), opened(page_of(model))
    settle(page)
    for text in ("abé", "aXb\n", "", "😀a"):
        page.ask(f"type('typed', {json.dumps(text)}), 0")
        shown = page.ask("Array.from(get('mirror').children, (part) => part.textContent)")
        assert "".join(shown).rstrip("\n") == text.replace("\n", "␊") or "\n" in text
        nats = small.surprisal(text).nats
        titles = page.ask("Array.from(get('mirror').children, (part) => part.title)")
        bits = [f"{cost / math.log(2):.1f}" for cost in nats[: len(text)]]
        assert titles[: len(text)] == bits
        bands = page.ask("Array.from(get('mirror').children, (part) => part.className)")
        assert bands[: len(text)] == ["abcdefg"[band_of(cost)] for cost in nats[: len(text)]]
        cost = page.ask("get('cost').textContent")
        total = sum(nats[:-1]) / math.log(2)
        said = f"{total:.1f} bits: {total / max(1, len(text)):.3f} a letter. Ending here costs"
        assert cost == (f"{said} {nats[-1] / math.log(2):.1f} more." if text else "")


@pytest.mark.parametrize(
    ("form", "read"), [("none", "\uff41e\u0301"), ("NFC", "\uff41\u00e9"), ("NFKC", "a\u00e9")]
)
def test_what_is_typed_is_read_as_the_corpus_was(opened: Open, form: Any, read: str) -> None:
    model = model_of("abc", hidden=4, layers=1)
    reading = replace(model.trained.corpus.reading, normalize=form)
    corpus = replace(model.trained.corpus, reading=reading)
    page = opened(page_of(Model(replace(model.trained, corpus=corpus))))
    page.ask(f"type('typed', {json.dumps(TYPED)}), 0")
    shown = "Array.from(get('mirror').children, (part) => part.textContent).join('').trim()"
    until(page, f"{shown} === {json.dumps(read)}")


def test_the_likeliest_letters_follow_and_a_click_appends_one(opened: Open, tmp_path: Path) -> None:
    model = model_of(" abcdefghijklé", hidden=6, layers=1)
    model.parameters["c"][[END, UNKNOWN]] += 3  # both are likely; what is unknown is not shown
    small, page = slim(model, tmp_path), opened(page_of(model))
    settle(page)
    page.ask("type('typed', 'ab'), 0")
    o = small.logits([END, *small.vocabulary.encode("ab")])[-1]
    chances = (1 - small.vocabulary.novelty) * np.exp(o - np.logaddexp.reduce(o))
    names = {0: "end", **{2 + i: c for i, c in enumerate(small.vocabulary.characters)}}
    names[2 + small.vocabulary.characters.index(" ")] = "space"
    best = sorted((k for k in names), key=lambda k: -chances[k])[:10]
    assert page.ask("rows('next')") == [f"{names[k]} {100 * chances[k]:.1f} %" for k in best]
    is_off = "Array.from(get('next').children, (row) => row.children[0].disabled)"
    assert page.ask(is_off) == [k == END for k in best]
    place = next(i for i, k in enumerate(best) if k != 0)
    page.ask(f"get('next').children[{place}].children[0].click(), 0")
    assert page.ask("get('typed').value") == "ab" + small.vocabulary.characters[best[place] - 2]


def test_characters_that_are_meant_to_harm_are_shown(opened: Open) -> None:
    page = opened(page_of(model_of(HOSTILE, hidden=4, layers=1, seed=3)), "#seed=1&count=40")
    drawn = settle(page)
    assert any("<" in text for text in drawn)
    assert not set("".join(drawn)) & set("\x00\u202e\u2028")
    assert any("\\u202e" in text for text in drawn)
    text = "</textarea><script>globalThis.harmed = 1</script>\u202e"
    page.ask(f"type('typed', {json.dumps(text)}), 0")
    assert page.ask("get('mirror').textContent").startswith(text[:-1] + "\\u202e")
    assert page.ask("globalThis.harmed ?? 0") == 0


NOT_WIDER = """(() => {
  const across = document.querySelector(".across");
  const is = (one) => one.getBoundingClientRect().right > 390 && !(across && across.contains(one));
  const wide = Array.from(document.querySelectorAll("body *")).filter(is);
  return [document.documentElement.scrollWidth, wide.map((one) => one.outerHTML.slice(0, 99))];
})()"""


@pytest.mark.parametrize("opened", WAYS[1:], indirect=True)
def test_on_a_phone_nothing_is_wider_than_the_screen(opened: Open) -> None:
    model = model_of("abcdé", hidden=8, layers=2)
    long = "#prime=" + "abcdé" * 60 + "&count=3"
    for text, settings in (
        (page_of(model, "files"), long),
        (page_of(model), "#count=100"),
        (page_of(model_of("abcdé", hidden=4, layers=1, labels=["b", "a" * 99])), "#count=1"),
        (unfolded(unfold(model.language_model, "abcdé" * 9)).decode(), ""),
    ):
        page = opened(text, settings)
        phone = {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
        page.call("Emulation.setDeviceMetricsOverride", **phone)  # type: ignore[union-attr]
        if settings:
            settle(page)
            page.ask(f"type('typed', {json.dumps('abcdéX' * 60)}), 0")
        assert page.ask(NOT_WIDER) == [390, []]


def test_keys_stop_at_both_ends_of_the_table(opened: Open) -> None:
    found = unfold(model_of("abcdé", hidden=3, layers=2).language_model, "ab")
    page = opened(unfolded(found).decode())

    def after(key: str, times: int, shift: bool = False) -> str:
        page.ask(f"Array({times}).fill(0).forEach(() => press('{key}', {str(shift).lower()})), 0")
        where, _, step = page.ask("get('what').textContent").partition(". ")
        assert page.ask("document.querySelectorAll('.now').length") == 1
        return f"{where}. {step}"

    first, last = "Step 1 reads END and predicts a.", "Step 3 reads b and predicts END."
    assert after("x", 1) == f"h(1) of layer 2, unit 1. {first}"
    assert after("ArrowLeft", 1) == f"h(1) of layer 2, unit 1. {first}"
    assert after("ArrowRight", 2) == after("ArrowRight", 9) == f"h(3) of layer 2, unit 1. {last}"
    assert after("ArrowLeft", 9) == f"h(1) of layer 2, unit 1. {first}"
    assert after("ArrowLeft", 1, shift=True) == f"h(1) of layer 2, unit 3. {first}"
    assert after("ArrowRight", 1, shift=True) == f"h(1) of layer 2, unit 1. {first}"
    assert after("ArrowUp", 99) == f"L(1), unit 1. {first}"
    assert after("ArrowUp", 1) == f"L(1), unit 1. {first}"
    assert after("ArrowDown", 99) == after("ArrowDown", 1)
    assert after("ArrowDown", 1).startswith("a(1) of layer 1, unit 1.")
    kinds = model_of("ab", hidden=4, layers=1, labels=LABELS).language_model
    page = opened(unfolded(unfold(kinds, "a", LABELS[-2])).decode())
    assert after("x", 1) == "h(1) of layer 1, unit 1. Step 1 reads __proto__ and predicts a."


def test_the_table_shows_equations_of_the_square_that_is_pointed_at(opened: Open) -> None:
    found = unfold(model_of("ab\ncdé", hidden=3, layers=1).language_model, "ab</script>\u202e\n")
    page = opened(unfolded(found).decode())
    page.ask("Array(12).fill(0).forEach(() => press('ArrowRight')), 0")
    assert page.ask("get('what').textContent").endswith(r"reads \u202e and predicts \n.")
    assert "\u202e" not in page.ask("get('figure').textContent")
    page.ask("Array(11).fill(0).forEach(() => press('ArrowLeft')), press('ArrowRight', true), 0")
    shown = "Array.from(get('equations').children[0].children, (one) => one.textContent)"
    h, d_h = (found.layers[0].values[name][1][1] for name in ("h", "dL/dh"))
    label, numbers = page.ask(shown)
    assert label == "(10.9) h(t) = tanh a(t)"
    assert numbers.startswith(f"{h:.4g} = tanh ")
    page.ask("press('ArrowUp'), 0")
    label, numbers = page.ask(shown)
    assert label.startswith("(10.21) dL/dh(t) = ")
    assert numbers.startswith(f"{d_h:.4g} = ")
    square = "document.querySelectorAll('.now')[0].parentNode.parentNode.children[3].children[2]"
    page.ask(f"{square}.dispatchEvent(new PointerEvent('pointerover', {{ bubbles: true }})), 0")
    assert page.ask("get('what').textContent").startswith("dL/dh(3) of layer 1, unit 3. Step 3")
    found = unfold(model_of("abcdé", hidden=3, layers=2).language_model, "ab")
    page = opened(unfolded(found).decode())
    for key in (*["Right"] * 2, *["Down"] * 3):  # to the last step of the lower layer
        page.ask(f"press('Arrow{key}'), 0")
    assert page.ask(shown)[0].startswith("(10.21) dL/dh(t) = ")


def test_squares_have_the_colours_of_their_numbers(opened: Open) -> None:
    found = unfold(model_of("abcdé", hidden=9, layers=1).language_model, "abé")
    page = opened(unfolded(found).decode())
    part, cells = found.layers[0], "Array.from(row.children).slice(1)"
    squares = f"{cells}.map((cell) => Array.from(cell.children, (one) => one.className[0]))"
    rows = f"Array.from(get('figure').children, (row) => [row.children[0].textContent, {squares}])"
    shown = dict(page.ask(rows))
    for name in ("h", "dL/dh"):
        bands = [["stuvwxy"[k] for k in row] for row in part.bands(name)]
        assert shown[f"{name} of layer 1"] == bands
    (likeliest,) = page.ask(
        "Array.from(get('figure').children).filter((row) => row.children[0].textContent"
        " === 'likeliest').map((row) => row.children[2].textContent)"
    )
    names = ["END", "\ufffd", *"abcdé"]
    chances = sorted(zip(found.output.values["y_hat"][1], names, strict=True), reverse=True)
    assert likeliest.split("\n") == [f"{name} {chance:.2f}" for chance, name in chances[:4]]

"""An exported page in a real browser: it draws what the command line draws, and can be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from charrnn.runs import load
from charrnn.scoring.scorer import NetworkScorer
from charrnn.text import visible
from tests.browser import CHROMIUM, WITHOUT_ONE, Browser, Page
from tests.program import Program

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT_ONE)

WRITTEN = (
    "!document.getElementById('samples').hasAttribute('aria-busy')"
    " && document.getElementById('samples').children.length"
    " && document.querySelectorAll('#next button').length"
)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests, whose start takes longer than a page."""
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def browser(one: Browser) -> Iterator[Browser]:
    """The browser, without the pages of other tests."""
    yield one
    one.close_pages()


def opened(browser: Browser, path: Path, fragment: str = "", width: int = 1200) -> Page:
    page = browser.open(path, width, fragment=fragment)
    page.until(WRITTEN)
    return page


def texts_of(page: Page) -> list[str]:
    texts: list[str] = page.ask(
        "Array.from(document.querySelectorAll('#samples .text'), (e) => e.textContent)"
    )
    return texts


def put(page: Page, field: str, value: str) -> None:
    """Type it."""
    page.ask(
        f"(() => {{ const field = document.getElementById('{field}');"
        f" field.value = {json.dumps(value)}; field.dispatchEvent(new Event('input')); }})()"
    )


def is_quiet(page: Page) -> bool:
    """Whether nothing was thrown, refused or asked of a network."""
    asked = [one["request"]["url"] for one in page.heard("Network.requestWillBeSent")]
    outside = [url for url in asked if not url.startswith(("file:", "data:"))]
    said = [one["entry"]["text"] for one in page.heard("Log.entryAdded")]
    return (outside, said, page.heard("Runtime.exceptionThrown")) == ([], [], [])


def test_its_samples_are_those_of_the_command_line(well_trained: Program, browser: Browser) -> None:
    well_trained.run("export", "names.html").says()
    page = opened(browser, well_trained / "names.html", "#t=0.8&s=1&n=200&p=Ma")
    line = ("sample", "-n", "200", "--seed", "1", "-t", "0.8", "--prime", "Ma")
    drawn = [row["text"] for row in well_trained.run(*line, "--json").rows]
    assert texts_of(page) == drawn
    command = page.ask("document.getElementById('command').textContent")
    assert command == "charrnn sample -m model.npz -n 200 -t 0.8 --prime='Ma' --seed 1"
    assert is_quiet(page)


def test_a_page_of_gates_and_a_halting_unit_draws_the_same_and_shows_each_layer(
    program: Program, browser: Browser
) -> None:
    made = ("--cell", "lstm", "--ends", "halt", "--layers", "2", "--hidden", "5")
    program.run("train", "names.txt", *made, "--epochs", "3").says()
    program.run("export", "names.html").says()
    page = opened(browser, program / "names.html", "#t=1&s=18446744073709551615&n=50")
    line = ("sample", "-n", "50", "--seed", "18446744073709551615", "--json")
    assert texts_of(page) == [row["text"] for row in program.run(*line).rows]
    model = load("model.npz")
    put(page, "typed", "Anna")
    page.until("document.getElementById('mirror').textContent === 'Anna\\n'")
    put(page, "by", "unit")
    tips = []
    for unit in range(1, 6):  # of the second layer, which is the top
        put(page, "unit", str(unit))
        tips.append(page.ask("Array.from(document.querySelectorAll('#mirror i')).pop().title"))
    last = [float(tip.split()[-1]) for tip in tips]
    assert last == pytest.approx(model.embed(["Anna"])[0].tolist(), abs=0.006)
    put(page, "layer", "1")
    assert page.ask("Array.from(document.querySelectorAll('#mirror i')).pop().title") != tips[-1]
    assert is_quiet(page)


def test_what_can_be_used_has_a_name_for_who_cannot_see_it(
    well_trained: Program, browser: Browser
) -> None:
    well_trained.run("export", "names.html", "--novel", "names.txt").says()
    page = opened(browser, well_trained / "names.html", "#n=2")
    put(page, "by", "unit")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node["name"]["value"])
        for node in nodes
        if not node["ignored"] and any(one["name"] == "focusable" for one in node["properties"])
    ]
    roles = {role for role, _ in named}
    assert {"button", "textbox", "slider", "spinbutton", "checkbox"} <= roles
    assert all(name.strip() for _, name in named)
    buttons = [name for role, name in named if role == "button"]
    assert {"Write new texts", "Read text 1 in colours", "Read text 2 in colours"} <= {*buttons}


def test_the_same_samples_are_refused_that_stand_in_the_corpus(
    well_trained: Program, browser: Browser
) -> None:
    line = ("sample", "-n", "60", "--seed", "3", "--json")
    any_ = [row["text"] for row in well_trained.run(*line).rows]
    well_trained.write("known.txt", "\n".join(any_[:9]))
    novel = [row["text"] for row in well_trained.run(*line, "--novel", "known.txt").rows]
    assert not {*novel} & {text for text in any_[:9] if text}
    well_trained.run("export", "names.html", "--novel", "known.txt").says()
    page = opened(browser, well_trained / "names.html", "#t=1&s=3&n=60")
    assert texts_of(page) == novel
    page.ask("document.getElementById('novel').click()")
    page.until("document.querySelector('#samples .text').textContent === " + json.dumps(any_[0]))
    page.until(WRITTEN)
    assert texts_of(page) == any_
    assert "novel=0" in page.ask("location.hash")


def test_no_text_of_earlier_settings_stays_where_all_attempts_are_in_vain(
    well_trained: Program, browser: Browser
) -> None:
    line = ("sample", "-t", "0", "--json", "--prime", "Ma")
    (known,) = (row["text"] for row in well_trained.run(*line).rows)
    well_trained.write("known.txt", known + "\n")
    well_trained.run("export", "names.html", "--novel", "known.txt").says()
    page = opened(browser, well_trained / "names.html", "#t=0&s=1&n=15&p=Ma&novel=0")
    assert texts_of(page) == [known] * 15
    page.ask("document.getElementById('novel').click()")
    page.until("document.querySelector('#samples .text').textContent === 'given up'")
    page.until(WRITTEN)
    assert texts_of(page) == ["given up"] * 10


def test_a_text_that_is_typed_is_coloured_and_costs_what_eval_says(
    well_trained: Program, browser: Browser
) -> None:
    well_trained.run("export", "names.html").says()
    page = opened(browser, well_trained / "names.html")
    text = "Maria & <b>Q\u017ez</b>"
    put(page, "typed", text)
    page.until(f"document.getElementById('mirror').textContent === {json.dumps(text + chr(10))}")
    model = load("model.npz").language_model
    nats = NetworkScorer(model).read(model.vocabulary.encode(text))[0].sum()
    cost = page.ask("document.getElementById('cost').textContent")
    assert cost.startswith(f"{len(text)} characters, {nats / 0.6931471805599453:.1f} bits")
    tips = page.ask("Array.from(document.querySelectorAll('#mirror i'), (e) => e.title).join(' ')")
    assert len(tips.split()) == len(text)
    assert page.ask("document.querySelectorAll('#mirror b').length") == 0
    assert is_quiet(page)


def test_a_click_types_the_likeliest_and_goes_on(well_trained: Program, browser: Browser) -> None:
    well_trained.run("export", "names.html").says()
    page = opened(browser, well_trained / "names.html")
    put(page, "typed", "")
    page.until("document.getElementById('cost').textContent === ''")
    button = "document.querySelector('#next button[aria-disabled=false]')"
    page.ask(f"(globalThis.pressed = {button}).focus()")
    first = page.ask("pressed.firstChild.textContent")
    page.ask("document.querySelector('#next button[aria-disabled=true]')?.click()")  # the end
    assert page.ask("document.getElementById('typed').value") == ""
    page.ask("pressed.click()")
    assert page.ask("document.getElementById('typed').value") == first
    assert page.ask("document.activeElement === pressed")
    page.until("document.getElementById('cost').textContent.startsWith('1 character,')")
    page.ask("document.getElementById('go-on').click()")
    page.until("location.hash.endsWith('p=' + document.getElementById('typed').value)")
    page.until(WRITTEN)
    assert all(text.startswith(first) for text in texts_of(page))


def test_a_sample_is_read_in_colours_and_a_unit_can_be_watched(
    well_trained: Program, browser: Browser
) -> None:
    well_trained.run("export", "names.html").says()
    page = opened(browser, well_trained / "names.html", "#s=5&n=3")
    second = texts_of(page)[1]
    page.ask("document.querySelectorAll('#samples button')[1].click()")
    assert page.ask("document.getElementById('typed').value") == second
    page.until("document.getElementById('mirror').textContent.trim() !== ''")
    put(page, "by", "unit")
    put(page, "unit", "2")
    model = load("model.npz")
    tips = page.ask("Array.from(document.querySelectorAll('#mirror i'), (e) => e.title).join(' ')")
    states = [
        model.embed([second[: end + 1]])[0][1] for end in range(len(second))
    ]  # of the only layer
    assert [float(tip) for tip in tips.split()] == pytest.approx(states, abs=0.006)
    assert page.ask("document.getElementById('legend').hidden")


def test_a_hostile_title_and_text_are_shown_and_not_obeyed(
    well_trained: Program, browser: Browser
) -> None:
    title = "</title><script>document.title = 'obeyed'</script>"
    well_trained.run("export", "names.html", "--title", title).says()
    prime = "<img src=x onerror=alert(1)>\u202e'"
    page = opened(browser, well_trained / "names.html", "#p=" + quote(prime))
    assert page.ask("document.title") == title
    assert page.ask("document.querySelectorAll('img').length") == 0
    assert all(text.startswith(str(visible(prime))) for text in texts_of(page))
    refused = (
        "(() => { try { document.body.innerHTML = '<p>'; return 'taken'; }"
        " catch (error) { return error.name; } })()"
    )
    assert page.ask(refused) == "TypeError"
    failed = "fetch('data:,x').then(() => 'taken', (error) => error.name)"
    assert page.ask(failed) == "TypeError"


@pytest.mark.parametrize("dark", [False, True])
def test_a_telephone_shows_it_without_scrolling_sideways(
    dark: bool, well_trained: Program, browser: Browser
) -> None:
    well_trained.run("export", "names.html", "--title", "W" * 200, "--novel", "names.txt").says()
    page = browser.open(well_trained / "names.html", 360, dark=dark)
    page.until(WRITTEN)
    put(page, "by", "unit")
    put(page, "typed", "W" * 500)
    page.ask("document.querySelector('details').open = true")
    page.until("document.getElementById('mirror').textContent.length === 501")
    assert page.ask("document.documentElement.scrollWidth") == 360
    small = page.ask(
        "Array.from(document.querySelectorAll('button, select, input, textarea'))"
        ".filter((e) => e.offsetParent && !['checkbox', 'range'].includes(e.type)"
        " && e.getBoundingClientRect().height < 36).map((e) => e.id || e.className)"
    )
    assert small == []
    assert is_quiet(page)


def test_no_window_scrolls_sideways(well_trained: Program, browser: Browser) -> None:
    """Each place of the vocabulary has its widest name beside its widest number."""
    well_trained.run("export", "names.html").says()
    for width in (320, 470, 480, 490, 500, 521, 545, 570, 640, 736):
        page = browser.open(well_trained / "names.html", width)
        page.until(WRITTEN)
        page.ask(
            "document.querySelectorAll('#next button').forEach((button) => {"
            " button.firstChild.textContent = 'newline';"
            " button.lastChild.textContent = '<0.1 %'; })"
        )
        assert page.ask("document.documentElement.scrollWidth") == width

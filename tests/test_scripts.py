"""Scripts: told of by the plan, chosen while drawing, and a corpus that has one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.corpus import checks
from charrnn.corpus.checks import other_scripts
from charrnn.corpus.corpus import from_texts, read_files
from charrnn.corpus.files import blocks, byte_blocks, path_of
from charrnn.errors import SettingError
from charrnn.sampling.draws import Choice
from charrnn.settings.corpus import Reading
from charrnn.settings.sampling import SampleConfig
from charrnn.text import SCRIPTS, script_of
from tests.program import Program
from tests.speaking import END, independent, saved

LATIN, GREEK = ["anna", "Zoë", "a-b 1"], ["Ζωή", "νίκη"]


@pytest.mark.parametrize(
    ("script", "characters"),
    [
        ("latin", "aZéŁʀＡ"),
        ("greek", "αΏ"),
        ("cyrillic", "Жћ"),
        ("arabic", "ب٣،"),
        ("devanagari", "कि्१"),
        ("cjk", "字"),
        ("hiragana", "か"),
        ("katakana", "カー"),
        ("hangul", "한ᄒ"),
        ("gothic", "𐌰"),
        ("canadian", "ᐁ"),
        ("yi", "ꀀ"),
        ("linear", "𐀀"),
        ("", " -'.1\n\u0301\u200d!µºʻ😀\ue000🇦🅰𝐀"),
    ],
)
def test_a_script_is_known_by_names(script: str, characters: str) -> None:
    assert {script_of(one) for one in characters} == {script}
    assert script in (*SCRIPTS, "", "linear")


def test_many_lines_in_other_scripts_are_told_of() -> None:
    mixed = from_texts([*LATIN * 20, *GREEK * 5, "か", "カ字"])
    (found,) = other_scripts(mixed)
    train = [mixed.vocabulary.decode(mixed.train.nth(i)) for i in range(len(mixed.train))]
    others = sum(any(script_of(c) not in ("", "latin") for c in text) for text in train)
    assert (found.count, found.of, found.what) == (others, len(train), "latin")
    assert found.kind == "3 scripts"
    for texts in (LATIN * 20, ["日本の", "カナ字"] * 9, ["1", "2"] * 9, [*LATIN * 40, "Ζ"]):
        assert other_scripts(from_texts(texts)) == []


def test_of_a_large_corpus_the_beginning_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = from_texts(["ab"] * 8 + ["Ζωή"] * 9)
    for symbols in (12, 1):
        monkeypatch.setattr(checks, "LOOKED_THROUGH", symbols)
        assert other_scripts(mixed) == []


def test_the_plan_says_how_many_scripts_there_are(program: Program) -> None:
    ran = program.run("train", "given-names", "--dry-run")
    words = " ".join(ran.out.split())
    assert "23 scripts; 17% of the examples are not all Latin" in words
    assert "sample --script latin" in words
    assert "given-names-latin has" in words
    latin = program.run("train", "given-names-latin", "--dry-run", "--json").json
    assert latin["warnings"] == []


@pytest.fixture
def speaker(program: Program) -> Program:
    """And a model that writes Latin and Greek letters and a hyphen."""
    odds = {"a": 0.1, "α": 0.5, "-": 0.1, "β": 0.1, END: 0.2}
    saved(independent(odds), program / "model.npz")
    return program


def test_other_scripts_are_not_drawn(speaker: Program) -> None:
    line = ("sample", "-n", "60", "--seed", "1", "--json", "-q")
    free = speaker.run(*line).rows
    assert {c for row in free for c in row["text"]} == set("aα-β")
    for more in ((), ("-t", "0.5"), ("-t", "1e-3"), ("--top-k", "2"), ("--top-p", "0.6")):
        rows = speaker.run(*line, *more, "--script", "latin").rows
        assert {c for row in rows for c in row["text"]} <= set("a-")
        assert all(row["ended"] == "end" for row in rows if "1e-3" not in more)
    model = charrnn.load(speaker / "model.npz")
    rows = speaker.run(*line, "--script", "greek").rows
    assert [row["text"] for row in rows] == model.sample(60, seed=1, script="greek")
    score = model.score([rows[0]["text"]])
    assert rows[0]["nats"] == pytest.approx(score.nats)  # of the model, whatever is left out


def test_the_likeliest_of_a_script_is_drawn_at_temperature_zero() -> None:
    o = np.log(np.array([[0.1, 1e-9, 1e-300, 0.6, 0.3]]))
    excluded = np.array([False, False, False, True, True])
    choice = Choice(5, 1, SampleConfig(temperature=0), excluded)
    choice.prepare(o.copy())
    assert choice.draw(np.array([0.9]))[0].tolist() == [0]
    excluded[0] = True
    for temperature in (0, 0.01, 1, 5):  # however rare the others are
        choice = Choice(5, 1, SampleConfig(temperature=temperature), excluded)
        choice.prepare(o.copy())
        assert choice.draw(np.array([0.9]))[0].tolist() == [2]


def test_a_script_that_is_not_known_is_refused(speaker: Program) -> None:
    hint = "Leave --script out, or use one of greek, latin."
    speaker.refuses("sample", "--script", "thai", what="script thai", hint=hint, status=2)
    ran = speaker.run("sample", "--script", "klingon")
    assert (ran.status, "'klingon' is not one of latin, greek" in ran.err) == (2, True)
    with pytest.raises(SettingError):
        charrnn.load(speaker / "model.npz").sample(script="klingon")


def test_a_part_of_a_corpus_is_read_from_the_whole(program: Program) -> None:
    whole = Path(path_of("given-names")).read_text(encoding="utf-8").splitlines()
    latin = [line for line in whole if {script_of(c) for c in line} <= {"", "latin"}]
    assert "".join(blocks("given-names-latin", Reading())).split() == latin
    assert 0.5 * len(whole) < len(latin) < len(whole)
    again = read_files(["given-names-latin"])
    assert again.fingerprint != read_files(["given-names"]).fingerprint
    program.write("given-names-latin", "x\ny\nz\n")
    assert b"".join(byte_blocks("given-names-latin")) == b"x\ny\nz\n"  # a file comes first


def test_a_part_is_found_again(program: Program) -> None:
    program.train("given-names-latin")
    count = program.run("info", "--json").json["corpus"]["held_out_characters"]
    assert program.run("eval", "--json").json["characters"] == count
    args = ("--layers", "1", "--hidden", "2", "--epochs", "1", "-o", "runs")
    program.run("sweep", "given-names-latin", "--try", "lr=0.1", *args)
    for model in (program / "runs").glob("*.npz"):
        corpus = program.run("info", "-m", model, "--json").json["corpus"]
        assert corpus["examples"] + corpus["held_out_examples"] == 5780

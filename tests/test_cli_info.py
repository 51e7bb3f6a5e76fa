"""``charrnn info``: a model file from all sides, for people and for programs."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.cli import info
from charrnn.vocabulary import Vocabulary
from tests.program import Program
from tests.runs import SIZE
from tests.speaking import babbler, saved

KEYS = [
    *("schema", "model", "bytes", "parameters", "hidden", "layers", "symbols", "vocabulary"),
    *(
        "novelty",
        "settings",
        "corpus",
        "holds_corpus",
        "steps",
        "epochs",
        "characters_seen",
        "best",
    ),
    *("baselines", "history", "resume"),
]


@pytest.fixture
def program(program: Program) -> Program:
    """The program in a folder with a model of names that are not all ASCII."""
    program.write("names.txt", "anna bob\nclara\ndora\nemil é\n" * 8)
    line = ("train", "names.txt", *SIZE, "--epochs", "4", "-q", "--check-every", "5")
    assert program.run(*line).status == 0
    return program


def test_json_tells_all(program: Program) -> None:
    ran = program.run("info", "--json")
    assert (ran.status, ran.err) == (0, "")
    found = ran.json
    assert list(found) == KEYS
    assert found["schema"] == "charrnn.info/1"
    assert found["bytes"] == Path("model.npz").stat().st_size
    assert (found["hidden"], found["layers"], found["epochs"]) == (6, 1, 4)
    assert found["symbols"] == len(found["vocabulary"]) + 2
    assert "".join(found["vocabulary"]) == "".join(sorted(set("annabob claradoraemilé")))
    assert found["settings"]["bptt"] == 6
    assert found["corpus"]["sources"] == ["names.txt"]
    assert found["corpus"]["examples"] + found["corpus"]["held_out_examples"] == 32
    steps = [row["step"] for row in found["history"]]
    assert steps == sorted(steps)
    assert found["best"]["step"] in steps
    assert found["best"]["nats_per_character"] == min(row["held_out"] for row in found["history"])
    assert "markov-2" in found["baselines"]


def test_people_are_told_the_same(program: Program) -> None:
    found, told = program.run("info", "--json").json, program.run("info").out
    for fact in (
        "model.npz",
        "1 layer of 6 units",
        f"{found['parameters']:,} parameters",
        f"{found['symbols']} symbols",
        "space  a-e  i  l-o  r  é",
        "names.txt",
        "--bptt 6 --batch 4",
        f"at step {found['best']['step']:,}",
        f"{found['best']['bits_per_character']:.3f} bits",
        "possible: the corpus is there, unchanged",
        "held-out",
    ):
        assert fact in told or fact in " ".join(told.split())
    assert max(len(line) for line in told.splitlines()) <= 80


def test_the_curve_is_drawn_with_what_there_is(program: Program) -> None:
    assert re.search(r"^held-out +\d\.\d{3} [▁▂▃▄▅▆▇█]+ \d\.\d{3}$", program.run("info").out, re.M)
    plain = program.run("info", env={"LC_ALL": "C"}).out
    assert re.search(r"^held-out +\d\.\d{3} [-_.:=+*#]+ \d\.\d{3}$", plain, re.M)
    assert not set("▁▂▃▄▅▆▇█") & set(plain)


@pytest.mark.parametrize(
    ("options", "beyond"),
    [
        (("--minutes", "0.002"), "; finished after 0.002 minutes: use a larger --minutes"),
        (
            ("--epochs", "999", "--patience", "1", "--lr", "1e-12", "--check-every", "5"),
            "; finished after 1 check-up without a better one: use a larger --patience",
        ),
    ],
)
def test_what_has_to_be_raised_depends_on_what_ended_it(
    program: Program, options: tuple[str, ...], beyond: str
) -> None:
    assert program.run("train", "names.txt", *SIZE, *options, "-q", "-m", "over.npz").status == 0
    why = program.run("info", "-m", "over.npz", "--json").json["resume"]["why"]
    assert why == f"the corpus is there, unchanged{beyond}"


def test_whether_it_can_go_on_depends_on_the_corpus(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program.run("info", "--json").json["resume"] == {
        "is_possible": True,
        "why": "the corpus is there, unchanged; finished after 4 epochs: use a larger --epochs",
    }
    names = Path("names.txt")
    names.write_text("something else\nof two lines\n")
    changed = program.run("info", "--json").json["resume"]
    assert not changed["is_possible"]
    assert "has changed since the model was trained" in changed["why"]
    monkeypatch.setattr(info, "COMPARED", 1)
    assert "not compared" in program.run("info").out
    names.unlink()
    moved = program.run("info")
    assert (moved.status, moved.err) == (0, "")
    assert "not possible: the corpus has moved: names.txt is not there" in moved.out


def test_a_model_without_a_history_is_shown_too(program: Program) -> None:
    saved(babbler("ab[/b]\x1b\u202e"), Path("odd.npz"))
    ran = program.run("info", "-m", "odd.npz")
    assert ran.status == 0
    assert "texts passed from Python" in ran.out
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert program.run("info", "-m", "odd.npz", "--json").json["best"] is None


def test_json_of_any_vocabulary_is_one_line(program: Program) -> None:
    saved(babbler('"\\\x1b\u2028\u202e\x7fé𝒳'), Path("odd.npz"))
    out = program.run("info", "-m", "odd.npz", "--json").out
    assert len(out.splitlines()) == 1
    assert "".join(json.loads(out)["vocabulary"]) == "".join(sorted('"\\\x1b\u2028\u202e\x7fé𝒳'))


@pytest.mark.parametrize(
    ("characters", "shown"),
    [
        ("\t\n !'", "tab  newline  space  !  '"),
        ("0123456789", "0-9"),
        ("abxyz", "a  b  x-z"),
        ("AYZabc", "A  Y  Z  a-c"),
        ("-./", "-  .  /"),
        ("\x1b\xa0é\u0301\u200d", "U+001B  no-break-space  é  \u25cc\u0301  zero-width-joiner"),
        ("", ""),
    ],
)
def test_a_vocabulary_is_made_visible(characters: str, shown: str) -> None:
    assert info.characters_in_words(characters) == shown


def test_a_large_vocabulary_is_cut_short() -> None:
    assert info.characters_in_words("".join(map(chr, range(0x4E00, 0x6E00, 2)))).endswith(
        "and 4,036 more"
    )


@given(st.sets(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_no_character_is_lost_from_a_vocabulary(characters: set[str]) -> None:
    text = Vocabulary("".join(sorted(characters))).characters
    found = [*info.ranges(text)]
    assert sum(count for _, _, count in found) == len(text)
    assert (
        "".join(c for first, last, _ in found for c in map(chr, range(ord(first), ord(last) + 1)))
        == text
    )
    assert not any(unicodedata.category(c) in ("Cc", "Cf") for c in info.characters_in_words(text))

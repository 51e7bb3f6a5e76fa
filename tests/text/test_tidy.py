"""Lists as people have them: mess goes, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.text.corpus import find_warnings, read_files
from charrnn.text.tidy import Tidied, clean, mess_in_words, untidy
from tests.program import Program

CLEAN = '1.5 l\n3D\n-ing\n#tag\nO\'Neill\n\'tis\n"A" or "B"\n“A“ B”\nSt. Pauli\n(sic)\n8:30\n'
LISTS = {
    "bullets": ("- Anna\n* Bob\n• Carl\n– Dora\n+ Eva\n", "Anna\nBob\nCarl\nDora\nEva\n"),
    "tasks": ("- [ ] milk\n- [x] eggs\n", "milk\neggs\n"),
    "quotes": ("\"Anna\",\n'Bob';\n“Carl”\n„Dora“,\n'Eva's'\n", "Anna\nBob\nCarl\nDora\nEva's\n"),
    "comments": ("# towns\nBonn\n// more\n#\nKöln\n", "Bonn\nKöln\n"),
    "headings": ("\nMy towns:\nBonn\nNote:\n", "Bonn\n"),
    "headings in capitals": (
        "IN THE NORTH\nKiel\nBAD EMS\n- IN THE EAST -\nHof\nUlm\nRom\n",
        "Kiel\nBAD EMS\nHof\nUlm\nRom\n",
    ),
    "a list in capitals": ("FRANKFURT AM MAIN\nKIEL\nBonn\n", "FRANKFURT AM MAIN\nKIEL\nBonn\n"),
    "notes": (
        "Bonn (old)\n[new] Kiel\n1. “Rom” [a (b)],\n(x) Ulm (y)\n[1] Hof\n",
        "Bonn\nKiel\nRom\nUlm\nHof\n",
    ),
    "heading of a column": ("Name,\nAnna,\nName,\n", "Anna\nName\n"),
    "headings of a list and its column": ("# 1\n-\nTowns:\nName\nRom\nName\n", "Rom\nName\n"),
    "a word that is no heading": ("Bonn\nTitle\n", "Bonn\nTitle\n"),
    "a single word": ("Name\n", "Name\n"),
    "repeats": ("Bonn\n1. Bonn\nBONN,\nKöln\n", "Bonn\nKöln\n"),
    "spaces": ("  Bonn \t\n\n\u00a0Köln\n", "Bonn\nKöln\n"),
    "empty but for marks": ('-\n1.\nBonn\n,\n- •\n"*",\n', "Bonn\n"),
    "all at once": ('Towns:\n  1) - "Bonn",\n 2) • Köln;\n', "Bonn\nKöln\n"),
    "clean": (CLEAN, CLEAN),
}


@pytest.mark.parametrize("name", LISTS)
def test_mess_goes_and_nothing_else(name: str) -> None:
    before, after = LISTS[name]
    assert Tidied().tidy(before) == after
    assert Tidied().tidy(after) == after


def test_the_counts_and_examples_are_those_of_the_lines() -> None:
    tidied = Tidied()
    tidied.tidy("Towns:\n1. Bonn\n2. Köln,\n")
    tidied.tidy("Bonn\n3. Rom\n4. Ulm\n")  # repeats are found among all files
    assert tidied.lines == {"heading": 1, "number": 4, "mark": 1, "repeat": 1}
    assert tidied.examples == {
        "heading": ["Towns:"],
        "number": ["1. Bonn -> Bonn", "2. Köln, -> Köln", "3. Rom -> Rom"],
        "mark": ["2. Köln, -> Köln"],
        "repeat": ["Bonn"],
    }
    words = "4 begin with a number, 1 ends in a comma or semicolon, 1 is a heading, 1 is a repeat"
    assert ", ".join(words for _, words in mess_in_words(tidied.lines)) == words
    tidied.lines["mark"] = 2
    assert mess_in_words(tidied.lines)[1] == ("mark", "2 end in a comma or semicolon")


def test_only_lists_with_mess_are_called_untidy() -> None:
    names = [f"name {number}" for number in range(90)]
    assert untidy([*names, *[f"{number}. x" for number in range(10)]]) == {"number": 10}
    assert not untidy([*names, *[f"{number}. x" for number in range(5)]])
    assert not untidy(["and so the night went on,", "- a voice that none had known,"] * 50)


def test_a_tidy_corpus_is_read_the_same_way_again(program: Program) -> None:
    towns = "".join(f"{number}. town {chr(97 + number % 26) * 3},\n" for number in range(60))
    program.write("towns.txt", "Towns:\n1)\n" + towns)
    corpus = read_files(["towns.txt"], CorpusConfig(reading=Reading(tidy=True)))
    assert len(corpus.train) + len(corpus.held_out) == 26
    assert not any(warned.kind == "untidy" for warned in find_warnings(corpus))
    assert any(warned.kind == "untidy" for warned in find_warnings(read_files(["towns.txt"])))
    program.run("train", "towns.txt", "--tidy", "--epochs", "1", "--hidden", "4", "-q").says()
    rows = program.run("eval", "--per-example", "--json").rows
    assert {row["text"][:5] for row in rows} == {"town "}
    read = program.run("eval", "towns.txt", "--per-example", "--json").rows
    assert [row["text"] for row in read[:2]] == ["Towns:", "1)"]  # none is dropped
    assert len(read) == 62
    piped = program.run("eval", "--per-example", "--json", stdin=b"1. Rom,\n1)\n").rows
    assert [row["text"] for row in piped] == ["Rom", "1)"]


WORDS = ["Anna", "New York", "O'Neill", "3D print", "été", "no. 9", "Ab-c", "C++", "x: y"]
BEFORE = ["", "- ", "* ", "• ", "– ", "12. ", "3) ", "(4) ", "- [x] ", "  ", "1. - "]
MARKS = ['""', "“”", "„“", "«»", "  "]


@settings(max_examples=settings().max_examples * 10)
@given(*map(st.sampled_from, (WORDS, BEFORE, MARKS, ["", ",", ";", " ,", ",,", " (old)", " [1],"])))
def test_a_word_in_any_mess_is_found(word: str, before: str, marks: str, after: str) -> None:
    line = f"{before}{marks[0]}{word}{marks[1]}{after}"
    assert clean(line)[0] == word
    assert Tidied().tidy(f"{line}\n{word}\n{line}\n") == f"{word}\n"


@settings(max_examples=settings().max_examples * 20)
@given(st.text("aB1 .,;:()[]\"'“”-•*#/\n", max_size=30))
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    lines = Tidied().tidy(text).splitlines()
    assert [clean(line)[0] for line in lines] == lines
    assert len({line.casefold() for line in lines}) == len(lines)

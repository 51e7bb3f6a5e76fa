"""Examples to ids, the held-out part, the fingerprint and warnings."""

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn.errors import CorpusError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.text.corpus import Corpus, corpus_of, find_warnings, hold_out, read_files
from charrnn.text.examples import texts_of
from charrnn.text.vocabulary import END_CODE, UNKNOWN
from tests.networks import peak_bytes

WHOLE = CorpusConfig(holdout=0.0)


def parts_of(corpus: Corpus) -> tuple[list[str], list[str]]:
    parts = corpus.train, corpus.held_out
    train, held_out = (texts_of(corpus.vocabulary.codes[part.ids]) for part in parts)
    return train, held_out


def written(folder: Path, *texts: str) -> list[str]:
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    return [str(folder / f"{number}.txt") for number in range(len(texts))]


def test_a_corpus_of_the_program_keeps_its_parts() -> None:
    corpus = read_files(["given-names"])  # of the others models are scored
    assert corpus.fingerprint.startswith("ef31fa9452fa")
    assert corpus.digest.startswith("83f5888b61ee")


@pytest.mark.parametrize(
    ("texts", "share", "train", "held_out"),
    [
        (["ab", "", "b"], 0.0, ["ab", "", "b"], []),
        (["abcdefghij"], 0.2, ["abcdefgh"], ["��"]),
        (["ab"], 0.1, ["a"], ["�"]),
        (["a"], 0.5, ["a"], []),
        (["a", "a"], 0.1, ["a"], ["a"]),
        (["a", "a"], 0.99, ["a"], ["a"]),
        (["\ud800a"], 0.0, ["�a"], []),
        (["日🦖", "é"], 0.0, ["日🦖", "é"], []),
    ],
)
def test_fault_1_two_parts(
    texts: list[str], share: float, train: list[str], held_out: list[str]
) -> None:
    assert parts_of(corpus_of(texts, CorpusConfig(holdout=share))) == (train, held_out)


def test_labels_that_are_long_take_no_memory_for_each_example() -> None:
    labels = ["long " * 1000, "short"] * 2000
    codes, parts = np.full(len(labels), END_CODE), list[Any]()
    assert peak_bytes(lambda: parts.extend(hold_out(codes, labels, 0.1))) < 1 << 20
    assert [parts[1].labels.count(label) for label in labels[:2]] == [200, 200]


def test_the_held_out_part_is_spread_evenly() -> None:
    for count in (2, 3, 10, 1000, 1 << 17):
        for share in (0.001, 0.1, 0.5, 0.999):
            codes = np.full(2 * count, END_CODE)
            codes[::2] = np.arange(count)
            train, held_out = (part.codes[::2] for part in hold_out(codes, (), share))
            assert sorted([*train, *held_out]) == [*range(count)]
            assert len(held_out) == min(max(1, round(count * share)), count - 1)
            if count > 1 << 16:
                assert abs(int((train < count // 2).sum()) - len(train) / 2) <= 1


def test_fault_1_empty_corpora(tmp_path: Path) -> None:
    empty, blank, full = written(tmp_path, "", " \n\t\n", "ab\n")
    for sources in ([empty], [blank], [empty, blank]):
        with pytest.raises(CorpusError, match="is empty"):
            read_files(sources)
    with pytest.raises(CorpusError, match="is empty"):
        read_files([full], WHOLE, [empty])
    assert parts_of(read_files([empty, full], WHOLE)) == (["ab"], [])
    for texts in ([], [""], ["", ""], ["", "a"], ["\ud800"]):  # "a" is held out
        with pytest.raises(CorpusError, match=r"the corpus is empty|no character to learn from"):
            corpus_of(texts)


def test_python_sets_no_encoding_and_hints_at_none(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    with pytest.raises(CorpusError) as told:
        corpus_of(tmp_path / "bad.txt")
    assert told.value.hint == "Save it as UTF-8, or give its texts."


def test_validation_files_are_held_out(tmp_path: Path) -> None:
    first, second, valid = written(tmp_path, "ab\ncd", "ef\n", "xab\n")
    corpus = read_files([first, second], None, [valid])
    assert parts_of(corpus) == (["ab", "cd", "ef"], ["�ab"])
    assert int((corpus.held_out.ids == UNKNOWN).sum()) == 1
    ways = [([first, second], [valid]), ([second, first], [valid])]
    ways += [([first], [second, valid]), ([first, second, valid], [])]
    assert len({read_files(names, WHOLE, others).fingerprint for names, others in ways}) == 4


def test_one_kind_of_examples_for_all_files(tmp_path: Path) -> None:
    blank, poem, names = written(tmp_path, "\n", "Day after day,\nsaid he.\n\n" * 10, "ab\ncd\n")
    assert read_files([blank, poem, names]).examples_are == "paragraphs"
    assert read_files([names, poem]).examples_are == "lines"
    column = CorpusConfig(reading=Reading(column="1"))
    assert read_files([poem], column).examples_are == "lines"


def test_fault_5_many_characters_and_marks() -> None:
    texts = ["".join(map(chr, range(0x4E00, 0x4E00 + 5000))), "e\u0301", "👩\u200d🚀", "שלום"]
    corpus = corpus_of(texts, WHOLE)
    assert parts_of(corpus)[0] == texts
    assert corpus.train.ids.dtype == np.uint16
    assert corpus.vocabulary.symbols == len(set("".join(texts))) + 2


def test_known_characters_join_the_vocabulary() -> None:
    corpus = corpus_of(["b"], CorpusConfig(holdout=0.0, known="ac"))
    assert corpus.vocabulary.characters == "abc"
    assert np.isneginf(corpus.log_frequencies).tolist() == [False, True, True, False, True]


def test_frequencies_and_digest() -> None:
    corpus = corpus_of(["aab", "b"], WHOLE)
    assert np.exp(corpus.log_frequencies).tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])
    assert corpus.entropy == pytest.approx(np.log(3))
    assert corpus.digest != corpus_of(["aabb", ""], WHOLE).digest
    assert len({corpus_of(["a", "a"], WHOLE, labels=[*ls]).digest for ls in ("xy", "yx")}) == 2


NAMES = [f"name{number}" for number in range(40)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (NAMES, []),
        (["Alone"], [("few examples", 1, 2, "")]),
        (["First Name", *NAMES], [("header", 1, 37, "First Name")]),
        (["Title of a list", "Name", *map(str, range(233))], []),  # the title is held out
        (["Name", '"The Bear" Inn', *NAMES], []),  # cannot be read as a column
        ([f"{n},1" for n in NAMES], [("comma in lines", 36, 36, "1")]),
        (["id;name", *(f"1;{n}" for n in NAMES)], [("semicolon in lines", 37, 37, "name")]),
        ([f"{n}," for n in NAMES], [("untidy", 36, 36, "36 end in a comma or semicolon")]),
        (["same"] * 40, [("repeated", 4, 4, "")]),
    ],
)
def test_warnings(tmp_path: Path, lines: Sequence[str], expected: list[object]) -> None:
    names = written(tmp_path, "\n".join(lines))
    assert not find_warnings(read_files(names, CorpusConfig("files")))
    assert [astuple(warned) for warned in find_warnings(read_files(names))] == expected


def test_cells_with_commas_are_no_rows(tmp_path: Path) -> None:
    names = written(tmp_path, "name;n\n" + "".join(f"{n}, A;1\n" for n in NAMES))
    cells = [read_files(names, CorpusConfig(reading=Reading(column=c))) for c in ("name", "1")]
    assert [warned.kind for corpus in cells for warned in find_warnings(corpus)] == ["header"]


def test_each_symbol_has_the_label_of_its_example() -> None:
    corpus = corpus_of(["ab", "c", "dea"], CorpusConfig(holdout=0.0), ["x", "y", "x"])
    labels = corpus.train.labels_at(np.arange(len(corpus.train.ids)))
    assert labels is not None
    x, y = map(corpus.vocabulary.id_of, "xy")
    assert labels.tolist() == [x, x, x, y, y, x, x, x, x]

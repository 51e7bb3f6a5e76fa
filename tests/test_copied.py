"""Runs of samples that stand in the training text: found exactly, noted and shown."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.segmentation import stream_of
from charrnn.sampling import copied
from charrnn.sampling.copied import Runs, copied_runs
from charrnn.vocabulary import Codes
from tests.program import Program

TEXTS = st.lists(st.text("abc", max_size=8), max_size=4)


def by_search(text: str, corpus: list[str]) -> list[int]:
    """Return the lengths of the runs that cannot be extended, each found by looking everywhere."""
    found = [
        (i, j)
        for i in range(len(text))
        for j in range(i + 1, len(text) + 1)
        if any(text[i:j] in example for example in corpus)
    ]
    whole = [(i, j) for i, j in found if (i - 1, j) not in found and (i, j + 1) not in found]
    return [j - i for i, j in sorted(whole)]


@given(TEXTS, TEXTS, st.integers(1, 9))
def test_runs_are_those_that_a_search_finds(
    texts: list[str], corpus: list[str], batch: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copied, "BATCH", batch)
        found = list(copied_runs(texts, lambda: stream_of(corpus)))
    assert [runs.lengths for runs in found] == [by_search(text, corpus) for text in texts]
    for runs, text in zip(found, texts, strict=True):
        assert len(runs.longest) == max(runs.lengths, default=0)
        assert runs.longest in text
        assert any(runs.longest in example for example in [*corpus, ""])


def test_the_median_is_a_length_that_occurs() -> None:
    assert Runs([5, 1, 2, 9], "").median == 2
    assert Runs([], "").median == 0


def test_time_is_linear_in_what_is_drawn() -> None:
    text = "".join(random.Random(1).choices("ab", k=4000)) + "a" * 4000
    automaton = copied._Automaton()
    for character in text:
        automaton.add(ord(character))
    assert len(automaton._next) < 2 * len(text)
    assert sum(map(len, automaton._next)) < 3 * len(text)


def test_the_corpus_is_read_once_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied, "BATCH", 6)
    reads = []

    def corpus() -> Iterator[Codes]:
        reads.append(1)
        return stream_of(["abc"])

    assert len(list(copied_runs(["abc"] * 5, corpus))) == 5
    assert len(reads) == 3


LINE = ("sample", "-n", "4", "--seed", "1")


def test_the_longest_run_and_the_median_are_noted(well_trained: Program) -> None:
    names = (well_trained / "names.txt").read_text().split()
    ran = well_trained.run(*LINE)
    runs = [by_search(text, names) for text in ran.out.splitlines()]
    lengths = sorted(size for each in runs for size in each)
    median = lengths[(len(lengths) - 1) // 2]
    assert f"at most {max(lengths)} characters in a row, '" in ran.err
    assert f"; the median run has {median}\n" in ran.err
    assert well_trained.run(*LINE, "-q").err == ""


def test_each_sample_has_its_longest_run(well_trained: Program) -> None:
    names = (well_trained / "names.txt").read_text().split()
    texts = well_trained.run(*LINE).out.splitlines()
    longest = [max(by_search(text, names)) for text in texts]
    ran = well_trained.run(*LINE, "--show-copied")
    assert ran.lines == [f"{n:6}  {text}" for n, text in zip(longest, texts, strict=True)]
    assert "median" not in ran.err
    rows = well_trained.run(*LINE, "--show-copied", "--json").rows
    assert [row["copied_longest"] for row in rows] == longest
    assert all(1 <= row["copied_median"] <= row["copied_longest"] for row in rows)
    assert "copied_longest" not in well_trained.run(*LINE, "--json").rows[0]


def test_the_corpus_is_that_of_the_model_of_its_counts_or_the_one_that_is_named(
    trained: Program,
) -> None:
    trained.train("names.txt", "--counts", "-m", "counts.npz")
    shown = trained.run(*LINE, "--show-copied", "--use", "network", "-m", "counts.npz").lines
    known = (trained / "names.txt").rename(trained / "moved.txt")
    hidden = trained.run(*LINE, "--show-copied", "--use", "network", "-m", "counts.npz").lines
    assert len(hidden) == 4
    assert all(b[:6] <= a[:6] for a, b in zip(shown, hidden, strict=True))  # nothing held out
    trained.refuses(
        *LINE, "--show-copied", what="the corpus has moved", hint="Name the corpus with --novel."
    )
    assert trained.run(*LINE).err == ""
    ran = trained.run(*LINE, "--novel", known.name)
    assert ran.err.startswith("copied from known texts: at most ")
    assert trained.run(*LINE, "--novel", known.name, "--show-copied").status == 0


def test_rows_are_said_on_a_terminal(well_trained: Program) -> None:
    status, shown = well_trained.terminal(*LINE, "--show-copied", "-q")
    assert status == 0
    assert "copied  text" in shown

"""``charrnn sample`` as a user meets it: in a pipe, in a terminal, with every option."""

import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from charrnn.prediction.sampling import Sample
from charrnn.settings.corpus import Reading
from tests.child import Result
from tests.networks import END, babbler, independent, markov, saved, speller
from tests.program import Program


def sampled(program: Program, model: Path, *args: str | bytes, **how: Any) -> Result:
    return program.run("sample", "-m", model, *args, **how)


def written(program: Program, model: Path, *args: str) -> tuple[str, str]:
    """Return stdout and stderr of a run that goes well."""
    ran = sampled(program, model, *args)
    assert ran.status == 0, ran.err
    return ran.out, ran.err


@pytest.fixture
def abc(tmp_path: Path) -> Path:
    return saved(speller("abc"), tmp_path / "abc.npz")


@pytest.fixture
def coin(tmp_path: Path) -> Path:
    odds = {"a": 0.3, "b": 0.3, END: 0.4}
    return saved(independent(odds), tmp_path / "coin.npz")


def test_the_first_of_many_is_that_of_one(program: Program, tmp_path: Path) -> None:
    model = saved(babbler(), tmp_path / "babble.npz")
    line = ("--seed", "1", "--max-chars", "60")
    many, err = written(program, model, "-n", "50", *line)
    assert "of 50 samples reached --max-chars 60 before the end" in err
    for count in ("1", "5"):
        few, _ = written(program, model, "-n", count, *line)
        assert few.splitlines() == many.splitlines()[: int(count)]
    assert len({written(program, model, "-n", "9", "--max-chars", "60")[0] for _ in "ab"}) == 2
    hot, err = written(program, model, "-n", "2", "-t", "1", "-t", "0.5", *line)
    assert hot.splitlines()[:2] == many.splitlines()[:2]
    assert (len(hot.splitlines()), "temperature 0.5\n" in err) == (4, True)


def test_json_has_the_keys_that_scripts_rely_on(abc: Path, program: Program) -> None:
    rows = sampled(program, abc, "--json", "-n", "2", "-p", "ab", "-t", "0.5").rows
    keys = ["number", "text", "characters", "nats", "nats_per_character", "ended", "temperature"]
    assert list(rows[0])[1:] == keys
    assert [row["number"] for row in rows] == [0, 1]
    assert (rows[1]["text"], rows[1]["characters"], rows[1]["ended"]) == ("abc", 3, "end")
    (row,) = sampled(program, abc, "--json", "--max-chars", "2").rows
    assert (row["text"], row["ended"]) == ("ab", "limit")


def test_a_prime_is_read_as_the_corpus_was(tmp_path: Path, program: Program) -> None:
    after = {END: {"é": 1.0}, "é": {"a": 1.0}, "a": {END: 1.0}, "\n": {END: 1.0}}
    model = saved(markov(after), tmp_path / "nfc.npz", reading=Reading(normalize="NFC"))
    assert written(program, model, "-p", "e\u0301") == ("éa\n", "")
    out, err = written(program, model, "-p", "aЖ中aЖ")
    assert out == "aЖ中aЖ\n"
    assert err == "not in the vocabulary, read as unknown: Ж (U+0416) 中 (U+4E2D)\n"
    assert written(program, model, "-q", "-p", "Ж")[1] == ""


@pytest.mark.parametrize(
    ("prime", "named"),
    [
        ("日本\U0001f996".encode(), "日 (U+65E5) 本 (U+672C) \U0001f996 (U+1F996)"),
        (b"a\x1b[2J", r"\x1b (U+001B) [ (U+005B) 2 (U+0032) J (U+004A)"),
        (b"\xff\xfe", r"\udcff (U+DCFF) \udcfe (U+DCFE)"),
        (b"", ""),
        (b"anna bob " * 2048, ""),
    ],
)
def test_fault_15_characters_of_a_prime_that_were_never_seen_are_named_and_taken(
    trained: Program, prime: bytes, named: str
) -> None:
    ended = trained.run("sample", "--seed", "1", "--max-chars", "20", b"--prime", prime)
    ended.says("not in the vocabulary, read as unknown: " if named else "", named)
    assert ended.out.startswith(prime.decode("utf-8", "replace"))


def test_fault_15_a_prime_from_an_ascii_command_line_is_no_crash(trained: Program) -> None:
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    drawn = trained.run("sample", b"--prime", "née".encode(), env=env, child=True)
    drawn.says()
    assert drawn.out.startswith("née")


@pytest.mark.parametrize(
    "line",
    [
        *("--temp 0", "--temp 1e-300", "--temp 1e6", "--top-k 1", "--top-p 1e-300"),
        *("--temp 1e-300 --top-k 5 --top-p 1", f"--seed {2**64 - 1}", "--count 1000"),
    ],
)
def test_fault_14_values_at_the_ends_of_a_range_draw(trained: Program, line: str) -> None:
    ended = trained.run("sample", "--max-chars", "9", *line.split(), "--json")
    ended.says()
    assert all(0 <= row["nats"] < 1e6 for row in ended.rows)


def test_each_prime_is_drawn_at_each_temperature(program: Program, tmp_path: Path) -> None:
    model = saved(babbler(), tmp_path / "babble.npz")
    program.write("begin.txt", "ab \n\nba\n")
    line = ("-n", "2", "--seed", "1", "--max-chars", "9")
    ran = sampled(program, model, *line, "-p", "@begin.txt", "-p", "@@c", "-t", "1", "-t", "0.5")
    alone = [
        sampled(program, model, *line, "-p", prime, "-t", temperature, "-q").lines
        for prime in ("ab ", "ba", "@@c")
        for temperature in ("1", "0.5")
    ]
    assert ran.lines == [text for texts in alone for text in texts]
    assert [text[0] for text in ran.lines[6:]] == ["b", "b", "@", "@", "@", "@"]
    assert "prime ba, temperature 0.5\n" in ran.err
    hint = "For @none itself, type @@none."
    program.refuses("sample", "-m", model, "-p", "@none", what="none does not exist", hint=hint)
    program.write("empty.txt", "\n")
    program.refuses(
        "sample", "-m", model, "-p", "@empty.txt", what="empty.txt is empty", hint="a line"
    )


def test_conditions_hold_across_all_primes(coin: Path, program: Program) -> None:
    line = ("-n", "4", "-p", "a", "-p", "aa", "-t", "1", "-t", "2", "--unique", "--seed", "1")
    texts = sampled(program, coin, *line).lines
    assert len(texts) == len({*texts}) == 16


def test_a_blank_line_stands_between_samples_that_hold_newlines(
    tmp_path: Path, program: Program
) -> None:
    after = {END: {"a": 1.0}, "a": {"\n": 1.0}, "\n": {"b": 1.0}, "b": {END: 1.0}}
    model = saved(markov(after), tmp_path / "m.npz", "paragraphs")
    assert written(program, model, "-n", "2") == ("a\nb\n\na\nb\n", "")
    assert written(program, model, "-t", "1", "-t", "2")[0] == "a\nb\n\na\nb\n"


def test_conditions_hold_and_a_note_counts_the_rest(
    coin: Path, tmp_path: Path, program: Program
) -> None:
    (tmp_path / "taken.txt").write_text("A \nbb\n")
    line = ("-n", "40", "--seed", "1", "--longest", "3", "--shortest", "2")
    out, err = written(program, coin, *line, "--not-in", str(tmp_path / "taken.txt"))
    texts = out.splitlines()
    assert len(texts) == 40
    assert all(2 <= len(text) <= 3 and text not in ("a", "bb") for text in texts)
    assert "copies" in err
    assert "too short" in err
    assert "" not in written(program, coin, "-n", "30", "--seed", "1")[0].splitlines()
    out, _ = written(program, coin, "-n", "30", "--shortest", "0", "--seed", "1")
    assert "" in out.splitlines()


def test_the_last_note_says_which_condition_rejected_how_many(
    program: Program, tmp_path: Path
) -> None:
    after = {END: {"a": 0.5, "b": 0.5}, "a": {" ": 0.5, END: 0.5}, "b": {" ": 0.5, END: 0.5}}
    after[" "] = {"a": 0.5, "b": 0.5}
    model = saved(markov(after), tmp_path / "m.npz", reading=Reading())
    program.write("bad.txt", "b a\n\n")
    line = ("-n", "40", "--seed", "1", "--without", "A B", "--without", "@bad.txt")
    ran = sampled(program, model, *line)
    assert (ran.status, len(ran.lines)) == (0, 40)
    assert not any("a b" in text or "b a" in text for text in ran.lines)
    assert re.search(
        r"^drew \d+ samples, of which left out: \d+ with unwanted words$", ran.err, re.M
    )
    program.write("words.txt", "a\n")
    ran = sampled(program, model, "-n", "40", "--seed", "1", "--not-in", "words.txt")
    asked = r"stand in \d+ of 40 samples: did you mean --without @words.txt\?$"
    assert re.search(asked, ran.err, re.M)
    program.write("words.txt", "a\nb a\n")
    ran = sampled(program, model, "-n", "40", "--seed", "1", "--not-in", "words.txt")
    assert "did you mean" not in ran.err


def test_too_few_samples_are_an_error(abc: Path, program: Program) -> None:
    ran = sampled(program, abc, "-n", "5", "--unique")
    assert (ran.status, ran.out) == (1, "abc\n")
    assert "found only 1 of 5 samples" in ran.err


def test_fault_56_too_few_at_one_of_several_temperatures_are_an_error(
    coin: Path, program: Program
) -> None:
    ran = sampled(program, coin, "-n", "3", "-t", "0", "-t", "1", "--unique", "--seed", "1")
    texts = ran.out.splitlines()
    assert (ran.status, len(texts), len({*texts})) == (1, 4, 4)
    assert "found only 4 of 6 samples" in ran.err


def test_novel_samples_are_not_of_the_corpus_even_if_that_is_gone(well_trained: Program) -> None:
    names = well_trained / "names.txt"
    known = set(names.read_text().split())
    ran = well_trained.run("sample", "-n", "30", "--seed", "1")
    assert "copies of training texts: " in ran.err
    ran = well_trained.run("sample", "-n", "20", "--novel", "--seed", "1", "-t", "0.2")
    assert (ran.status, known & set(ran.lines)) == (0, set())
    best = well_trained.run("sample", "-n", "5", "--best", "--seed", "1", "--json")
    means = [row["nats_per_character"] for row in best.rows]
    assert (len(means), means) == (5, sorted(means))
    names.write_text(names.read_text() + "someone\n")
    hint = "Name the list with --not-in."
    well_trained.refuses("sample", "--novel", what="names.txt has changed", hint=hint)
    names.unlink()
    well_trained.refuses("sample", "--novel", what="names.txt is gone", hint=hint)
    for words in (["--known-words"], ["--distance", "2"]):
        hint = "Resume the run with the list named once."
        well_trained.refuses("sample", *words, what="names.txt is gone", hint=hint)
    ran = well_trained.run("sample", "-n", "2", "--best")
    assert (ran.status, "samples may be copies" in ran.err) == (0, True)


def test_several_models_are_mixed_and_counts_can_be_used(program: Program) -> None:
    program.train("names.txt", "--counts", "-m", "a.npz")
    program.train("names.txt", "--seed", "1", "-m", "b.npz")
    both = ("sample", "-m", "a.npz", "-m", "b.npz", "-n", "5", "--seed", "1")
    assert len(program.run(*both).lines) == 5
    parts = [
        program.run("sample", "-m", "a.npz", "-n", "9", "--seed", "1", "--use", use).out
        for use in ("network", "counts", "both")
    ]
    assert len(set(parts)) == 3


class Drawn(str):
    """A text that tells when nobody keeps it."""


def test_fault_40_samples_that_were_shown_are_not_kept(
    trained: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []

    def draw(*_: object, **how: object) -> Iterator[Sample]:
        drawn = [Drawn(f"anna {number}") for number in range(9)] + [Drawn("anna")]
        alive = [weakref.ref(text) for text in drawn]
        while drawn:
            yield Sample(0, drawn.pop(), 1.0, "end")
        kept.append(sum(text() is not None for text in alive))

    monkeypatch.setattr("charrnn.prediction.conditions.choose", draw)
    ran = trained.run("sample", "-n", "10", "--seed", "1")
    ran.says("copies of training texts: 1 of 10 samples")
    assert kept[0] <= 1  # the last

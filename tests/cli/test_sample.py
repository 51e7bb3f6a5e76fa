"""``charrnn sample`` as a user meets it: in a pipe, in a terminal, with every option."""

import weakref
from collections.abc import Iterator

import pytest

from charrnn.prediction.sampling import Sample
from charrnn.settings.corpus import Reading
from tests.networks import COIN, babbler, independent, saved, speller
from tests.program import Program


def written(program: Program, *args: str) -> tuple[str, str]:
    """Return stdout and stderr of a run that goes well."""
    ran = program.run("sample", *args).says()
    return ran.out, ran.err


def test_without_a_seed_each_run_draws_others(program: Program) -> None:
    saved(babbler(), program / "model.npz")
    assert len({written(program, "-n", "9", "--max-chars", "60")[0] for _ in "ab"}) == 2


def test_a_prime_is_read_as_the_corpus_was(program: Program) -> None:
    saved(speller("éa"), program / "model.npz", reading=Reading("utf-16", "NFC"))
    assert written(program, "-p", "e\u0301") == ("éa\n", "")
    assert program.run("fill", "-", "-n1", stdin="é_".encode("utf-16")).out == "1       éa\n"
    program.refuses("fill", "-", stdin=b"a_", what="is not UTF-16", hint="Save it as utf-16.")


@pytest.mark.parametrize(
    ("prime", "named"),
    [
        ("日本\U0001f996".encode(), "日 (U+65E5) 本 (U+672C) \U0001f996 (U+1F996)"),
        (b"a\x1b[2J", r"\x1b (U+001B) [ (U+005B) 2 (U+0032) J (U+004A)"),
        (b"\xff\xfe", r"\udcff (U+DCFF) \udcfe (U+DCFE)"),
        (b"012345678-+*", "+ (U+002B) * (U+002A)\n"),  # as many as are named
        (b"012345678-+*/", "+ (U+002B) * (U+002A) ...\n"),
        (b"", ""),
        (b"anna bob " * 2048, ""),
    ],
)
def test_fault_15_new_characters_are_named(trained: Program, prime: bytes, named: str) -> None:
    ended = trained.run("sample", "--seed", "1", "--max-chars", "20", b"--prime", prime)
    ended.says("not in the vocabulary, read as unknown: " if named else "", named)
    assert ended.out.startswith(prime.decode("utf-8", "replace"))


def test_fault_15_a_prime_from_an_ascii_command_line_is_no_crash(trained: Program) -> None:
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    drawn = trained.run("sample", b"--prime", "née".encode(), env=env, child=True)
    assert drawn.says().out.startswith("née")


def test_a_blank_line_parts_samples_if_only_the_prime_has_a_newline(program: Program) -> None:
    saved(speller("ab"), program / "model.npz")
    assert written(program, "-n", "2", "-p", "\na")[0] == "\nab\n\n\nab\n"


def test_fault_56_too_few_at_one_of_several_temperatures_are_an_error(program: Program) -> None:
    saved(independent(COIN), program / "model.npz")
    ran = program.run("sample", "-n", "3", "-t", "0", "-t", "1", "--unique", "--seed", "1")
    assert (ran.status, len(ran.lines), len({*ran.lines})) == (1, 4, 4)
    assert "found only 4 of 6 samples" in ran.err


def test_novel_samples_are_not_of_the_corpus(well_trained: Program) -> None:
    names = well_trained / "names.txt"
    known = set(names.read_text().split())
    ran = well_trained.run("sample", "-n", "30", "--seed", "1")
    assert "copies of training texts: " in ran.err
    well_trained.write("other.txt", "Zoe\n")
    other = well_trained.run("sample", "-n", "30", "--seed", "1", "--not-in", "other.txt")
    assert other.err == ran.err
    ran = well_trained.run("sample", "-n", "20", "--novel", "--seed", "1", "-t", "0.2")
    assert (ran.status, known & set(ran.lines), "copies of" in ran.err) == (0, set(), False)
    best = well_trained.run("sample", "-n", "5", "--best", "--seed", "1", "--json")
    nats, bits = ([row[f"{u}_per_character"] for row in best.rows] for u in ("nats", "bits"))
    assert (len(nats), nats) == (5, sorted(nats))
    assert bits == pytest.approx([loss / 0.693147 for loss in nats], rel=1e-4)
    well_trained.run("export", "slim.npz").says()
    names.unlink()
    for words in (["--known-words", "-m", "slim.npz"], ["--distance", "2"]):
        hint = "Resume a model that holds its run, with the list named once, by --resume."
        well_trained.refuses("sample", *words, what="names.txt is gone", hint=hint)


class Drawn(str):
    """A text that tells when nobody keeps it."""


def test_fault_40_shown_samples_are_gone(trained: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []

    def draw(*_: object, **how: object) -> Iterator[Sample]:
        drawn = [Drawn(f"anna {number}") for number in range(9)] + [Drawn("anna")]
        alive = [weakref.ref(text) for text in drawn]
        while drawn:
            yield Sample(0, drawn.pop(), 1.0, "end")
        kept.append(sum(text() is not None for text in alive))

    monkeypatch.setattr("charrnn.prediction.sample_conditions.choose", draw)
    ran = trained.run("sample", "-n", "10", "--seed", "1")
    ran.says("copies of training texts: 1 of 10 samples")
    assert kept[0] <= 1  # the last

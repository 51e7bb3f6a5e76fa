"""``charrnn sample`` as a user meets it: in a pipe, in a terminal, with every option."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

from charrnn.network.parameters import LanguageModel
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.scoring.scorer import NetworkScorer
from tests.child import PYTHON
from tests.program import Program, Result
from tests.speaking import END, babbler, independent, markov, saved, speller

posix = pytest.mark.skipif(os.name == "nt", reason="pipes and terminals of POSIX")


def sampled(program: Program, model: Path, *args: str | bytes, **how: Any) -> Result:
    """Run it with that model."""
    return program.run("sample", "-m", model, *args, **how)


def written(program: Program, model: Path, *args: str) -> tuple[str, str]:
    """What a run that goes well writes to stdout and to stderr."""
    ran = sampled(program, model, *args)
    assert ran.status == 0, ran.err
    return ran.out, ran.err


def lines(program: Program, model: Path, *args: str) -> list[dict[str, Any]]:
    """The objects that it writes, one a sample."""
    return sampled(program, model, "--json", *args).rows


def in_a_terminal(program: Program, model: Path, *args: str, **env: str) -> str:
    """What is seen where all streams are one terminal."""
    _, seen = program.terminal("sample", "-m", model, *args, env=env)
    return seen


@pytest.fixture
def abc(tmp_path: Path) -> Path:
    return saved(speller("abc"), tmp_path / "abc.npz")


@pytest.fixture
def babble(tmp_path: Path) -> Path:
    return saved(babbler(), tmp_path / "babble.npz")


def test_it_draws_until_the_end(abc: Path, program: Program) -> None:
    assert written(program, abc) == ("abc\n", "")
    assert written(program, abc, "-n", "3", "--seed", "7") == ("abc\nabc\nabc\n", "")
    assert written(program, abc, "-t", "0", "--top-k", "1", "--top-p", "0.1") == ("abc\n", "")


def test_the_first_of_many_is_that_of_one(babble: Path, program: Program) -> None:
    many, _ = written(program, babble, "-n", "50", "--seed", "1", "--max-chars", "60")
    for count in (1, 5):
        few, _ = written(program, babble, "-n", str(count), "--seed", "1", "--max-chars", "60")
        assert few.splitlines() == many.splitlines()[:count]
    one, other = (written(program, babble, "-n", "50", "--max-chars", "60") for _ in range(2))
    assert one != other


def test_it_goes_on_from_a_prime(abc: Path, tmp_path: Path, program: Program) -> None:
    assert written(program, abc, "-p", "ab", "-n", "2") == ("abc\nabc\n", "")
    assert written(program, abc, "-p", "ab", "--hide-prime") == ("c\n", "")
    assert written(program, abc, "-p", "") == ("abc\n", "")
    file = tmp_path / "prime.txt"
    file.write_bytes(b"\xef\xbb\xbfa\r\n")
    assert written(program, abc, "--prime-file", str(file)) == ("abc\n", "")
    file.write_text("")
    assert written(program, abc, "--prime-file", str(file)) == ("abc\n", "")


def test_a_prime_comes_through_standard_input(abc: Path, program: Program) -> None:
    assert sampled(program, abc, "--prime-file", "-", stdin=b"ab\n").out == "abc\n"


def test_the_last_newline_of_a_file_counts_where_examples_hold_newlines(
    tmp_path: Path, program: Program
) -> None:
    after = {END: {"a": 1.0}, "a": {"\n": 1.0}, "\n": {"b": 1.0}, "b": {END: 1.0}}
    model = saved(markov(after), tmp_path / "m.npz", "paragraphs")
    file = tmp_path / "prime.txt"
    file.write_text("a\n")
    hidden = ("--hide-prime", "--prime-file", str(file))
    assert written(program, model, *hidden)[0] == "b\n"
    file.write_text("a")
    assert written(program, model, *hidden)[0] == "\nb\n"


def test_what_was_never_seen_is_named_and_taken(abc: Path, program: Program) -> None:
    out, err = written(program, abc, "-p", "aЖ中aЖ")
    assert out == "aЖ中aЖ\n"
    assert err == "not in the vocabulary, read as unknown: Ж (U+0416) 中 (U+4E2D)\n"
    _, err = written(program, abc, "-p", "".join(map(chr, range(0x400, 0x420))))
    assert err.endswith("and 20 more\n")
    assert written(program, abc, "-q", "-p", "Ж")[1] == ""


@posix
def test_a_prime_that_is_not_utf_8_is_no_crash(abc: Path, program: Program) -> None:
    done = sampled(program, abc, "-p", b"a\xff")
    assert done.status == 0
    assert done.out == "a\ufffd\n"
    assert r"\udcff (U+DCFF)" in done.err
    assert sampled(program, abc, "--json", "-p", b"\xff").json["text"] == "\ufffd"


def test_a_long_prime_is_read_from_where_it_matters(
    abc: Path, tmp_path: Path, program: Program
) -> None:
    file = tmp_path / "prime.txt"
    file.write_text("abcabcab" * 30_000)
    out, err = written(program, abc, "--prime-file", str(file))
    assert len(out) == 240_002
    assert "its last 131,072 characters are read" in err


def test_a_blank_line_stands_between_samples_that_hold_newlines(
    tmp_path: Path, program: Program
) -> None:
    after = {END: {"a": 1.0}, "a": {"\n": 1.0}, "\n": {"b": 1.0}, "b": {END: 1.0}}
    model = saved(markov(after), tmp_path / "m.npz", "paragraphs")
    assert written(program, model, "-n", "2") == ("a\nb\n\na\nb\n", "")
    assert written(program, model, "-n", "2", "-0") == ("a\nb\0a\nb\0", "")
    assert written(program, model) == ("a\nb\n", "")


def test_samples_may_end_in_nul(abc: Path, program: Program) -> None:
    assert written(program, abc, "-n", "2", "--null", "-p", "a") == ("abc\0abc\0", "")


def test_a_sample_that_was_cut_off_is_said_so(tmp_path: Path, program: Program) -> None:
    model = saved(independent({"a": 1.0}), tmp_path / "m.npz")
    out, err = written(program, model, "--max-chars", "7", "-n", "3", "-p", "aa")
    assert out == "aaaaaaaaa\n" * 3
    assert err == "3 of 3 samples reached --max-chars 7 before the end\n"
    one = written(program, model, "--max-chars", "7")[1]
    assert one == "the sample reached --max-chars 7 before the end\n"
    assert written(program, model, "--max-chars", "7", "-q")[1] == ""
    assert len(written(program, model)[0]) == 2001


def expected(speaker: LanguageModel, text: str, ended: bool) -> float:
    vocabulary = speaker.vocabulary
    end = vocabulary.encode("")[:0].dtype.type(0)
    ids = [*vocabulary.encode(text), *([end] if ended else [])]
    import numpy as np

    return float(NetworkScorer(speaker).read(np.array(ids, vocabulary.dtype))[0].sum())


@pytest.mark.parametrize("prime", ["", "ab", "aЖb"])
def test_json_tells_what_the_model_says_of_the_text(
    prime: str, babble: Path, program: Program
) -> None:
    args = ("-n", "12", "--seed", "1", "--max-chars", "40", "-t", "0.7", "--top-k", "7")
    found = lines(program, babble, *args, "-p", prime)
    hidden = lines(program, babble, *args, "-p", prime, "--hide-prime")
    text, _ = written(program, babble, *args, "-p", prime)
    assert [line["text"] for line in found] == text.splitlines()
    assert "limit" in {line["ended"] for line in found}
    prime_nats = expected(babbler(), prime, ended=False)
    for line, drawn in zip(found, hidden, strict=True):
        assert list(line) == [
            *("schema", "text", "characters", "nats", "nats_per_character", "ended"),
            "temperature",
        ]
        assert line["schema"] == "charrnn.sample/1"
        assert line["characters"] == len(line["text"])
        ended = line["ended"] == "end"
        assert line["nats"] == pytest.approx(expected(babbler(), line["text"], ended), rel=1e-4)
        symbols = line["characters"] + ended
        assert line["nats_per_character"] == pytest.approx(line["nats"] / symbols)
        assert prime + drawn["text"] == line["text"]
        assert drawn["characters"] == len(drawn["text"])
        assert drawn["nats"] + prime_nats == pytest.approx(line["nats"], rel=1e-4)


def test_nats_are_those_of_eval(babble: Path, tmp_path: Path, program: Program) -> None:
    found = lines(program, babble, "-n", "30", "--seed", "1")
    ended = [line for line in found if line["ended"] == "end" and line["text"]]
    text = tmp_path / "drawn.txt"
    text.write_text("".join(line["text"] + "\n" for line in ended), "utf-8")
    line = ("eval", "-m", babble, "--examples", "lines", "--json", text)
    whole = program.run(*line).json
    assert whole["nats"] == pytest.approx(sum(line["nats"] for line in ended), rel=1e-4)
    assert whole["characters"] == sum(line["characters"] for line in ended)


def test_json_of_a_sample_with_nothing_in_it(tmp_path: Path, program: Program) -> None:
    model = saved(independent({"a": 1e-9, END: 1.0}), tmp_path / "m.npz")
    (line,) = lines(program, model)
    assert (line["text"], line["characters"], line["ended"]) == ("", 0, "end")
    assert math.isfinite(line["nats_per_character"])


def test_what_stands_in_a_corpus_is_not_written(tmp_path: Path, program: Program) -> None:
    model = saved(independent({"a": 0.3, "b": 0.3, END: 0.4}), tmp_path / "m.npz")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("a\nb\nab\nba\r\naa\nbb\n")
    more = tmp_path / "more.txt"
    more.write_text("aab")
    refused = {"a", "b", "ab", "ba", "aa", "bb", "aab"}
    args = ("-n", "200", "--seed", "1", "--novel", str(corpus), "--novel", str(more))
    out, err = written(program, model, *args)
    assert len(out.splitlines()) == 200
    assert not refused & set(out.splitlines())
    assert err.startswith("copied from known texts: at most ")
    primed, _ = written(program, model, *args, "-p", "a")
    assert not refused & set(primed.splitlines())
    hidden, _ = written(program, model, *args, "-p", "a", "--hide-prime")
    assert ["a" + text for text in hidden.splitlines()] == primed.splitlines()
    assert [line["text"] for line in lines(program, model, *args)] == out.splitlines()


def test_no_sample_is_written_twice(tmp_path: Path, program: Program) -> None:
    model = saved(independent({"a": 0.3, "b": 0.3, END: 0.4}), tmp_path / "m.npz")
    out, err = written(program, model, "-n", "100", "--seed", "1", "--unique")
    assert len(set(out.splitlines())) == len(out.splitlines()) == 100
    assert err == ""


def test_what_cannot_be_drawn_is_given_up_and_said(
    abc: Path, tmp_path: Path, program: Program
) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("abc\n")
    done = sampled(program, abc, "--novel", str(corpus), "-n", "50")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "charrnn: error: found only 0 of 50 samples: "
        "101 attempts at one of them did not pass --novel\n"
        "Lower -n, raise -t, or leave out --novel.\n"
    )
    done = sampled(program, abc, "--unique", "--json", "-n", "3")
    assert (done.status, len(done.out.splitlines())) == (1, 1)
    assert (
        "found only 1 of 3 samples: 101 attempts at one of them did not pass --unique" in done.err
    )


def test_where_each_draw_is_the_same_that_is_said(tmp_path: Path, program: Program) -> None:
    model = saved(independent({"a": 0.6, "b": 0.3, END: 0.1}), tmp_path / "m.npz")
    for how in (("--top-k", "1"), ("-t", "0")):
        done = sampled(program, model, *how, "--unique", "-n", "50", "--max-chars", "300")
        assert (done.status, done.out) == (1, "a" * 300 + "\n")
        assert (
            "found only 1 of 50 samples: every attempt gives the same text, which fails --unique"
            in done.err
        )
    both = ("--unique", "-n", "50", "-t", "0,1", "--max-chars")
    done = sampled(program, model, *both, "9")  # what is left to chance has found all it was to
    assert (
        "found only 51 of 100 samples: every attempt gives the same text, which fails --unique"
        in done.err
    )
    done = sampled(program, model, *both, "1")
    assert (
        "found only 3 of 100 samples: 101 attempts at one of them did not pass --unique" in done.err
    )


def test_a_pipe_gets_the_exact_characters(tmp_path: Path, program: Program) -> None:
    for text in ("\x1b[31m", "[/b]", ":smile", "a\u202eb", "e\u0301👩\u200d👧", "\r\x00\x9b"):
        model = saved(speller(text), tmp_path / f"{len(text)}{ord(text[0])}.npz")
        done = sampled(program, model, "--surprise", "--seed", "1")
        assert done.out == f"{text}\n"
        assert done.err == ""


@posix
def test_a_terminal_is_shown_what_it_shall_not_obey(tmp_path: Path, program: Program) -> None:
    model = saved(speller("\x1b[2J\x9b\u202e\tx"), tmp_path / "m.npz")
    assert in_a_terminal(program, model) == "\\x1b[2J\\x9b\\u202e\tx\n"
    assert in_a_terminal(program, model, "--raw") == "\x1b[2J\x9b\u202e\tx\n"
    assert in_a_terminal(program, model, "-0").startswith("\\x1b[2J")
    assert "\\u001b[2J" in in_a_terminal(program, model, "--json")


@posix
def test_surprise_is_coloured_in_a_terminal(tmp_path: Path, program: Program) -> None:
    after = {END: {"a": 0.999, "b": 0.001}, "a": {END: 1.0}, "b": {"e": 1.0}, "e": {"\u0301": 1.0}}
    speaker = markov({**after, "\u0301": {"a": 1.0}})
    model = saved(speaker, tmp_path / "m.npz")
    seen = in_a_terminal(program, model, "--surprise", "-p", "b")
    legend, text = seen.splitlines()
    assert legend.startswith("bits: ")
    assert "\x1b[" in legend
    assert text == "be\u0301a"  # as expected as can be
    plain = re.sub(r"\x1b\[[0-9;]*m", "", in_a_terminal(program, model, "--surprise", "-t", "1e6"))
    assert plain.count("\n") == 2
    marks = independent({"a": 0.998, "e": 0.001, "\u0301": 0.001})
    bold = ("--surprise", "-t", "4", "--max-chars", "60", "--seed", "4")
    seen = in_a_terminal(program, saved(marks, tmp_path / "marks.npz"), *bold)
    assert "\x1b[" in seen.splitlines()[1]
    assert "\u0301" in seen
    assert not re.search("m\u0301", seen[seen.index("\n") + 1 :].replace("\x1b[0m", ""))
    assert "\x1b" not in in_a_terminal(program, model, "--surprise", NO_COLOR="1")
    assert len(in_a_terminal(program, model, "--surprise", "-q").splitlines()) == 1


def test_what_is_not_needed_is_not_imported(abc: Path, program: Program) -> None:
    assert sampled(program, abc, "-n", "2", "-p", "a").err == ""
    code = f"""
import sys
from charrnn.cli import app
app.main(["sample", "-m", {str(abc)!r}, "-n", "2", "-p", "a"])
print(*sorted(sys.modules))
"""
    modules = set(program.run("-c", code, by=PYTHON).out.split())
    assert "charrnn.sampling.sampler" in modules
    assert not {"rich", "tqdm", "charrnn.cli.terminal.colours"} & modules


def test_the_command_says_what_the_library_says(babble: Path, program: Program) -> None:
    out, _ = written(program, babble, "-n", "20", "--seed", "5", "--max-chars", "50", "-p", "cab")
    sampler = Sampler(babbler(), SampleConfig(seed=5, max_characters=50), "cab")
    assert out.splitlines() == ["cab" + sample.text for sample in sampler.samples(range(20))]

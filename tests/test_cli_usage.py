"""Wrong usage is one line and a hint; what is in range arrives as the number that it is."""

from __future__ import annotations

from typing import Any

import pytest

from charrnn.cli import app
from charrnn.cli.app import load
from tests.program import Program

HINT = "Try 'charrnn shout --help'.\n"


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("shuot", "no such command: shuot", "Did you mean shout? Try 'charrnn --help'.\n"),
        ("zzz", "no such command: zzz", "Try 'charrnn --help'.\n"),
        ("--vrsion", "no such option: --vrsion", "Did you mean --version? Try 'charrnn --help'.\n"),
        ("shout hey --tmp 1", "no such option: --tmp", f"Did you mean --temp? {HINT}"),
        ("shout hey -z", "no such option: -z", HINT),
        ("shout --seed 1", "WORD is missing", HINT),
        ("shout hey --temp", "--temp needs a value", HINT),
        ("shout hey --json=1", "option '--json' does not take a value", HINT),
        ("shout hey --examples line", None, HINT),
        ("shout hey -m", "-m needs a value", HINT),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(
    shout: Program,
    line: str,
    what: str | None,
    hint: str,
) -> None:
    what = what or "--examples: 'line' is not one of auto, lines, paragraphs, files"
    ran = shout.run(*line.split())
    assert (ran.status, ran.out, ran.err) == (2, "", f"charrnn: error: {what}\n{hint}")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("generate", "sample"),
        ("predict", "sample or eval"),
        ("score", "eval"),
        ("test", "eval"),
        ("sample --length 9", "--max-chars"),
        ("sample --temperature 1", "--temp"),
        ("train -o m.npz", "-m"),
        ("train --temperature 1", "--temp of charrnn sample"),
        ("train --length 9", "--max-chars of charrnn sample"),
        ("train --learning-rate 1", "--lr"),
        ("train --rnn_size 9", "--hidden"),
        ("train --rnn_size=9", "--hidden"),
        ("train --seq_length 9", "--bptt"),
        ("train --num_layers 2", "--layers"),
        ("train --batch_size 9", "--batch"),
        ("train --max_epochs 9", "--epochs"),
        ("train --hiden 9", "--hidden"),
        ("train --chek-every 9", "--check-every"),
    ],
)
def test_words_of_other_programs_and_slips_are_understood(
    program: Program, line: str, meant: str
) -> None:
    ran = program.run(*line.split())
    assert ran.status == 2
    assert ran.err.splitlines()[1].startswith(f"Did you mean {meant}? Try 'charrnn ")


@pytest.mark.parametrize("option", ["--verbose", "--debug", "--foo", "-x", "-vv", "--no-color"])
def test_rather_nothing_is_guessed_than_something_silly(program: Program, option: str) -> None:
    for command in ("train", "sample", "eval", "info"):
        assert "Did you mean" not in program.run(command, option).err


def test_no_graphics_card_is_asked_for(program: Program) -> None:
    for option in ("--gpu", "--device", "--cuda"):
        assert "needs no graphics card" in program.run("train", "names.txt", option).err


@pytest.mark.parametrize("typed", ["", " ", "x.npz"])
def test_an_argument_too_many_is_refused_even_if_it_is_empty(program: Program, typed: str) -> None:
    ran = program.run("sample", typed)
    assert (ran.status, ran.err.count("\n")) == (2, 2)
    assert ran.err.startswith(f"charrnn: error: unexpected argument: {typed or repr('')}\n")


def test_every_word_of_others_leads_to_something_of_ours() -> None:
    assert {name for names in app.COMMANDS_ELSEWHERE.values() for name in names} <= {*app.COMMANDS}
    for word, (command, option) in app.OPTIONS_ELSEWHERE.items():
        names = [name for one in load(command).params for name in one.opts]
        assert option in names
        assert word not in [name.lstrip("-") for name in names], "what is ours needs no translation"


def test_a_model_in_the_place_of_a_text_is_told_what_to_type(trained: Program) -> None:
    for command in ("info", "sample"):
        ran = trained.run(command, "model.npz")
        assert ran.status == 2
        assert f"A model is named with -m: charrnn {command} -m model.npz." in ran.err
    for line in (("eval", "model.npz"), ("train", "model.npz", "-m", "other.npz")):
        ran = trained.run(*line)
        assert ran.status == 1
        assert "model.npz is a model of charrnn, not a text" in ran.err
        assert "-m" in ran.err


@pytest.mark.parametrize(
    ("option", "allowed", "refused"),
    [
        (
            "--temp",
            "a number from 0.01 to 100",
            ["-1", "0", "nan", "inf", "-inf", "1e-300", "1e300", "", "hot", "0x1", "9" * 400],
        ),
        ("--share", "a number of more than 0 and at most 1", ["0", "1.5", "-0.0", "nan"]),
        (
            "--seed",
            "a whole number from 0 to 18,446,744,073,709,551,615",
            ["-1", "18446744073709551616", "1.5", "", "9" * 5000],
        ),
        ("--cores", "a whole number from 1 to 1,024", ["0", "1025", "nan"]),
    ],
)
def test_a_value_out_of_range_is_told_with_the_range(
    shout: Program,
    option: str,
    allowed: str,
    refused: list[str],
) -> None:
    for value in refused:
        ran = shout.run("shout", "hey", option, value)
        shown = repr(value) if len(value) < 40 else f"'{value[:45]}...'"
        names = "-t or --temp" if option == "--temp" else option
        error = f"charrnn: error: {names}: {shown} is not {allowed}\n{HINT}"
        assert (ran.status, ran.out, ran.err) == (2, "", error)


@pytest.mark.parametrize(
    ("option", "value", "read"),
    [
        ("--temp", "0.01", 0.01),
        ("--temp", "1e2", 100.0),
        ("--share", "1", 1.0),
        ("--seed", "0", 0),
        ("--seed", str(2**64 - 1), 2**64 - 1),
        ("--examples", "lines", "lines"),
    ],
)
def test_a_value_in_range_arrives(
    shout: Program,
    option: str,
    value: str,
    read: object,
) -> None:
    ran = shout.run("shout", "hey", "--json", option, value)
    assert ran.status == 0
    assert ran.rows[0][option.lstrip("-")] == read


def test_the_model_is_named_by_option_by_environment_or_by_default(
    shout: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(*args: str) -> Any:
        ran = shout.run("shout", "hey", "--json", *args)
        assert ran.status == 0
        return ran.rows[0]["model"]

    assert model() == "model.npz"
    monkeypatch.setenv("CHARRNN_MODEL", "other.npz")
    assert model() == "other.npz"
    assert model("-m", "third.npz") == "third.npz"

"""Faults 26 and 27: text that would steer a terminal, and text that looks like markup."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.program import SMALL, Program

STEERING = "\x07\x08\x1b\x7f\x85\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029"
LOG = (
    "\x1b[2J\x1b]0;title\x07ok\tdone\n\x1b]8;;http://x\x1b\\link\x9b31mred\x08\x08\x7f\n"
    "\u202eabc\u2066d\u2069\u061c\u200e\u200f\u202a\n\u2028\u2029\x85end\n"
)
MARKUP = "[/b] [red]x[/red] :smile: [link=http://x]y[/link] \\[b] [/] {0} %s\n"
OURS = re.compile(r"\x1b\[[0-9;]*[mK]|\x1b\[A")  # colours, and what a progress bar moves by
LINES: dict[str, tuple[str, ...]] = {
    "sample": ("sample", "-n", "40", "--seed", "1"),
    "prime": ("sample", "--prime", LOG, "--max-chars", "9"),
    "info": ("info",),
    "eval": ("eval", "log"),
    "per character": ("eval", "log", "--per-char"),
    "per example": ("eval", "log", "--per-example"),
    "as it came": ("eval", "log", "--per-example"),
    "baselines": ("eval", "log", "--baselines"),
}


def steers(text: str) -> set[str]:
    """What of it a terminal would obey, or take for the end of a line."""
    return set(text) & set(STEERING)


@pytest.fixture(scope="session")
def trained_on_logs(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model of a network that has read a terminal log."""
    program = Program(tmp_path_factory.mktemp("logs"))
    program.write("log", LOG * 5)
    program.run("train", "log", *SMALL, "--holdout", "0.3").says()
    return (program / "model.npz").read_bytes()


@pytest.fixture
def logs(program: Program, trained_on_logs: bytes) -> Program:
    program.write("log", LOG * 5)
    program.write("model.npz", trained_on_logs)
    return program


@pytest.mark.parametrize("name", LINES)
def test_26_to_a_terminal_nothing_steers_it(logs: Program, name: str) -> None:
    status, seen = logs.terminal(*LINES[name], columns=300)
    assert status == 0, seen
    assert not steers(OURS.sub("", seen)), seen
    assert r"\x1b" in seen or name in ("info", "eval", "baselines")


@pytest.mark.parametrize("columns", [1, 40, 300])
def test_26_nor_does_a_run_that_learns_it(logs: Program, columns: int) -> None:
    line = ("train", "log", *SMALL, "--epochs", "5", "--check-every", "2", "--force")
    env = {"NO_COLOR": "1"}
    status, seen = logs.terminal(*line, "--preview", "5", columns=columns, env=env)
    assert status == 0, seen
    assert not steers(seen.replace("\x1b[A", ""))


def test_26_to_a_pipe_go_the_exact_characters(logs: Program) -> None:
    line = LINES["sample"]
    piped = logs.run(*line)
    piped.says()
    assert {"\x1b", "\x07", "\x9b", "\u202e"} <= steers(piped.out)
    rows = logs.run("eval", "log", "--per-example").out.split("\n")
    wanted = [example for example in (LOG * 5).split("\n") if example]
    assert [row[31:] for row in rows if row] == wanted


def test_26_what_is_said_beside_it_never_steers(logs: Program) -> None:
    for name, line in {**LINES, "train": ("train", "log", *SMALL, "--force")}.items():
        ended = logs.run(*line)
        ended.says()
        assert not steers(ended.err), name
        if name not in ("sample", "prime", "per example", "as it came"):
            assert not steers(ended.out), name


def test_26_json_means_the_exact_characters_and_does_not_steer(logs: Program) -> None:
    def rows(*line: str) -> list[dict[str, Any]]:
        ended = logs.run(*line, "--json")
        ended.says()
        assert not steers(ended.out)
        return [json.loads(row) for row in ended.out.splitlines()]

    drawn = logs.run("sample", "-n", "3", "--seed", "1").out
    assert "".join(row["text"] + "\n" for row in rows("sample", "-n", "3", "--seed", "1")) == drawn
    read = rows("eval", "log", "--per-char")
    text = "".join(row["character"] or "\n" for row in read if "character" in row)
    assert text == LOG * 5
    assert set(rows("info")[0]["vocabulary"]) >= steers(LOG)


def test_27_markup_comes_out_as_it_is(program: Program) -> None:
    program.write("text", MARKUP * 40)
    line = ("train", "text", *SMALL, "--epochs", "2")
    program.run(*line).says("next ")
    word = MARKUP.strip()
    primed = program.run("sample", "--prime", word, "--max-chars", "1")
    assert primed.out.startswith(word)
    rows = program.run("eval", "text", "--per-example").out.splitlines()
    assert [row.endswith(word) for row in rows] == [True] * 40
    status, seen = program.terminal("eval", "text", "--per-example", columns=200)
    assert (status, seen.count(word)) == (0, 40)
    status, seen = program.terminal("sample", "--prime", word, "--max-chars", "1", columns=200)
    assert (status, seen.startswith(word)) == (0, True)
    status, seen = program.terminal(*line, "--force", "--preview", "3", columns=200)
    assert status == 0


@pytest.mark.parametrize("name", ["[red]", "[b]bold[-b]:smile:"])
def test_27_names_with_markup_are_said_as_they_are(program: Program, name: str) -> None:
    program.write(name, "anna\nbob\n" * 9)
    done = program.run("train", name, *SMALL, "-m", f"{name}.npz")
    done.says(f"corpus     {name}   16 lines")
    assert f"{name}.npz" in done.out
    for missing in (f"{name}.no", f"[/b]{name}"):
        what = f"there is no model {missing}"
        program.refuses("info", "-m", missing, what=what, hint="Train one first")
        what = f"{missing} does not exist"
        program.refuses("eval", missing, "-m", f"{name}.npz", what=what, hint="Check the name")

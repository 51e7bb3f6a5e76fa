"""Help, version and completion, of the program and of each command."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import charrnn
from charrnn import __version__
from charrnn.cli import app, console
from tests import shout as example
from tests.child import CHARRNN, HOME
from tests.program import Program

posix = pytest.mark.skipif(os.name == "nt", reason="signals, shells and terminals of POSIX")


@pytest.mark.parametrize("args", [["--version"], ["--version", "nonsense"]])
def test_the_version_is_told(shout: Program, args: list[str]) -> None:
    done = shout.run(*args, by=CHARRNN)
    assert (done.status, done.out) == (0, f"charrnn {__version__}\n")


def test_the_version_is_that_of_the_package() -> None:
    assert f'version = "{__version__}"' in (HOME / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("command", [[], ["shout"]])
def test_help_goes_to_stdout_under_both_names(shout: Program, command: list[str]) -> None:
    short = shout.run(*command, "-h")
    long = shout.run(*command, "--help")
    assert short.out == long.out
    assert short.out.startswith("Usage: charrnn")
    assert (short.status, long.status, long.err) == (0, 0, "")


def test_where_all_is_missing_there_is_help(shout: Program) -> None:
    done = shout.run()
    assert done.out == shout.run("--help").out
    assert (done.status, done.err) == (2, "")


def test_help_of_the_program_has_a_line_for_each_command(shout: Program) -> None:
    page = shout.run("--help").out
    for name, entry in app.COMMANDS.items():
        assert [name, entry.line] in [row.split(maxsplit=1) for row in page.splitlines()]


def test_help_has_panels_defaults_and_examples_word_for_word(shout: Program) -> None:
    page = shout.run("shout", "--help").out
    for heading in ("Loudness:", "Output:", "Corpus:", "Options:", "Examples:"):
        assert heading in page.splitlines()
    assert "-t, --temp NUMBER   How loud. [default: 1]" in page
    assert "[default: model.npz] [env: CHARRNN_MODEL]" in " ".join(page.split())
    about = example.__doc__
    assert about is not None
    for line in about[about.index("# ") :].strip().splitlines():
        assert f"  {line}".rstrip() in page.splitlines()


@pytest.mark.parametrize("columns", [1, 20, 40, 80])
def test_help_fits_the_window(shout: Program, columns: int) -> None:
    done = shout.run("--help", env={"COLUMNS": str(columns)})
    assert done.status == 0
    text = done.out.partition("Examples:")[0]
    assert max(map(len, text.splitlines())) <= max(columns, 30)


def test_markup_in_help_is_text(shout: Program) -> None:
    assert "[b]bold[/b], and :smile:" in shout.run("shout", "--help").out


@posix
def test_help_is_coloured_on_a_terminal_only(shout: Program) -> None:
    assert "\x1b[" in shout.terminal("--help")[1]
    assert "\x1b" not in shout.terminal("--help", env={"NO_COLOR": "1"})[1]
    assert "\x1b" not in shout.terminal("--help", env={"TERM": "dumb"})[1]
    forced = {"FORCE_COLOR": "1", "GITHUB_ACTIONS": "true"}
    assert "\x1b" not in shout.run("--help", env=forced).out


def test_the_shell_completes_commands_options_and_names(shout: Program) -> None:
    def completed(words: str) -> list[str]:
        place = str(len(words.split(" ")) - 1)
        asked = {"COMP_WORDS": words, "COMP_CWORD": place, "_CHARRNN_COMPLETE": "complete_bash"}
        done = shout.run(env=asked)
        assert done.status == 0
        return done.out.split()

    assert completed("charrnn sh") == ["shout"]
    assert completed("charrnn shout --te") == ["--temp"]
    assert completed("charrnn shout --examples p") == ["paragraphs"]
    assert completed("charrnn sweep --try hi") == ["hidden="]


def test_a_corpus_is_completed_with_ours_and_with_files(program: Program) -> None:
    program.write("diary.txt", "x")

    def completed(word: str) -> list[str]:
        asked = {"COMP_WORDS": f"charrnn train {word}", "COMP_CWORD": "2"}
        env = {**asked, "_CHARRNN_COMPLETE": "complete_bash"}
        return program.run(env=env).out.split()

    assert completed("di") == ["dinosaurs", "diary.txt"]
    assert completed("n") == [], "the shell knows files alone better"
    assert {"dinosaurs", "given-names", "reber", "verses", "diary.txt"} <= set(completed(""))


def test_the_first_tab_of_zsh_is_answered(shout: Program) -> None:
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    script = shout.run("--show-completion", "zsh", env=env, child=True).out
    answer = script[script.index("if [[") :]
    assert '"${funcstack[1]}" == "_charrnn" ]]; then\n  _charrnn "$@"' in answer
    assert "compinit" in answer, "nothing is missing where completion was never set up"


def test_the_script_for_completion_is_shown(shout: Program) -> None:
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = shout.run("--show-completion", "bash", env=env, child=True)
    assert done.status == 0
    assert "_CHARRNN_COMPLETE=complete_bash" in done.out


@pytest.mark.parametrize(
    "name", [name for name in app.COMMANDS if find_spec(app.COMMANDS[name].options)]
)
def test_each_command_has_its_line_its_help_and_examples_that_can_be_typed(name: str) -> None:
    command = app.load(name)
    assert (command.help or "").startswith(app.COMMANDS[name].line)
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"
    lines = [line for line in (command.epilog or "").splitlines() if line.startswith("charrnn ")]
    assert f"charrnn {name}" in "\n".join(lines)
    for line in lines:
        words = line.partition("|")[0].partition(">")[0].split()
        app.load(words[1]).make_context(words[1], words[2:])


def test_help_names_each_exit_status_and_variable(program: Program) -> None:
    shown = program.run("--help").out
    statuses = {n for name, n in vars(console).items() if name.isupper() and type(n) is int}
    assert statuses - {console.NARROW, console.WIDE} == {1, 2, 3, 130, 141}
    for status in (0, 1, 2, 3, 130, 141):
        assert re.search(rf"^  {status} +[A-Zc]", shown, re.MULTILINE)
    sources = [path.read_text() for path in Path(charrnn.__file__).parent.rglob("*.py")]
    quoted = r'"(CHARRNN_[A-Z]+|NO_COLOR|COLUMNS)"'
    names = {name for text in sources for name in re.findall(quoted, text)}
    assert names == {"CHARRNN_MODEL", "CHARRNN_DEBUG", "NO_COLOR", "COLUMNS"}
    for name in names:
        assert f"\n  {name}" in shown
    assert 'a "schema", such as charrnn.eval/1' in shown
    assert "Exit status" not in program.run("train", "--help").out

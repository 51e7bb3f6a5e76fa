"""Help, wrong usage, version and completion, by Typer."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from charrnn import __version__
from charrnn.cli import app, options
from tests.child import CHARRNN, HOME
from tests.program import Program


def test_the_version_is_that_of_the_package(program: Program) -> None:
    done = program.run("--version", by=CHARRNN)
    assert (done.status, done.out) == (0, f"charrnn {__version__}\n")
    assert program.run("--version").out == done.out
    assert f'version = "{__version__}"' in (HOME / "pyproject.toml").read_text("utf-8")


def test_the_program_alone_shows_its_commands_and_one_example(program: Program) -> None:
    alone, short = program.run(), program.run("-h")
    assert (alone.status, alone.err, short.status) == (2, "", 0)
    assert alone.out.strip() == short.out.strip()
    for name, line in app.COMMANDS.items():
        assert re.search(rf"{name} +{line[:50]}", short.out)
    assert short.out.count("  charrnn ") == 2
    assert "--install-completion" not in short.out
    assert "--install-completion" in program.run("--help").out


@pytest.mark.parametrize("name", app.COMMANDS)
def test_each_command_has_help_and_examples_that_can_be_typed(program: Program, name: str) -> None:
    command = app.load(name)
    assert (command.help or "").partition("\n")[0].startswith(app.COMMANDS[name][:20])
    examples = re.findall(r"^charrnn (\S+) ?(.*)$", command.epilog or "", re.MULTILINE)
    assert name in [example for example, _ in examples]
    for example, words in examples:
        typed = words.partition("|")[0].partition(">")[0].replace('"', "").split()
        app.load(example).make_context(example, typed)
    whole = program.run(name, "--help").out
    for option in options.options_of(import_module(f"charrnn.cli.{name}").Options):
        assert "[" not in option.setting.about + option.setting.default_in_words, "rich's markup"
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"
        assert all(option in whole for option in parameter.opts if option.startswith("-"))
    assert whole.rstrip().endswith((command.epilog or "").rpartition("\n")[2])


def test_short_help_has_the_first_panel_two_examples_and_says_how_much_is_hidden(
    program: Program,
) -> None:
    short = program.run("train", "-h", env={"COLUMNS": "80"}).out
    assert len(short.strip().splitlines()) <= 30
    for option in ("CORPUS", "--minutes", "--cell", "--hidden", "--counts", "--resume", "--help"):
        assert option in short
    assert "--clip" not in short
    assert short.count("  # ") == 2
    hidden = re.search(r"(\d+) more options: charrnn train --help", short)
    assert hidden is not None
    whole = program.run("train", "--help").out
    assert whole.count("│ --") - short.count("│ --") == int(hidden[1])


def test_help_is_coloured_on_a_terminal_only(program: Program) -> None:
    assert "\x1b[" in program.terminal("-h")[1]
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[3" not in program.terminal("-h", by=CHARRNN, env=env)[1]
    assert "\x1b" not in program.run("train", "--help").out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "No such command 'nonsense'"),
        ("train --hiden 3", "No such option: --hiden"),
        ("train --hiden 3", "--hidden"),
        ("train --hidden", "requires an argument"),
        ("train --hidden 0", "'0' is not a whole number from 1 to 1,048,576"),
        ("train --hidden 3.0", "'3.0' is not a whole number"),
        ("train --lr inf", "'inf' is not a number"),
        ("train --lr nan", "'nan' is not a number"),
        ("train --cell tan", "'tan' is not one of tanh, gru, lstm, output"),
        ("unfold", "TEXT"),
        ("unfold a b", "unexpected extra argument"),
        ("train --\x1b[31m", "No such option: --\\x1b[31m"),
    ],
)
def test_wrong_usage_is_said_by_typer_with_status_2(program: Program, line: str, said: str) -> None:
    done = program.run(*line.split(" "), env={"COLUMNS": "120"})
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "\x1b" not in done.err


def test_the_shell_completes_commands_options_and_names(program: Program) -> None:
    program.write("diary.txt", "x")

    def completed(words: str) -> list[str]:
        place = str(len(words.split(" ")) - 1)
        asked = {"COMP_WORDS": words, "COMP_CWORD": place, "_CHARRNN_COMPLETE": "complete_bash"}
        done = program.run(env=asked)
        assert done.status == 0
        return done.out.split()

    assert completed("charrnn sa") == ["sample"]
    assert "--temp" in completed("charrnn sample --te")
    assert completed("charrnn train --examples p") == ["paragraphs"]
    assert completed("charrnn sweep --try hi") == ["hidden="]
    assert completed("charrnn train di") == ["dinosaurs", "diary.txt"]


def test_the_script_for_completion_is_shown(program: Program) -> None:
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = program.run("--show-completion", "bash", env=env, child=True)
    assert done.status == 0
    assert "_CHARRNN_COMPLETE=complete_bash" in done.out

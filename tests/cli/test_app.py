"""Help, usage, version and completion, by Typer; any command line; and those that are refused.

A refused command line is a line of refusals.txt: its exit status, the start of its error, and a
part of its hint. No file changes.
"""

import re
import signal
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charrnn import __version__
from charrnn.cli import app
from charrnn.cli.typer_options import command_settings, options_from
from charrnn.settings.values import OneOf, Setting
from tests.child import CHARRNN, HOME, Result
from tests.networks import saved, speller
from tests.program import SIZE, SMALL, Program


def test_the_version_is_that_of_the_package(program: Program) -> None:
    done = program.run("--version", by=CHARRNN)
    assert (done.status, done.out) == (0, f"charrnn {__version__}\n")
    assert program.run("--version").out == done.out
    assert f'version = "{__version__}"' in (HOME / "pyproject.toml").read_text("utf-8")


def test_the_program_alone_shows_its_commands_and_two_examples(program: Program) -> None:
    alone, short = program.run(), program.run("-h", env={"COLUMNS": "0"})
    assert (alone.status, alone.err, short.status) == (2, "", 0)
    assert alone.out.strip() == short.out.strip()
    for name, line in app.COMMANDS.items():
        assert re.search(rf"{name} +{re.escape(line)}", short.out)
    assert short.out.count("  # ") == 2
    assert len(short.out.strip().splitlines()) <= 34
    assert "--install-completion" not in short.out
    assert "--install-completion" in program.run("--help").out
    program.refuses("", what="no command ''", hint="Try", status=2)


def settings_of(name: str) -> dict[str, Setting]:
    return command_settings(import_module(f"charrnn.cli.{name}").Options)


@pytest.mark.parametrize("name", app.COMMANDS)
def test_each_command_has_help_and_examples_that_can_be_typed(program: Program, name: str) -> None:
    command = app.load(name)
    line, _, about = command.help.partition("\n\n")
    assert line == app.COMMANDS[name]
    assert about
    assert not about.startswith(line)
    examples = re.findall(r"^charrnn (\S+) ?(.*)$", command.epilog, re.MULTILINE)
    assert name in [example for example, _ in examples]
    for example, words in examples:
        typed = words.partition("|")[0].partition(">")[0].replace('"', "").split()
        app.load(example).main(typed, standalone_mode=False)  # which reads the options
    assert 2 <= command.epilog.count("# ") <= 5
    whole = program.run(name, "--help", env={"COLUMNS": "80"}).out
    assert not re.search(r"<[a-z]", whole), "a type of Python"
    for parameter in command.params:
        assert parameter.help, f"{name}: {parameter.name} is not explained"
        assert all(option in whole for option in parameter.opts if option.startswith("-"))
    assert whole.rstrip().endswith(command.epilog.rpartition("\n")[2])


def test_help_is_there_without_docstrings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("charrnn.cli.info.__doc__", None)  # as with python -OO
    assert app.load("info").help == app.COMMANDS["info"]


@pytest.mark.parametrize("name", app.COMMANDS)
def test_short_help_has_a_row_for_each_usual_option(program: Program, name: str) -> None:
    shown = program.run(name, "-h", env={"COLUMNS": "80"}).out
    assert not re.search(r"<[a-z]", shown), "a type of Python"
    assert max(map(len, shown.splitlines())) <= 80
    assert len(shown.strip().splitlines()) <= 34
    assert shown.count("  # ") == 2
    rows = [row.strip("│ ") for row in shown.splitlines() if row.startswith("│")]
    settings = settings_of(name)
    hidden = re.findall(rf"(\d+) more options: charrnn {name} --help", shown)
    assert sum(map(int, hidden)) == sum(bool(setting.panel) for setting in settings.values())
    assert len(rows) == 1 + sum(not setting.panel for setting in settings.values())  # and --help
    for field, setting in settings.items():
        assert 0 < len(setting.short) <= 32, f"{field}: {setting.short}"
        assert "[" not in setting.about + setting.default_in_words, "rich's markup"
        if not setting.panel:
            (row,) = [r for r in rows if r.removesuffix(" [required]").endswith(setting.short)]
            option = setting.options(field)[-1]
            assert option in row.split() or option[0] != "-"
            assert setting.values.metavar in row or option[0] != "-"


def test_help_is_coloured_on_a_terminal_only(program: Program) -> None:
    assert "\x1b[" in program.terminal("-h")[1]
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[3" not in program.terminal("-h", by=CHARRNN, env=env)[1]
    whole = program.run("train", "--help", env={"COLUMNS": "100"}).out
    assert "\x1b" not in whole
    assert "[default: tanh]" in whole
    panels = re.findall(r"(?m)^╭─ (\w+)", program.run("sample", "--help").out)
    assert panels == ["Options", "Drawing", "Output"]
    shown = [program.run(name, "-h").out.count("\n│") for name in ("train", "sample", "eval")]
    assert shown == [14, 15, 11]  # usual options


def test_fault_37_two_dashes_before_a_command_change_nothing(trained: Program) -> None:
    plain, dashed = trained.run("info", "--json"), trained.run("--", "info", "--json")
    assert (dashed.status, dashed.out) == (0, plain.out)


def test_fault_55_a_typed_model_wins_over_the_environment(trained: Program) -> None:
    one, other = trained / "one.npz", trained / "a b:c.npz"  # one path
    for word, path in (("abc", one), ("xyz", other)):
        saved(speller(word), path)
    env = {"CHARRNN_MODEL": "a b:c.npz"}
    for command in ("info", "eval names.txt"):
        assert trained.run(*command.split(), "-q", env=env).status == 0
        ended = trained.run(*command.split(), "-m", "none.npz", env=env)
        assert "there is no model none.npz\n" in ended.err
    assert trained.run("sample", env=env).out == "xyz\n"
    for option in (("-m", one), ("--model", one), (f"--model={one}",)):
        assert trained.run("sample", *option, env=env).out == "abc\n"
    before = other.read_bytes()
    trained.run("train", "names.txt", *SMALL, "-m", "new.npz", env=env).says("-m new.npz")
    assert (trained / "new.npz").exists()
    assert other.read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_early_signal_is_none_of_typer(program: Program, monkeypatch: Any, number: int) -> None:
    def interrupted(*read: Any) -> Any:
        signal.raise_signal(number)
        return options_from(*read)

    monkeypatch.setattr(app, "options_from", interrupted)
    ended = program.run("info")
    assert (ended.status, ended.out, ended.err) == (128 + number, "", "")


def test_the_shell_completes_commands_options_and_names(program: Program) -> None:
    program.write("diary.txt", "x")
    for words, expected in {
        "charrnn sa": ["sample"],
        "charrnn sample --tem": ["--temp"],
        "charrnn sample -m gi": ["given-names"],
        "charrnn train --examples p": ["paragraphs"],
        "charrnn train di": ["dinosaurs", "diary.txt"],
        "charrnn train names.txt --from la": ["latin"],
        "charrnn train -m la": [],
        "charrnn sweep --try hi": ["hidden="],
        "charrnn guide s": ["sampling", "scoring"],
        "charrnn guide x": [],
    }.items():
        place = str(len(words.split(" ")) - 1)
        asked = {"COMP_WORDS": words, "COMP_CWORD": place, "_CHARRNN_COMPLETE": "complete_bash"}
        done = program.run(env=asked)
        assert (done.status, done.out.split()) == (0, expected), words


def test_the_script_for_completion_is_shown(program: Program) -> None:
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = program.run("--show-completion", "bash", env=env, child=True)
    assert done.status == 0
    assert "_CHARRNN_COMPLETE=complete_bash" in done.out
    done = program.run("--show-completion", "tcsh", env=env, child=True)
    assert (done.status in (1, 2), "Traceback" in done.err) == (True, False)  # Typers differ
    assert "tcsh" in done.err


# Any text, any options, any prime: each command answers or refuses

ODD = "a\u0301é\u200d👨\U0010ffff\u202e\x00\x1b\ufeff\ufffd\x85\u2028"
TEXTS = st.one_of(
    *(st.text(max_size=60), st.text("ab \n\r\t", max_size=60), st.text(ODD, max_size=30)),
    st.lists(st.text(max_size=9), max_size=9).map("\n\n".join),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
TEXTS = st.one_of(TEXTS, st.binary(max_size=60))
NUMBERS = st.one_of(
    st.integers(-2, 9).map(str),
    st.floats().map(str),
    st.sampled_from(["0", "1e-300", "1e300", "-0.0", "٣", " 1", "1_0", "0x1", "", "1e6"]),
)
NAMED = {
    setting.options(name)[-1]: st.sampled_from(setting.values.choices)
    for name, setting in settings_of("train").items()
    if isinstance(setting.values, OneOf)
}
CODINGS = ["utf-8", "latin-1", "utf-16", "utf-7", "cp1252", "unicode_escape", "gb18030"]
CHOSEN = st.fixed_dictionaries({}, optional=NAMED | {"--encoding": st.sampled_from(CODINGS)})
FLAGS = st.sets(st.sampled_from(["--json", "--novel", "--best", "--unique", "-q"]))
PRIMES = st.one_of(st.text(max_size=40), st.text("ab \n\r\t", max_size=40))
TRAINING = [
    *("--hidden", "--layers", "--bptt", "--batch", "--lr", "--holdout", "--dropout", "--blank"),
    *("--dropconnect", "--clip", "--warmup", "--weight-decay", "--check-every", "--patience"),
    *("--own-inputs", "--free-running"),
]
SAMPLING = ["--temp", "--top-k", "--top-p", "--seed", "--count"]


def numbers_of(names: list[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(names), NUMBERS, max_size=3)


def assert_answered(ended: Result, is_json: bool = False) -> bool:
    """Assert that what went wrong was told, and return whether all went well."""
    assert ended.status in (0, 1, 2), ended
    assert not ended.status or "charrnn: error: " in ended.err, ended.err
    for row in ended.rows if is_json and not ended.status else ():
        assert_finite(row)
    return not ended.status


def assert_finite(row: dict[str, Any]) -> None:
    """Assert that no number of a row is missing because it was infinite; one text has no error."""
    for name, value in row.items():
        assert value is not None or name in ("character", "standard_error", "x_oddest"), row
        if isinstance(value, dict):
            assert_finite(value)


def spelt(numbers: dict[str, str], chosen: dict[str, str], more: Iterable[str]) -> list[str]:
    return [*(f"{name}={value}" for name, value in (numbers | chosen).items()), *sorted(more)]


TRAINED = st.builds(spelt, numbers_of(TRAINING), CHOSEN, st.sets(st.just("--clock")))
DRAWN = st.builds(spelt, numbers_of(SAMPLING), PRIMES.map(lambda text: {"--prime": text}), FLAGS)


def test_any_text_is_learned_scored_and_gone_on_from_or_refused(faults: int) -> None:
    @settings(max_examples=faults // 2)
    @given(TEXTS, TEXTS, TRAINED, DRAWN)
    def assert_learned(text: bytes, other: bytes, trained: list[str], drawn: list[str]) -> None:
        with tempfile.TemporaryDirectory() as name:
            program = Program(Path(name))
            program.write("text", text)
            program.write("other", other)
            ended = program.train("text", "--epochs", "2", *trained)
            exists = (program / "model.npz").exists()
            assert exists == assert_answered(ended) or "the loss diverged" in ended.err
            if exists:
                assert_every_command_answers(program, drawn)

    assert_learned()


def assert_every_command_answers(program: Program, drawn: list[str]) -> None:
    assert_answered(program.run("info"))
    assert assert_answered(program.run("sample", "--max-chars", "9", "-n", "3"))
    assert_answered(program.run("sample", "--max-chars", "9", *drawn), "--json" in drawn)
    assert_answered(program.run("train", "--resume", "--epochs", "3"))
    for scored in (["text"], ["other"], [], ["other", "--per-char"], ["text", "--per-example"]):
        assert_answered(program.run("eval", *scored, "--json"), is_json=True)


ROWS = (Path(__file__).parent / "refusals.txt").read_text("utf-8").split("\n")
REFUSED = [
    *(row.split(" | ", 3) for row in ROWS if row and row[0] != "#"),
    ["2", f"train names.txt --epochs {'9' * 5000}", f"--epochs: '{'9' * 40}", "--help"],
    ["2", f"unfold {'a' * 600}", "the text has 600 characters, and 599 can be", "shorter"],
    ["2", "\x1b[31m", "no command \\x1b[31m", "Try"],
    ["2", "train --\x1b[31m", "no option --\\x1b[31m", "Try 'charrnn train --help'."],
]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A folder of texts and models, which no refused command changes."""
    made = Program(tmp_path_factory.mktemp("refusals"))
    made.write("bad.txt", b"\xff")  # a fault that is found when it is read
    made.write("empty.txt", "\n")
    made.write("no-words.csv", "a,\nb,\n")
    made.write("years.csv", "n,2020\n1,2\n")
    made.write("heads.txt", "# a\nNames:\n")
    made.write("empty.jsonl", "{}\n")
    made.write("endless.jsonl", '{"schema": "charrnn.step/3", "step": 1e999}\n')
    for suffix in ("html", "svg", "npy", "mjs", "h", "safetensors", "npz"):
        made.write(f"bad.{suffix}", "not by charrnn")
    made.write("numbers.txt", "".join(f"{number}\n" for number in range(99)))
    begun = (*SIZE, "--check-every", "20", "--epochs", "3", "--lr", "0.002")
    made.run("train", "names.txt", *begun).says()
    odd = "numbers.txt --holdout 0 --free-running 2 --ends length -m [lr].npz"
    made.train(*odd.split()).says()
    for cell in ("gru", "output"):
        made.train("names.txt", *SIZE, "--cell", cell, "-m", f"{cell}.npz").says()
    (made / "folder").mkdir()
    (made / "gone").symlink_to("nowhere")
    return made


@pytest.mark.parametrize(("status", "line", "what", "hint"), REFUSED)
def test_fault_14_refusals(there: Program, status: str, line: str, what: str, hint: str) -> None:
    if line.startswith("info --plot"):  # which says first if matplotlib is not there
        pytest.importorskip("matplotlib")
    words, what = line.split(), f"error: {what}"
    ended = there.refuses(*words, what=what, hint=hint, status=int(status), stdin=b"")
    assert (ended.out, "\x1b" in ended.err) == ("", False)


@pytest.mark.parametrize("line", [line for _, line, what, _ in REFUSED if "already exists" in what])
def test_a_file_of_somebody_else_is_replaced_if_forced(there: Program, line: str) -> None:
    name = next(word for word in line.split() if word.startswith("bad."))
    if line.startswith("info --plot"):
        pytest.importorskip("matplotlib")
    small = (*SIZE, "--epochs", "1") if line.startswith("train") else ()
    there.run(*line.split(), "--force", *small).says()
    assert (there / name).read_bytes() != b"not by charrnn"
    there.write(name, "not by charrnn")

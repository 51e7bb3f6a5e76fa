"""Help, wrong usage, version and completion, by Typer; and any command line."""

import json
import math
import re
import tempfile
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charrnn import __version__
from charrnn.cli import app
from charrnn.cli import options_from_settings as options
from tests.child import CHARRNN, HOME, Result
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
    short = program.run(name, "-h", env={"COLUMNS": "80"}).out
    assert len(short.strip().splitlines()) <= 30
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
        ("train --lr inf", "'inf' is not a number"),
        ("train --cell tanh,gru", "'charrnn sweep --try' compares several"),
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


# Any text, any options, any prime: each command answers or refuses

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("ab \n\r\t", max_size=60),
    st.text("a\u0301é\u200d👨\U0010ffff\u202e\x00\x1b\ufeff\ufffd\x85\u2028", max_size=30),
    st.lists(st.text(max_size=9), max_size=9).map("\n\n".join),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
TEXTS = st.one_of(TEXTS, st.binary(max_size=60))
NUMBERS = st.one_of(
    st.integers(-2, 9).map(str),
    st.floats().map(str),
    st.sampled_from(["0", "1e-300", "1e300", "-0.0", "٣", " 1", "1_0", "0x1", "", "1e6"]),
)
WORDS = {
    "--examples": ["auto", "lines", "paragraphs", "files"],
    "--normalize": ["none", "NFC", "NFKC"],
    "--optimizer": ["adam", "rmsprop", "adagrad", "sgd"],
    "--schedule": ["cosine", "linear", "constant"],
    "--cell": ["tanh", "gru", "lstm", "output"],
    "--ends": ["symbol", "halt"],
    "--encoding": ["utf-8", "latin-1", "utf-16", "utf-7", "cp1252", "unicode_escape", "gb18030"],
}
CHOSEN = st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in WORDS.items()})
TRAINING = [
    *("--hidden", "--layers", "--bptt", "--batch", "--lr", "--holdout", "--dropout", "--blank"),
    *("--dropconnect", "--clip", "--warmup", "--weight-decay", "--check-every", "--patience"),
    *("--own-inputs", "--free-running"),
]
SAMPLING = ["--temp", "--top-k", "--top-p", "--seed", "--count"]


def numbers_of(names: list[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(names), NUMBERS, max_size=3)


def is_an_answer(ended: Result) -> bool:
    """Whether all went well; what did not was told."""
    assert ended.status in (0, 1, 2), ended
    if ended.status:
        assert "charrnn: error: " in ended.err or "Error ─" in ended.err, ended.err
    return not ended.status


def spelt(chosen: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in chosen.items()]


def test_any_text_is_learned_and_scored_or_refused(faults: int) -> None:
    @settings(max_examples=faults // 3)
    @given(TEXTS, TEXTS, numbers_of(TRAINING), CHOSEN, st.booleans())
    def check(
        text: bytes, other: bytes, numbers: dict[str, str], chosen: dict[str, str], clock: bool
    ) -> None:
        with tempfile.TemporaryDirectory() as name:
            program = Program(Path(name))
            program.write("text", text)
            program.write("other", other)
            small = {"--hidden": "3", "--layers": "1"} | numbers | chosen
            line = ["train", "text", "--epochs", "2", *spelt(small), *["--clock"] * clock]
            ended = program.run(*line)
            exists = (program / "model.npz").exists()
            assert exists == is_an_answer(ended) or "the loss diverged" in ended.err
            if exists:
                every_command_answers(program)

    check()


def every_command_answers(program: Program) -> None:
    """Assert that each command takes or refuses the model, and writes finite numbers."""
    is_an_answer(program.run("info"))
    assert is_an_answer(program.run("sample", "--max-chars", "9", "-n", "3"))
    is_an_answer(program.run("train", "--resume", "--epochs", "3"))
    for scored in (["text"], ["other"], [], ["other", "--per-char"], ["text", "--per-example"]):
        ended = program.run("eval", *scored, "--json")
        if is_an_answer(ended):
            for row in ended.out.splitlines():
                is_finite(json.loads(row))


def is_finite(row: object) -> None:
    """No number in a row of JSON is infinite, or missing because it was."""
    if isinstance(row, dict):
        for name, value in row.items():
            may_be_none = name in ("above", "above_count", "character", "x_oddest")
            assert value is not None or may_be_none, row
            is_finite(value)
    if isinstance(row, float):
        assert math.isfinite(row)


FLAGS = st.sets(st.sampled_from(["--json", "--novel", "--best", "--unique", "-q"]))
PRIMES = st.one_of(st.text(max_size=40), st.text("annabob\n\r", max_size=40))


def test_any_prime_is_gone_on_from_or_refused(trained_once: Program, faults: int) -> None:
    @settings(max_examples=faults // 3)
    @given(PRIMES, numbers_of(SAMPLING), FLAGS)
    def check(prime: str, numbers: dict[str, str], flags: set[str]) -> None:
        line = ["sample", "--max-chars", "9", f"--prime={prime}", *spelt(numbers), *sorted(flags)]
        ended = trained_once.run(*line)
        if is_an_answer(ended) and "--json" in flags:
            for row in ended.out.splitlines():
                is_finite(json.loads(row))

    check()

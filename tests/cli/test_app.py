"""Help, usage, version and completion, by Typer; any command line; and those that are refused.

Refused command lines are a table for each command. A row holds the exit status, the command line,
the start of the error, and a part of the hint. No file changes.
"""

import json
import math
import re
import signal
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charrnn import __version__
from charrnn.cli import app, options
from charrnn.settings.values import Setting
from tests.child import CHARRNN, HOME, Result
from tests.networks import saved, speller
from tests.program import NAMES, SIZE, SMALL, Program


def test_the_version_is_that_of_the_package(program: Program) -> None:
    done = program.run("--version", by=CHARRNN)
    assert (done.status, done.out) == (0, f"charrnn {__version__}\n")
    assert program.run("--version").out == done.out
    assert f'version = "{__version__}"' in (HOME / "pyproject.toml").read_text("utf-8")


def test_the_program_alone_shows_its_commands_and_two_examples(program: Program) -> None:
    alone, short = program.run(), program.run("-h")
    assert (alone.status, alone.err, short.status) == (2, "", 0)
    assert alone.out.strip() == short.out.strip()
    for name, line in app.COMMANDS.items():
        assert re.search(rf"{name} +{re.escape(line)}", short.out)
    assert short.out.count("  # ") == 2
    assert len(short.out.strip().splitlines()) <= 34
    assert "--install-completion" not in short.out
    assert "--install-completion" in program.run("--help").out


def settings_of(name: str) -> dict[str, Setting]:
    return options.command_settings(import_module(f"charrnn.cli.{name}").Options)


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
        assert setting.short[0].isupper()
        assert setting.short[-1].isalnum()
        assert setting.about.endswith((".", "?")), field
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
    assert "\x1b" not in program.run("train", "--help").out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "no command nonsense\nTry 'charrnn --help'."),
        ("trian", "no command trian\nDid you mean train?"),
        ("\x1b[31m", "no command \\x1b[31m\nTry"),
        ("", "no command ''\nTry"),
        ("-- --help", "no command --help\nTry"),
        ("train --hiden 3", "no option --hiden\nDid you mean --hidden?"),
        ("train --\x1b[31m", "no option --\\x1b[31m\nTry 'charrnn train --help'."),
        ("--nonsense", "no option --nonsense\nTry 'charrnn --help'."),
        ("--json info", "no option --json before the command\nType it after the command."),
        ("-m x sample", "no option -m before the command\nType it after the command."),
        ("sample --fo", "no option --fo\nTry 'charrnn sample --help'."),
        ("train --units 3", "no option --units\nDid you mean --hidden?"),
        ("sample --temperature 1", "no option --temperature\nDid you mean --temp?"),
        ("train --hidden", "option '--hidden' requires an argument\nTry 'charrnn train --help'."),
        ("info --json=yes", "option '--json' does not take a value\nTry 'charrnn info --help'."),
        ("sample -n 1,2", "'1,2' is not a whole number from 1 to 1,099,511,627,776\nTry"),
        ("train --cell tanh,gru", "'charrnn sweep --try' compares several\nTry"),
        ("info -m \x1b[31m -m -", "--model: '-' is not a path\nTry"),
        ("sweep", "CORPUS is missing\nTry 'charrnn sweep --help'."),
        ("unfold a b", "got unexpected extra argument"),
    ],
)
def test_wrong_usage_is_an_error_with_status_2(program: Program, line: str, said: str) -> None:
    done = program.run(*line.split(" "), env={"COLUMNS": "120"})
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("charrnn: error: ")
    assert said in done.err
    assert done.err.count("\n") == 2
    assert "\x1b" not in done.err


def test_fault_68_a_model_in_the_place_of_a_text_is_given_with_m(program: Program) -> None:
    for command, extra, hint in (
        ("sample", "stars.npz", "Did you mean -m stars.npz?"),
        ("sample", "my stars.npz", "Did you mean -m 'my stars.npz'?"),
        ("info", "dinosaurs", "Did you mean -m dinosaurs?"),
        ("sample", "Anna", "Try 'charrnn sample --help'."),
    ):
        program.refuses(command, extra, what=f"({extra})", hint=hint, status=2)


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
def test_a_signal_while_the_options_are_read_is_none_of_typer(
    program: Program, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    load = app.load

    def interrupted(name: str) -> Any:
        signal.raise_signal(number)
        return load(name)

    monkeypatch.setattr(app, "load", interrupted)
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


def assert_answered(ended: Result) -> bool:
    """Assert that what went wrong was told, and return whether all went well."""
    assert ended.status in (0, 1, 2), ended
    if ended.status:
        assert "charrnn: error: " in ended.err, ended.err
    return not ended.status


def spelt(chosen: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in chosen.items()]


def test_any_text_is_learned_and_scored_or_refused(faults: int) -> None:
    @settings(max_examples=faults // 3)
    @given(TEXTS, TEXTS, numbers_of(TRAINING), CHOSEN, st.booleans())
    def assert_learned(
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
            assert exists == assert_answered(ended) or "the loss diverged" in ended.err
            if exists:
                assert_every_command_answers(program)

    assert_learned()


def assert_every_command_answers(program: Program) -> None:
    """Assert that each command takes or refuses the model, and writes finite numbers."""
    assert_answered(program.run("info"))
    assert assert_answered(program.run("sample", "--max-chars", "9", "-n", "3"))
    assert_answered(program.run("train", "--resume", "--epochs", "3"))
    for scored in (["text"], ["other"], [], ["other", "--per-char"], ["text", "--per-example"]):
        ended = program.run("eval", *scored, "--json")
        if assert_answered(ended):
            for row in ended.out.splitlines():
                assert_finite(json.loads(row))


def assert_finite(row: object) -> None:
    """No number in a row of JSON is infinite, or missing because it was."""
    if isinstance(row, dict):
        for name, value in row.items():
            may_be_none = name in ("above", "above_count", "character", "x_oddest")
            assert value is not None or may_be_none, row
            assert_finite(value)
    if isinstance(row, float):
        assert math.isfinite(row)


FLAGS = st.sets(st.sampled_from(["--json", "--novel", "--best", "--unique", "-q"]))
PRIMES = st.one_of(st.text(max_size=40), st.text("annabob\n\r", max_size=40))


def test_any_prime_is_gone_on_from_or_refused(trained_once: Program, faults: int) -> None:
    @settings(max_examples=faults // 3)
    @given(PRIMES, numbers_of(SAMPLING), FLAGS)
    def assert_gone_on(prime: str, numbers: dict[str, str], flags: set[str]) -> None:
        line = ["sample", "--max-chars", "9", f"--prime={prime}", *spelt(numbers), *sorted(flags)]
        ended = trained_once.run(*line)
        if assert_answered(ended) and "--json" in flags:
            for row in ended.out.splitlines():
                assert_finite(json.loads(row))

    assert_gone_on()


Row = tuple[int, str, str, str]

CHECK = "Check the name, and the folder you are in."
ONE = "Leave one of them out."
ANEW = "Leave it out to resume, or train into another file with -m."
THRESHOLD = "is not a number of bits of at least 0, or a multiple such as 1.5x"
STARTED = "contradicts the model to start from, which has "
ON = "train a start with it, on"
MIXED = "the models have different vocabularies"
LATIN = "the model was trained on other texts than given-names-latin, dinosaurs, verses alone"
REPLACE = "Name another file, or add --force to replace it."
ANOTHER = "Name another file."
OUTPUT = "-m x --cell output"
RADIUS = "--init-radius 2"
LEAST = "a sample would need at least"

TRAIN: list[Row] = [
    *(
        (2, f"x --encoding={name} --errors {errors}", f"'{name}' is not an encoding", "utf-8")
        for name in ("klingon", "hex", "idna", "")
        for errors in ("strict", "replace")
    ),
    # What does not go together
    (2, "", "CORPUS is missing", "Name a file, - or one of dinosaurs, "),
    (2, "--lr 3", "CORPUS is missing", "see --help."),
    (2, "x --resume --force", "--resume and --force exclude each other", ONE),
    (2, "--resume --from old.npz", "--resume and --from exclude each other", ONE),
    (2, "x --valid y --holdout 0.5", "--valid and --holdout exclude each other", ONE),
    # What would be overwritten
    (2, "names.txt -m ./names.txt", "-m would overwrite names.txt", ANOTHER),
    (2, "names.txt -m names.txt --dry-run", "-m would overwrite names.txt", ANOTHER),
    (2, "x --valid names.txt -m names.txt", "-m would overwrite names.txt", ANOTHER),
    (2, "names.txt -m names.txt --resume", "-m would overwrite names.txt", ANOTHER),
    (2, "verses -m verses", "-m would overwrite verses", ANOTHER),
    (2, "verses -m a.npz --metrics a.npz", "--metrics would overwrite a.npz", ANOTHER),
    # Networks
    (2, "names.txt --teacher-forcing", "--teacher-forcing replaces outputs", "add --cell output"),
    (2, f"names.txt {OUTPUT} {RADIUS}", f"{RADIUS} does not apply", "or use another cell"),
    (2, f"names.txt --from gru.npz {RADIUS}", f"{RADIUS} is for new weights", "Leave it out, or"),
    (2, f"names.txt {OUTPUT} --layers 2", "--layers 2 is too many for the cell", "Use 1 layer"),
    *(
        (2, f"names.txt {OUTPUT} --teacher-forcing {option}", f"{option} contradicts", "Leave")
        for option in ("--own-inputs 0.5", "--free-running 2")
    ),
    (2, "x --bptt 4 --free-running 5", "--free-running 5 is more than the 4 steps", "raise --bptt"),
    # Files
    (1, "bad.txt -m no/x.npz", "no/x.npz cannot be saved: No such file", "Make the folder"),
    (1, "bad.txt -m .", ". cannot be saved: it is not a regular file", "Name another"),
    (1, "names.txt -m no/x.npz --dry-run", "no/x.npz cannot be saved: ", "or name another"),
    (1, "names.txt -m x --metrics no/x", "no/x cannot be written: No such", "Make the folder"),
    (1, "names.txt -m x --metrics .", ". cannot be written: Is a directory", "with --metrics"),
    # From another model
    (1, "names.txt -m x --from bad.txt", "bad.txt is not a model of charrnn", ""),
    *(
        (2, f"names.txt -m x --from {option}", f"{option.partition(' ')[2]} {STARTED}{has}", ON)
        for option, has in (
            ("gru.npz --hidden 7", "6"),
            ("gru.npz --cell tanh", "gru"),
            ("gru.npz --clock", "no clock"),
            ("output.npz --teacher-forcing", "no teacher_forcing"),
        )
    ),
    # Resumed otherwise than begun
    *(
        (1, f"--resume {option}", f"{option} contradicts model.npz, which has {has}", ANEW)
        for option, has in (
            *(("--hidden 7", "6"), ("--lr 0.5", "0.002"), ("--seed 8", "0"), ("--batch 3", "4")),
            *(("--cell lstm", "tanh"), ("--clock", "no clock"), ("--optimizer sgd", "adam")),
            *(("--holdout 0.5", "0.1"), ("--examples files", "lines"), ("--normalize NFC", "none")),
        )
    ),
    *(
        (1, f"--resume {option} 2", f"{option} 2 contradicts", f"{option} may be raised")
        for option in ("--epochs", "--minutes", "--patience")
    ),
    (1, "--resume --bptt 0", "--bptt 7 contradicts model.npz, which has 6", ANEW),
]

EVAL: list[Row] = [
    (2, "--per-example --per-char", "--per-char and --per-example exclude each other", ONE),
    (2, "--per-char --baselines", "--per-char and --baselines exclude each other", ONE),
    (2, "--top 3 --per-char", "--per-char and --top exclude each other", ONE),
    (2, "--above 4 --per-char", "--per-char and --above exclude each other", ONE),
    (2, "--held-out names.txt", "--held-out and TEXT exclude each other", ONE),
    (2, "--held-out --encoding utf-8", "--encoding needs TEXT", "as in training"),
    (2, "--held-out --examples lines", "--examples needs TEXT", "as in training"),
    *(
        (2, f"names.txt --above {above}", f"--above: '{above}' {THRESHOLD}", "--help")
        for above in ("4volts", "-1", "-1x", "x", "inf", "nan")
    ),
    *(
        (1, f"names.txt -m model.npz -m numbers.npz {option}", MIXED, "the same vocabulary")
        for option in ("--per-example", "--per-char", "--above=1")
    ),
    (1, "Rex", "Rex does not exist", "echo Rex | charrnn eval"),
    (1, "--held-out -m latin", LATIN, "name a text"),
    (1, "folder", "folder cannot be read: Is a directory", CHECK),
]

SAMPLE: list[Row] = [
    (2, "--longest 3 -p aaaa", f"{LEAST} 4 characters", "raise --longest or --max-c"),
    (2, "-p an --max-chars 3 --shortest 6", f"{LEAST} 6 characters", "raise --longest or --max-c"),
    (2, "--shortest 9 --longest 5", f"{LEAST} 9 characters, and may have at most 5", "Lower"),
    (1, "-m model.npz -m numbers.npz", MIXED, "the same vocabulary"),
]

UNFOLD: list[Row] = [
    (2, "", "TEXT is missing", "--help"),
    (2, "anna --step 6", "--step 6 is beyond the text", "It has 5 steps."),
    (2, "anna -o x.html --step 1", "--step and --output exclude each other", "Leave one"),
    (2, "anna -o x.html --json", "--output and --json exclude each other", "Leave one"),
    (2, "anna --step 1 --json", "--step and --json exclude each other", "Leave one"),
    (2, "a" * 600, "the text has 600 characters, and 599 can be unfolded", "shorter"),
]

SWEEP: list[Row] = [
    (2, "names.txt", "--try NAME=VALUE,VALUE is missing", "--try hidden=64,128, or seeds"),
    (2, "names.txt --try hiden=2,3", "--try hiden: train has no", "mean hidden?"),
    (2, "names.txt --try hidden", "--try hidden: '' is not a whole number", "--help"),
    (2, "names.txt --try hidden=2,x", "--try hidden: 'x' is not a whole number", "--help"),
    (2, "names.txt --try counts=maybe", "--try counts: 'maybe' is not yes or no", "--help"),
    (2, "names.txt --try hidden=2 --hidden 3", "--hidden and --try hidden=2 exclude", "Leave"),
    (2, "names.txt --try size=3,4", "--try size: train has no such", "mean hidden?"),
    (2, "names.txt --try holdout=0.1,0.2", "--try holdout: train has no such", "--help"),
    (2, "names.txt --seeds 2 --holdout 0", "nothing is held out", "--holdout or --valid"),
    (2, "x --seeds 2 --cores 2 --scheduler x", "--cores and --scheduler exclude", ONE),
    (1, "names.txt --seeds 1 --resume", "sweep holds no sweep", "Begin one first"),
    (2, "names.txt --seeds 1 --same-size", "--same-size needs cells", "Add --try cell=tanh,gru."),
    *(
        (2, f"names.txt --try cell=tanh,gru {more} --same-size", f"--same-size and {first}", ONE)
        for more, first in (
            *(("--try hidden=2", "--try hidden"), ("--try layers=1,2", "--try layers")),
            ("--from model.npz", "--from"),
        )
    ),
]

OTHERS: list[Row] = [
    (1, "fill -", "standard input has no text", "Write one text a line."),
    (1, "info -m bad.txt", "bad.txt is not a model of charrnn", ""),
    (1, "info -m folder", "folder is not a model of charrnn", ""),
    (1, "info -m given-name", "there is no model given-name", "Did you mean given-names? Tr"),
    (1, "embed -o no/x.npy", "no/x.npy cannot be", "name another file"),
    (2, "export a.pt", "unknown format: .pt", ".html"),
    (2, "export a.h --title A", "--title does not apply to .h", "Leave it out"),
    (2, "guide samplng", "TOPIC: 'samplng' is not one of first-names, prepare-text", "--help"),
]

WRONG_VALUES = {
    "train names.txt -m x": [
        *(f"--epochs={'9' * 5000}", "--epochs=1.5", "--epochs=nan", "--holdout=1", "--cell=rnn"),
        *("--preview=101", f"--seed={2**64}", "--optimizer=lion", "--init-radius=1001"),
    ],
    "eval names.txt": ["--examples=words"],
    "sample": ["--temp=-1", "--temp=0.5,1", "--temp=", "--top-k=0", "--top-p=0", "--max-chars=0"],
    "fill a": ["--max-gap=-1"],
    "unfold anna": ["--step=0", "--output=x.png"],
    "info": ["--plot=curve.txt"],
    "embed": ["--output=-", "--output=e.txt"],
    "sweep names.txt": [f"--seeds={'9' * 20}"],
}
NOT_OURS = {
    "export": "html mjs h safetensors npz",
    "embed names.txt -o": "npy",
    "unfold anna -o": "html",
    "info --plot": "svg",
    "train names.txt -m": "html",
}
# What several commands refuse: a status, what stands last, what is said, and the lines before that
SHARED: list[tuple[int, str, str, str, str]] = [
    (
        *(1, "no.npz", "there is no model no.npz", "Train one, or name an"),
        "train --resume -m|train names.txt --from|sample -m|sample -m model.npz -m|eval -m|"
        "fill a -m|embed -m|reach -m|unfold anna -m|info -m|export x.html -m",
    ),
    (
        *(1, "no.txt", "no.txt does not exist", CHECK),
        "train|train names.txt --valid|sweep --seeds 1|sample --not-in|eval|embed|reach",
    ),
    (
        *(2, "-", "standard input can be read only once", "Name one - at"),
        "train -|train - --valid|sweep --seeds 1 -|eval -|fill -|embed -|reach -",
    ),
    (1, "-", "", "", "train|train names.txt --valid|sweep --seeds 1|eval|embed|reach"),
]
TABLES = {
    **{"train": TRAIN, "eval": EVAL, "sample": SAMPLE, "unfold": UNFOLD, "sweep": SWEEP},
    "": OTHERS,
}
REFUSED: list[Row] = [
    *(
        (status, f"{of} {line}", what, hint)
        for of, rows in TABLES.items()
        for status, line, what, hint in rows
    ),
    *(
        (2, f"{line} {typed}", f"{option}: '{value[:40]}", "--help")
        for line, wrong in WRONG_VALUES.items()
        for typed in wrong
        for option, _, value in [typed.partition("=")]
    ),
    *(
        (1, f"{line} bad.{suffix}", f"bad.{suffix} already exists", REPLACE)
        for line, suffixes in NOT_OURS.items()
        for suffix in suffixes.split()
    ),
    *(
        (status, f"{line} {last}", what, hint)
        for status, last, what, hint, lines in SHARED
        for line in lines.split("|")
    ),
]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A folder of texts and models, which no refused command changes."""
    made = Program(tmp_path_factory.mktemp("refusals"))
    made.write("names.txt", NAMES)
    made.write("bad.txt", b"\xff")  # a fault that is found when it is read
    for suffix in ("html", "svg", "npy", "mjs", "h", "safetensors", "npz"):
        made.write(f"bad.{suffix}", "not by charrnn")
    made.write("numbers.txt", "".join(f"{number}\n" for number in range(99)))
    begun = (*SIZE, "--check-every", "20", "--epochs", "3", "--lr", "0.002")
    made.run("train", "names.txt", *begun).says()
    made.train("numbers.txt", "-m", "numbers.npz").says()
    for cell in ("gru", "output"):
        line = (*SIZE, "--cell", cell, "--epochs", "1", "-m", f"{cell}.npz")
        made.run("train", "names.txt", *line).says()
    (made / "folder").mkdir()
    return made


@pytest.mark.parametrize(("status", "line", "what", "hint"), REFUSED)
def test_fault_14_refusals(there: Program, status: int, line: str, what: str, hint: str) -> None:
    if line.startswith("info --plot"):  # which says first if matplotlib is not there
        pytest.importorskip("matplotlib")
    words = line.split()
    how: dict[str, Any] = {"what": f"error: {what}", "hint": hint, "status": status}
    assert there.refuses(*words, **how, stdin=b"").out == ""


def test_a_network_that_memory_cannot_hold_is_refused(there: Program) -> None:
    line = ("train", "names.txt", "-m", "x", "--hidden", "1048576")
    there.refuses(*line, what="GiB of memory", hint="Try a smaller --hidden")

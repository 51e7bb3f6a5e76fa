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
from charrnn.errors import USAGE
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
    for setting in settings_of(name).values():
        assert "[" not in setting.about + setting.default_in_words, "rich's markup"
    whole = program.run(name, "--help", env={"COLUMNS": "80"}).out
    for parameter in command.params:
        assert parameter.help, f"{name}: {parameter.name} is not explained"
        assert all(option in whole for option in parameter.opts if option.startswith("-"))
    assert whole.rstrip().endswith(command.epilog.rpartition("\n")[2])


@pytest.mark.parametrize("name", ["", *app.COMMANDS])
def test_no_screen_shows_a_type_of_python_and_a_short_one_has_34_rows(
    program: Program, name: str
) -> None:
    line = [name] if name else []
    for option in ("-h", "--help"):
        shown = program.run(*line, option, env={"COLUMNS": "80"}).out
        assert not re.search(r"<[a-z]", shown), shown
        rows = shown.strip().splitlines()
        assert max(map(len, shown.splitlines())) <= 80 or option == "--help"  # long examples
        if option == "-h":
            assert len(rows) <= 34
            assert shown.count("  # ") == 2


@pytest.mark.parametrize("name", app.COMMANDS)
def test_each_option_has_a_short_help_and_one_row_of_it(program: Program, name: str) -> None:
    shown = program.run(name, "-h", env={"COLUMNS": "80"}).out
    rows = [row.strip("│ ") for row in shown.splitlines() if row.startswith("│")]
    settings = settings_of(name)
    assert len(rows) == 1 + sum(not setting.panel for setting in settings.values())  # and --help
    for field, setting in settings.items():
        assert 0 < len(setting.short) <= 32, f"{field}: {setting.short}"
        assert setting.short[0].isupper()
        assert setting.short[-1].isalnum()
        assert setting.about.endswith((".", "?")), field
        if not setting.panel:
            (row,) = [
                row for row in rows if row.removesuffix(" [required]").endswith(setting.short)
            ]
            option = setting.options(field)[-1]
            assert option in row.split() or option[0] != "-"
            assert setting.values.metavar in row or option[0] != "-"


def test_short_help_says_how_much_is_hidden(program: Program) -> None:
    short = program.run("train", "-h", env={"COLUMNS": "80"}).out
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
        ("nonsense", "no command nonsense\nTry 'charrnn --help'."),
        ("trian", "no command trian\nDid you mean train?"),
        ("\x1b[31m", "no command \\x1b[31m\nTry"),
        ("", "no command ''\nTry"),
        ("-- --help", "no command --help\nTry"),
        ("train --hiden 3", "no option --hiden\nDid you mean --hidden?"),
        ("train -x", "no option -x\nTry 'charrnn train --help'."),
        ("train --\x1b[31m", "no option --\\x1b[31m\nTry 'charrnn train --help'."),
        ("--nonsense", "no option --nonsense\nTry 'charrnn --help'."),
        ("--json info", "no option --json before the command\nType it after the command."),
        ("-m x sample", "no option -m before the command\nType it after the command."),
        ("sample --fo", "no option --fo\nTry 'charrnn sample --help'."),
        ("train --units 3", "no option --units\nDid you mean --hidden?"),
        ("train --learning-rate 1", "no option --learning-rate\nDid you mean --lr?"),
        ("sample --temperature 1", "no option --temperature\nDid you mean --temp?"),
        ("train --hidden", "option '--hidden' requires an argument\nTry 'charrnn train --help'."),
        ("info --json=yes", "option '--json' does not take a value\nTry 'charrnn info --help'."),
        ("train --hidden 0", "--hidden: '0' is not a whole number from 1 to 1,048,576\nTry"),
        ("train --lr inf", "--lr: 'inf' is not a number from 1e-12 to 1,000,000\nTry"),
        ("sample -n 1,2", "'1,2' is not a whole number from 1 to 1,099,511,627,776\nTry"),
        ("train --cell tanh,gru", "'charrnn sweep --try' compares several\nTry"),
        ("info -m \x1b[31m -m -", "--model: '-' is not a path\nTry"),
        ("sweep", "CORPUS is missing\nTry 'charrnn sweep --help'."),
        ("unfold a b", "got unexpected extra argument"),
    ],
)
def test_wrong_usage_is_an_error_like_others_with_status_2(
    program: Program, line: str, said: str
) -> None:
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


def test_the_model_of_the_environment_is_one_path_and_never_wins(trained: Program) -> None:
    (trained / "model.npz").rename(trained / "a b:c.npz")
    env = {"CHARRNN_MODEL": "a b:c.npz"}
    for command in ("info", "sample", "eval"):
        assert trained.run(command, "-q", env=env).status == 0
        ended = trained.run(command, "-m", "none.npz", env=env)
        assert "there is no model none.npz\n" in ended.err


def test_fault_55_a_model_that_is_typed_wins_over_that_of_the_environment(
    trained: Program,
) -> None:
    one, other = trained / "one.npz", trained / "other.npz"
    for word, path in (("abc", one), ("xyz", other)):
        saved(speller(word), path)
    env = {"CHARRNN_MODEL": str(other)}
    assert trained.run("sample", env=env).out == "xyz\n"
    for option in (("-m", one), ("--model", one), (f"--model={one}",)):
        assert trained.run("sample", *option, env=env).out == "abc\n"
        ids = trained.run("unfold", "abc", *option, "--json", env=env).json
        assert ids["model"] == str(one) if "model" in ids else "abc" in str(ids)
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


LINES = (
    "train names.txt - --hidden 3 --lr 0.1 --clock --valid a --valid b --seed 1 -m x.npz",
    "train",
    "sample -n 2 -t 0.5 -t 1 -p an --novel -m a.npz -m b.npz --top-p 0.5 --max-chars 9",
    "eval a b --above 1.5x --encoding utf-16 --tidy -q",
    "sweep names.txt --try hidden=1,2 --seeds 3-4 -o there --cores 2",
    "unfold an --step 2 --json",
)


def test_any_version_of_typer_reads_the_same_with_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(line: str) -> Any:
        name, *words = line.split(" ")
        return app.load(name).main(words, standalone_mode=False)

    plainly = [read(line) for line in LINES]
    monkeypatch.setattr(app, "without_pydantic", lambda command: command)
    assert [read(line) for line in LINES] == plainly
    with pytest.raises(Exception, match="is not a whole number") as refused:
        read("train --hidden x")
    assert (refused.value.exit_code, refused.value.param.name) == (USAGE, "hidden")  # type: ignore[attr-defined]


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
MIXED = "the models have different vocabularies"
LATIN = "the model was trained on other texts than given-names-latin, dinosaurs, verses alone"
REPLACE = "Name another file, or add --force to replace it."
OUTPUT = "-m x --cell output"
RADIUS = "--init-radius 2"
METRICS = "Name another file with --metrics."

TRAIN: list[Row] = [
    # Out of range
    *(
        (2, f"names.txt -m x {option}={value}", f"{option}: '{value[:40]}", "--help")
        for option, values in {
            "--epochs": ["0", "-1", "1.5", "", "nan", "9" * 5000],
            "--holdout": ["1", "-0.1", "nan", "inf"],
            "--preview": ["-1", "101"],
            "--seed": ["-1", str(2**64)],
            "--optimizer": ["lion", ""],
        }.items()
        for value in values
    ),
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
    (2, "names.txt -m ./names.txt", "-m would overwrite names.txt", "Name another file."),
    (2, "names.txt -m names.txt --dry-run", "-m would overwrite names.txt", "Name another file."),
    (2, "x --valid names.txt -m names.txt", "-m would overwrite names.txt", "Name another file."),
    (2, "names.txt -m names.txt --resume", "-m would overwrite names.txt", "Name another file."),
    (2, "verses -m verses", "-m would overwrite verses", "Name another file."),
    (2, "verses -m a.npz --metrics a.npz", "--metrics would overwrite a.npz", "Name another file."),
    (2, "names.txt -m x --metrics ./names.txt", "--metrics would overwrite names.txt", "Name"),
    # Networks
    (2, "names.txt --cell rnn", "--cell: 'rnn' is not one of tanh, gru, lstm", "--help"),
    (2, "names.txt --teacher-forcing", "--teacher-forcing replaces outputs", "add --cell output"),
    (2, f"names.txt {OUTPUT} --init-radius 2", f"{RADIUS} does not apply", "or use another cell"),
    (
        2,
        f"names.txt --from gru.npz {RADIUS}",
        f"{RADIUS} is for new weights",
        "Leave it out, or train",
    ),
    (2, "names.txt -m x --init-radius 1001", "--init-radius: '1001' is not a number", "--help"),
    (2, f"names.txt {OUTPUT} --layers 2", "--layers 2 is too many for the cell", "Use 1 layer"),
    *(
        (2, f"names.txt {OUTPUT} --teacher-forcing {option}", f"{option} contradicts", "Leave")
        for option in ("--own-inputs 0.5", "--free-running 2")
    ),
    (2, "x --bptt 4 --free-running 5", "--free-running 5 is more than the 4 steps", "raise --bptt"),
    # Files
    (1, "bad.txt -m no/x.npz", "no/x.npz cannot be saved: No such file", "Make the folder"),
    (1, "bad.txt -m .", ". cannot be saved: it is not a regular file", "Name another"),
    (1, "names.txt -m no/x.npz", "no/x.npz cannot be saved: ", "or name another"),
    (1, "names.txt -m no/x.npz --dry-run", "no/x.npz cannot be saved: ", "or name another"),
    *(
        (1, f"names.txt -m x --metrics {name}", f"{name} cannot be written: {reason}", hint)
        for name, reason, hint in (
            ("no/x", "No such file", "Make the folder first, or"),
            (".", "Is a directory", "Name another file with --metrics"),
            ("names.txt/x", "Not a directory", "Name another file"),
        )
    ),
    (1, "names.txt -m x --metrics bad.html", "bad.html holds lines that are not metrics", METRICS),
    # From another model
    (1, "names.txt -m x --from bad.txt", "bad.txt is not a model of charrnn", ""),
    *(
        (
            2,
            f"names.txt -m x --from {name} {option}",
            f"{option} {STARTED}{has}",
            "train a start with it, on",
        )
        for name, option, has in (
            ("gru.npz", "--hidden 7", "6"),
            ("gru.npz", "--cell tanh", "gru"),
            ("gru.npz", "--clock", "no clock"),
            ("output.npz", "--teacher-forcing", "no teacher_forcing"),
        )
    ),
    # Resumed otherwise than begun
    *(
        (1, f"--resume {option}", f"{option} contradicts model.npz, which has {has}", hint)
        for option, has, hint in (
            ("--hidden 7", "6", ANEW),
            ("--layers 2", "1", ANEW),
            ("--lr 0.5", "0.002", ANEW),
            ("--seed 8", "0", ANEW),
            ("--batch 3", "4", ANEW),
            ("--cell lstm", "tanh", ANEW),
            ("--clock", "no clock", ANEW),
            ("--own-inputs 0.5", "0", ANEW),
            ("--optimizer sgd", "adam", ANEW),
            ("--check-every 9", "20", ANEW),
            ("--epochs 2", "3", "--epochs may be raised, not lowered."),
            ("--minutes 9", "no minutes", "--minutes may be raised, not lowered."),
            ("--patience 9", "no patience", "--patience may be raised, not lowered."),
            ("--holdout 0.5", "0.1", ANEW),
            ("--examples files", "lines", ANEW),
            ("--encoding latin-1", "utf-8", ANEW),
            ("--normalize NFC", "none", ANEW),
        )
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
    (2, "--examples words names.txt", "--examples: 'words' is not one of auto, lines, para", "--h"),
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

LEAST = "a sample would need at least"

SAMPLE: list[Row] = [
    *(
        (2, line, f"{LEAST} {least} characters", "raise --longest or --max-c")
        for line, least in (("--longest 3 -p aaaa", 4), ("-p an --max-chars 3 --shortest 6", 6))
    ),
    (2, f"--top-k {'9' * 5000}", "--top-k: '9999", "--help"),
    (2, "--top-p 0", "--top-p: '0' is not a number from 0 to 1, but not 0", "--help"),
    (
        2,
        f"--seed {2**64}",
        f"--seed: '{2**64}' is not a whole number from 0 to 18,446,744,073,709,551,615",
        "--help",
    ),
    *(
        (2, f"--temp={typed}", f"--temp: '{typed}' is not a number from 0 to 1,000,000", "--help")
        for typed in ("-1", "0.5,1", "nan", "inf", ",", "1e7", "")
    ),
    (2, "--top-k 0", "--top-k: '0' is not a whole number from 1 to", "--help"),
    (2, "--max-chars 0", "--max-chars: '0' is not a whole number from 1 to", "--help"),
    (2, "--shortest 9 --longest 5", f"{LEAST} 9 characters, and may have at most 5", "Lower"),
    (1, "-m model.npz -m numbers.npz", MIXED, "the same vocabulary"),
]

FILL: list[Row] = [
    (2, "a --max-gap -1", "--max-gap: '-1' is not a whole number", "--help"),
    (1, "-", "standard input has no text", "Write one text a line."),
]

UNFOLD: list[Row] = [
    (2, "", "TEXT is missing", "--help"),
    (2, "anna --step 6", "--step 6 is beyond the text", "It has 5 steps."),
    (2, "anna --step 0", "--step: '0' is not a whole number", "--help"),
    (2, "anna -o x.png", "--output: 'x.png' is not a file name that ends in", "--help"),
    (2, "anna -o x.html --step 1", "--step and --output exclude each other", "Leave one"),
    (2, "anna -o x.html --json", "--output and --json exclude each other", "Leave one"),
    (2, "anna --step 1 --json", "--step and --json exclude each other", "Leave one"),
    (2, "a" * 600, "the text has 600 characters, and 599 can be unfolded", "shorter"),
]

INFO: list[Row] = [
    (1, "-m bad.txt", "bad.txt is not a model of charrnn", ""),
    (1, "-m folder", "folder is not a model of charrnn", ""),
    (2, "names.txt", "got unexpected extra argument", "charrnn info --help"),
    (1, "-m given-name", "there is no model given-name", "Did you mean given-names? Train one"),
    (2, "--plot curve.txt", "--plot: 'curve.txt' is not a file name", "--help"),
]

EMBED: list[Row] = [
    (2, "-o -", "--output: '-' is not a file name that ends in .npy", "--help"),
    (2, "-o e.txt", "--output: 'e.txt' is not a file name that ends in", "--help"),
    (1, "-o no/x.npy", "no/x.npy cannot be", "name another file"),
]

EXPORT: list[Row] = [
    (2, "a.pt", "unknown format: .pt", ".html"),
    (2, "a.h --title A", "--title does not apply to .h", "Leave it out"),
]

GUIDE: list[Row] = [
    (2, "samplng", "TOPIC: 'samplng' is not one of first-names, prepare-text, sampling", "--help")
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
        (2, f"names.txt --try cell=tanh,gru {with_it} --same-size", what, "Leave one of them out.")
        for with_it, what in (
            ("--try hidden=2", "--same-size and --try hidden"),
            ("--try layers=1,2", "--same-size and --try layers"),
            ("--from model.npz", "--same-size and --from"),
        )
    ),
    (2, f"names.txt --seeds {'9' * 20}", "--seeds", "--help"),
]

# What several commands refuse: a command line, and what is missing, read twice or there already

NO_MODEL = [
    *("train --resume", "train names.txt --from", "sample", "sample -m model.npz", "eval"),
    *("eval names.txt", "fill a", "embed", "reach", "unfold anna", "info", "info -m model.npz"),
    *("export x.html", "export x.npz"),
]
NO_TEXT = [
    *("train", "train names.txt --valid", "sweep --seeds 1", "sample --not-in", "eval"),
    *("eval names.txt", "embed", "reach"),
]
TWICE = [
    "train -",
    "train - --valid",
    "sweep --seeds 1 -",
    "eval -",
    "fill -",
    "embed -",
    "reach -",
]
EMPTY = ["train", "train names.txt --valid", "sweep --seeds 1", "eval", "embed", "reach"]
NOT_OURS = {
    "export": ("html", "mjs", "h", "safetensors", "npz"),
    "embed names.txt -o": ("npy",),
    "unfold anna -o": ("html",),
    "info --plot": ("svg",),
    "train names.txt -m": ("html",),
}
SHARED = [
    *(
        (line, 1, "no.npz", "there is no model no.npz", "Train one, or name an")
        for line in NO_MODEL
    ),
    *((line, 1, "no.txt", "no.txt does not exist", CHECK) for line in NO_TEXT),
    *((line, 2, "-", "standard input can be read only once", "Name one - at") for line in TWICE),
    *((line, 1, "-", "", "") for line in EMPTY),
    *(
        (line, 1, f"bad.{suffix}", f"bad.{suffix} already exists", REPLACE)
        for line, suffixes in NOT_OURS.items()
        for suffix in suffixes
    ),
]

TABLES = {
    "train": TRAIN,
    "eval": EVAL,
    "sample": SAMPLE,
    "fill": FILL,
    "unfold": UNFOLD,
    "info": INFO,
    "embed": EMBED,
    "export": EXPORT,
    "guide": GUIDE,
    "sweep": SWEEP,
}


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


@pytest.mark.parametrize(
    ("command", "status", "line", "what", "hint"),
    [(command, *row) for command, rows in TABLES.items() for row in rows],
)
def test_fault_14_refusals(
    there: Program, command: str, status: int, line: str, what: str, hint: str
) -> None:
    refused = there.refuses(
        *(command, *line.split()), what=f"error: {what}", hint=hint, status=status, stdin=b""
    )
    assert refused.out == ""


@pytest.mark.parametrize(("line", "status", "last", "what", "hint"), SHARED)
def test_fault_14_what_several_commands_refuse(
    there: Program, line: str, status: int, last: str, what: str, hint: str
) -> None:
    if line.startswith("info --plot"):  # which says first if matplotlib is not there
        pytest.importorskip("matplotlib")
    words = line.split()
    takes_model = last == "no.npz" and "--from" not in words
    there.refuses(
        *words,
        *(["-m"] if takes_model else []),
        last,
        what=f"error: {what}",
        hint=hint,
        status=status,
        stdin=b"",
    )


def test_a_network_that_memory_cannot_hold_is_refused(there: Program) -> None:
    line = ("train", "names.txt", "-m", "x", "--hidden", "1048576")
    there.refuses(*line, what="GiB of memory", hint="Try a smaller --hidden")

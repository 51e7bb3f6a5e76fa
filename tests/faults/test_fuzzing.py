"""Any text, any options, any prime: train, sample and score, and never a bug."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, reject, settings
from hypothesis import strategies as st

import charrnn
from charrnn.errors import SettingError
from tests.child import Result
from tests.program import Program

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("ab \n\r\t", max_size=60),
    st.text("a\u0301é\u200d👨\U0010ffff\u202e\x00\x1b\ufeff\ufffd\x85\u2028", max_size=30),
    st.lists(st.text(max_size=9), max_size=9).map("\n\n".join),
    st.binary(max_size=60),
)
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
TRAINING = [
    *("--hidden", "--layers", "--bptt", "--batch", "--lr", "--holdout", "--dropout", "--blank"),
    *("--dropconnect", "--clip", "--warmup", "--weight-decay", "--check-every", "--patience"),
    *("--own-inputs", "--free-running"),
]
SAMPLING = ["--temp", "--top-k", "--top-p", "--seed", "--count"]


def options(names: list[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(names), NUMBERS, max_size=3)


def words(names: list[str]) -> st.SearchStrategy[dict[str, str]]:
    chosen = {name: st.sampled_from(WORDS[name]) for name in names}
    return st.fixed_dictionaries({}, optional=chosen)


def is_an_answer(ended: Result) -> bool:
    """Whether all went well; what did not was told."""
    assert ended.status in (0, 1, 2), ended
    if ended.status:
        assert "charrnn: error: " in ended.err or "Error ─" in ended.err, ended.err
    return not ended.status


def spelt(chosen: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in chosen.items()]


def content(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def test_any_text_is_learned_and_scored_or_refused(faults: int) -> None:
    @settings(max_examples=faults // 3)
    @given(TEXTS, TEXTS, options(TRAINING), words([*WORDS]), st.booleans())
    def check(
        text: str | bytes,
        other: str | bytes,
        numbers: dict[str, str],
        chosen: dict[str, str],
        clock: bool,
    ) -> None:
        with tempfile.TemporaryDirectory() as name:
            program = Program(Path(name))
            program.write("text", content(text))
            program.write("other", content(other))
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
            assert value is not None or name in (
                "above",
                "above_count",
                "character",
                "x_oddest",
                "drawn",
                "dynamic",
            ), row
            is_finite(value)
    if isinstance(row, float):
        assert math.isfinite(row)


FLAGS = st.sets(st.sampled_from(["--json", "--surprise", "--hide-prime", "--unique", "-0"]))
PRIMES = st.one_of(st.text(max_size=40), st.text("annabob\n\r", max_size=40))


def test_any_prime_is_gone_on_from_or_refused(trained_once: Program, faults: int) -> None:
    @settings(max_examples=faults // 3)
    @given(PRIMES, options(SAMPLING), FLAGS)
    def check(prime: str, numbers: dict[str, str], flags: set[str]) -> None:
        line = ["sample", "--max-chars", "9", f"--prime={prime}", *spelt(numbers), *sorted(flags)]
        ended = trained_once.run(*line)
        if is_an_answer(ended) and "--json" in flags:
            for row in ended.out.splitlines():
                is_finite(json.loads(row))

    check()


WAYS = st.fixed_dictionaries(
    {"seed": st.integers(0, 99), "epochs": st.integers(1, 3)},
    optional={
        "cell": st.sampled_from(WORDS["--cell"]),
        "ends": st.sampled_from(WORDS["--ends"]),
        "optimizer": st.sampled_from(WORDS["--optimizer"]),
        "schedule": st.sampled_from(WORDS["--schedule"]),
        "layers": st.integers(1, 3),
        "dropout": st.sampled_from([0.0, 0.5]),
        "dropconnect": st.sampled_from([0.0, 0.3]),
        "blank": st.sampled_from([0.0, 0.2]),
        "bptt": st.integers(0, 9),
        "batch": st.integers(1, 9),
        "check_every": st.integers(1, 9),
        "warmup": st.integers(0, 5),
        "cores": st.integers(1, 2),
        "own_inputs": st.sampled_from([0.0, 0.5, 1.0]),
        "free_running": st.integers(0, 4),
        "clock": st.booleans(),
    },
)
LEARNED = ["anna", "bob", "clara", "dora", "emil"] * 4


def test_a_run_that_is_resumed_with_any_settings_ends_in_the_same_bytes(faults: int) -> None:
    holdouts, stops = st.sampled_from([0.0, 0.1, 0.4]), st.lists(st.integers(0, 12), max_size=3)

    @settings(max_examples=faults // 5)
    @given(WAYS, holdouts, stops)
    def check(chosen: dict[str, Any], holdout: float, stops: list[int]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            straight, stopped = Path(folder) / "straight.npz", Path(folder) / "stopped.npz"
            try:
                config = charrnn.TrainConfig(hidden=3, **({"layers": 1} | chosen))
                run = charrnn.train(LEARNED, config, holdout=holdout)
            except SettingError:  # they do not go together
                reject()
            for _ in run:
                pass
            run.save(straight)
            run = charrnn.train(LEARNED, config, holdout=holdout)
            for stop in stops:
                for _ in zip(range(stop), run, strict=False):
                    pass
                run.save(stopped)
                run = charrnn.resume(stopped, LEARNED)
            for _ in run:
                pass
            run.save(stopped)
            assert stopped.read_bytes() == straight.read_bytes()

    check()

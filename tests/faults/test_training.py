"""Faults 23 to 25: losses that leave every bound, two runs in one file, poor surroundings."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from charrnn import model_file as checkpoint
from tests.child import CHARRNN
from tests.faults.test_signals import ENDLESS
from tests.program import SMALL, Program, is_refusal, is_tidy, seldom

pytestmark = pytest.mark.child(True)

RUINOUS = [
    "--lr 1e6",
    "--lr 1e6 --check-every 1",
    "--lr 1e6 --check-every 1 --holdout 0",
    "--lr 1e6 --clip 0",
    "--lr 1e6 --clip 0 --warmup 0",
    "--lr 1e6 --optimizer sgd --clip 0",
    "--lr 1e6 --optimizer rmsprop",
    "--lr 1e6 --optimizer adagrad",
    "--lr 1e6 --optimizer sgd --clip 1e12 --weight-decay 1e6",
    *(f"--lr 1e6 --cell {cell}{more}" for cell in ("gru", "lstm") for more in ("", " --clip 0")),
    *(f"--lr 1e6 --cell {cell} --optimizer sgd --clip 0" for cell in ("gru", "lstm")),
]


@pytest.mark.child(False)
@pytest.mark.parametrize("line", RUINOUS)
def test_23_a_loss_out_of_bounds_stops_and_names_the_step_and_a_smaller_rate(
    trained: Program, line: str
) -> None:
    command = ("train", "names.txt", *SMALL, "--epochs", "20", "--force", "-q", *line.split())
    ended = trained.refuses(
        *command,
        what="the loss diverged at step ",
        hint="Try a smaller learning rate, such as --lr 0.002. model.npz is unchanged.",
    )
    assert int(ended.err.splitlines()[0].rpartition(" ")[2]) <= 20


@pytest.mark.child(False)
def test_23_a_run_that_is_ruined_late_keeps_what_was_good(trained: Program) -> None:
    """Its weights were carried off by somebody else: it stops, and the best are still there."""
    before = checkpoint.load(trained / "model.npz")
    ruined = checkpoint.load(trained / "model.npz")
    ruined.state.parameters.flat[...] *= 1e6
    checkpoint.save(trained / "model.npz", ruined)
    trained.refuses(
        *("train", "--resume", "--epochs", "50", "-q"),
        what=f"the loss diverged at step {before.state.step}",
        hint=f"model.npz holds the run at step {before.state.step}.",
    )
    trained.run("sample").says()
    after = checkpoint.load_trained(trained / "model.npz")
    assert before.state.best is not None
    assert after.model.parameters.flat.tobytes() == before.state.best.flat.tobytes()


def test_24_a_second_run_into_the_same_file_is_refused(program: Program) -> None:
    (program / "link.npz").symlink_to("model.npz")
    with program.going(*ENDLESS) as child:
        child.until_saved()
        for line in (
            ("names.txt", "--force"),
            ("--resume",),
            ("names.txt", "--force", "-m", "link.npz"),
            ("names.txt", "--force", "-m", program / "model.npz"),
        ):
            ended = program.run("train", *line, child=False)
            assert (ended.status, ended.out) == (1, "")
            assert "Traceback" not in ended.err
            what, hint = ended.err.splitlines()
            assert "is being written by another run" in what
            assert hint == "Wait until that run has ended, or name another file with -m."
        program.run("train", *SMALL, "names.txt", "-m", "other.npz", child=False).says()
        program.run("sample", child=False).says()
        child.send(signal.SIGINT)
        assert child.end().status == 130
    checkpoint.load(program / "model.npz")
    is_tidy(program)


SURROUNDINGS: dict[str, dict[str, str | None]] = {
    "a dumb terminal and ascii": {"TERM": "dumb", "PYTHONIOENCODING": "ascii", "COLUMNS": "x"},
    "a locale that is not there": {"LANG": "xx.UTF-8", "LC_ALL": "xx.UTF-8", "COLUMNS": "1"},
    "ascii, and no UTF-8 mode": {
        "TERM": None,
        "COLUMNS": "0",
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
    },
    "nothing at all": dict.fromkeys(("PATH", "HOME", "LANG", "TERM", "USER", "SHELL", "PWD")),
    "too much": {
        "FORCE_COLOR": "1",
        "CLICOLOR_FORCE": "1",
        "GITHUB_ACTIONS": "true",
        "PYTHONOPTIMIZE": "2",
        "PYTHONHASHSEED": "7",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "3",
        "OPENBLAS_NUM_THREADS": "3",
    },
}


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What comes out in surroundings as they should be."""
    return results(Program(tmp_path_factory.mktemp("usual")), {}, terminal=False)


def results(program: Program, env: dict[str, str | None], *, terminal: bool) -> dict[str, object]:
    """Train, sample and eval on a text that is not all ASCII."""
    program.write("text", "Zoë\nJosé\nбоб\n愛\n\x1b[31m[/b]:smile:\n" * 9)
    line = ("train", "text", *SMALL, "--epochs", "3")
    if terminal:
        status, seen = program.terminal(*line, columns=1, env=env)
        assert (status, "Traceback" in seen) == (0, False), seen
    else:
        program.run(*line, env=env).says()
    found: dict[str, object] = {"model": (program / "model.npz").read_bytes()}
    if terminal:  # the other commands ran without one in the same surroundings
        return found
    for name, command in {
        "sample": ("sample", "-n", "5", "--seed", "1", "--prime", "Zoë"),
        "eval": ("eval", "text", "--per-example"),
    }.items():
        ended = program.run(*command, env=env)
        ended.says()
        found[name] = ended.out
    return found


DAILY = ("ascii, and no UTF-8 mode", "too much")


@pytest.mark.parametrize("name", [name if name in DAILY else seldom(name) for name in SURROUNDINGS])
def test_25_poor_surroundings_change_no_result(
    program: Program, name: str, expected: dict[str, object]
) -> None:
    assert results(program, SURROUNDINGS[name], terminal=False) == expected


@pytest.mark.parametrize("name", ["a dumb terminal and ascii", seldom("ascii, and no UTF-8 mode")])
def test_25_nor_does_a_terminal_of_one_column(
    program: Program, name: str, expected: dict[str, object]
) -> None:
    found = results(program, SURROUNDINGS[name], terminal=True)
    assert found["model"] == expected["model"]


BARE = SURROUNDINGS["a dumb terminal and ascii"] | {"LC_ALL": "C", "COLUMNS": "1", "HOME": None}


def test_25_a_folder_that_is_gone_matters_only_to_what_is_in_it(program: Program) -> None:
    program.train("names.txt", child=False).says()
    expected = (program / "model.npz").read_bytes()
    (program / "model.npz").unlink()
    gone = program / "gone"
    gone.mkdir()
    there = Program(gone)
    script = f'rmdir "{gone}" && exec "$0" "$@"'
    there_no_more = ["/bin/sh", "-c", script, *CHARRNN]
    line = (*SMALL, "-m", program / "model.npz")
    there.run("train", program / "names.txt", *line, by=there_no_more, env=BARE).says()
    assert learned(program / "model.npz") == learned_from(expected, program)
    gone.mkdir()
    there.run("sample", "-m", program / "model.npz", by=there_no_more).says()
    for command, hint in {
        ("train", "names.txt"): "name a file elsewhere with -m.",
        ("train", "names.txt", "--metrics", "metrics.jsonl"): "name a file elsewhere with -m.",
        ("eval", "names.txt"): "Train one first, ",
    }.items():
        gone.mkdir(exist_ok=True)
        is_refusal(there.run(*command, by=there_no_more), "model.npz", hint)


def learned(path: Path) -> bytes:
    return checkpoint.load_trained(path).model.parameters.flat.tobytes()


def learned_from(content: bytes, program: Program) -> bytes:
    return learned(program.write("other.npz", content))


SIZES = ["-1", "1000000000", "9" * 5000]


@pytest.mark.child(False)
@pytest.mark.parametrize("columns", SIZES, ids=lambda columns: columns[:10] or "nothing")
def test_43_columns_may_be_said_to_be_any_number(trained: Program, columns: str) -> None:
    for line in (
        ("train", "names.txt", *SMALL, "--epochs", "20", "--force"),
        ("eval", "names.txt", "--per-char"),
    ):
        status, seen = trained.terminal(*line, env={"COLUMNS": columns})
        assert (status, "Traceback" in seen) == (0, False), seen[-2000:]
        assert max(map(len, seen.split("\n"))) < 40_000

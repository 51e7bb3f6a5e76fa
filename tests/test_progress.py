"""What is seen of a run: enough, not too much, and nothing that a terminal would obey."""

from __future__ import annotations

import io
import math
import os
import re
from contextlib import redirect_stderr
from dataclasses import replace

import pytest
from rich.cells import cell_len

from charrnn import model_file as checkpoint
from charrnn import system
from charrnn.cli.console import NARROW, Console, Output, wrap
from charrnn.cli.terminal import progress, tables
from charrnn.cli.terminal.progress import CheckupRows, Pace, preview
from charrnn.corpus import from_texts
from charrnn.network.parameters import LanguageModel
from charrnn.plan import fit_settings
from charrnn.score import Score
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import TrainConfig
from charrnn.training.loop import Checkup, train
from charrnn.training.state import start
from tests.corpora import NAMES
from tests.program import Program
from tests.rows import seldom
from tests.runs import BRIEF

posix = pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals of POSIX")
FILE = Output(io.StringIO)
BASELINES = {"uniform": 4.0, "markov-2": 2.5, "markov-3": 2.0}


def checkup(step: int, nats: float) -> Checkup:
    """A check-up at which the held-out text had that loss, and training one of 2."""
    score = Score(characters=1, nats=nats)
    return Checkup(step, score, 2.0, True, 2.5)


class Window(io.StringIO):
    """A terminal of so many columns, without colours."""

    def __init__(self, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        monkeypatch.setenv("COLUMNS", str(wide))
        monkeypatch.setenv("NO_COLOR", "1")

    def isatty(self) -> bool:
        return True


# Rows


def test_a_row_has_the_figures_of_its_check_up() -> None:
    head, row = CheckupRows(True, {}, FILE).lines(checkup(1200, math.log(8)), 1.5)
    assert head.split() == ["step", "epoch", "train", "held-out", "bits", "gap"]
    assert row.split() == ["1,200", "1.50", "2.000", "2.079", "3.000", "+0.079", "*"]
    *_, row = CheckupRows(True, {}, FILE).lines(checkup(1200, 1.9996), 1.5)  # gap: -0.0004
    assert row.split()[-2:] == ["+0.000", "*"]


def test_a_star_is_the_best_of_the_rows_and_says_what_it_passed() -> None:
    rows = CheckupRows(True, BASELINES, FILE)
    ends = []
    for step, nats in enumerate([3.0, 3.1, 2.4, 1.9, 1.9]):
        line = [*rows.lines(checkup(step, nats), 1)][-1]
        ends.append("".join(line.partition("*")[1:]))
    assert ends == [
        "*  to beat: markov-3",
        "",
        "*  to beat: markov-3",
        "*  better than markov-3",
        "",
    ]


def test_a_wide_window_has_room_for_the_baseline_passed_and_the_one_to_beat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = CheckupRows(True, BASELINES, Output(lambda: Window(120, monkeypatch)))
    said = [[*rows.lines(checkup(step, nats), 1)][-1] for step, nats in enumerate((2.4, 1.9))]
    assert said[0].endswith("*  better than markov-2; to beat: markov-3")
    assert said[1].endswith("*  better than markov-3, the best baseline")


def test_a_run_that_goes_on_knows_what_it_had_passed() -> None:
    rows = CheckupRows(True, BASELINES, FILE, best=2.2)
    assert not [*rows.lines(checkup(1, 2.3), 1)][-1].endswith("*")
    assert [*rows.lines(checkup(2, 2.1), 1)][-1].endswith("*")


class Ticks(io.StringIO):
    """A terminal that can be told what it has seen."""

    def isatty(self) -> bool:
        return True


def test_the_best_is_never_left_out_however_fast_rows_come(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "ROW", math.inf)  # there is never time for another
    seen = Ticks()
    monkeypatch.setenv("TERM", "xterm")
    program.run("train", "names.txt", *BRIEF)
    run = checkpoint.load("model.npz")
    with redirect_stderr(seen), progress.Progress(run, 100, Console(), 0) as screen:
        screen.rows = CheckupRows(True, {}, screen.console.err)
        for step, (nats, is_best) in enumerate(
            [(3.0, True), (2.9, True), (2.95, False), (2.8, True), (2.9, False)], 1
        ):
            screen.show(replace(checkup(step, nats), is_best=is_best))
        screen.finish()
    rows = re.findall(
        r"(\d) +[\d.]+ +2\.000 +([\d.]+)", re.sub(r"\x1b\[[\d;]*m", "", seen.getvalue())
    )
    assert rows == [("1", "3.000"), ("2", "2.900"), ("4", "2.800"), ("5", "2.900")]


def test_the_gap_is_between_two_losses_that_are_measured_alike() -> None:
    corpus = from_texts(NAMES.split() * 3, CorpusConfig(holdout=0.3))
    config = fit_settings(TrainConfig(hidden=8, dropout=0.9, epochs=40), corpus)
    for event in train(start(corpus, config), corpus, config):
        if isinstance(event, Checkup) and event.score is not None and event.step > 50:
            *_, row = CheckupRows(True, {}, FILE).lines(event, 1)
            shown, held_out, _, gap = (float(word) for word in row.replace("*", "").split()[2:])
            assert gap == pytest.approx(held_out - shown, abs=2e-3)
            assert event.train_nats_per_character < event.train_while_hidden_nats_per_character


def test_without_anything_held_out_there_is_less_to_say() -> None:
    head, row = CheckupRows(False, {}, FILE).lines(Checkup(7, None, 2.0, True, 2.5), 1)
    assert (head.split(), row.split()) == (["step", "epoch", "train"], ["7", "1.00", "2.000"])


@pytest.mark.parametrize("wide", range(1, 101, 3))
def test_rows_fit_the_window(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(wide, monkeypatch)
    rows = CheckupRows(True, BASELINES, Output(lambda: window))
    for line in rows.lines(checkup(123_456, 1.9), 10):
        assert len(line) <= max(wide, NARROW)
    assert rows.indent < max(wide, NARROW) - 4


# Samples


def test_a_preview_fits_and_steers_nothing() -> None:
    corpus = from_texts(["\x1b[31m\r\n\t" * 30] * 9, CorpusConfig(holdout=0))
    config = fit_settings(TrainConfig(hidden=4), corpus)
    model = LanguageModel(start(corpus, config).parameters, corpus.vocabulary)
    for wide in (1, 20, 60, 200):
        shown = list(preview(model, 9, 0, wide))
        assert len(shown) == 9
        assert all(text.isprintable() and len(text) <= max(4, min(wide, 60)) for text in shown)
    again = list(preview(model, 9, 0, 200))
    assert again == shown
    assert list(preview(model, 9, 1, 200)) != shown


def test_wide_characters_take_two_columns() -> None:
    corpus = from_texts(["\u5f20\u4e09\u674e\u56db" * 9] * 9, CorpusConfig(holdout=0))
    parameters = start(corpus, fit_settings(TrainConfig(hidden=4), corpus)).parameters
    model = LanguageModel(parameters, corpus.vocabulary)
    for text in preview(model, 9, 0, 20):
        assert len(text.removesuffix("...")) <= (8 if text.endswith("...") else 10)


# Time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands where the list says, and a processor that was always in use."""
    now = [1000.0]
    for name in ("monotonic", "process_time"):
        monkeypatch.setattr(f"charrnn.training.state.time.{name}", lambda: now[0])
    return now


def test_speed_and_time_left_are_those_of_late(clock: list[float]) -> None:
    run = Pace()
    for second in range(1, 51):
        clock[0] += 1
        run.update(100, second / 100)
    assert run.seconds == pytest.approx(50)
    assert run.characters_per_second == pytest.approx(100)
    assert run.seconds_left == pytest.approx(50)
    for second in range(50):
        clock[0] += 1
        run.update(10, 0.5 + second / 1000)
    assert run.characters_per_second == pytest.approx(10, rel=0.2)
    assert run.average == pytest.approx(55)


def test_nobody_can_tell_before_anything_was_done(clock: list[float]) -> None:
    run = Pace()
    assert (run.characters_per_second, run.average, run.seconds_left) == (0, 0, math.inf)
    run.update(0, 0.0)
    assert run.seconds_left == math.inf


# Figures


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *(
            (0, "0.001 s"),
            (0.0564, "0.056 s"),
            (0.5, "0.5 s"),
            (9.94, "9.9 s"),
            (9.96, "10 s"),
            (59.4, "59 s"),
            (59.6, "1:00 min"),
        ),
        *((185, "3:05 min"), (3600, "1:00 h"), (7380, "2:03 h"), (864000, "10 days")),
        *((math.inf, "?"), (math.nan, "?")),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert tables.clock(seconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        *((0, "0"), (999.4, "999"), (999.6, "1.00k"), (9_994, "9.99k"), (58_234, "58.2k")),
        *((999_499, "999k"), (999_600, "1.00M"), (123_456_789, "123M"), (5e9, "5000M")),
    ],
)
def test_rates(number: float, shown: str) -> None:
    assert tables.counted(number) == shown


def test_counts_have_their_plural() -> None:
    assert tables.count(1, "layer") == "1 layer"
    assert tables.count(2000, "example", are="paragraphs") == "2,000 paragraphs"
    assert tables.bytes_in_words(1) == "0.1 KiB"
    assert tables.bytes_in_words((1 << 20) + 1) == "1.0 MiB"
    assert tables.bytes_in_words(1_558_255) == "1.5 MiB"
    assert tables.bytes_in_words(25_740) == "25 KiB"
    assert tables.bytes_in_words(3 << 30) == "3.0 GiB"


def test_memory_is_more_than_we_have_and_less_than_there_could_be() -> None:
    found = system.available()
    assert found is None or 1 << 20 < found < 1 << 50


# Columns


def test_wide_characters_are_wrapped_where_the_window_ends() -> None:
    text = "\u4e00\u4e8c \u4e09 a " * 20 + "\u56db" * 30
    for columns in (8, 9, 21, 50):
        lines = wrap(text, columns)
        assert max(map(cell_len, lines)) <= columns
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert len(lines) < 2.5 * cell_len(text) / columns


def test_entries_are_wrapped_below_each_other() -> None:
    told = [("name", "word " * 30), ("", "an --option 7")]
    lines = list(tables.entries(told, FILE))
    assert lines[0].startswith("name       word")
    assert all(line.startswith(" " * tables.INDENT) for line in lines[1:])
    assert lines[-1].endswith("--option 7")
    assert max(map(len, lines)) < 80


def test_a_name_that_would_steer_is_shown() -> None:
    (line,) = tables.entries([("model", "a\x1b[2J\nb")], FILE)
    assert line == r"model      a\x1b[2J\nb"


def test_letters_are_plain_where_no_others_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.setenv("TERM", "xterm")
    utf8 = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert not Output(lambda: utf8).is_plain
    assert Output(lambda: io.TextIOWrapper(io.BytesIO(), encoding="ascii")).is_plain
    for name, value in (("LC_ALL", "C"), ("TERM", "linux"), ("TERM", "dumb")):
        with monkeypatch.context() as inner:
            inner.setenv(name, value)
            assert Output(lambda: utf8).is_plain


# On a terminal


@pytest.fixture
def program(program: Program) -> Program:
    """The program with a corpus that takes a moment."""
    program.write("names.txt", NAMES * 10)
    return program


@posix
def test_on_a_terminal_a_bar_moves_and_leaves_no_trace(program: Program) -> None:
    status, seen = program.terminal("train", "names.txt", *BRIEF, "--epochs", "12")
    assert status == 0
    assert re.search(r"\rstep [\d,]+   \d\.\d{3} nats   .*left +\d+% \|", seen)
    assert "\x1b[36m" in seen
    last = [line.rpartition("\r")[2] for line in seen.split("\n")]
    assert not [line for line in last if "% |" in line], "the bar is gone in the end"


@posix
@pytest.mark.parametrize("wide", [seldom(1), 20, seldom(40)])
def test_nothing_is_wider_than_a_narrow_terminal(program: Program, wide: int) -> None:
    status, seen = program.terminal(
        "train", "names.txt", *BRIEF, columns=wide, env={"NO_COLOR": "1", "LC_ALL": "C"}
    )
    assert status == 0
    assert "\x1b[3" not in seen
    body = seen.partition("next:")[0]  # commands to copy stay whole
    shown = [part for line in body.split("\n") for part in line.split("\r")]
    assert max(len(part.removesuffix("\x1b[A")) for part in shown) <= max(wide, NARROW)
    assert ("\r" in body) == (wide >= NARROW)


@posix
def test_a_dumb_terminal_gets_plain_lines(program: Program) -> None:
    status, seen = program.terminal("train", "names.txt", *BRIEF, env={"TERM": "dumb"})
    assert status == 0
    assert not re.search(r"[\r\x1b]", seen)
    assert "⠤" not in seen

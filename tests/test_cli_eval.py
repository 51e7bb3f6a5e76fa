"""``charrnn eval`` as a user meets it: sums, yardsticks, and what it cannot do."""

from __future__ import annotations

import gzip
import io
import math
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from charrnn.cli.console import Console
from charrnn.cli.eval import run
from charrnn.corpus import corpus
from charrnn.counts import markov
from charrnn.model import Model
from charrnn.model_file.texts import rebuild_corpus
from charrnn.runs import load
from charrnn.scoring import baselines as yardsticks
from charrnn.scoring.pieces import ScoredBlock
from charrnn.scoring.score import Score
from tests.child import PYTHON
from tests.corpora import WORDS
from tests.evaluating import rows, scored, write
from tests.program import Program
from tests.speaking import babbler, independent, saved

KEYS = [
    *("schema", "text", "examples", "characters", "ends", "unknown", "bytes", "nats"),
    *("nats_per_character", "bits_per_character", "perplexity", "without_end"),
    *("without_unknown", "bits_per_byte", "baselines", "model", "drawn", "dynamic", "seconds"),
    *("characters_per_second", "fast", "above", "above_count"),
]
MEAN = ["nats", "nats_per_character", "bits_per_character", "perplexity"]
BASELINES = ["uniform", "unigram", *(f"markov-{n}" for n in range(1, 7)), "xz", "bzip2"]


@pytest.fixture
def loaded(well_trained: Program) -> Model:
    """The model as Python has it."""
    return load(well_trained / "model.npz")


# Sums


def test_json_has_the_keys_that_scripts_rely_on(well_trained: Program, loaded: Model) -> None:
    found = scored(well_trained, write("anna\nbob\nЖ\n"))
    assert list(found) == KEYS
    assert found["schema"] == "charrnn.eval/1"
    assert [list(found[name]) for name in ("without_end", "without_unknown")] == [MEAN, MEAN]
    expected = loaded.score(["anna", "bob", "Ж"])
    assert found["nats"] == pytest.approx(expected.nats, rel=1e-9)
    assert (found["examples"], found["characters"], found["ends"]) == (3, 8, 3)
    assert (found["unknown"], found["bytes"]) == (1, 9)
    assert found["nats_per_character"] == pytest.approx(found["nats"] / 11)
    assert found["bits_per_byte"] == pytest.approx(found["nats"] / math.log(2) / 9)
    assert found["without_unknown"]["nats"] < found["nats"] - 13


def test_the_table_says_the_same(well_trained: Program) -> None:
    found = scored(well_trained, write("anna\nbob\n"))
    table = well_trained.run("eval", "text.txt")
    assert table.err == ""
    assert "2 lines, 7 characters, 7 bytes" in table.out
    for name, mean in (("per character", found), ("without ends", found["without_end"])):
        row = next(line for line in table.out.splitlines() if line.startswith(name))
        assert row.split()[-3:] == [
            f"{mean['nats_per_character']:.3f}",
            f"{mean['bits_per_character']:.3f}",
            f"{mean['perplexity']:.2f}",
        ]


def test_without_a_text_what_was_held_out_is_scored(well_trained: Program, loaded: Model) -> None:
    found = scored(well_trained)
    facts = loaded.corpus
    assert found["examples"] == facts.held_out_examples == 6
    assert found["characters"] == facts.held_out_characters
    again = corpus.read_files(["names.txt"], facts.config)
    held_out = [again.vocabulary.decode(again.held_out.nth(i)) for i in range(len(again.held_out))]
    assert found["nats"] == pytest.approx(loaded.score(held_out).nats)
    assert found["text"] == "held out of names.txt"


def test_a_corpus_that_moved_or_changed_is_told_from_one_that_did_not(
    well_trained: Program,
) -> None:
    names = Path("names.txt")
    names.rename("elsewhere.txt")
    moved = well_trained.run("eval")
    assert (moved.status, moved.out) == (1, "")
    assert "charrnn: error: the corpus has moved: names.txt is not there" in moved.err
    names.write_text("anna\n" * 70)
    changed = well_trained.run("eval", "--baselines")
    assert changed.status == 1
    assert "the corpus has changed since the model was trained: names.txt" in changed.err
    assert "Name a text to read." in changed.err
    assert well_trained.run("eval", "elsewhere.txt").status == 0


def test_a_corpus_that_no_file_holds_is_told(well_trained: Program) -> None:
    saved(babbler(), Path("abc.npz"))
    ran = well_trained.run("eval", "-m", "abc.npz")
    assert ran.status == 1
    assert "the model was trained on texts from no file" in ran.err


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", " \n\t\n"])
@pytest.mark.parametrize(
    "options", [(), ("--baselines",), ("--per-example",), ("--html", "page.html"), ("--json",)]
)
def test_a_text_with_nothing_in_it_is_refused(
    well_trained: Program, text: str, options: tuple[str, ...]
) -> None:
    what = "text.txt has nothing to score"
    hint = "Name a text with at least one visible character."
    well_trained.refuses("eval", write(text), *options, what=what, hint=hint)


def test_a_figure_that_does_not_exist_is_null(well_trained: Program) -> None:
    found = rows(well_trained, write("\n\n"), "--per-example", "--sort", "input")
    assert [row["text"] for row in found] == ["", ""]
    ends = well_trained.run("eval", write("Ж"), "--json").json
    assert ends["without_unknown"]["nats_per_character"] is not None  # that of the end
    write("\n", "blank.txt")
    figures = Score(ends=2, units=5).figures()
    assert math.isnan(figures["bits_per_byte"])  # type: ignore[arg-type]
    assert math.isnan(Score(ends=2, units=5).without_end.perplexity)


@pytest.mark.parametrize("option", ["--threads", "--model"])
def test_it_does_not_matter_who_computes(well_trained: Program, option: str) -> None:
    write("\n".join(WORDS * 50))
    shutil.copy("model.npz", "copy.npz")
    one, two = ("1", "2") if option == "--threads" else ("model.npz", "copy.npz")
    costs = [scored(well_trained, "text.txt", option, each)["nats"] for each in (one, two)]
    assert costs[0] == costs[1]


def test_fast_scores_are_nearly_the_same(well_trained: Program) -> None:
    write("\n".join(WORDS * 50))
    exact, fast = (scored(well_trained, "text.txt", *options) for options in ((), ("--fast",)))
    assert fast["nats"] == pytest.approx(exact["nats"], rel=1e-4)
    assert fast["nats"] != exact["nats"]
    assert (exact["fast"], fast["fast"]) == (False, True)


def test_wrong_bytes_are_replaced_or_skipped_if_asked(well_trained: Program) -> None:
    Path("log.txt").write_bytes(b"anna\nb\xffb\nclara\n")
    assert well_trained.run("eval", "log.txt").status == 1
    replaced = scored(well_trained, "log.txt", "--errors", "replace")
    assert (replaced["examples"], replaced["unknown"]) == (3, 1)
    assert scored(well_trained, "log.txt", "--errors", "skip")["examples"] == 2


# How the text is read


@pytest.mark.parametrize(
    ("options", "examples"),
    [
        ((), 4),
        (("--examples", "lines"), 4),
        (("--examples", "paragraphs"), 2),
        (("--examples", "files"), 1),
        (("--examples", "auto"), 4),
    ],
)
def test_examples_are_what_was_asked_for_or_what_the_model_had(
    well_trained: Program, options: tuple[str, ...], examples: int
) -> None:
    write("anna\nbob\n\nclara\ndora\n")
    assert scored(well_trained, "text.txt", *options)["examples"] == examples


def test_texts_are_read_as_they_are_said_to_be(well_trained: Program) -> None:
    Path("latin.txt").write_bytes("émil\n".encode("latin-1"))
    wrong = well_trained.run("eval", "latin.txt")
    assert wrong.status == 1
    assert "is not UTF-8" in wrong.err
    assert scored(well_trained, "latin.txt", "--encoding", "latin-1")["bytes"] == 5
    write("anna\r\nbob\r\n")
    assert scored(well_trained, "text.txt")["unknown"] == 0
    assert scored(well_trained, "text.txt", "--newlines", "keep")["unknown"] == 2
    write("e\u0301")
    assert scored(well_trained, "text.txt", "--normalize", "NFC")["characters"] == 1


def test_texts_may_be_several_packed_or_typed(well_trained: Program) -> None:
    write("anna\n", "one.txt")
    with gzip.open("two.txt.gz", "wt") as packed:
        packed.write("bob\n")
    both = scored(well_trained, "one.txt", "two.txt.gz")
    assert (both["examples"], both["text"]) == (2, "one.txt, two.txt.gz")
    typed = well_trained.run("eval", "-", "--json", stdin=b"anna\nbob\n")
    assert typed.json["nats"] == pytest.approx(both["nats"], rel=1e-9)


# Is that good?


def test_the_model_stands_among_its_yardsticks(well_trained: Program) -> None:
    found = scored(well_trained, "--baselines")
    assert list(found["baselines"]) == BASELINES[:-1]  # so short a text says nothing of bzip2
    for figures in found["baselines"].values():
        assert list(figures)[:4] == [*MEAN[1:3], "part_learned", "part_scored"]
        assert (figures["part_learned"], figures["part_scored"]) == (1, 1)
        assert figures["bits_per_character"] == pytest.approx(
            figures["nats_per_character"] / math.log(2)
        )
    table = well_trained.run("eval", "--baselines").out.split("baselines\n")[1].splitlines()
    assert "no figure for bzip2: the text is too short" in " ".join(" ".join(table).split())
    table = [line for line in table if line[0] != " "]  # without head and notes
    assert {line.split()[0] for line in table} == {*BASELINES[:-1], "model.npz"}
    nats = [float(line.split()[1]) for line in table]
    assert nats == sorted(nats, reverse=True)


def test_yardsticks_that_know_a_part_say_so(
    well_trained: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = markov.Budget(train=100, held_out=60, pieces=2)
    for name, most in {"BUDGET": budget, "CORPUS": 80, "TEXT": 250}.items():
        monkeypatch.setattr(yardsticks, name, most)
    write("anna\nbob\nclara\n" * 60)
    model = load(well_trained / "model.npz")
    learned = len(rebuild_corpus(model.corpus, model.vocabulary).train.ids)
    found = scored(well_trained, "text.txt", "--baselines")["baselines"]
    for name, figures in found.items():
        if name in ("xz", "bzip2"):
            assert figures["part_learned"] == 80 / learned
            assert figures["part_scored"] == 250 / 900
        else:
            assert 0.5 * 100 / learned < figures["part_learned"] <= 100 / learned
            assert 0.5 * 60 / 900 < figures["part_scored"] <= 60 / 900
    counted = found["markov-6"]
    told = " ".join(well_trained.run("eval", "text.txt", "--baselines").out.split())
    assert told.endswith(
        f"counted on {counted['part_learned']:.1%} of the training text, scored on"
        f" {counted['part_scored']:.1%} of the text: evenly spaced pieces compressors read"
        f" the last {80 / learned:.1%} of the training text, the first 27.8% of the text"
        " no figure for bzip2: the text is too short"
    )


def test_yardsticks_measure_the_text_that_was_named(well_trained: Program) -> None:
    found = scored(well_trained, write("anna\n" * 30), "--baselines")
    assert found["examples"] == 30
    assert found["baselines"]["xz"]["bits_per_character"] < 1
    assert scored(well_trained, "text.txt")["baselines"] == {}


# Learning while reading


def test_learning_while_reading_helps_and_leaves_the_file_alone(well_trained: Program) -> None:
    before = Path("model.npz").read_bytes()
    write("ottoanna\n" * 60)
    static = scored(well_trained, "text.txt")
    dynamic = scored(well_trained, "text.txt", "--dynamic", "0.01")
    assert (static["dynamic"], dynamic["dynamic"]) == (None, 0.01)
    assert dynamic["nats"] < 0.8 * static["nats"]
    assert Path("model.npz").read_bytes() == before
    assert (
        "dynamic evaluation, learning rate 0.01"
        in well_trained.run("eval", "text.txt", "--dynamic", "0.01").out
    )
    lines = rows(well_trained, "text.txt", "--dynamic", "0.01", "--per-example", "--sort", "input")
    assert lines[-1]["nats"] < lines[0]["nats"]
    assert sum(line["nats"] for line in lines) == pytest.approx(dynamic["nats"])
    told = well_trained.run("eval", "text.txt", "--dynamic", "0.01", "--per-char")
    assert "learning at 0.01" in told.err


def test_the_rate_auto_suits_the_cell(well_trained: Program) -> None:
    write("ottoanna\n" * 60)
    dynamic = scored(well_trained, "text.txt", "--dynamic", "auto")
    assert dynamic["dynamic"] == 0.0005
    assert dynamic["nats"] == scored(well_trained, "text.txt", "--dynamic", "0.0005")["nats"]
    well_trained.run("train", "text.txt", "--cell", "gru", "--epochs", "1", "-m", "gru.npz")
    assert scored(well_trained, "text.txt", "--dynamic", "auto", "-m", "gru.npz")["dynamic"] == 1e-3
    assert "or auto" in well_trained.run("eval", "text.txt", "--dynamic", "fast").err


def test_a_rate_far_too_large_is_told(well_trained: Program) -> None:
    ran = well_trained.run("eval", write("anna bob\n" * 60), "--dynamic", "1e5")
    assert ran.status == 1
    assert "diverged" in ran.err


# Wrong usage and faults


def test_a_uniform_model_scores_the_log_of_its_symbols(well_trained: Program) -> None:
    odds = dict.fromkeys(["", "?", *"abcdef"], 1 / 8)
    saved(independent(odds), Path("uniform.npz"))
    found = scored(well_trained, "-m", "uniform.npz", write("abc\nfed\n"))
    assert found["nats_per_character"] == pytest.approx(math.log(8) - math.log(0.99), rel=1e-6)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("is_alone", "is_drawn"), [(True, True), (False, False)])
def test_a_long_text_has_a_bar_which_goes_away(
    monkeypatch: pytest.MonkeyPatch, is_alone: bool, is_drawn: bool
) -> None:
    seen = Terminal()
    monkeypatch.setattr(run, "SOON", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    codes = np.full(1000, ord("a"), np.uint32)
    with (
        redirect_stderr(seen),
        redirect_stdout(Terminal()),
        run.reading_bar(2000, Console(), is_alone=is_alone) as listeners,
    ):
        for listener in listeners:
            listener(ScoredBlock(codes, codes.astype(np.uint8), np.zeros(1000), None))
    assert ("reading" in seen.getvalue()) == is_drawn
    assert not seen.getvalue().split("\r")[-1].strip()


def test_a_text_that_is_soon_read_has_none(well_trained: Program) -> None:
    write("anna\n" * 100)
    assert well_trained.run("eval", "text.txt").err == ""
    _, seen = well_trained.terminal("eval", "text.txt")
    assert "reading" not in seen


def test_the_command_is_light_until_it_works(well_trained: Program) -> None:
    code = (
        "import sys, charrnn.cli.eval.options, charrnn.cli.info\n"
        "print([name for name in ('numpy', 'rich', 'tqdm') if name in sys.modules])"
    )
    assert well_trained.run("-c", code, by=PYTHON).out == "[]\n"


def test_baselines_without_the_corpus_can_be_left_out(trained: Program) -> None:
    trained.write("text.txt", "anna\n")
    (trained / "names.txt").rename(trained / "moved.txt")
    trained.refuses(
        *("eval", "text.txt", "--baselines"),
        what="--baselines learns from the training text, but the corpus has moved: names.txt",
        hint="beside the model file. Or leave out --baselines.",
    )
    assert trained.run("eval", "text.txt").status == 0


def test_long_names_of_models_stand_above_their_figures_or_above_tables(trained: Program) -> None:
    names = ["a-long-name-1.npz", "a-long-name-2.npz"]
    for name in names:
        (trained / name).write_bytes((trained / "model.npz").read_bytes())
    line = ("eval", "-m", names[0], "-m", names[1])
    piped = trained.run(*line).out
    assert all(name in piped for name in names)
    assert piped.count("perplexity") == 3
    for columns, tables in ((48, 3), (100, 1)):
        shown = trained.terminal(*line, columns=columns, env={"NO_COLOR": "1"})[1]
        assert all(name in shown for name in names)
        assert shown.count("per character  ") == tables
        assert max(map(len, shown.splitlines())) < columns

"""What is tried, how it is kept and how it compares; and a sweep from Python."""

from __future__ import annotations

import itertools
import json
import math
import string
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import charrnn
from charrnn import TrainConfig, json_lines, plan
from charrnn.cli.sweep.show import next_lines
from charrnn.corpus import corpus as corpora
from charrnn.errors import CorpusError, ResumeError, SaveError, SettingError
from charrnn.model_file.fields import record_of
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Seeds
from charrnn.sweeping import grid, processes
from charrnn.sweeping import run as sweep_run
from charrnn.sweeping.grid import (
    Grid,
    Result,
    Trial,
    best_of,
    grid_of,
    in_words,
    name_of,
    standings,
)
from charrnn.sweeping.run import (
    Advanced,
    Ended,
    Material,
    Split,
    Splits,
    Task,
    duplicates,
    estimate_seconds,
    make_run,
    plan_settings,
)
from charrnn.sweeping.sweep import Folder
from tests.corpora import WORDS

TEXTS = Material(texts=tuple(WORDS))
SAFE = set(string.ascii_letters + string.digits + "=,-.")


def made(name: str, seed: int, nats: float | None, **settings: object) -> Result:
    """The result of a run; one without a loss has diverged."""
    if nats is None:
        return grid.failure(Trial(name, settings, seed), "why", "diverged")
    return Result(name, settings, seed, 10, nats, f"{name}.npz", 1.5, "epochs")


def test_every_combination_is_run_from_every_seed_and_the_seeds_come_one_after_the_other() -> None:
    some = Grid({"hidden": (64, 128), "lr": (0.002,)}, (0, 7))
    assert [one.name for one in some.trials] == [
        "hidden=64,lr=0.002,seed=0",
        "hidden=128,lr=0.002,seed=0",
        "hidden=64,lr=0.002,seed=7",
        "hidden=128,lr=0.002,seed=7",
    ]
    assert some.trials[3].settings == {"hidden": 128, "lr": 0.002}
    assert [one.name for one in Grid({}, (3,)).trials] == ["seed=3"]


def test_names_are_safe_on_every_file_system_and_no_two_are_alike() -> None:
    values = {
        "own_inputs": (0.1, 0.30000000000000004, 0.3),
        "lr": (1e-12, 1.0, 1000000.0),
        "clock": (True, False),
        "cell": ("tanh", "lstm"),
    }
    names = [one.name for one in Grid(values, (0, (1 << 64) - 1)).trials]
    assert set("".join(names)) <= SAFE
    assert len({name.lower() for name in names}) == len(names) == 72
    assert "own-inputs=0.3,lr=1,clock=no,cell=tanh,seed=0" in names


def test_a_name_that_would_be_too_long_is_cut_and_still_tells_runs_apart() -> None:
    many: dict[str, tuple[float, ...]] = dict.fromkeys(
        ("dropout", "dropconnect", "blank", "own_inputs", "weight_decay", "clip", "minutes"),
        (0.30000000000000004, 0.20000000000000004),
    )
    names = [one.name for one in Grid(many, (0, 1)).trials]
    assert len(set(names)) == 256
    assert max(map(len, names)) <= grid.LONGEST
    assert all(name.endswith(("seed=0", "seed=1")) for name in names)


@pytest.mark.parametrize(
    ("typed", "seeds"),
    [("0-4", (0, 1, 2, 3, 4)), ("1,5,7", (1, 5, 7)), ("0-1,9", (0, 1, 9)), ("3", (3,))],
)
def test_seeds_are_ranges_and_numbers(typed: str, seeds: tuple[int, ...]) -> None:
    assert Seeds().plain(Seeds().read(typed)) == seeds


@pytest.mark.parametrize("typed", ["", "4-0", "-1", "1,1", "0-9999999999999999999999", "x", "1-"])
def test_what_is_no_seeds(typed: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Seeds().plain(Seeds().read(typed))


def test_a_row_comes_back_as_it_was() -> None:
    for one in (made("a", 0, 1.25, hidden=3), made("b", 1, None, clock=True)):
        assert grid.from_json(json.loads(json.dumps(one.as_json()))) == one
    row = made("a", 0, 1.25, hidden=3).as_json()
    first = ["schema", "name", "settings", "seed", "best", "model", "seconds"]
    assert list(row)[:7] == first
    assert row["best"] == {"step": 10, "nats_per_character": 1.25}
    newer = row | {"later": 1, "best": row["best"] | {"later": 1, "name": "b"}}
    assert grid.from_json(newer) == made("a", 0, 1.25, hidden=3), "other fields change nothing"


def test_messages_arrive_whole_however_long_they_are(tmp_path: Path) -> None:
    sent: list[dict[str, object]] = [{"a": "x" * 200_000}, {"b": 1}, {"c": "\udc80"}]
    path = tmp_path / "messages"
    with path.open("wb") as file:
        for one in sent:
            json_lines.write(file.fileno(), one)
            file.write(b"a greeting\n\n[1]\n")  # from another module
            file.flush()
    with path.open("rb") as file:
        assert list(processes.read(file.fileno())) == sent


def test_a_worker_elsewhere_names_a_damaged_file_as_the_user_does(tmp_path: Path) -> None:
    corpus = tmp_path / "names.txt"
    corpus.write_text("anna\nbob\nclara\n" * 9)
    packed = Material(files=(str(corpus),), contents={str(corpus): corpus.read_bytes()})
    task = Task(Trial("seed=0", {}, 0), {"hidden": 3}, "sweep/seed=0.npz")
    result, _ = processes.make((task, b"no model"), packed)
    assert result.error is not None
    assert result.error.startswith("sweep/seed=0.npz is not a charrnn model")


def test_settings_are_ranked_by_their_mean_and_told_with_their_spread() -> None:
    results = [
        made("a", 0, 1.0, hidden=64),
        made("b", 0, 1.25, hidden=128),
        made("c", 1, 2.0, hidden=64),
        made("d", 1, 1.25, hidden=128),
        made("e", 0, 0.5, hidden=256),
        made("f", 1, None, hidden=256),
    ]
    first, second, third = standings(results)
    assert (first.name, first.nats_per_character, first.spread) == ("hidden=128", 1.25, 0.0)
    assert (second.name, second.nats_per_character) == ("hidden=64", 1.5)
    assert second.spread == pytest.approx(0.5**0.5)
    assert (third.name, third.failed, third.spread) == ("hidden=256", 1, None)
    best = best_of(results)
    assert best is not None
    assert best.name == "e"


def test_the_commands_to_type_next_name_the_best_run_of_the_best_combination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = made("a", 0, 1.0, hidden=64), made("b", 0, 1.4, hidden=128)
    again = made("c", 1, 2.0, hidden=64), made("d", 1, 1.2, hidden=128)
    corpus = record_of(corpora.from_texts(WORDS), CorpusConfig(), {})  # of no file
    assert [*next_lines([*runs, *again], corpus)] == []  # no model files
    for name in "abcd":
        Path(f"{name}.npz").touch()
    lines = [*next_lines([*runs, *again], corpus)]
    assert lines == ["charrnn sample -m d.npz -n 10"]
    assert [*next_lines([made("f", 1, None, hidden=256)], corpus)] == []


def test_where_counts_are_mixed_in_it_is_all_together_that_is_compared() -> None:
    alone = made("a", 0, 1.5, counts=False)
    parts = {"network": {"nats_per_character": 1.5}, "both": {"nats_per_character": 1.25}}
    both = Result("b", {"counts": True}, 0, 10, 1.5, "b.npz", 1.0, "epochs", parts=parts)
    assert best_of([alone, both]) == both


def test_half_a_row_is_none_and_the_next_one_takes_its_place(tmp_path: Path) -> None:
    there = Folder(tmp_path)
    there.add(made("a", 0, 1.0, hidden=3))
    there.add(made("b", 0, 2.0, hidden=5))
    rows = tmp_path / "sweep.jsonl"
    whole = rows.read_bytes()
    for cut in range(1, len(whole.splitlines(keepends=True)[1]), 29):
        rows.write_bytes(whole[:-cut])
        again = Folder(tmp_path)
        again.read_rows()
        assert list(again.results) == ["a"]
        assert rows.read_bytes() == whole[:-cut], "who only looks changes nothing"
        again.add(made("b", 0, 2.0, hidden=5))
        assert rows.read_bytes() == whole


def test_a_line_that_is_no_row_is_told(tmp_path: Path) -> None:
    there = Folder(tmp_path)
    there.add(made("a", 0, 1.0, hidden=3))
    rows = tmp_path / "sweep.jsonl"
    whole = rows.read_bytes()
    forged = [
        whole.replace(before, after)
        for before, after in (
            (b'"seed": 0', b'"seed": 1e999'),
            (b'"seconds": 1.5', b'"seconds": 1' + b"0" * 400),
            (b'"seconds": 1.5', b'"seconds": NaN'),
            (b'"step": 10', b'"step": "x"'),
            (b'"error": null', b'"error": 5'),
            (b'"error": null', b'"error": null, "parts": {"both": 5}'),
            (b'"error": null', b'"error": null, "parts": {"both": {"nats_per_character": "1"}}'),
        )
    ]
    assert whole not in forged
    others = b"{}\n", b"[1]\n", b"nonsense\n", b"\xff\n", b'{"schema": "other"}\n'
    for line in (*others, *forged):
        rows.write_bytes(line + rows.read_bytes().split(b"\n", 1)[-1])
        with pytest.raises(ResumeError, match="line 1 is not a row"):
            Folder(tmp_path).read_rows()


@pytest.mark.parametrize(
    "damage",
    [
        {"seed": math.inf},
        {"model": 5},
        {"error": []},
        {"stopped": None},
        {"best": {"step": "x", "nats_per_character": 1.0}},
        {"settings": {"batch": "x"}},
        {"settings": {"bptt": [1]}},
        {"settings": {"unknown": 1}},
        {"parts": {"both": 1}},
        {"parts": {"both": {"nats_per_character": "x"}}},
        {"parts": [1]},
    ],
    ids=str,
)
def test_53_a_row_with_a_value_of_another_type_is_told(
    tmp_path: Path, damage: dict[str, Any]
) -> None:
    row = json.dumps(made("a", 0, 1.0, hidden=3).as_json() | damage)
    (tmp_path / "sweep.jsonl").write_text(f"{row}\n")
    with pytest.raises(ResumeError, match="line 1 is not a row"):
        Folder(tmp_path).read_rows()


def test_a_run_that_failed_by_chance_is_made_again_and_one_that_diverged_is_not(
    tmp_path: Path,
) -> None:
    there = Folder(tmp_path)
    there.add(made("a", 0, None, lr=1000.0))
    there.add(grid.failure(Trial("b", {}, 0), "the disk was full"))
    again = Folder(tmp_path)
    again.read_rows()
    assert (again.is_done("a"), again.is_done("b"), again.is_done("c")) == (True, False, False)


@pytest.mark.parametrize("error", [None, CorpusError("it is gone", "")])
def test_the_seconds_of_a_run_are_its_own_and_not_those_of_reading_the_corpus(
    error: CorpusError | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    class Slow(Splits):
        def with_baselines(self, seed: int) -> Split:
            nonlocal now
            now += 1000.0
            if error is not None:
                raise error
            return super().with_baselines(seed)

    monkeypatch.setattr(sweep_run, "time", SimpleNamespace(monotonic=lambda: now))
    learning = {"hidden": 3, "layers": 1, "epochs": 1, "batch": 2, "bptt": 4}
    task = Task(Trial("a", {}, 0), learning, str(tmp_path / "a.npz"))
    steps = 0
    for event in make_run(task, Slow(TEXTS)):
        if isinstance(event, Advanced):
            steps += 1
            now += 1.0
        else:
            assert event.result.seconds == (steps if error is None else 1000.0)
    assert (steps > 0) == (error is None)


def test_a_stopped_run_keeps_settings_that_would_now_be_fitted_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning = {"hidden": 3, "layers": 1, "epochs": 1, "batch": 2, "bptt": 4}
    task, splits = Task(Trial("a", {}, 0), learning, str(tmp_path / "a.npz")), Splits(TEXTS)
    stopped = make_run(task, splits)
    assert all(isinstance(next(stopped), Advanced) for _ in range(3))
    stopped.close()
    lr = charrnn.load(task.model).config.lr
    monkeypatch.setattr(plan, "TANH", replace(plan.TANH, lr=plan.TANH.lr / 2))
    *_, ended = make_run(task, splits)
    assert isinstance(ended, Ended)
    assert ended.result.error is None
    assert charrnn.load(task.model).config.lr == lr
    *_, other = make_run(Task(task.trial, {**learning, "hidden": 4}, task.model), splits)
    assert isinstance(other, Ended)
    assert "hidden 4 contradicts" in str(other.result.error)


def test_a_corpus_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(WORDS))
    before = Splits(Material(("names.txt",), files=(str(names),))).of(0).corpus.fingerprint
    names.write_text("\n".join(WORDS[1:]))
    after = Material(("names.txt",), files=(str(names),), fingerprint=before)
    with pytest.raises(CorpusError, match=r"names.txt has changed since the sweep began"):
        Splits(after).of(0)


def test_settings_that_come_to_the_same_are_found() -> None:
    splits = Splits(Material(texts=tuple(WORDS)))
    some = Grid({"batch": (100, 1000), "hidden": (3, 5)}, (0,))
    plans = [plan_settings(one, some, {"epochs": 1}, splits) for one in some.combinations]
    assert [(in_words(a.settings), in_words(b.settings)) for a, b in duplicates(plans)] == [
        ("batch=100,hidden=3", "batch=1000,hidden=3"),
        ("batch=100,hidden=5", "batch=1000,hidden=5"),
    ]


@pytest.mark.usefixtures("millisecond_a_step")
def test_few_networks_are_tried_to_tell_how_long_many_take(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = Splits(Material(texts=tuple(WORDS)))
    some = Grid({"hidden": tuple(range(1, 31)), "lr": (0.1, 0.2)}, (0,))
    plans = [plan_settings(one, some, {"epochs": 2}, splits).plan for one in some.combinations]
    tried = itertools.count()

    def speed(*_: object) -> float:
        next(tried)
        return 1000.0

    monkeypatch.setattr(sweep_run, "characters_per_second", speed)
    found = estimate_seconds(plans, splits.of(0).corpus)
    assert next(tried) <= sweep_run.TRIED
    assert len(found) == 60
    symbols = len(splits.of(0).corpus.train.ids)
    assert found[0] == pytest.approx(2 * symbols / 1000, rel=0.5)
    assert found[:-2] <= found[2:], "larger ones do not take less"


def test_names_and_values_from_python_are_checked() -> None:
    for tried, what in (
        ({"hiden": [1]}, "hiden cannot be tried"),
        ({"seed": [1]}, "seed cannot be tried"),
        ({"hidden": [0]}, "hidden cannot be 0"),
        ({"hidden": [3, 3]}, "hidden 3 is repeated"),
        ({"hidden": []}, "hidden has no value"),
    ):
        with pytest.raises(SettingError, match=what):
            grid_of(tried, [0])
    with pytest.raises(SettingError, match="seed cannot be -1"):
        grid_of({}, [-1])
    assert name_of({"hidden": grid_of({"hidden": [3]}, [0]).tried["hidden"][0]}) == "hidden=3"


def test_a_sweep_from_python_comes_to_the_models_of_its_runs_and_goes_on(tmp_path: Path) -> None:
    config = TrainConfig(hidden=3, layers=1, epochs=1, batch=2, bptt=4)
    folder = tmp_path / "sweep"
    first = charrnn.sweep(
        WORDS, {"lr": [0.01, 0.02]}, folder=folder, seeds=[4], config=config, processes=1
    )
    assert next(first).name == "lr=0.01,seed=4"
    first.close()  # type: ignore[attr-defined]
    rest = charrnn.sweep(
        WORDS, {"lr": [0.01, 0.02]}, folder=folder, seeds=[4], config=config, resume=True
    )
    (second,) = list(rest)
    assert (second.name, second.error) == ("lr=0.02,seed=4", None)
    run = charrnn.train(WORDS, TrainConfig(**{**vars(config), "lr": 0.02, "seed": 4}))
    for _ in run:
        pass
    kept = charrnn.load(folder / "lr=0.02,seed=4.npz")
    assert kept.parameters.flat.tobytes() == run.model.parameters.flat.tobytes()
    assert kept.score(["anna"]).nats == run.model.score(["anna"]).nats


def test_a_sweep_from_python_refuses_what_it_cannot_do_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "hidden=3,seed=0.npz").write_text("mine")
    with pytest.raises(SaveError, match=r"hidden=3,seed=0.npz already exists"):
        next(charrnn.sweep(WORDS, {"hidden": [3]}, folder=tmp_path))
    with pytest.raises(SettingError, match="a str is one text"):
        charrnn.sweep("anna", {"hidden": [3]}, folder=tmp_path)
    with pytest.raises(SettingError, match="hidden is tried, and also has"):
        charrnn.sweep(WORDS, {"hidden": [3]}, folder=tmp_path, config=TrainConfig(hidden=5))
    with pytest.raises(SettingError, match="layers 2 is too many"):
        charrnn.sweep(WORDS, {"layers": [1, 2], "cell": ["tanh", "output"]}, folder=tmp_path)
    with pytest.raises(SettingError, match="nothing is held out"):
        charrnn.sweep(WORDS, {"hidden": [3]}, folder=tmp_path, holdout=0.0)
    odd: Any = {"epochs": 1}
    with pytest.raises(SettingError, match="config cannot be dict"):
        charrnn.sweep(WORDS, {"hidden": [3]}, folder=tmp_path, config=odd)
    for odd in (-1, 0, 1.5, "2", True):
        with pytest.raises(SettingError, match="processes cannot be"):
            charrnn.sweep(WORDS, {"hidden": [3]}, folder=tmp_path, processes=odd)
    for odd in ([("hidden", [3])], "hidden", None):
        with pytest.raises(SettingError, match="the values to try cannot be"):
            charrnn.sweep(WORDS, odd, folder=tmp_path)
    assert (tmp_path / "hidden=3,seed=0.npz").read_text() == "mine"


def test_one_value_by_itself_is_no_list() -> None:
    for tried, seeds in (({"hidden": 4}, (0,)), ({"hidden": [4]}, 3), ({"cell": "gru"}, (0,))):
        with pytest.raises(SettingError, match="is not a list"):
            grid_of(tried, seeds)

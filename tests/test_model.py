"""From Python: fit, sample, score, save, load."""

import copy
import math
import os
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import astuple, replace
from functools import partial
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.errors import ResumeError, SaveError, SettingError
from charrnn.prediction.unfold import unfold
from charrnn.system.packaged import model_at
from tests.networks import model_of
from tests.program import Program

TEXTS = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna"] * 4
CONFIG = charrnn.TrainConfig(hidden=16, layers=1, epochs=3)


@pytest.fixture(scope="module")
def model() -> charrnn.Model:
    return charrnn.fit(TEXTS, CONFIG)


def test_what_is_announced_is_there_and_shows_itself_in_a_line(model: charrnn.Model) -> None:
    assert {*charrnn.__all__} <= {*dir(charrnn)}
    assert dir(charrnn) == sorted({*dir(charrnn)})  # where some were used already, too
    with pytest.raises(AttributeError):
        _ = charrnn.nothing  # type: ignore[attr-defined]  # which checkers of types notice, too
    symbols = model.vocabulary.symbols
    shown = rf"<charrnn.Model: 1 x 16 tanh units, {symbols} symbols, .* nats per character>"
    assert re.fullmatch(shown, repr(model))
    assert repr(charrnn.fit(TEXTS, CONFIG, holdout=0)).endswith(" symbols>")  # no loss is known
    score = model.score(["anna", "bob"])
    mean = f"{score.nats_per_character:.4f} nats per character, {score.nats:.1f} nats"
    assert repr(score) == f"<charrnn.Score: {mean} for 7 characters and 2 ends>"
    assert repr(model.score(["a"])).endswith(" for 1 character and 1 end>")


def test_a_run_tells_its_events_and_ends_in_the_model_of_fit(model: charrnn.Model) -> None:
    run = charrnn.train(TEXTS, CONFIG)
    events = list(run)
    assert isinstance(events[-1], charrnn.Done)
    assert any(isinstance(event, charrnn.Checkup) for event in events)
    assert sum(isinstance(event, charrnn.Step) for event in events) == run.checkpoint.state.step
    best = run.checkpoint.state.best
    assert best is not None
    np.testing.assert_array_equal(run.model.parameters.flat, best.flat)
    np.testing.assert_array_equal(run.model.parameters.flat, model.parameters.flat)


def test_logits_begin_anew_after_an_end_and_take_ids_alone(model: charrnn.Model) -> None:
    for one in (model, model_of("ahn", hidden=5, clock=True, ends="length", scale=0.5)):
        ids = one.vocabulary.encode("hanna").astype(int)
        o = one.logits([0, *ids])
        unfolded = unfold(one.language_model, "hanna").output.values
        np.testing.assert_allclose(o, unfolded["logit"], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(one.logits([0, *ids, 0, *ids])[6:], o)
    for wrong in ([10**6], [-1], [1.7], [[1]], ["a"], "Thor"):
        with pytest.raises(SettingError, match="ids are"):
            model.logits(wrong)  # type: ignore[arg-type]


def test_a_slim_model_draws_and_scores_the_same(tmp_path: Path, model: charrnn.Model) -> None:
    model.save(tmp_path / "whole.npz")
    for whole in (model, charrnn.load(tmp_path / "whole.npz")):
        whole.export(tmp_path / "slim.npz", force=True)
        with pytest.raises(charrnn.CharrnnError, match="is there already"):  # though it is ours
            whole.export(tmp_path / "slim.npz")
        loaded = charrnn.load(tmp_path / "slim.npz")
        assert loaded.score(TEXTS).nats == pytest.approx(model.score(TEXTS).nats, rel=1e-3)
        assert loaded.trained.best == model.trained.best
        sizes = [(tmp_path / name).stat().st_size for name in ("slim.npz", "whole.npz")]
        assert sizes[0] < sizes[1] / 2.5


def test_fault_63_a_model_that_was_loaded_is_copied_with_its_run(trained: Program) -> None:
    (trained / "below").mkdir()
    charrnn.load("model.npz").save("again.npz")
    assert Path("again.npz").read_bytes() == Path("model.npz").read_bytes()
    run, fitted = charrnn.resume("model.npz", epochs=2), charrnn.fit(Path("names.txt"), CONFIG)
    those: list[Any] = [charrnn.load("model.npz"), run, fitted]
    os.chdir("below")
    for number, one in enumerate(those):
        one.save(f"{number}.npz")
        assert charrnn.load(f"{number}.npz").corpus.sources == (os.path.join("..", "names.txt"),)
        assert list(charrnn.resume(f"{number}.npz", epochs=4))
    charrnn.load("dinosaurs").save("c.npz")
    assert Path("c.npz").read_bytes() == Path(model_at("dinosaurs")).read_bytes()


def test_fault_63_any_other_model_is_saved_without_a_run(trained: Program) -> None:
    loaded = charrnn.load("model.npz")
    other = charrnn.load("model.npz")
    other.parameters.flat[0] += 1e-6
    copied = loaded.trained.model.parameters.copy()
    renewed = replace(loaded.trained, model=replace(loaded.language_model, parameters=copied))
    run = charrnn.train(TEXTS, CONFIG)
    next(run)
    fitted = charrnn.fit(TEXTS, CONFIG)
    fitted.parameters.flat[0] += 1e-6
    for number, model in enumerate((other, run.model, charrnn.Model(renewed), fitted)):
        path = Path(f"{number}.npz")
        model.save(path)
        again = charrnn.load(path)
        np.testing.assert_array_equal(again.parameters.flat, model.parameters.flat)
        assert again.score(TEXTS).nats == model.score(TEXTS).nats
        with pytest.raises(ResumeError, match="is slim"):
            charrnn.resume(path, TEXTS)
        before = path.read_bytes()
        again.save(path)
        assert path.read_bytes() == before
        again.export("small.npz", force=True)
        told = [trained.run("info", "-m", name).out for name in (str(path), "small.npz")]
        assert ["(charrnn export)" in info for info in told] == [False, True]
        with pytest.raises(SaveError, match="holds a run that can be resumed, this model none"):
            again.save("model.npz")
    assert charrnn.load("0.npz").corpus.sources == ("names.txt",)
    assert charrnn.load("0.npz").score(TEXTS).nats != loaded.score(TEXTS).nats
    Path("model.npz").unlink()
    loaded.save("gone.npz")  # its run is gone with the file
    assert charrnn.load("gone.npz").score(TEXTS).nats == loaded.score(TEXTS).nats


def test_a_path_is_read_as_the_command_line_reads_it(program: Program) -> None:
    program.write("verses.txt", "a rose, you say,\nis very red today.\n\n" * 20)
    line = ("--hidden", "16", "--layers", "1", "--epochs", "3", "--cores", "1", "-q")
    assert program.run("train", "verses.txt", *line).status == 0
    model = charrnn.fit(program / "verses.txt", CONFIG)
    assert model.corpus.examples_are == "paragraphs"
    there = charrnn.load(program / "model.npz")
    np.testing.assert_array_equal(model.parameters.flat, there.parameters.flat)


def test_fault_47_a_run_on_a_list_has_a_file_once_that_is_given(program: Program) -> None:
    program.write("texts.txt", "\n".join(TEXTS) + "\n")
    charrnn.fit(TEXTS, CONFIG).save("model.npz")
    with pytest.raises(ResumeError, match="trained on texts from Python"):
        charrnn.resume("model.npz")
    program.run("train", "texts.txt", "--examples=lines", "--resume", "--epochs=4").says()
    assert program.run("eval", "--json").status == 0
    for texts in (None, TEXTS, program / "texts.txt", [program / "texts.txt"]):
        run = charrnn.resume("model.npz", texts, epochs=5)
        assert sum(isinstance(event, charrnn.Step) for event in run) > 0
    program.run("train", "--resume", "--epochs", "5").says()
    assert program.run("train", "names.txt", "--resume", "--epochs", "6").status == 1


def test_copies_and_pickles_of_a_model_are_whole(model: charrnn.Model) -> None:
    for again in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        p = again.parameters
        assert np.array_equal(p.flat, model.parameters.flat)
        assert again.sample(3, seed=1) == model.sample(3, seed=1)
        assert all(np.shares_memory(array, p.flat) for array in p.values())
    gradient = copy.deepcopy(model.parameters)
    gradient.flat[...] = 0
    assert not any(array.any() for array in gradient.values())
    assert model.parameters.flat.any()


class Coloured(str):
    """A text with escape codes, whose length is that of what a terminal shows."""

    def __len__(self) -> int:
        return 1


def test_scores_are_those_of_each_text_on_any_cores(model: charrnn.Model) -> None:
    texts = ["anna", "", "Жanna", "a\nb", "hanna" * 40]
    for text, score in zip(texts, model.scores(texts), strict=True):
        assert astuple(score) == pytest.approx(astuple(model.score([text])), rel=1e-9)
    anna = model.score("anna")
    assert astuple(model.scores("anna")[0]) == pytest.approx(astuple(anna))
    assert model.score(Coloured("anna")) == anna
    found = model.surprisal("hanna")
    assert (found.text, len(found.nats), len(found.ranks)) == ("hanna", 6, 6)
    assert math.fsum(found.nats) == model.score("hanna").nats
    many = [f"{word}{number}" for number in range(6_000) for word in ("an", "bob", "")]
    assert model.scores(many, 2) == model.scores(many)
    assert model.score(many, None, 2) == model.score(many)
    assert model.scores([], cores=2) == model.scores([]) == []
    with pytest.raises(SettingError, match="cores cannot be 0"):
        model.scores(texts, cores=0)


def test_a_model_of_a_run_stays_what_it_was_when_it_was_asked_for(tmp_path: Path) -> None:
    run = charrnn.train(TEXTS, charrnn.TrainConfig(hidden=8, layers=1, epochs=8, check_every=4))
    models = [run.model for _ in islice(run, 5)]  # the last is asked for after a check-up
    then = [model.score(["anna"]).nats for model in models]
    list(run)
    models[-1].save(tmp_path / "model.npz")
    models.append(charrnn.load(tmp_path / "model.npz"))
    now = [model.score(["anna"]).nats for model in models]
    assert now == pytest.approx([*then, then[-1]], rel=1e-4)


@pytest.mark.parametrize("wrong", [None, b"anna", 1, {"a": 1}, StringIO("anna\n"), np.array(1)])
def test_faults_17_and_52_what_is_no_text_is_refused(model: charrnn.Model, wrong: Any) -> None:
    for function in (model.score, model.scores, model.embed, charrnn.train, charrnn.fit):
        with pytest.raises(SettingError, match="texts cannot be"):
            function(wrong)
    given: Any = 0 if wrong is None else wrong  # None would be a default
    for act, said in (
        (partial(model.sample, prime=wrong), "prime"),
        (partial(model.sample, not_in=given), "not_in cannot be"),
        (partial(model.sample, known_words=given), "known_words cannot be"),
        (partial(charrnn.fit, ["anna"], None, given), "progress cannot be"),
        (partial(model.surprisal, wrong), "text cannot be"),
        (partial(model.fill, wrong), "text cannot be"),
        (partial(charrnn.fit, ["anna", wrong]), "a text cannot be"),
    ):
        with pytest.raises(SettingError, match=said):
            act()
    a_list, path = "Give a list of texts", Path("names.txt")
    rows: Any = (
        (charrnn.fit, "names.txt", f"{a_list}, or Path(...) to read a file."),
        (charrnn.fit, iter([path]), "Give texts alone, or a list of paths."),
        (model.score, path, f"{a_list}."),
        (model.score, [path], "Give texts alone."),
        (lambda it: model.sample(not_in=it), "a", f"{a_list}, or Path(...) to read a file."),
    )
    for function, given, hint in rows:
        with pytest.raises(SettingError, match="cannot be") as told:
            function(given)
        assert told.value.hint == hint


def test_fault_68_a_setting_that_is_not_there_names_the_nearest(model: charrnn.Model) -> None:
    wrong: Any
    for function, wrong, near in (
        (partial(charrnn.fit, TEXTS), {"hiden": 8}, "Did you mean hidden?"),
        (charrnn.TrainConfig, {"learning_rate": 8}, "Did you mean lr?"),
        (charrnn.SampleConfig, {"temp": 1}, "Did you mean temperature?"),
        (charrnn.SampleConfig, {"x": 1}, "See help(charrnn.SampleConfig)."),
        (partial(charrnn.train, TEXTS), {"holdot": 0.2}, "Did you mean holdout?"),
        (partial(charrnn.fit, TEXTS, CONFIG), {"x": 3}, "See help(charrnn.train)."),
        (model.sample, {"temprature": 0.5}, "Did you mean temperature?"),
        (model.stream, {"prim": "a"}, "Did you mean prime?"),
    ):
        with pytest.raises(SettingError, match=f"setting {next(iter(wrong))}$") as told:
            function(**wrong)
        assert told.value.hint == near


def test_fault_68_a_table_is_no_list_of_texts(model: charrnn.Model) -> None:
    class Table(dict[str, list[str]]):
        columns = ("name", "text")

    for function in (model.score, model.scores, model.embed, charrnn.fit):
        with pytest.raises(SettingError, match="texts cannot be Table") as told:
            function(Table(name=["anna"], text=["bob"]))
        assert told.value.hint.startswith("Give one column of the table")


def test_samples_are_chosen_as_the_command_chooses_them(program: Program) -> None:
    program.train("names.txt", "--epochs", "3", "--counts")
    model = charrnn.load(program / "model.npz")
    known = (program / "names.txt").read_text().split()
    for line, how in (
        (["--novel"], {"novel": True}),
        (["--not-in", "names.txt"], {"not_in": known}),
        (["--not-in", "names.txt"], {"not_in": Path("names.txt")}),
        (["--unique", "-t", "0.5"], {"unique": True, "temperature": 0.5}),
        (["--shortest", "3", "--longest", "5"], {"shortest": 3, "longest": 5}),
        (["--best"], {"best": True}),
        (["--use", "counts"], {"use": "counts"}),
        (["--best", "-p", "a"], {"best": True, "prime": "a"}),
        (["-p", "a", "-p", "@@b", "-p", "a"], {"prime": ["a", "@b", "a"]}),
        (["--without", "AN", "--without", "o"], {"without": ["an", "O"]}),
        (["--distance", "2", "--best"], {"distance": 2, "best": True}),
        (["--known-words", "-t", "0.5"], {"known_words": True, "temperature": 0.5}),
    ):
        typed = program.run("sample", "-n", "9", "--seed", "1", *line)
        assert typed.status == 0, typed.err
        with chdir(program.folder):
            drawn = model.sample(9, seed=1, **how)
        assert [text.replace("\n", "") for text in drawn] == typed.lines, line
    begun: dict[str, Any] = {"prime": "hann", "temperature": 0.4, "seed": 1}
    assert ["hann" + "".join(model.stream(**begun))] == model.sample(1, **begun)
    for primes, what in (("a", "1 sample"), (["a", "e"], "2 samples")):
        with pytest.raises(charrnn.CharrnnError, match=rf"found only 0 of {what}\b") as found:
            model.sample(1, seed=1, shortest=9, longest=9, prime=primes, top_k=1)
        assert found.value.hint.startswith("Raise temperature")
    with pytest.raises(SettingError, match="without cannot be str"):
        model.sample(without="word")
    with pytest.raises(SettingError, match="distance cannot be 0"):
        model.sample(distance=0)
    with pytest.raises(SettingError, match="a text cannot be int"):
        model.sample(not_in=[1])  # type: ignore[arg-type]


def test_fault_53_a_fitted_model_knows_its_texts_while_it_lives(program: Program) -> None:
    texts = ["a", "b", "Cc"] * 12
    program.write("short.txt", "\n".join(texts))
    lists, files = (charrnn.fit(given, CONFIG) for given in (texts, Path("short.txt")))
    Path("short.txt").unlink()
    run = charrnn.train(texts, CONFIG)
    list(run)
    for model in (lists, files, run.model):
        assert {"a", "b"} & {*model.sample(40, seed=1)}
        for drawn in (model.sample(40, seed=1, novel=True), model.sample(4, seed=1, best=True)):
            assert not {text.strip().casefold() for text in drawn} & {"a", "b", "cc"}
    charrnn.fit(texts, CONFIG, counts=True).save("model.npz")  # without those held out
    counted = charrnn.load("model.npz")
    for mixed in (charrnn.mix(counted, lists), charrnn.mix(lists, counted)):
        assert len(mixed.sample(4, seed=1, novel=True)) == 4  # the list knows all: no warning
    lists.save("model.npz")
    with pytest.raises(charrnn.CharrnnError, match="trained on texts from Python"):
        charrnn.load("model.npz").sample(novel=True)
    with pytest.raises(charrnn.CharrnnError) as told:
        charrnn.load("model.npz").sample(known_words=True)
    hint = "Resume a model that holds its run, with the list named once, by resume."
    assert told.value.hint == hint
    drawn = charrnn.resume("model.npz", texts).model.sample(9, seed=1, known_words=True)
    assert {text.casefold() for text in drawn} <= {"a", "b", "cc"}
    with pytest.warns(UserWarning, match="samples may be copies"):
        charrnn.load("model.npz").sample(best=True)


def test_threads_share_a_model(model: charrnn.Model, pytestconfig: pytest.Config) -> None:
    calls = 400 if pytestconfig.getoption("long") else 40

    def work(number: int) -> tuple[object, ...]:
        texts = TEXTS[number % 8 :][:3]
        return model.sample(2, seed=number), model.score(texts), model.fill("an_a").fillings

    alone = [work(number) for number in range(calls)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(calls))) == alone


def test_a_mixture_draws_and_scores_as_the_command_does(program: Program) -> None:
    for seed, name in enumerate(("a.npz", "b.npz", "c.npz")):
        program.train("names.txt", "--seed", str(seed), "-m", name, *["--counts"][: seed % 2])
    a, b, c = (charrnn.load(program / name) for name in ("a.npz", "b.npz", "c.npz"))
    mixed, line = charrnn.mix(a, b), ("-m", "a.npz", "-m", "b.npz")
    typed = program.run("sample", *line, "-n", "9", "--seed", "1", "--unique", "--novel").lines
    with chdir(program.folder):
        assert mixed.sample(9, seed=1, unique=True, novel=True) == typed
    found = program.run("eval", "names.txt", *line, "--json").rows[0]
    texts = (program / "names.txt").read_text().split()
    assert mixed.score(texts).nats == mixed.score(texts, use="both").nats == found["nats"]
    assert mixed.score(texts, use="network").nats != found["nats"]
    three = charrnn.mix(mixed, c).score("anna").nats
    assert three == pytest.approx(charrnn.mix(a, b, c).score(["anna"]).nats, rel=1e-12)
    assert charrnn.mix(a, c).counts is None
    assert charrnn.mix(a, b).counts is charrnn.mix(b, a).counts is b.counts
    assert repr(mixed) == "<charrnn.Model: a mixture of 2 models>"
    assert charrnn.mix(a) is a
    acts: list[Callable[[], object]] = [partial(mixed.embed, "anna"), partial(mixed.logits, [2])]
    acts += [partial(mixed.save, "x.npz"), partial(mixed.export, "x.npz")]
    for act in acts:
        with pytest.raises(charrnn.CharrnnError, match="a mixture has no network of its own"):
            act()
    wrong: Any
    for wrong in ((), ("a.npz",)):
        with pytest.raises(SettingError, match="there is no model to mix"):
            charrnn.mix(*wrong)
    (program / "names.txt").unlink()  # whose texts are in b, too, but for those held out
    ran = program.run("sample", *line, "-m", "c.npz", "-n", "9", "--novel", "--seed", "1")
    assert (ran.status, ran.err.count("names.txt is gone: samples may be texts that")) == (0, 1)


def test_a_mixture_knows_the_texts_of_all_its_models() -> None:
    size: dict[str, Any] = {"hidden": 3, "layers": 1, "epochs": 1, "holdout": 0.0}
    a, b = (charrnn.fit([text, "abc"] * 9, **size) for text in ("a", "b"))
    for mixed in (charrnn.mix(a, b), charrnn.mix(b, a)):
        drawn = mixed.sample(60, seed=1, longest=2, novel=True)
        assert {"c"} < {*drawn} <= {x + y for x in "abc" for y in ["", *"abc"]} - {"a", "b"}

"""Exported files draw the texts of the slim file, and hold nothing of the corpus."""

import json
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.errors import CharrnnError, SettingError
from charrnn.export.c_header import escaped, prefix_for
from charrnn.export.write import ExportOptions, export
from charrnn.model import Model
from charrnn.prediction.predictor import EVEN
from charrnn.prediction.sampling import SampleConfig, Sampler
from tests.browser import ask
from tests.networks import CHARACTERS, LABELS, MODELS, model_of
from tests.program import Program

HERE = Path(__file__).parent
# A seed, a temperature, how many texts, a prime; at 0 all are alike, and long
DRAWN = [(0, 1.0, 40, ""), (2**64 - 1, 0.7, 40, "ab"), (1, 1.7, 40, "😀?é")]
DRAWN += [(1, 0.0, 1, "b"), (5, 0.001, 1, "a")]
SEED = 3  # of weights that draw some characters, of each head


def slim(model: Model, folder: Path) -> Model:
    model.export(folder / "small.npz", force=True)
    return charrnn.load(folder / "small.npz")


def in_javascript(model: Model, expression: str) -> Any:
    """Return the value of an expression about the model of an exported module."""
    module = export(model.trained, ".mjs", ExportOptions()).decode()
    script = module.partition("export {")[0]
    return ask(f"(() => {{ {script}; return {expression}; }})()")


def refusal(model: Model, call: str) -> str:
    """Return the message of the error that a call of a method of the model throws."""
    script = f"(() => {{ try {{ return model.{call}; }} catch (e) {{ return e.message; }} }})()"
    return str(in_javascript(model, script))


@pytest.mark.parametrize(("number", "labels"), [*enumerate([None, LABELS] * 3)])
def test_a_module_draws_as_python(number: int, labels: list[str] | None, tmp_path: Path) -> None:
    model = model_of(**MODELS[number], seed=SEED, labels=labels)
    small = slim(model, tmp_path)
    ways: list[Any] = [(s, n, {"temperature": t, "prime": prime}) for s, t, n, prime in DRAWN]
    ways.append((7, 30, {"unique": True, "shortest": 2}))
    for label in (None, *small.labels):
        given = {} if label is None else {"label": label}
        for seed, count, how in ways if label is None else (ways[2], ways[-1]):
            options = f"{{ seed: '{seed}', number, ...{json.dumps(given | how)} }}"
            each = f"Array.from({{ length: {count} }}, (_, number) => model.sample({options}))"
            assert in_javascript(model, each) == small.sample(count, seed=seed, label=label, **how)
        script = f"model.score('abé?Ж', {json.dumps(given)}.label)"
        nats = small.surprisal("abé?Ж", label=label).nats
        np.testing.assert_allclose(in_javascript(model, script), nats)
    assert in_javascript(model, r"model.asRead('a\rb\r\nc')") == "a\nb\nc"
    if labels:
        assert in_javascript(model, "model.labels") == small.labels
        script = "Array.from({ length: 60 }, (_, number) => model.labelOf(7, number))"
        expected = Sampler(small.predictor(), SampleConfig(seed=7)).labels_of(range(60))
        assert in_javascript(model, script) == expected
        assert {*expected} == {*small.labels}


def test_a_module_refuses_a_label_that_it_does_not_know() -> None:
    kinds, plain = model_of(labels=["b", "a"], **MODELS[0]), model_of(**MODELS[0])
    for call in ("sample({ label: 'c' })", "score('', 'c')"):
        assert refusal(kinds, call) == "there is no label c; there are a, b"
    assert refusal(kinds, "sample({ label: 0 })") == "label cannot be 0"
    assert refusal(plain, "sample({ label: 'a' })").startswith("there is no option label")
    assert refusal(plain, "score('', 'a')") == "there is no label a; there are none"


def test_fault_68_a_module_takes_lengths_and_refuses_other_options(tmp_path: Path) -> None:
    model = model_of(**MODELS[0])
    options = "{ seed: 1, shortest: 3, longest: 5, prime: undefined, number }"
    each = f"Array.from({{ length: 50 }}, (_, number) => model.sample({options}))"
    drawn = slim(model, tmp_path).sample(50, seed=1, shortest=3, longest=5)
    assert in_javascript(model, each) == drawn
    message = "there is no option topK; there are prime, shortest, longest, temperature, seed"
    assert refusal(model, "sample({ topK: undefined })").startswith(message)
    for name, odd in (("seed", -1), ("seed", 2**53), ("number", 1.5)):
        assert refusal(model, f"sample({{ {name}: {odd} }})") == f"{name} cannot be {odd}"
    for wrong in ("5", "'ab'", "null"):
        said = f"options have names, such as {{ number: 5 }}: {wrong.strip(chr(39))} has none"
        assert refusal(model, f"sample({wrong})") == said
    assert len({*in_javascript(model, "Array.from({ length: 9 }, () => model.sample())")}) > 1


def test_fault_69_unique_in_a_module_draws_what_python_draws(tmp_path: Path) -> None:
    model = model_of("ab", **MODELS[0])
    small = slim(model, tmp_path)
    for how in ({}, {"prime": "a"}, {"shortest": 2, "longest": 8}, {"temperature": 0.7}):
        options = f"{{ seed: 1, unique: true, number, ...{json.dumps(how)} }}"
        each = f"Array.from({{ length: 40 }}, (_, number) => model.sample({options}))"
        drawn = small.sample(40, seed=1, unique=True, **how)
        assert in_javascript(model, each) == drawn
        assert drawn != small.sample(40, seed=1, **how)
        backwards = in_javascript(model, each.replace("number, ...", "number: 39 - number, ..."))
        assert backwards == drawn[::-1]
    ways: list[Any] = [{"temperature": 2}, {"temperature": 0.7}, {"longest": 3}, {"shortest": 9}]
    options = "{ seed: 1, unique: true, number: 9, ...how }"
    found = in_javascript(model, f"{json.dumps(ways)}.map((how) => model.sample({options}))")
    assert found == [small.sample(10, seed=1, unique=True, **how)[9] for how in ways]
    assert refusal(model, "sample({ unique: true })") == "unique needs a seed"
    assert refusal(model, "sample({ unique: 1, seed: 1 })") == "unique cannot be 1"
    said = refusal(model, "sample({ unique: true, seed: 1, longest: 1, number: 9 })")
    assert said == "none of 101 attempts has such a length and is new"


needs_cc = pytest.mark.skipif(not shutil.which("c++"), reason="there is no compiler of C and C++")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def compiled(folder: Path, program: str | Path, *compiler: str, **models: Model) -> Path:
    """Return the path of a program around the headers of models, by their prefixes."""
    for prefix, model in models.items():
        header = export(model.trained, ".h", ExportOptions(prefix=prefix))
        assert header.isascii()
        (folder / f"{prefix}.h").write_bytes(header)
    text = program if isinstance(program, str) else program.read_text("utf-8")
    (folder / "main.c").write_text(text, "utf-8")
    subprocess.run([*compiler, "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
    return folder / "main"


def printed(*line: str | Path) -> list[str]:
    """Return the lines that a program prints, which must succeed."""
    return subprocess.run(line, capture_output=True, check=True).stdout.decode().split("\n")[:-1]


@needs_cc
@pytest.mark.parametrize(("number", "labels"), [*enumerate([LABELS, None, None] * 2)])
def test_a_header_draws_as_python(number: int, labels: list[str] | None, tmp_path: Path) -> None:
    model = model_of(**MODELS[number], seed=SEED, labels=labels)
    compiler = ("cc", "-std=c99", "-O2", *STRICT, *["-DOF_LABELS"] * bool(labels))
    main = compiled(tmp_path, HERE / "draw.c", *compiler, names=model)
    small = slim(model, tmp_path)
    places = [("-1", None), ("4", None), *((str(i), s) for i, s in enumerate(small.labels))]
    of_labels = product(places[1:], DRAWN[1:2])
    unlabelled = product([places[0] if labels else ("", None)], DRAWN)
    for (place, label), drawing in (*unlabelled, *(of_labels if labels else ())):
        seed, temperature, count, prime = drawing
        config = SampleConfig(seed=seed, temperature=temperature)
        drawn = list(Sampler(small.predictor(), config, prime, label).samples(range(count)))
        shown = [f"{one.label}|" * bool(labels) + one.text.removeprefix(prime) for one in drawn]
        line = [str(seed), str(temperature), str(count), *filter(None, [place])]
        assert printed(main, *line, *(str(ord(character)) for character in prime)) == shown
        assert label or not labels or count < 40 or {one.label for one in drawn} == {*labels}


@needs_cc
@pytest.mark.parametrize("compiler", [["cc", "-std=c99"], ["c++", "-x", "c++", "-std=c++11"]])
def test_headers_of_several_models_share_a_type(tmp_path: Path, compiler: list[str]) -> None:
    names, towns = model_of("ab", **MODELS[0]), model_of("abc", labels=LABELS, **MODELS[-1])
    expected = []
    for model in (names, towns):
        small = slim(model, tmp_path)
        for label in (None, *model.labels):
            for text in small.sample(9, seed=1, prime="a", label=label):
                rest = f"{ord(text[1])} {text[2:]}" if text[1:] else "-1 "
                expected.append(f"{label or ''} {rest}")
    main = compiled(tmp_path, HERE / "several.c", *compiler, *STRICT, names=names, towns=towns)
    assert printed(main) == expected


@needs_cc
@pytest.mark.parametrize(
    ("text", "size"), [(CHARACTERS, MODELS[0]), ("😀🦕𝒳", MODELS[5])], ids=["mixed", "four bytes"]
)
def test_fault_61_no_byte_is_too_many(tmp_path: Path, text: str, size: dict[str, Any]) -> None:
    model = model_of(text, **size, seed=SEED)
    careful = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    main = compiled(tmp_path, HERE / "buffers.c", "cc", "-std=c99", "-O1", *careful, names=model)
    drawn = slim(model, tmp_path).sample(40, seed=1)
    assert any(text.endswith("😀") for text in drawn)
    assert {len(text.encode()) for text in drawn} & {4, 8, 12, 16}  # as long as a buffer
    # A character and the 0 after it may need five bytes: smaller buffers stay empty.
    assert printed(main) == [""] * 4 * 40 + drawn * 16


@needs_cc
@pytest.mark.parametrize(("standard", "labels"), [("c++11", LABELS), ("c++20", None)])
def test_fault_69_the_example_in_a_header_draws_what_python_draws_without_repeats(
    tmp_path: Path, standard: str, labels: list[str] | None
) -> None:
    model = model_of(cell="lstm", ends="halt", layers=2, hidden=3, labels=labels)
    header = export(model.trained, ".h", ExportOptions(prefix="names", name="the-names")).decode()
    example = re.search(
        r' {7}#define NAMES_IMPL\w+\n +#include "the-names.h".*?\n {7}}\n', header, re.DOTALL
    )
    assert example is not None
    assert "\n   sample --seed" in header
    assert "2 layers of 3 lstm units" in header
    (tmp_path / "the-names.h").symlink_to("names.h")
    program = example[0].replace("< 10;", "< 60;")
    compiler = ("c++", "-x", "c++", f"-std={standard}", *STRICT)
    main = compiled(tmp_path, program, *compiler, names=model)
    small = slim(model, tmp_path)
    assert len({*small.sample(60, seed=1, temperature=0.8)}) < 60
    assert printed(main) == small.sample(60, seed=1, temperature=0.8, unique=True)


@pytest.mark.parametrize("ends", ["symbol", "halt", "length"])
def test_a_slim_file_keeps_labels_and_what_they_change(ends: str, tmp_path: Path) -> None:
    model = model_of(cell="gru", ends=ends, layers=1, hidden=8, labels=LABELS)
    small, texts = slim(model, tmp_path), ["a", "abé", "€€", "cab"]
    with np.load(tmp_path / "small.npz") as arrays:
        assert "U1" in arrays
    assert small.vocabulary == model.vocabulary
    chances = model.label_probabilities(texts)
    np.testing.assert_allclose(small.label_probabilities(texts), chances, atol=0.01)
    for given in (None, small.labels):
        assert small.score(texts, given).nats == pytest.approx(model.score(texts, given).nats, 0.01)


def test_names_in_c_begin_as_the_file_does_unless_something_else_is_asked_for() -> None:
    names = {"names": "names", "Old Norse-2": "old_norse_2", "2": "model_2"}
    names["charrnn-any"] = "model_charrnn_any"
    assert [prefix_for(name) for name in names] == list(names.values())
    assert prefix_for("names", "Mine") == "Mine"
    for prefix in ("a-b", "2a", "", "é", "charrnn_any"):
        with pytest.raises(SettingError, match="prefix cannot be"):
            prefix_for("names", prefix)
    assert escaped("rock'7 é") == r"rock\0477 \303\251"  # three digits, or the 7 would be one


@pytest.mark.parametrize(
    ("what", "hint"),
    [
        ("cell output", "It takes cell tanh, gru or lstm."),
        ("ends length", "It takes ends symbol or halt."),
        ("clock", "Train without it."),
    ],
)
def test_a_network_that_does_not_fit_is_refused(what: str, hint: str) -> None:
    name, _, value = what.partition(" ")
    size: dict[str, Any] = {name: value or True}
    model = model_of(hidden=4, layers=1, **size)
    for suffix in (".html", ".mjs", ".h", ".safetensors"):
        with pytest.raises(CharrnnError, match=f"{what} does not fit into {suffix}") as refused:
            export(model.trained, suffix, ExportOptions())
        assert refused.value.hint == hint


def test_the_command_writes_each_kind(trained: Program) -> None:
    for suffix in ("html", "mjs", "h", "safetensors", "npz"):
        row = trained.run("export", f"page.{suffix}", "--json").json
        assert (row["kind"], row["bytes"]) == (suffix, (trained / f"page.{suffix}").stat().st_size)
        assert b"names.txt" not in (trained / f"page.{suffix}").read_bytes() or suffix == "npz"


def test_a_model_with_counts_writes_its_network_alone(program: Program) -> None:
    program.train("names.txt", "--counts")
    (program / "my models").mkdir()
    program.run("export", "my models/small.npz").says("sample -m 'my models/small.npz'")
    quiet = program.run("export", "tiny.npz", "--without-counts", "-q")
    assert (quiet.out, quiet.err) == ("", "")
    both, network = map(charrnn.load, ("my models/small.npz", "tiny.npz"))
    assert network.sample(9, seed=1) == both.sample(9, seed=1, use="network")
    assert b"sample --use network --seed" in export(both.trained, ".h", ExportOptions())


def test_fault_33_a_file_without_counts_says_nothing_of_them(program: Program) -> None:
    program.write("many.txt", "anna\nbob\nclara\ndora\nemil\n" * 400)
    program.train("many.txt", "--counts").says()
    for model, name in (("model.npz", "tiny.npz"), ("tiny.npz", "again.npz")):
        ran = program.run("export", name, "--without-counts", "-m", model)
        assert (ran.status, "training text" in ran.err) == (0, False)
        assert "--counts" not in program.run("info", "-m", name).out.replace("counting", "")
        facts = program.run("info", "-m", name, "--json").json
        assert not facts["holds_corpus"]
        assert not facts["settings"]["counts"]
        kept = charrnn.load(name).trained
        assert (kept.slim, kept.history) == (True, [])
        assert (kept.counted, kept.mixture, [*kept.oddest]) == (None, EVEN, ["network"])

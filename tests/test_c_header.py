"""A model as a C header: its texts are those of the model, byte for byte."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charrnn.errors import SettingError
from charrnn.export import ExportOptions, export
from charrnn.export.c_header import prefix_for
from charrnn.model import Model
from charrnn.network.parameters import Parameters
from charrnn.runs import load
from charrnn.scoring.scorer import NetworkScorer
from tests.exporting import IDS, MODELS, model_of
from tests.rows import seldom
from tests.scoring import score_texts

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
PROGRAM = """
#define NAMES_IMPLEMENTATION
#include "names.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static names_state s;
    static char text[8001];
    for (int i = 0; i < atoi(argv[2]); i++) {
        names_begin(&s, (uint64_t)strtoull(argv[1], 0, 10), (uint64_t)i);
        for (int k = 4; k < argc; k++) names_read(&s, (uint32_t)atoi(argv[k]));
        names_utf8(&s, atof(argv[3]), text, sizeof text);
        puts(text);
    }
    return 0;
}
"""
needs_a_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def header(model: Model, **options: Any) -> str:
    return export(model.trained, "c", ExportOptions(**options)).decode()


def compiled(folder: Path, source: str, *flags: str, compiler: str = "cc") -> Path:
    """The program of this source, which includes what is in the folder."""
    name = "main.cc" if "++" in compiler else "main.c"
    (folder / name).write_text(source)
    line = [compiler, *flags, *STRICT, name, "-o", "main", "-lm"]
    ran = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder / "main"


def texts(
    program: Path, seed: int, temperature: float = 1.0, prime: str = "", count: int = 200
) -> list[str]:
    codes = [str(ord(character)) for character in prime]
    line = [str(program), str(seed), str(count), repr(temperature), *codes]
    return subprocess.run(line, capture_output=True, check=True).stdout.decode().split("\n")[:-1]


@needs_a_compiler
@pytest.mark.parametrize("flags", [seldom(("-O2",)), ("-O2", "-ffast-math")], ids=" ".join)
@pytest.mark.parametrize("size", MODELS, ids=IDS)
def test_two_hundred_texts_are_those_of_the_model(
    tmp_path: Path, size: dict[str, Any], flags: tuple[str, ...]
) -> None:
    model = model_of(**size)
    (tmp_path / "names.h").write_text(header(model, prefix="names"))
    program = compiled(tmp_path, PROGRAM, "-std=c99", *flags)
    # a prime that reaches beyond the place where the state settles, and one that was never seen
    for seed, count, temperature, prime in [
        (0, 200, 1.0, ""),
        (2**64 - 1, 20, 0.7, "a" * 70),
        (1, 20, 1.7, "😀?é"),
        (1, 1, 0.0, "b"),
    ]:
        drawn = texts(program, seed, temperature, prime, count)
        sampled = model.sample(count, seed=seed, temperature=temperature, prime=prime)
        assert drawn == [text.removeprefix(prime) for text in sampled]


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_a_header_is_also_one_of_cpp(tmp_path: Path) -> None:
    model = model_of(cell="lstm", ends="halt", layers=2, hidden=3)
    (tmp_path / "names.h").write_text(header(model, prefix="names"))
    program = compiled(tmp_path, PROGRAM, "-std=c++11", compiler="c++")
    assert texts(program, 5) == model.sample(200, seed=5)


@needs_a_compiler
def test_two_models_go_into_one_program(tmp_path: Path) -> None:
    for prefix, cell in (("one", "gru"), ("other", "tanh")):
        model = model_of(cell=cell, layers=1, hidden=3)
        (tmp_path / f"{prefix}.h").write_text(header(model, prefix=prefix))
    both = '#define ONE_IMPLEMENTATION\n#define OTHER_IMPLEMENTATION\n#include "one.h"\n'
    both += (
        '#include "other.h"\n#include "one.h"\nint main(void) { return ONE_UNITS - OTHER_UNITS; }'
    )
    program = compiled(tmp_path, both, "-std=c99")
    assert subprocess.run([program]).returncode == 0


@needs_a_compiler
def test_a_text_that_does_not_fit_is_cut_after_a_character_and_one_that_is_over_stays_so(
    tmp_path: Path,
) -> None:
    model = model_of(layers=1, hidden=4)
    (tmp_path / "names.h").write_text(header(model, prefix="names"))
    source = PROGRAM.replace("text[8001]", "text[9]").replace(
        "puts(text);", "puts(text); if (s.is_over && names_next(&s, 1) != -1) return 1;"
    )
    whole = model.sample(200, seed=3)
    for text, cut in zip(whole, texts(compiled(tmp_path, source), 3), strict=True):
        assert text.startswith(cut)
        assert cut == text or 4 < len(cut.encode()) <= 8


def arrays(text: str) -> dict[str, list[float]]:
    """The numbers of a header by name."""
    found = re.findall(r"static const \w+ m_(\w+)\[\d+\] = \{([^}]*)\};", text)
    return {name: [float(x.rstrip("f")) for x in row.split(",")] for name, row in found}


def read_back(text: str, like: Parameters) -> Parameters:
    """The parameters that a header holds."""
    found, p = arrays(text), Parameters(like.architecture, like.flat.astype(np.float64))
    for name, array in p.items():
        scale = np.array(found.get(f"{name}_scale", 1.0)).reshape(-1, 1)[: len(array)]
        rows = np.array(found[name]).reshape(len(array), -1) * scale
        array[...] = rows.reshape(array.shape)
    return p


@pytest.mark.parametrize("size", MODELS, ids=IDS)
def test_a_header_of_32_bits_holds_the_numbers_that_texts_are_drawn_with(
    size: dict[str, Any],
) -> None:
    model = model_of(**size)
    text = header(model, prefix="m")
    assert read_back(text, model.parameters) == model.parameters.exact()
    assert arrays(text)["codes"] == [ord(character) for character in model.vocabulary.characters]


@pytest.mark.parametrize(("bits", "most"), [(16, 1e-5), (8, 1e-3)])
def test_fewer_bits_cost_next_to_nothing_and_take_less_room(
    well_trained_bytes: bytes, tmp_path: Path, bits: int, most: float
) -> None:
    (tmp_path / "model.npz").write_bytes(well_trained_bytes)
    model = load(tmp_path / "model.npz")
    text = header(model, prefix="m", bits=bits)
    p = read_back(text, model.parameters)
    p = Parameters(p.architecture, p.flat.astype(np.float32))
    coarse = NetworkScorer(replace(model.language_model, parameters=p))
    names = model.sample(100, seed=0)
    off = score_texts(coarse, names).nats_per_character - model.score(names).nats_per_character
    assert 0 < abs(off) < most
    assert len(text) < 0.7 * len(header(model, prefix="m"))


def test_names_begin_as_the_file_does_unless_something_else_is_asked_for() -> None:
    for name, prefix in {
        "names": "names",
        "Old Norse-2": "old_norse_2",
        "2": "model_2",
        "int": "model_int",
        "名": "model",
    }.items():
        assert prefix_for(ExportOptions(name=name)) == prefix
    assert prefix_for(ExportOptions(prefix="Mine")) == "Mine"


@pytest.mark.parametrize("prefix", ["int", "a-b", "2a", "", "é"])
def test_a_prefix_that_c_cannot_read_is_refused(prefix: str) -> None:
    with pytest.raises(SettingError, match="prefix cannot be"):
        header(model_of(layers=1, hidden=2), prefix=prefix)


def test_the_same_model_gives_the_same_bytes_and_no_word_of_its_corpus(tmp_path: Path) -> None:
    model = model_of(layers=2, hidden=3)
    text = header(model)
    assert text == header(model)
    assert model.corpus.fingerprint not in text
    assert text.isascii()

"""The engine of a page, in JavaScript: what it draws and scores is what charrnn does."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.errors import ExportError
from charrnn.export import ExportOptions, check_known
from charrnn.export.js import CELLS, HEADS, export, facts_of, plain_json
from charrnn.export.js import engine as source
from charrnn.network.architecture import Architecture
from charrnn.sampling.draws import keys_of_texts
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.scoring.scorer import NetworkScorer
from tests.javascript import InJavaScript, ask, engine, holding, lively

LONG = "abc" * 21  # after it the state settles while a text is drawn

# SampleConfig, and the prime; each network takes some of them.
DRAWINGS: list[tuple[dict[str, Any], str]] = [
    ({"seed": 0}, ""),
    ({"seed": 1, "temperature": 0.5}, "ab"),
    ({"seed": 2**64 - 1, "temperature": 1.7}, "unseen Zebra"),
    ({"seed": 1, "temperature": 0.0}, "\U0001f600"),
    ({"seed": 0, "top_k": 5}, LONG),
    ({"seed": 2**64 - 1, "top_k": 1}, ""),
    ({"seed": 1, "top_p": 0.9}, "\U0001f4a9 \U0010ffff"),
    ({"seed": 3, "temperature": 0.7, "top_k": 6, "top_p": 0.8}, LONG),
    ({"seed": 1, "max_characters": 1}, "\r\n"),
    ({"seed": 0, "max_characters": 5}, "a\r\nb\rc"),
]
IN_JAVASCRIPT = {"top_k": "topK", "top_p": "topP", "max_characters": "maxCharacters"}


def draws_the_same(
    model: InJavaScript, sampler: Sampler, settings: dict[str, Any], prime: str, count: int = 20
) -> None:
    named = {IN_JAVASCRIPT.get(name, name): value for name, value in settings.items()}
    named["seed"] = str(settings["seed"])  # no number of JavaScript's is as large
    drawn = list(model.samples(count, prime=prime, **named))
    expected = list(sampler.samples(range(count)))
    assert [(one.text, one.ended) for one in drawn] == [(one.text, one.ended) for one in expected]
    for one, other in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(one.nats, other.nats, rtol=0, atol=1e-12)


@pytest.mark.parametrize("hidden", [1, 3, 64, 256])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_it_draws_what_charrnn_draws(cell: str, layers: int, hidden: int) -> None:
    first = CELLS.index(cell) + layers + hidden
    head = HEADS[first % len(HEADS)]
    model = lively(cell, head, layers, hidden)
    page = InJavaScript(holding(model))
    drawings, count = (len(DRAWINGS), 20) if hidden < 64 else (3, 5)
    for at in range(drawings):
        settings, prime = DRAWINGS[(first + 3 * at) % len(DRAWINGS)]
        settings = {"max_characters": 40 if hidden < 64 else 15} | settings
        as_read = prime.replace("\r\n", "\n").replace("\r", "\n")
        sampler = Sampler(model, SampleConfig(**settings), as_read)
        draws_the_same(page, sampler, settings, prime, count)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_long_text_settles_as_it_does_in_charrnn(cell: str, head: str) -> None:
    model = lively(cell, head, layers=2, hidden=8)
    model.parameters["c"][0] -= 30  # it never ends
    settings = {"seed": 5, "max_characters": 200}
    sampler = Sampler(model, SampleConfig(seed=5, max_characters=200))
    draws_the_same(InJavaScript(holding(model)), sampler, settings, "")


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_text_costs_what_it_costs_in_charrnn(cell: str, head: str) -> None:
    model = lively(cell, head, layers=2, hidden=16)
    text = "abé \U0001f600 never seen: Ж\U0001f4a9\n" + LONG
    ids = np.append(model.vocabulary.encode(text), 0).astype(model.vocabulary.dtype)
    expected = NetworkScorer(model).read(ids)[0]
    found = InJavaScript(holding(model)).score(text)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_fewer_bits_are_nearly_the_same_network() -> None:
    model = lively(hidden=64)
    exact, two_bytes, one = (
        InJavaScript(holding(model), bits).score("abcdefgh") for bits in (32, 16, 8)
    )
    np.testing.assert_allclose(two_bytes, exact, atol=1e-3)
    np.testing.assert_allclose(one, exact, atol=0.2)
    assert len({*map(tuple, (exact, two_bytes, one))}) == 3


def test_the_python_side_knows_what_the_engine_knows() -> None:
    engine()
    assert ask("Object.keys(charrnn.CELLS)") == list(CELLS)
    assert ask("Object.keys(charrnn.HEADS)") == list(HEADS)
    for name in CELLS:
        cell, found = Architecture(5, 4, 1, name).cell, ask(f"charrnn.CELLS.{name}")
        assert found == {"gates": cell.gates, "states": len(cell.states), "ownBias": cell.own_bias}


def test_a_network_with_other_arrays_is_refused_by_their_name() -> None:
    class WithMore(Architecture):
        @property
        def shapes(self) -> dict[str, tuple[int, ...]]:
            return {**super().shapes, "T1": (1, self.hidden)}

    with pytest.raises(ExportError, match="T1 does not fit into a page"):
        check_known(WithMore(5, 4, 1), "a page", CELLS, HEADS)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_a_text_has_one_key_in_both_languages(text: str) -> None:
    key = int(keys_of_texts([text])[0])
    codes = [ord(character) for character in text]
    assert ask(f"charrnn.keyOf(0, {codes}).toString()") == str(key)


def test_texts_of_all_lengths_have_the_keys_that_they_have_alone() -> None:
    texts = ["b", "long one", "", "a", "longer one"]
    alone = [int(keys_of_texts([text])[0]) for text in texts]
    assert sorted(keys_of_texts(texts).tolist()) == sorted(alone)
    assert len(set(alone)) == len(texts)


@given(st.binary(max_size=20))
def test_base64_is_read_back(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert ask(f'Array.from(charrnn.bytesOf("{text}"))') == list(data)


def test_a_module_draws_the_same() -> None:
    model = lively("gru", hidden=8)
    module = export(holding(model), ExportOptions()).decode()
    script, mark, rest = module.partition("export { charrnn };\nexport default model;\n")
    assert (bool(mark), rest) == (True, "")
    found = ask(f"(() => {{ {script}; return model.sample({{ seed: 7, number: 2 }}); }})()")
    (expected,) = Sampler(model, SampleConfig(seed=7)).samples([2])
    assert (found["text"], found["ended"]) == (expected.text, expected.ended)
    assert found["nats"] == pytest.approx(sum(expected.nats), abs=1e-9)


@pytest.mark.parametrize(("most", "length"), [(0, 1), (2.5, 3), (7, 7)])
def test_a_text_ends_at_any_limit(most: float, length: int) -> None:
    trained = holding(lively(hidden=8))
    trained.model.parameters["c"][0] -= 3  # END is less likely
    ((_, nats, ended),) = (
        (one.text, one.nats, one.ended)
        for one in InJavaScript(trained).samples(1, seed=1, maxCharacters=most)
    )
    assert (len(nats), ended) == (length, "limit")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_a_module_can_be_imported_by_its_name(tmp_path: Path) -> None:
    model = lively("lstm", "halt", hidden=8)
    (tmp_path / "names.mjs").write_bytes(export(holding(model), ExportOptions()))
    (tmp_path / "main.mjs").write_text(
        'import model, { charrnn } from "./names.mjs";\n'
        "process.stdout.write(JSON.stringify([charrnn.END, model.sample({ seed: 7 }).text]));"
    )
    said = subprocess.run(
        ["node", "main.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    (expected,) = Sampler(model, SampleConfig(seed=7)).samples([0])
    assert json.loads(said.stdout) == [0, expected.text]


def test_numbers_that_are_cut_short_are_refused() -> None:
    facts = plain_json(facts_of(holding(lively()), ExportOptions()))
    made = f"new charrnn.Model({facts}, charrnn.bytesOf('AAAA'))"
    said = ask(f"(() => {{ try {{ {made}; }} catch (error) {{ return String(error); }} }})()")
    assert "Error" in said


def test_the_engine_is_plain_ascii_and_closes_no_script() -> None:
    text = source()
    assert text.isascii()
    assert "</script" not in text.lower()
    assert "<!--" not in text

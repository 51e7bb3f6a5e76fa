"""The library speaks its own words, the command line those that are typed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import charrnn
from charrnn import errors
from charrnn.cli.errors import HINTS, in_words_of_the_command_line, option_for
from charrnn.errors import CharrnnError, DamagedModelError, DivergedError, SettingError
from charrnn.model_file import checkpoint
from charrnn.sampling.sampler import Sampler
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.fields import settings_of
from charrnn.settings.training import TrainConfig
from charrnn.settings.using import SampleConfig
from tests.program import Program
from tests.speaking import babbler

HOUSE = Path(charrnn.__file__).parent
LIBRARY = [
    file
    for file in sorted(HOUSE.rglob("*.py"))
    if "cli" not in file.relative_to(HOUSE).parts and file.name != "__main__.py"
]
TYPED = re.compile(r"\s--[a-z]|(?<![\w-])-m\b|charrnn (train|sample|eval|info|embed|fill|reach)\b")


@pytest.mark.parametrize("file", LIBRARY, ids=lambda file: str(file.relative_to(HOUSE)))
def test_the_library_names_no_option_and_no_command(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_drawn = node in docstrings or "<" in node.value or "{" in node.value
            assert is_drawn or not TYPED.search(node.value), node.value


def said(error: CharrnnError) -> tuple[str, str]:
    return in_words_of_the_command_line(error)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("workers", "--threads"),
        ("temperature", "--temp"),
        ("max_characters", "--max-chars"),
        ("weight_decay", "--weight-decay"),
        ("carry", "--carry"),
        ("holdout", "--holdout"),
    ],
)
def test_a_setting_is_called_what_is_typed_for_it(name: str, option: str) -> None:
    assert option_for(name) == option


def test_a_value_out_of_range_names_the_option() -> None:
    with pytest.raises(SettingError) as error:
        TrainConfig(workers=0)
    assert said(error.value) == (
        "--threads cannot be 0",
        "It may be a whole number from 1 to 1024.",
    )


def test_more_of_the_likeliest_than_there_are_names_the_option() -> None:
    with pytest.raises(SettingError, match="top_k cannot be 1000") as error:
        Sampler(babbler(), SampleConfig(top_k=1000))
    assert said(error.value)[0] == "--top-k cannot be 1000"


def test_a_model_that_is_not_there_is_told_in_both_words(tmp_path: Path) -> None:
    with pytest.raises(CharrnnError) as error:
        checkpoint.load_trained(tmp_path / "none.npz")
    assert error.value.hint == "Train one first, or say where it is."
    hint = "Train one first: charrnn train CORPUS. Or say with -m where it is."
    assert said(error.value) == (error.value.what, hint)


def test_details_stand_in_the_hint() -> None:
    error = DivergedError("it grew", "try a smaller learning rate, such as 1", "lr", lr="1")
    assert said(error) == ("it grew", "try a smaller learning rate, such as --lr 1")


def test_what_was_noted_on_the_way_comes_after_the_hint() -> None:
    error = DamagedModelError("it is broken", "Restore it.")
    error.add_note("Nothing was saved.")
    assert said(error)[1] == "Restore it: charrnn train CORPUS --force. Nothing was saved."


def test_an_error_of_no_known_kind_is_told_as_it_is() -> None:
    assert said(CharrnnError("it {is} so", "Take {care}.")) == ("it {is} so", "Take {care}.")


def test_every_option_in_a_hint_is_one() -> None:
    options = {
        option
        for config in (TrainConfig, SampleConfig, CorpusConfig)
        for name, one in settings_of(config).items()
        for option in one.options(name)
    } | {
        "--encoding",
        "--errors",
        "--valid",
        "--dynamic",
        "--force",
        "--from",
        "--upgrade",
        "--use",
    }
    for hint in filter(lambda hint: isinstance(hint, str), HINTS.values()):
        assert set(re.findall(r"--[a-z-]+", str(hint))) <= options
    assert all(issubclass(kind, errors.CharrnnError) for kind, _ in HINTS)


@pytest.mark.parametrize("command", ["embed", "reach", "eval"])
def test_where_there_is_no_text_the_command_that_was_typed_is_named_with_one(
    trained: Program, command: str
) -> None:
    (trained / "names.txt").unlink()
    trained.refuses(
        command,
        what="the corpus has moved: names.txt is not there",
        hint=f"Name a text: charrnn {command} TEXT",
    )

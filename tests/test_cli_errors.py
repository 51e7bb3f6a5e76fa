"""The library speaks its own words, the command line those that are typed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import charrnn
from charrnn import model_file as checkpoint
from charrnn.cli.errors import in_words_of_the_command_line, option_for
from charrnn.errors import CharrnnError, DamagedModelError, SettingError
from charrnn.settings import TrainConfig
from tests.program import Program

HOUSE = Path(charrnn.__file__).parent
LIBRARY = [
    file
    for file in sorted(HOUSE.rglob("*.py"))
    if "cli" not in file.relative_to(HOUSE).parts and file.name != "__main__.py"
]
COMMANDS = "train|sample|eval|info|embed|fill|reach|unfold"
TYPED = re.compile(rf"\s--[a-z]|(?<![\w-])-m\b|charrnn ({COMMANDS})\b")


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
        ("cores", "--cores"),
        ("temperature", "--temp"),
        ("max_characters", "--max-chars"),
        ("weight_decay", "--weight-decay"),
        ("holdout", "--holdout"),
    ],
)
def test_a_setting_is_called_what_is_typed_for_it(name: str, option: str) -> None:
    assert option_for(name) == option


def test_a_value_out_of_range_names_the_option() -> None:
    with pytest.raises(SettingError) as error:
        TrainConfig(cores=0)
    assert said(error.value) == (
        "--cores cannot be 0",
        "It may be a whole number from 1 to 1,024.",
    )


def test_a_model_that_is_not_there_is_told_in_both_words(tmp_path: Path) -> None:
    with pytest.raises(CharrnnError) as error:
        checkpoint.load_trained(tmp_path / "none.npz")
    shipped = "a file, or dinosaurs, given-names, latin, reber or verses."
    assert error.value.hint == f"Train one first, or name another with model: {shipped}"
    assert said(error.value)[1] == f"Train one first, or name another with -m: {shipped}"


def test_a_hint_names_settings_as_python_and_the_command_line_write_them() -> None:
    error = CharrnnError("it grew", "Try [cores] 1, or raise [bptt].")
    assert error.hint == "Try cores 1, or raise bptt."
    assert said(error) == ("it grew", "Try --cores 1, or raise --bptt.")


def test_what_was_noted_on_the_way_comes_after_the_hint() -> None:
    error = DamagedModelError("it is broken", "Restore it.")
    error.add_note("Nothing was saved.")
    assert said(error)[1] == "Restore it. Nothing was saved."


def test_an_error_of_no_known_kind_is_told_as_it_is() -> None:
    assert said(CharrnnError("it {is} so", "Take {care}.")) == ("it {is} so", "Take {care}.")


def test_every_name_in_a_hint_has_an_option() -> None:
    for file in LIBRARY:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for name in re.findall(r"(?<!\w)\[([a-z_]+)\] ", node.value.partition("\n")[0]):
                    assert option_for(name).startswith("-"), node.value


@pytest.mark.parametrize("command", ["embed", "reach", "eval"])
def test_where_there_is_no_text_the_hint_asks_for_one(trained: Program, command: str) -> None:
    (trained / "names.txt").unlink()
    trained.refuses(
        command,
        what="the corpus has moved: names.txt is not there",
        hint="Name a text to read.",
    )

"""Every error has its status and its words: of Python in the library, typed in the commands."""

import ast
import errno
import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

import charrnn
from charrnn.cli import info
from charrnn.cli.console import in_words_of_the_command_line, option_for
from charrnn.errors import CharrnnError, CorpusError, SettingError
from charrnn.files import model_file
from charrnn.text.reading import label_of
from tests.program import Program

HOUSE = Path(charrnn.__file__).parent
OUTSIDE = (HOUSE / "__main__.py", *(HOUSE / "cli").iterdir())
LIBRARY = [file for file in HOUSE.rglob("*.py") if file not in OUTSIDE]
COMMANDS = "train|sample|eval|info|embed|fill|reach|unfold"
TYPED = re.compile(rf"\s--[a-z]|(?<![\w-])-m\b|charrnn ({COMMANDS})\b")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (CharrnnError("a\x1bb\nc", "Mend it."), 1, "a\\x1bb\\nc\nMend it.\n"),
        (CorpusError("\udcff.txt is empty"), 1, "\\udcff.txt is empty\n"),
        (SettingError("lr is 0", "Take 1."), 2, "lr is 0\nTake 1.\n"),
        (MemoryError("8 GB"), 1, "not enough memory: 8 GB\nTry a smaller network "),
        (FileNotFoundError(2, "No such file", "nowhere"), 1, "nowhere: No such file\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device\n"),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit(7), 7, ""),
    ],
)
def test_an_error_is_told_and_has_its_status(
    program: Program, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, said: str
) -> None:
    monkeypatch.setattr(info, "run", Mock(side_effect=error))
    said = f"charrnn: error: {said}" if said else ""
    ran = program.run("info")
    assert (ran.status, ran.out, ran.err[: len(said)]) == (status, "", said)
    assert bool(ran.err) == bool(said)
    shown = program.run("info", env={"CHARRNN_DEBUG": "1"})
    assert (shown.status, "Traceback" in shown.err) == (status, status != 7)


def test_a_bug_keeps_its_traceback(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "run", Mock(side_effect=ValueError("a bug")))
    with pytest.raises(ValueError, match="a bug"):
        program.run("info")


def strings(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield each string of a file, and whether it is a docstring."""
    nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {ast.get_docstring(one, False) for one in nodes if isinstance(one, documented)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.value in docstrings


def test_the_library_names_no_option_and_no_command() -> None:
    for file in LIBRARY:
        for text, is_docstring in strings(file):
            is_drawn = is_docstring or "<" in text or "{" in text
            assert is_drawn or not TYPED.search(text), (file, text)
            for name in re.findall(r"(?<!\w)\[([a-z_]+)\] ", text.partition("\n")[0]):
                assert option_for(name).startswith("-"), text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CharrnnError("it {is} so", "Take {care}."), ("it {is} so", "Take {care}.")),
        (CharrnnError("it", "Use [temperature] or [max_characters]."), ("it", "--temp or --max-c")),
        (SettingError("max_characters is 0", "", "max_characters"), ("--max-chars is 0", "")),
    ],
)
def test_a_setting_is_called_what_is_typed(error: CharrnnError, said: tuple[str, str]) -> None:
    what, hint = in_words_of_the_command_line(error)
    assert what == said[0]
    assert said[1] in hint
    assert "[" not in error.hint


def test_errors_of_the_library_in_both_words(tmp_path: Path) -> None:
    with pytest.raises(CharrnnError) as missing:
        model_file.load_trained(tmp_path / "none.npz")
    shipped = "a file, or dinosaurs, given-names, latin, reber or verses."
    assert missing.value.hint == f"Train one, or name another with path: {shipped}"
    typed = in_words_of_the_command_line(missing.value)[1]
    assert typed == f"Train one, or name another with -m: {shipped}"
    with pytest.raises(CharrnnError) as missing:
        model_file.load_trained(tmp_path / "none.npz", "start_from")
    assert "another with --from:" in in_words_of_the_command_line(missing.value)[1]
    with pytest.raises(CharrnnError) as nameless:
        label_of("-")
    assert in_words_of_the_command_line(nameless.value)[0][:16] == "--label-by file "

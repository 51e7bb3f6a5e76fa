"""JSON Lines: a line is whole or not there."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from charrnn import json_lines
from charrnn.json_lines import LineFile, parse


def test_a_line_that_is_written_in_part_is_cut_off_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows"
    with closing(LineFile.at(path)) as file:
        file.append({"a": 1})
        before = path.read_bytes()

        def half(number: int, row: object) -> None:
            os.write(number, b'{"b":')
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(json_lines, "write", half)
            with pytest.raises(OSError, match="No space"):
                file.append({"b": 2})
        assert path.read_bytes() == before
        file.append({"b": 2})
    assert path.read_bytes() == b'{"a": 1}\n{"b": 2}\n'


@pytest.mark.parametrize(
    "line", [b"", b"[1]", b"nonsense", b"\xff", b"[" * 100_000, b"null", b'{"a": 1, "a": 2}']
)
def test_a_line_without_an_object_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse(line)


def test_an_object_in_a_file_has_a_largest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "row"
    path.write_text('{"a": 1}' + 20 * " ")
    assert json_lines.read(path) == {"a": 1}
    with pytest.raises(ValueError, match="more than 27 bytes"):
        parse(path.read_bytes(), largest=27)

"""``charrnn export``: the kinds by suffix, whole or not at all, over nothing by chance."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import charrnn
from charrnn.errors import ModelExistsError, SaveError, SettingError
from charrnn.export import KINDS, kind_of
from tests.extras import without
from tests.faults.limits import limited, unprivileged
from tests.program import Program


def test_the_suffix_says_what_it_is(trained: Program) -> None:
    ran = trained.run("export", "names.html", "--json")
    assert ran.json == {
        "schema": "charrnn.export/1",
        "file": "names.html",
        "kind": "html",
        "bytes": Path("names.html").stat().st_size,
        "from": "model.npz",
    }
    assert Path("names.html").read_bytes().startswith(b"<!doctype html>")
    assert trained.run("export", "names.mjs", "--json").json["kind"] == "js"
    assert Path("names.mjs").read_text().endswith("export default model;\n")
    assert [kind_of(f"a.b{kind.suffix.upper()}") for kind in KINDS.values()] == [*KINDS]


def test_another_suffix_can_be_had_with_to(trained: Program) -> None:
    trained.run("export", "names.page", "--to", "html").says()
    trained.run("export", "names.html").says()
    page, same = (Path(name).read_bytes() for name in ("names.page", "names.html"))
    assert page == same


def test_it_says_what_it_wrote_and_what_to_do_with_it(trained: Program) -> None:
    ran = trained.run("export", "names.html")
    size = Path("names.html").stat().st_size
    assert ran.lines == ["file       names.html", f"size       {size:,} bytes"]
    assert ran.err == "Open it in a browser.\n"
    assert trained.run("export", "other.html", "-q").err == ""
    assert './names.mjs"; model.sample({ seed: 1 }).text' in trained.run("export", "names.mjs").err


def test_the_title_is_the_name_of_the_file_or_what_was_said(trained: Program) -> None:
    trained.run("export", "my names.html").says()
    assert "<title>my names</title>" in Path("my names.html").read_text()
    trained.run("export", "b.html", "--title", "Names & more").says()
    assert "<h1>Names &amp; more</h1>" in Path("b.html").read_text()


def test_fewer_bits_make_a_smaller_file(trained: Program) -> None:
    sizes = [
        trained.run("export", f"{bits}.html", "--bits", bits, "--json").json["bytes"]
        for bits in ("32", "16", "8")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len({*sizes}) == 3


@pytest.mark.parametrize(
    ("status", "line", "what", "hint"),
    [
        (2, ["x.gguf"], "unknown format: .gguf", "Use one of .html, .mjs, "),
        (2, ["names"], "names has no suffix", "Use one of .html, .mjs, "),
        (2, ["-"], "FILE: '-' is not the name of a file", "--help"),
        (2, ["x.html", "--to", "pdf"], "'pdf' is not one of html, js", "Try 'charrnn export"),
        (2, ["x.html", "--bits", "12"], "--bits: '12' is not 32, 16 or 8", "Try 'charrnn export"),
        (2, ["x.html", "--prefix", "a"], "--prefix does not apply to html", "Leave it out."),
        (2, ["x.mjs", "--title", "a"], "--title does not apply to js", "Leave it out."),
        (2, ["x.mjs", "--novel", "names.txt"], "--novel does not apply to js", "Leave it out."),
        (2, ["x.onnx", "--bits", "8"], "--bits does not apply to onnx", "Leave it out."),
        (
            2,
            ["x.safetensors", "--title", "a"],
            "--title does not apply to safetensors",
            "Leave it out.",
        ),
        (2, ["x.h", "--prefix", "a-b"], "--prefix cannot be 'a-b'", "It may have letters, digits"),
        (2, ["x.html", "--novel", "-", "--novel", "-"], "standard input can be read only once", ""),
        (
            2,
            ["model.npz", "--to", "html", "--force"],
            "FILE would overwrite model.npz",
            "Name another file.",
        ),
        (
            2,
            ["names.txt", "--to", "html", "--force"],
            "FILE would overwrite names.txt",
            "Name another file.",
        ),
        (1, ["nowhere/names.html"], "No such file", "or name another file."),
    ],
)
def test_refusals(trained: Program, status: int, line: list[str], what: str, hint: str) -> None:
    trained.refuses("export", *line, what=what, hint=hint, status=status)


CALLED = {
    "h": "a C header",
    "html": "a page",
    "mjs": "a JavaScript module",
    "onnx": "an ONNX graph",
    "safetensors": "a safetensors file",
}


@pytest.mark.parametrize("suffix", CALLED)
def test_what_a_kind_cannot_hold_is_said_of_that_kind(program: Program, suffix: str) -> None:
    for options, takes in {
        ("--clock",): "Train without it.",
        ("--cell", "output"): "It takes --cell tanh, gru or lstm.",
        ("--ends", "length"): "It takes --ends symbol or halt.",
    }.items():
        program.train("names.txt", *options, "--force").says()
        what = f"{' '.join(options)} does not fit into {CALLED[suffix]}"
        program.refuses("export", f"names.{suffix}", what=what, hint=takes)


def test_nothing_is_replaced_but_by_force(trained: Program) -> None:
    Path("names.html").write_text("a page of somebody else")
    hint = "Name another file, or add --force to replace it."
    trained.refuses("export", "names.html", what="names.html already exists", hint=hint)
    trained.run("export", "names.html", "--force").says()
    assert Path("names.html").read_bytes().startswith(b"<!doctype html>")
    trained.refuses("export", "names.html", what="names.html already exists", hint=hint)


def test_a_folder_that_nobody_may_write_to_is_known_before_the_work(trained: Program) -> None:
    folder = trained / "locked"
    folder.mkdir(mode=0o555)
    ran = trained.run("export", "locked/names.html", child=True, preexec_fn=unprivileged)
    assert ran.status == 1
    assert "locked/names.html cannot be written: Permission denied" in ran.err
    assert ran.err.endswith("Name another file.\n")
    assert list(folder.iterdir()) == []


def test_where_there_is_no_room_nothing_is_left(trained: Program) -> None:
    before = trained.files()
    env = {"PYTHONDONTWRITEBYTECODE": "1"}  # which would be cut off, too
    small = limited(FSIZE=9000)
    ran = trained.run("export", "names.html", child=True, env=env, preexec_fn=small)
    assert ran.status == 1
    assert "names.html cannot be written: File too large" in ran.err
    assert trained.files() == before


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (OSError(errno.EIO, "Input/output error"), 1, "names.html cannot be written: Input/output"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_a_disk_that_fails_or_ctrl_c_leaves_the_file_that_was_there(
    trained: Program,
    monkeypatch: pytest.MonkeyPatch,
    raised: BaseException,
    status: int,
    said: str,
) -> None:
    trained.run("export", "names.html").says()
    before = trained.files()
    monkeypatch.setattr(os, "fsync", Mock(side_effect=raised))
    ran = trained.run("export", "names.html", "--bits", "8", "--force")
    assert (ran.status, trained.files()) == (status, before)
    assert said in ran.err


def test_a_damaged_model_is_told_and_nothing_is_written(trained: Program) -> None:
    Path("model.npz").write_bytes(Path("model.npz").read_bytes()[:-100])
    trained.refuses("export", "names.html", what="model.npz is not a model of charrnn", hint="")


def test_it_needs_no_corpus(trained: Program) -> None:
    Path("names.txt").unlink()
    trained.run("export", "names.html").says()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written_without_a_corpus_whole_and_over_nothing(
    trained: Program, kind: str
) -> None:
    Path("names.txt").unlink()
    name = f"names{KINDS[kind].suffix}"
    trained.run("export", name).says()
    content = Path(name).read_bytes()
    trained.refuses("export", name, what=f"{name} already exists", hint="--force")
    trained.run("export", name, "--force").says()
    assert Path(name).read_bytes() == content
    path = str(Path.cwd()).encode()
    assert not any(word in content for word in (path, b"names.txt"))
    other = f"other{KINDS[kind].suffix}"
    env = {"PYTHONDONTWRITEBYTECODE": "1"}  # which would be cut off, too
    cut = limited(FSIZE=64)
    assert trained.run("export", other, child=True, env=env, preexec_fn=cut).status == 1
    assert not Path(other).exists()
    Path("model.npz").write_bytes(Path("model.npz").read_bytes()[:-100])
    trained.refuses(
        "export", "x", "--to", kind, what="model.npz is not a model of charrnn", hint=""
    )


def test_without_the_package_it_says_what_to_install(
    trained: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "onnx")
    what, hint = "onnx is not installed", "pip install onnx"
    trained.refuses("export", "names.onnx", what=what, hint=hint)


@pytest.mark.parametrize("prefix", ["int", "while"])
def test_a_prefix_that_is_a_word_of_c_is_wrong_usage(trained: Program, prefix: str) -> None:
    line = ("export", "names.h", "--prefix", prefix)
    trained.refuses(*line, what=f"--prefix cannot be '{prefix}'", hint="a word of C", status=2)


def test_a_large_page_is_told_how_to_become_smaller(
    trained: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charrnn.cli.export.LARGE", 1000)
    for name in ("names.html", "names.mjs"):
        said = trained.run("export", name).err
        assert "the file is large" in said
        assert "--bits 8 makes it smaller" in said
    assert "smaller" not in trained.run("export", "8.html", "--bits", "8").err


@pytest.mark.parametrize(
    ("novel", "what"),
    [
        ("Anna", "novel cannot be str"),
        (Path("names.txt"), "novel cannot be .*Path"),
        (b"Anna", "novel cannot be bytes"),
        (3, "novel cannot be int"),
        ([1, 2], "a text cannot be int"),
        ([b"Anna"], "a text cannot be bytes"),
        (np.array([0.5]), "a text cannot be float64"),
    ],
)
def test_what_is_to_be_novel_is_a_list_of_texts(trained: Program, novel: Any, what: str) -> None:
    with pytest.raises(SettingError, match=what):
        charrnn.load().export("a.html", novel=novel)
    assert not Path("a.html").exists()


def test_no_texts_that_are_to_be_novel_are_as_if_nobody_had_said(trained: Program) -> None:
    model = charrnn.load()
    nothings: list[Any] = [None, [], (), iter([])]
    for number, nothing in enumerate(nothings):
        model.export(f"{number}.h", novel=nothing, prefix="a")
        model.export(f"{number}.html", novel=nothing)
        assert '"novel":null' in Path(f"{number}.html").read_text()
    with pytest.raises(SettingError, match="novel does not apply to c"):
        model.export("a.h", novel=["Anna"])
    model.export("list.html", novel=np.array(["Anna", "Bob"]), title="a")
    model.export("tuple.html", novel=("Anna", "Bob"), title="a")
    assert Path("list.html").read_text() == Path("tuple.html").read_text()


def test_the_command_of_a_page_names_the_file_that_the_model_is_from(trained: Program) -> None:
    Path("folder").mkdir()
    Path("model.npz").rename("folder/names.npz")
    model = charrnn.load(Path("folder/names.npz"))
    model.export("loaded.html", title="a")
    assert '"model":"names.npz"' in Path("loaded.html").read_text()
    trained.run("export", "same.html", "-m", "folder/names.npz", "--title", "a").says()
    assert Path("loaded.html").read_text() == Path("same.html").read_text()
    for nowhere in (model.slim(), charrnn.Model(model.trained)):
        nowhere.export("made.html", force=True)
        assert '"model":"MODEL"' in Path("made.html").read_text()


def test_python_exports_by_suffix_and_replaces_nothing_unasked(trained: Program) -> None:
    model = charrnn.load("model.npz")
    model.export("names.html", bits=16, title="Names", novel=("Anna",))
    trained.run("export", "same.html", "--bits", "16", "--title", "Names").says()
    page = Path("names.html").read_text()
    assert '"bits":16' in page
    assert '"novel":{' in page
    with pytest.raises(ModelExistsError, match="is there already"):
        model.export("names.html")
    model.export("names.html", force=True, title="Names", bits=16)
    assert Path("names.html").read_text() == Path("same.html").read_text()
    with pytest.raises(SaveError) as error:
        model.export("nowhere/a.html")
    assert error.value.hint == "Make the folder first, or name a file elsewhere with path."
    for name, options in [("names.txt", {}), ("a.html", {"bits": 7}), ("a.mjs", {"title": "a"})]:
        with pytest.raises(SettingError):
            model.export(name, **options)  # type: ignore[arg-type]
    assert not Path("a.html").exists()

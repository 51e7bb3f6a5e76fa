"""Rules for imports: they go down the list, have no cycles, and keep packages apart."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import charrnn
from tests.child import PYTHON, answer
from tests.program import Program

HOUSE = Path(charrnn.__file__).parent

# A room is a folder, or a file beside them. It imports only rooms that stand above it.
ROOMS = """
    errors system settings text network prediction training files export spread
    notebook model runs sweep_and_ranking cli __init__ __main__
"""
LEVEL = {name: level for level, name in enumerate(ROOMS.split())}


@cache
def modules() -> dict[str, Path]:
    """Return the dotted name of each module of charrnn, and its file."""
    files = {file.relative_to(HOUSE.parent).with_suffix(""): file for file in HOUSE.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): files[name] for name in files}


@cache
def imports(name: str) -> frozenset[str]:
    """Return the modules that a module imports, also inside functions and for types only."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(modules()[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{name} has a relative import"
            assert not node.level, f"{name} has a relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            imported.update(part if part in modules() else node.module for part in whole)
    return frozenset(imported - {name})


def room(module: str) -> str:
    """Return the folder or single file of charrnn/ that a module belongs to."""
    return module.partition(".")[2].partition(".")[0] or "__init__"


def test_no_modules_import_each_other_in_a_cycle() -> None:
    graph = {name: {other for other in imports(name) if other in modules()} for name in modules()}
    assert len([*TopologicalSorter(graph).static_order()]) == len(modules())


def test_a_room_imports_those_above_it() -> None:
    assert {room(name) for name in modules()} == set(LEVEL)
    for name in modules():
        for other in imports(name) - {"charrnn"}:
            if other.startswith("charrnn."):
                assert LEVEL[room(other)] <= LEVEL[room(name)], f"{name} imports {other}"


def test_only_the_console_writes() -> None:
    for name, file in modules().items():
        if room(name) != "cli" or file.stem in {"console", "errors"}:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in {"sys.stdout", "sys.stderr", "tqdm.write"}, file
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in {"print", "typer.echo"}, file


def test_numpy_comes_with_the_work_and_not_with_the_options() -> None:
    code = (
        "import sys, charrnn\n"
        "print('numpy' in sys.modules, 'typer' in sys.modules)\n"
        "from charrnn.cli import app\n"
        "for name in app.COMMANDS:\n    app.load(name)\n"
        "    assert 'numpy' not in sys.modules, name\n"
    )
    assert answer(code) == "False False\n"


# What a file for others or a figure needs, and nobody else
SELDOM = {"charrnn.export.html", "charrnn.export.c_header", "matplotlib", "safetensors", "IPython"}


@pytest.mark.parametrize(
    ("line", "unwanted"),
    [
        ("--version", {"numpy", "tqdm", "rich", "typer", "importlib.metadata"}),
        ("--help", {"numpy", "tqdm", "pydantic"}),
        ("export nowhere.html -m nowhere.npz", {"tqdm", "pydantic", "importlib.resources"}),
        ("sample", {"pydantic"}),
        ("eval names.txt -m nowhere.npz", {"pydantic", "asyncio"}),
        ("eval -h", {"numpy", "tqdm", "pydantic", "charrnn.text"}),
        ("sweep --help", {"numpy", "tqdm", "pydantic", "charrnn.sweep_and_ranking"}),
        ("train nowhere.txt --hidden 3 --lr 0.1", {"pydantic"}),
        ("reach names.txt", {"tqdm", "pydantic"}),
    ],
)
def test_what_is_not_needed_is_not_there(trained: Program, line: str, unwanted: set[str]) -> None:
    timed = trained.run("-X", "importtime", "-m", "charrnn", *line.split(), by=PYTHON).err
    imported = {row.rpartition("|")[2].strip() for row in timed.splitlines()}
    assert "charrnn.cli.console" in imported
    assert not (unwanted | SELDOM) & imported

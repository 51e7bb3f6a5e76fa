"""Rules for imports: they go down between folders, have no cycles, and keep packages apart."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

import charrnn
from tests.child import answer

HOUSE = Path(charrnn.__file__).parent

# Each folder may import the folders above its line, and the single files of charrnn/.
FOLDERS = (
    "network",
    "counts",
    "settings",
    "corpus",
    "scoring",
    "sampling",
    "filling",
    "training",
    "model_file",
    "export",
    "cli",
)
KNOWN_CYCLES = 0  # between files, imports for types included

# Packages that belong to one folder.
TERMINAL = {"typer", "click", "rich", "tqdm"}
DASK = {"dask", "distributed"}
STANDARD_OF_NETWORK = {
    *("__future__", "collections", "concurrent", "contextlib", "dataclasses", "functools"),
    *("importlib", "itertools", "math", "os", "threading", "typing"),
}

Graph = Mapping[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Return the dotted name of each module of charrnn, and its file."""
    return {dotted(file): file for file in HOUSE.rglob("*.py")}


def dotted(file: Path) -> str:
    """Return the name under which Python imports a file."""
    parts = file.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(file: Path) -> frozenset[str]:
    """Return the modules that a file imports, also inside functions and for types only."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{file} has a relative import"
            assert not node.level, f"{file} has a relative import"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            imported.update(name if name in modules() else node.module for name in full)
    return frozenset(imported)


def room(module: str) -> str:
    """Return the folder or single file of charrnn/ that a module belongs to."""
    return module.partition(".")[2].partition(".")[0]


def packages(file: Path) -> set[str]:
    """Return the packages outside charrnn that a file imports."""
    return {name.partition(".")[0] for name in imports(file)} - {"charrnn"}


def files_of(folder: str) -> list[Path]:
    """Return the files of a folder, subfolders included."""
    return sorted((HOUSE / folder).rglob("*.py"))


def cycles(graph: Graph) -> list[list[str]]:
    """Return each group of nodes that reach each other, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                groups.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return groups


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a", "d"}}
    assert cycles(graph) == [["d", "e"], ["a", "b", "c"]]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_files_import_each_other_in_a_cycle() -> None:
    graph = {name: set(imports(file)) - {name} for name, file in modules().items()}
    assert len(cycles(graph)) <= KNOWN_CYCLES, cycles(graph)


def test_no_folders_and_single_files_import_each_other_in_a_cycle() -> None:
    graph: dict[str, set[str]] = {}
    for name, file in modules().items():
        others = {room(other) for other in imports(file) if other.startswith("charrnn")}
        graph.setdefault(room(name), set()).update(others - {room(name)})
    assert cycles(graph) == []


def test_every_folder_is_in_the_list() -> None:
    assert {file.parent.relative_to(HOUSE).parts[0] for file in HOUSE.glob("*/*.py")} <= {*FOLDERS}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_folders_above_it_in_the_list(folder: str) -> None:
    below = set(FOLDERS[FOLDERS.index(folder) + 1 :])
    for file in files_of(folder):
        wrong = {name for name in imports(file) if name.startswith("charrnn.")}
        assert not {room(name) for name in wrong} & below, file


def test_the_command_line_is_imported_by_the_entry_point_alone() -> None:
    for name, file in modules().items():
        if room(name) not in {"cli", "__main__"}:
            assert not [other for other in imports(file) if room(other) == "cli"], file


def test_the_terminal_is_known_in_cli_alone() -> None:
    for name, file in modules().items():
        if room(name) != "cli":  # a notebook has progress bars of tqdm, too
            allowed = {"tqdm"} if room(name) == "plots" else set()
            assert packages(file) & TERMINAL <= allowed, file


def test_dask_is_known_in_one_folder_alone() -> None:
    knowing = {room(name) for name, file in modules().items() if packages(file) & DASK}
    assert knowing == {"cluster"}


def test_the_network_needs_numpy_and_the_standard_library() -> None:
    for file in files_of("network"):
        assert packages(file) <= STANDARD_OF_NETWORK | {"numpy"}, file


def test_only_the_console_writes() -> None:
    for file in files_of("cli"):
        if file.stem in {"console", "errors"}:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in {"sys.stdout", "sys.stderr", "tqdm.write"}, file
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in {"print", "typer.echo"}, file


def test_numpy_comes_with_the_work_and_not_with_the_options() -> None:
    code = (
        "import sys; from charrnn.cli import app\n"
        "for name in app.COMMANDS:\n"
        "    app.load(name)\n"
        "    assert 'numpy' not in sys.modules, name\n"
        "print('numpy' in sys.modules)"
    )
    assert answer(code) == "False\n"

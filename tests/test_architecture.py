"""Arrows go down only: which room may know which, held against the imports."""

import ast
from pathlib import Path

import pytest

import charrnn

HOUSE = Path(charrnn.__file__).parent

# room -> the rooms it may import, besides itself; each may also import errors.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "vocabulary": set(),
    "graphemes": set(),
    "escaping": set(),
    "random_streams": set(),
    "corpus": {"vocabulary"},
    "network": {"random_streams", "vocabulary"},
    "settings": {"network"},
    "training": {"corpus", "network", "random_streams", "scoring", "settings", "vocabulary"},
    "scoring": {"corpus", "escaping", "graphemes", "network", "vocabulary"},
    "sampling": {"corpus", "network", "settings", "vocabulary"},
    "presets": {"corpus", "settings"},
    "plan": {"corpus", "network", "presets", "settings", "training"},
    "model_file": {"corpus", "network", "settings", "training", "vocabulary"},
    "api": {
        *("corpus", "model_file", "network", "presets", "sampling"),
        *("scoring", "settings", "training", "vocabulary"),
    },
}


def rooms() -> dict[str, list[Path]]:
    """Each room and its files; a folder is one room."""
    found: dict[str, list[Path]] = {}
    for file in HOUSE.rglob("*.py"):
        name = file.relative_to(HOUSE).parts[0].removesuffix(".py")
        found.setdefault(name, []).append(file)
    return found


def imports(file: Path) -> set[str]:
    """The rooms of ours that a file imports, and the packages of others."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module]
            if node.module == "charrnn":
                modules = [f"charrnn.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            first, _, rest = module.partition(".")
            found.add(f"charrnn.{rest.split('.')[0]}" if first == "charrnn" else first)
    return found


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_knows_only_what_lies_below_it(room: str) -> None:
    allowed = {f"charrnn.{name}" for name in {room, "errors", *MAY_IMPORT[room]}}
    for file in rooms()[room]:
        ours = {name for name in imports(file) if name.startswith("charrnn.")}
        assert ours <= allowed, f"{file.name} knows {sorted(ours - allowed)}"


def test_every_room_below_the_terminal_is_in_the_table() -> None:
    assert set(rooms()) - {"cli", "__main__", "__init__"} == set(MAY_IMPORT)


def test_the_table_has_no_circle() -> None:
    left = dict(MAY_IMPORT)
    while left:
        grounded = [room for room, below in left.items() if not below & set(left)]
        assert grounded, f"a circle among {sorted(left)}"
        for room in grounded:
            del left[room]


@pytest.mark.parametrize("room", sorted(set(MAY_IMPORT)))
def test_the_terminal_is_known_in_cli_alone(room: str) -> None:
    for file in rooms()[room]:
        assert not imports(file) & {"typer", "rich", "tqdm", "click"}


def test_the_network_knows_numpy_and_nothing_else() -> None:
    standard = {"__future__", "collections", "concurrent", "dataclasses", "functools"}
    standard |= {"importlib", "itertools", "math"}
    for file in rooms()["network"]:
        outside = {name for name in imports(file) if not name.startswith("charrnn.")}
        assert outside <= standard | {"numpy", "typing"}

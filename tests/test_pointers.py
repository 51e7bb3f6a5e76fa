"""Comments, docstrings and Markdown pages name only files and modules that exist."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

HOME = Path(__file__).parents[1]
TOP = ("charrnn", "tests", "data")
FILES = sorted(
    path
    for folder in TOP
    for path in (HOME / folder).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
)
PATHS = [path.as_posix() for path in (HOME / "README.md", HOME / "pyproject.toml", *FILES)]
PAGES = [path for path in [HOME / "README.md", *FILES] if path.suffix == ".md"]
ASSETS = [path for path in FILES if path.suffix in {".js", ".css", ".h", ".html"}]
FOLDERS = {
    path.relative_to(root).parts[0]
    for root in (HOME, HOME / "charrnn", HOME / "tests")
    for path in FILES
    if root in path.parent.parents and path.relative_to(root).parts[0] != "__pycache__"
}
ROOTS = (HOME, HOME / "charrnn", HOME / "tests")

FILE = re.compile(r"(?<![\w./*{~-])(?:\w+/)*\w[\w-]*\.(?:py|js|css|md|toml)\b(?![\w/(-])")
DOTTED = re.compile(r"(?<![\w./@-])(?:charrnn|tests)(?:\.[A-Za-z_]\w*)+(?![\w/-]|\.\w)")
PATH = re.compile(rf"(?<![\w./~{{-])(?:{'|'.join(sorted(FOLDERS))})/[\w./*-]*[\w*]")
IMPORTED = re.compile(
    r"from ((?:charrnn|tests)[.\w]*) import (\w+(?: as \w+)?(?:, \w+(?: as \w+)?)*)"
)
MEMBER = "charrnn.json"  # of a model file, not a module


def prose(path: Path) -> Iterator[str]:
    """Yield the comments and docstrings of a source file, or the paragraphs of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    elif path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""
    else:
        yield from re.findall(r"/\*.*?\*/|<!--.*?-->|(?m:(?<!:)//.*$)", text, flags=re.DOTALL)


def missing(text: str, here: Path) -> set[str]:
    """Return the names in a text of files and modules that do not exist."""
    lost = {name for name in FILE.findall(text) if not is_file(name)}
    if here.suffix in {".py", ".md"}:  # in JavaScript, charrnn is an object
        dotted = set(DOTTED.findall(text)) - {MEMBER}
        lost |= {name for name in dotted if not is_module_or_name(name)}
    return lost | {name for name in PATH.findall(text) if not is_path(name, here)}


def is_file(name: str) -> bool:
    """Return whether a file of the project has this name, or a path that ends with it."""
    return any(path.endswith(f"/{name}") for path in PATHS)


def is_module_or_name(dotted: str) -> bool:
    """Return whether a dotted name is a module, or is defined in one."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        base = HOME.joinpath(*parts[:count])
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.exists():
                source = file.read_text(encoding="utf-8")
                return count == len(parts) or bool(re.search(rf"\b{parts[count]}\b", source))
    return HOME.joinpath(*parts).is_dir()


def is_path(name: str, here: Path) -> bool:
    """Return whether a path, pattern or path without its suffix exists in the project."""
    roots = (*ROOTS, here.parent)
    return any(next(root.glob(name + end), None) for root in roots for end in ("", ".py"))


def test_stale_names_are_found() -> None:
    stale = "gone.py cli/gone.py charrnn/gone/x.py gone/app.py tests.gone charrnn.gone data/gone"
    assert missing(stale, HOME / "README.md") == set(stale.split())
    kept = "app.py, cli/app.py; charrnn/cli, training/*.py (charrnn.train) tests.child.answer."
    assert not missing(f"{kept} model.npz https://a.org/gone.py ~/gone.md", HOME / "README.md")


def test_every_file_and_module_that_is_named_exists() -> None:
    stale = {}
    for path in [*PAGES, *ASSETS, *(path for path in FILES if path.suffix == ".py")]:
        if missing(path.read_text(encoding="utf-8"), path):  # perhaps only in code
            names = {name for text in prose(path) for name in missing(text, path)}
            if names:
                stale[str(path.relative_to(HOME))] = sorted(names)
    assert not stale


def test_what_code_in_strings_imports_exists() -> None:
    stale = []
    for path in FILES:
        if path.suffix in {".py", ".ipynb"} and path != Path(__file__):
            for module, names in IMPORTED.findall(path.read_text(encoding="utf-8")):
                for name in names.split(", "):
                    full = f"{module}.{name.partition(' ')[0]}"
                    if not is_module_or_name(full):
                        stale.append(f"{path.relative_to(HOME)}: {full}")
    assert not stale

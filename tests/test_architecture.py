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
    "memory": set(),
    "seeding": set(),
    "corpus": {"settings", "vocabulary"},
    "network": {"seeding", "vocabulary"},
    "settings": {"network"},
    "training": {
        *("corpus", "counts", "network", "prediction", "seeding", "scoring", "settings"),
        "vocabulary",
    },
    "counts": {"memory", "vocabulary"},
    "scoring": {
        *("corpus", "counts", "escaping", "graphemes", "network", "prediction", "settings"),
        "vocabulary",
    },
    "prediction": {"counts", "network", "vocabulary"},
    "sampling": {"corpus", "network", "prediction", "settings", "vocabulary"},
    "filling": {"network", "prediction", "sampling", "settings", "vocabulary"},
    "analysis": {"corpus", "counts", "network", "prediction", "sampling", "scoring", "vocabulary"},
    "presets": {"corpus", "settings"},
    "cost": {"corpus", "counts", "network", "presets", "settings", "training"},
    "model_file": {"corpus", "counts", "network", "settings", "training", "vocabulary"},
    "blas": set(),
    "display": {"analysis", "escaping", "model_file", "scoring", "training"},
    "export": {
        "escaping",
        "model_file",
        "network",
        "sampling",
        "scoring",
        "settings",
        "vocabulary",
    },
    "model": {
        *("analysis", "blas", "corpus", "counts", "display", "export", "filling", "model_file"),
        *("network", "prediction", "sampling", "scoring", "settings", "vocabulary"),
    },
    "cluster": {"blas", "model", "prediction", "sampling", "scoring", "vocabulary"},
    "runs": {
        *("blas", "corpus", "cost", "display", "model", "model_file", "presets", "settings"),
        "training",
    },
    "sweeping": {
        *("blas", "cluster", "corpus", "cost", "counts", "model_file", "network", "presets"),
        *("scoring", "settings", "training"),
    },
    "sweeps": {"corpus", "model", "settings", "sweeping"},
}

# file of cli -> the files of cli it may import. What is imported for types only does not count.
IN_CLI: dict[str, set[str]] = {
    "early_signals": set(),
    "console": set(),
    "exit_status": set(),
    "hints": set(),
    "line_sink": set(),
    "metrics": {"line_sink"},
    "formatting": set(),
    "streams": set(),
    "thread_count": set(),
    "terminal_curve": {"console"},
    "help": {"console"},
    "completion": set(),
    "held_file": {"output_file"},
    "did_you_mean": set(),
    "options": {"completion"},
    "shared_work": {"console", "options"},
    "signals": {"early_signals", "console"},
    "launcher": set(),
    "mpi": {
        *("early_signals", "console", "error_messages", "exit_status", "launcher", "streams"),
    },
    "surprisal_colours": {"console"},
    "table": {"console", "formatting"},
    "usage": {"did_you_mean", "exit_status"},
    "error_messages": {
        *("console", "exit_status", "hints", "launcher", "signals", "streams", "usage"),
    },
    "app": {
        *("completion", "console", "did_you_mean", "exit_status", "help", "options", "usage"),
    },
    "autosave": {"console", "metrics"},
    "checkup_rows": {"console", "formatting", "table"},
    "plan_display": {"console", "terminal_curve", "hints", "formatting", "table"},
    "training_json": set(),
    "progress": {"checkup_rows", "console", "formatting"},
    "resuming": {"hints"},
    "prepare_training": {
        *("console", "formatting", "plan_display", "resuming", "training_json", "table"),
        "thread_count",
    },
    "typed_again": set(),
    "training_summary": {
        "console",
        "terminal_curve",
        "formatting",
        "progress",
        "training_json",
        "table",
        "typed_again",
    },
    "run_train": {
        *("autosave", "console", "held_file", "metrics", "prepare_training", "progress"),
        *("training_summary", "signals"),
    },
    "try_option": {"did_you_mean", "options"},
    "sweep": {"console", "options", "run_sweep", "shared_work", "thread_count", "try_option"},
    "sweep_options": {"hints"},
    "prepare_sweep": {"console", "hints", "prepare_training", "sweep_options"},
    "sweep_plan": {
        "formatting",
        "hints",
        "plan_display",
        "prepare_sweep",
        "sweep_options",
        "training_json",
        "table",
    },
    "sweep_progress": {"console", "formatting", "progress", "table"},
    "sweep_summary": {"console", "formatting", "table", "typed_again"},
    "run_sweep": {
        *("console", "prepare_sweep", "shared_work", "signals", "sweep_plan", "sweep_progress"),
        *("sweep_summary", "table", "typed_again"),
    },
    "sample_output": {"console"},
    "copies_of_corpus": {"console"},
    "choosing_samples": set(),
    "prime": {"console"},
    "run_sample": {
        *(
            "console",
            "copies_of_corpus",
            "prime",
            "sample_output",
            "surprisal_colours",
            "thread_count",
            "choosing_samples",
            "shared_work",
        ),
    },
    "per_character": {"console", "surprisal_colours"},
    "per_example": {"console", "table"},
    "surprisal_alarm": {"console", "exit_status", "formatting"},
    "standard_input": {"console"},
    "loss_cells": {"table"},
    "beside_others": {"console", "formatting", "loss_cells", "table"},
    "score_summary": {"beside_others", "console", "formatting", "loss_cells", "table"},
    "score_parts": {"surprisal_alarm", "console", "score_summary"},
    "share_scoring": set(),
    "text_to_score": set(),
    "run_eval": {
        *(
            "text_to_score",
            "surprisal_alarm",
            "console",
            "output_file",
            "per_character",
            "per_example",
            "score_parts",
            "score_summary",
            "share_scoring",
            "shared_work",
            "thread_count",
        ),
    },
    "model_summary": {
        "console",
        "terminal_curve",
        "figure_file",
        "hints",
        "formatting",
        "training_json",
        "table",
    },
    "output_file": {"options"},
    "figure_file": {"console", "output_file"},
    "texts_to_read": set(),
    "run_embed": {"console", "formatting", "output_file", "texts_to_read"},
    "embed": {"console", "options", "run_embed", "standard_input", "thread_count"},
    "run_fill": {"console", "prime"},
    "fill": {"console", "options", "run_fill", "thread_count"},
    "reach_report": {"console", "terminal_curve", "table"},
    "run_reach": {"console", "figure_file", "reach_report", "texts_to_read"},
    "reach": {
        *("console", "figure_file", "options", "run_reach", "standard_input", "thread_count"),
    },
    "sample": {
        *("console", "figure_file", "options", "run_sample", "shared_work", "thread_count"),
    },
    "eval": {
        *("console", "options", "run_eval", "score_parts", "shared_work", "standard_input"),
        "thread_count",
    },
    "train": {"console", "launcher", "mpi", "options", "run_train", "thread_count"},
    "info": {"console", "figure_file", "model_summary", "options", "thread_count"},
    "slim": {"console", "options", "output_file", "table", "thread_count"},
    "run_export": {"console", "output_file", "table"},
    "export": {"console", "options", "run_export", "thread_count"},
}
MAY_WRITE = {"console", "streams"}


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
        known = imports(file) & {"typer", "rich", "tqdm", "click"}
        assert known == ({"tqdm"} if file.stem == "progress_bar" else set())


def test_dask_is_known_in_one_room_alone() -> None:
    for room, files in rooms().items():
        for file in files:
            assert room == "cluster" or not imports(file) & {"dask", "distributed"}


def test_several_processes_are_known_in_one_place() -> None:
    knowing = [file for file in HOUSE.rglob("*.py") if "mpi4py" in imports(file)]
    assert [file.name for file in knowing] == ["mpi_ranks.py"]


def test_the_network_knows_numpy_and_nothing_else() -> None:
    standard = {"__future__", "collections", "concurrent", "contextlib", "dataclasses"}
    standard |= {"functools", "importlib", "itertools", "math", "os", "threading"}
    for file in rooms()["network"]:
        outside = {name for name in imports(file) if not name.startswith("charrnn.")}
        assert outside <= standard | {"numpy", "typing"}


CLI = {file.stem: file for file in (HOUSE / "cli").rglob("*.py") if file.stem != "__init__"}


def files_imported(file: Path) -> set[str]:
    """The files of cli that a file imports, but those for types only."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "charrnn.cli":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("charrnn.cli."):
            found.add(str(node.module).split(".")[2])
    return found


def test_every_file_of_the_command_line_is_in_the_table() -> None:
    assert set(CLI) == set(IN_CLI)


@pytest.mark.parametrize("name", sorted(IN_CLI))
def test_a_file_of_the_command_line_knows_only_what_lies_below_it(name: str) -> None:
    assert files_imported(CLI[name]) == IN_CLI[name]


def test_the_table_of_the_command_line_has_no_circle() -> None:
    left = dict(IN_CLI)
    while left:
        grounded = [name for name, below in left.items() if not below & set(left)]
        assert grounded, f"a circle among {sorted(left)}"
        for name in grounded:
            del left[name]


@pytest.mark.parametrize("name", sorted(set(IN_CLI) - MAY_WRITE))
def test_only_the_console_writes(name: str) -> None:
    for node in ast.walk(ast.parse(CLI[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) not in {"sys.stdout", "sys.stderr", "tqdm.write"}
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in {"print", "typer.echo"}


def test_the_table_of_contents_names_every_file_of_the_command_line() -> None:
    contents = (HOUSE / "cli" / "__init__.py").read_text(encoding="utf-8").split()
    assert set(CLI) <= set(contents)


def test_numpy_comes_with_the_work_and_not_with_the_options() -> None:
    for name in (
        "app",
        "help",
        "options",
        "hints",
        "train",
        "sample",
        "eval",
        "info",
        "embed",
        "reach",
        "export",
        "sweep",
        "try_option",
    ):
        assert "numpy" not in imports(CLI[name])

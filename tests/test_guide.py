"""The pages of the guide and the README: commands, links, keys, pictures, tables; `guide`."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pytest

import charrnn
from charrnn.cli.app import COMMANDS
from charrnn.cli.guide import TOPICS
from charrnn.cli.typer_options import command_settings
from tests import make_models, pictures
from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import labels, results, seconds, training
from tests.child import CHARRNN, HOME
from tests.make_pages import notebook, options_page, python_page
from tests.pages import GUIDE, PAGES, blocks_of, matches, run_page
from tests.pictures import FOLDER, OF_PAGES, OF_TERMINALS, Studio
from tests.program import SMALL, Program

README = (HOME / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(page: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    (program / "names.txt").unlink()  # the folder is empty
    run_page(page, program, monkeypatch)


def test_only_blocks_that_download_packages_are_not_run() -> None:
    for block in (block for page in PAGES for block in blocks_of(page)):
        reason = block.direction("not")
        assert reason is None or "downloads packages" in reason
        assert block.language in ("console", "python", "") or block.direction("file")


def test_dots_stand_for_any_lines() -> None:
    alike = [("a\n...\nd", "a\nb\nc\nd"), ("a\n...", "a\nb"), ("...\nb", "a\nb")]
    for shown, out in [*alike, ("a\n...\nd", "a\nb\n"), ("a", "a\nb")]:
        assert matches(shown, out) == ((shown, out) in alike)


def test_every_page_is_in_the_index_and_linked_in_the_readme() -> None:
    assert sorted(TOPICS) == sorted(page.stem for page in GUIDE.glob("[a-z]*.md"))
    for topic in TOPICS:
        assert f"`]({GUIDE.relative_to(HOME)}/{topic}.md)" in README, topic
    text = README + (GUIDE / "contributing.md").read_text("utf-8")
    for name in re.findall(r"`((?:charrnn|data|tests)/[\w/.-]+|[\w/]+\.py)`", text):
        assert [*HOME.glob(name), *(HOME / "charrnn").rglob(name)], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_pages_and_extras_are_named_as_they_are(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        if not link.startswith(("https://", "#")):
            assert (page.parent / link.partition("#")[0]).exists(), link
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]
    for named in re.findall(r"pip install (?:-e )?'\.\[([\w,]+)\]'", page.read_text("utf-8")):
        assert {*named.split(",")} <= {*project["optional-dependencies"]}


def test_a_release_shows_no_links_into_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    interface = "hatchling.metadata.plugin.interface"  # only there where a release is built
    monkeypatch.setitem(sys.modules, interface, SimpleNamespace(MetadataHookInterface=object))
    metadata: dict[str, Any] = {}
    hook = run_path(str(HOME / "tests" / "description.py"))["Description"]
    hook.update(SimpleNamespace(root=str(HOME)), metadata)
    shown = metadata["readme"]["text"]
    assert all(link.startswith("https://") for link in re.findall(r"\]\((.*?)\)", shown))
    assert ("![" in README, "![" in shown) == (True, False)


def test_the_life_of_a_text_names_functions_where_they_are() -> None:
    page = (GUIDE / "contributing.md").read_text("utf-8")
    life = page.partition("The life of a text")[2].partition("\n## ")[0]
    steps = re.split(r"(?m)^\d\. ", life)[1:]
    assert len(steps) == 8
    for step in steps:
        names = re.findall(r"`([\w.]+)`(?: of `[\w.]+`)? in\s+`(?:charrnn/)?([\w/]+)\.py`", step)
        assert names, step
        for name, file in names:
            assert callable(attrgetter(name)(import_module(f"charrnn.{file}".replace("/", "."))))


def test_pages_from_the_code_are_up_to_date() -> None:
    for name, made in (("options", options_page), ("python", python_page)):
        text = (GUIDE / f"{name}.md").read_text("utf-8")
        assert text == made(text), "type python -m tests.make_pages"


def test_each_table_of_the_results_is_made_by_the_command() -> None:
    page, source = results.PAGE.read_text("utf-8"), Path(results.__file__).read_text("utf-8")
    assert all(import_module(f"tests.benchmarks.{name}").report for name in benchmarks.SECTIONS)
    for name in re.findall("<!-- table (.*) -->", page):
        assert f'"{name}": ' in source
        table = f"<!-- table {name} -->\n| new |\n\n"
        assert table in results.with_table(page, name, "| new |\n")


def test_benchmarks_go_on_without_pytorch_and_without_git(
    program: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(seconds, "TIMES", (0.06,))
    seconds.report(str(program / "names.txt"), ["false"])
    assert re.search(r"1 s .*\n.*\n\| charrnn, .*\|\n$", capsys.readouterr().out)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert training.version() == charrnn.__version__
    with pytest.raises(SystemExit, match=r"^dinosaurs is no folder .* by --corpus$"):
        labels.report("dinosaurs", [])


@pytest.mark.parametrize("tool", [make_models, pictures])
def test_a_tool_says_which_names_it_knows(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["tool", "--help"])
    with pytest.raises(SystemExit, match=r"^--help: no \w+; there are \w+, "):
        tool.main()


def test_a_page_shows_each_picture_and_says_what_is_seen() -> None:
    names = {*(f"{name}.svg" for name in OF_TERMINALS), *(f"{name}.png" for name in OF_PAGES)}
    texts = "".join(page.read_text("utf-8") for page in PAGES)
    for picture in FOLDER.iterdir():
        assert picture.name in names
        assert hasattr(Studio, picture.stem)
        shown = re.findall(rf"!\[([^]]*)\]\([\w/]*pictures/{picture.name}\)", texts)
        assert min(len(text.split()) for text in shown) >= 8, picture
        if picture.suffix == ".svg":
            text = picture.read_text("utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "", 1)
            for harm in ("://", "url(", "@import", "href", "<script", "font-face"):
                assert harm not in text, (picture.name, harm)
    assert sum(picture.stat().st_size for picture in FOLDER.iterdir()) <= 1_000_000


# Small commands that write JSON with every key.
JSON = """
train names.txt --metrics steps.jsonl --holdout 0.6 --dry-run --json
train names.txt --metrics steps.jsonl --holdout 0.6 --json
train names.txt --counts --ends halt --holdout 0.6 -m two.npz --metrics steps2.jsonl --json
info --json
eval --baselines --json
eval -m model.npz -m two.npz --json
eval names.txt --above 3 --json
eval names.txt names.txt --top 1 -m two.npz --json
eval names.txt --per-char -m two.npz --json
train names.txt kind.txt --label-by file --holdout 0.4 -m kinds.npz --json
eval -m kinds.npz --json
eval names.txt --per-example -m kinds.npz --json
sample -m kinds.npz --json
fill an_a --json
embed names.txt
reach --json
unfold ann --backward --gradients --json
export names.html --json
sweep names.txt --try hidden=2 -o few --dry-run --json
sweep names.txt --try hidden=2 --counts -o few --json
"""
KINDS = {bool: "bool", int: "number", float: "number", str: "text", list: "list", dict: "object"}
SCOPES = ("settings", "by_use", "labels")  # objects whose keys have a meaning of their own
BY_NAME = (  # objects with names in place of keys
    *("baselines", "cosine", "models", "moments", "sums", "tried"),
    *("values", "equations", "gradient", "gradients", "confusions"),
)


def keys_of(value: Any, schema: str = "", scope: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each key of the objects in a JSON value: its schema, its scope with it, its kind."""
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item, schema, scope)
    elif isinstance(value, dict):
        schema = value.get("schema", schema)
        for key, item in value.items():
            yield schema, f"{scope}.{key}", KINDS.get(type(item), "")
            is_by_name = key in BY_NAME and isinstance(item, dict)
            items = [*item.values()] if is_by_name else item
            yield from keys_of(items, schema, key if key in SCOPES else scope)


def test_every_key_of_json_is_explained_and_has_one_type(program: Program) -> None:
    rows: list[Any] = []
    program.write("kind.txt", "".join(f"{a}{b}\n" for a in "abcde" for b in "xyz"))
    for line in JSON.strip().splitlines():
        name, *rest = line.split()
        small = SMALL if name == "train" else SMALL[2:] if name == "sweep" else ()
        done = program.run(name, *small, *rest)
        assert done.status == (3 if "--above" in rest else 0), line
        rows += done.rows
    for file in ("steps.jsonl", "steps2.jsonl", "few/sweep.jsonl"):
        rows += [json.loads(row) for row in (program / file).read_text().splitlines()]
    found, kinds = set[tuple[str, str]](), dict[str, set[str]]()
    for schema, key, kind in (triple for row in rows for triple in keys_of(row)):
        assert schema.endswith("/3")
        found.add((schema, key.rpartition(".")[2]))
        kinds.setdefault(key, set()).update({kind} - {""})
    assert {key: types for key, types in kinds.items() if len(types) > 1} == {}

    parts = re.split("^#+ ", (GUIDE / "json.md").read_text("utf-8"), flags=re.MULTILINE)
    shared = next(part for part in parts if part.startswith("Which objects occur"))
    schemas = {schema for schema, _ in found}
    for schema in schemas:
        own = "".join(part for part in parts if f"`{schema}`" in part.partition("\n")[0])
        assert own, schema
        keys = {key for of, key in found if of == schema}
        lost = [key for key in keys if f"`{key}`" not in own + shared]
        assert not lost, f"{schema}: {lost} are not explained"
        assert explained(own) <= keys, f"{schema} has no {explained(own) - keys}"
    assert explained(shared) <= {key for _, key in found}
    for name in COMMANDS:
        if "as_json" in command_settings(import_module(f"charrnn.cli.{name}").Options):
            assert any(of.startswith(f"charrnn.{name}") for of in schemas), name


def explained(part: str) -> set[str]:
    """Return the keys that begin the items of the lists."""
    items = re.findall(r"^ *- ((?:`[^`]+`(?:, )?)+):", part, re.MULTILINE)
    return {key for item in items for key in re.findall("`([^`]+)`", item)}


def test_a_topic_is_a_page_and_without_one_the_list_is_shown(program: Program) -> None:
    assert program.run("guide").out == (GUIDE / "README.md").read_text("utf-8")
    page = (GUIDE / "sampling.md").read_text("utf-8")
    assert program.run("guide", "sampling").out == page
    assert program.run("guide", "sampling", "--raw").out == page


def test_a_terminal_gets_formatted_text_and_a_long_page_goes_to_the_pager(program: Program) -> None:
    pager = {"PAGER": "sed s/^/P:/", "MANPAGER": "sed s/^/MAN:/", "NO_COLOR": "1"}
    status, shown = program.terminal("guide", "sampling", by=CHARRNN, env=pager)
    lines = shown.splitlines()
    assert status == 0
    assert lines
    assert all(line.startswith("P:") for line in lines)
    assert not any(mark in shown for mark in ("```", "<!--", "](", "\x1b", "six temperatures"))
    _, listed = program.terminal("guide", by=CHARRNN, env=pager)
    assert "• first-names: " in listed


def test_the_recipe_for_cron_runs_with_the_variables_of_cron(program: Program) -> None:
    files = {one.direction("file"): one.code for one in blocks_of(GUIDE / "scoring.md")}
    command = f'#!/bin/sh\nPYTHONPATH={HOME} exec {shlex.join(CHARRNN)} "$@"\n'
    program.write("charrnn", command).chmod(0o755)
    script = files["watch.sh"]
    for shown, run in (("/home/me/.local/bin", "/srv/logs"), ("/srv/logs", str(program.folder))):
        assert shown in script
        script = script.replace(shown, run)
    program.write("watch.sh", script)
    program.write("day.py", files["day.py"])
    odd = files["odd.log"].splitlines(keepends=True)[:6]
    day = [program.run("day.py", number, by=[sys.executable]).out for number in "12"]
    program.write("yesterday.log", day[0])
    program.train("yesterday.log", "-m", "log.npz", "--hidden", "8").says()
    first = (program / "log.npz").read_bytes()
    two_of_a_line = odd[0].replace("\n", "\r") + odd[1]  # which sed takes for one
    program.write("yesterday.log", two_of_a_line + day[1] + "".join(odd))
    crontab = files["crontab.txt"].replace("/srv/logs", str(program.folder))
    daily, weekly = (line.split(None, 5)[5] for line in crontab.splitlines())

    def by_cron(command: str) -> tuple[int, str, str]:
        env = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "me"}  # and no HOME
        line = ["/bin/sh", "-c", command]
        ended = subprocess.run(line, cwd="/", env=env, capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr

    status, out, err = by_cron(daily)
    shown_lines = [line.split(None, 3)[3] for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert {line.strip() for line in odd} <= {*shown_lines}
    assert (program / "log.npz").read_bytes() == first
    program.write("watch.sh", script.replace("--minutes 0.5", "--hidden 3 --layers 1 --epochs 1"))
    assert by_cron(weekly) == (0, out, "")
    assert (program / "log.1.npz").read_bytes() == first
    assert charrnn.load("log.npz").config.hidden == 3
    lines = (program / "yesterday.log").read_text().splitlines()
    normal = (program / "normal.log").read_text().splitlines()
    assert normal == [line for line in lines if line not in shown_lines]
    second = (program / "log.npz").read_bytes()
    program.write("yesterday.log", "")
    for what in ("nothing was scored", "yesterday.log"):
        status, out, err = by_cron(weekly)
        assert (status, out) == (1, "")
        assert re.match(f"charrnn: error: .*{what}", err)
        assert (program / "log.npz").read_bytes() == second
        (program / "yesterday.log").unlink(missing_ok=True)


def test_the_notebook_is_made_from_the_page() -> None:
    text = (GUIDE / "book.ipynb").read_text("utf-8")
    assert text == notebook((GUIDE / "book.md").read_text("utf-8"), text)
    assert not any(mark in text for mark in ("<!--", ".md)"))


def test_the_notebook_has_the_outputs_of_a_run_and_a_picture() -> None:
    cells = json.loads((GUIDE / "book.ipynb").read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    what = "type python -m tests.make_pages --run"
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)], what
    outputs = [one for cell in code for one in cell["outputs"]]
    assert {one["output_type"] for one in outputs} == {"stream", "execute_result", "display_data"}
    assert sum("image/png" in one.get("data", {}) for one in outputs) == 1
    for cell in code:
        assert bool(cell["outputs"]) == cell["source"].startswith(("!", "model.plot"))
    said = "".join(one.get("text", "") for one in outputs)
    assert "held-out loss 1.770 nats" in said
    assert not {"\x1b", "\r"} & set(said)

"""``charrnn guide``, and the pages themselves: their commands run, their links lead somewhere."""

import json
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import charrnn
from charrnn.cli.app import COMMANDS
from charrnn.cli.guide import TOPICS
from charrnn.cli.options import command_settings
from tests.child import CHARRNN, HOME, PLAIN, finished
from tests.make_pages import notebook, options_page, python_page
from tests.pages import GUIDE, PAGES, Block, blocks_of, matches, run_command, run_page
from tests.program import SMALL, Program


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs(
    page: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program / "names.txt").unlink()  # the folder is empty
    run_page(page, program, monkeypatch)


def test_only_blocks_that_download_packages_are_not_run() -> None:
    for block in (block for page in PAGES for block in blocks_of(page)):
        reason = block.direction("not")
        assert reason is None or "downloads packages" in reason
        assert block.language in ("console", "python", "") or block.direction("file")


def test_the_index_names_every_page() -> None:
    assert sorted(TOPICS) == sorted(page.stem for page in GUIDE.glob("[a-z]*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_pages(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        if not link.startswith(("https://", "#")):
            assert (page.parent / link.partition("#")[0]).exists(), link


def test_pages_from_the_code_are_up_to_date() -> None:
    for name, made in (("options", options_page), ("python", python_page)):
        text = (GUIDE / f"{name}.md").read_text("utf-8")
        assert text == made(text), "type python -m tests.make_pages"


# Small commands that write JSON with every key.
JSON = """
train names.txt --metrics steps.jsonl --holdout 0.6 --dry-run --json
train names.txt --metrics steps.jsonl --holdout 0.6 --json
train names.txt --counts --ends halt --holdout 0.6 -m two.npz --metrics steps2.jsonl --json
info --json
info -m two.npz --json
sample -n 2 --seed 1 --json
eval --baselines --json
eval -m model.npz -m two.npz --json
eval names.txt --above 3 --json
eval names.txt names.txt --top 1 -m two.npz --json
eval names.txt --per-example -m two.npz --json
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
BY_NAME = (  # objects with names in place of keys
    *("baselines", "cosine", "models", "moments", "sums", "tried"),
    *("values", "equations", "gradient", "gradients", "confusions"),
)


def keys_of(value: Any, schema: str = "") -> set[tuple[str, str]]:
    """Return the keys of all objects in a JSON value, each with the schema of its object."""
    if isinstance(value, list):
        return set().union(*(keys_of(item, schema) for item in value))
    if not isinstance(value, dict):
        return set()
    schema = value.get("schema", schema)
    found = {(schema, key) for key in value}
    for key, item in value.items():
        is_by_name = key in BY_NAME and isinstance(item, dict)
        found |= keys_of([*item.values()] if is_by_name else item, schema)
    return found


def test_every_key_of_json_is_explained(program: Program) -> None:
    found: set[tuple[str, str]] = set()
    program.write("kind.txt", "".join(f"{a}{b}\n" for a in "abcde" for b in "xyz"))
    for line in JSON.strip().splitlines():
        name, *rest = line.split()
        small = SMALL if name == "train" else SMALL[2:] if name == "sweep" else ()
        done = program.run(name, *small, *rest)
        assert done.status == (3 if "--above" in rest else 0), line
        found |= keys_of(done.rows)
    for file in ("steps.jsonl", "steps2.jsonl", "few/sweep.jsonl"):
        found |= keys_of([json.loads(row) for row in (program / file).read_text().splitlines()])

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


def test_dots_stand_for_any_lines() -> None:
    assert matches("a\n...\nd", "a\nb\nc\nd")
    assert matches("a\n...", "a\nb")
    assert matches("...\nb", "a\nb")
    assert not matches("a\n...\nd", "a\nb\n")
    assert not matches("a", "a\nb")


def test_without_a_topic_the_list_is_shown(program: Program) -> None:
    done = program.run("guide")
    assert done.out == (GUIDE / "README.md").read_text("utf-8")
    for topic in TOPICS:
        assert f"- [{topic}]" in done.out


def test_a_topic_is_a_page(program: Program) -> None:
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
    day = [
        finished([sys.executable, "day.py", number], program.folder, PLAIN, None).out
        for number in ("1", "2")
    ]
    program.write("yesterday.log", day[0])
    small = ("--hidden", "16", "--layers", "1", "--epochs", "2")
    program.run("train", "yesterday.log", "-m", "log.npz", *small).says()
    first = (program / "log.npz").read_bytes()
    program.write("yesterday.log", day[1] + "".join(odd))
    daily, weekly = (
        line.split(None, 5)[5].replace("/srv/logs", str(program.folder))
        for line in files["crontab.txt"].splitlines()
    )

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
    few = script.replace("--minutes 0.5", "--hidden 3 --layers 1 --epochs 1")
    program.write("watch.sh", few)
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
        assert err.startswith("charrnn: error: ")
        assert what in err
        assert (program / "log.npz").read_bytes() == second
        (program / "yesterday.log").unlink(missing_ok=True)


def test_the_notebook_of_the_book_runs_from_top_to_bottom(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program / "names.txt").unlink()
    monkeypatch.chdir(program.folder)
    names: dict[str, Any] = {}
    document = json.loads((GUIDE / "book.ipynb").read_text("utf-8"))
    sources = [cell["source"] for cell in document["cells"] if cell["cell_type"] == "code"]
    assert "!charrnn unfold Tyrannosaurus --backward -o unfold.html --force" in sources
    for source in sources:
        if not source.startswith("!"):
            exec(compile(source, "cell", "exec"), names)
            continue
        for command in source.split("\n"):
            small = Block("console", "", ("small",))
            run_command(small, command.removeprefix("!"), "", program, ExitStack())
    assert len([source for source in sources if source.startswith("!")]) >= 6
    assert names["before"] > 0


def test_the_notebook_is_made_from_the_page() -> None:
    text = (GUIDE / "book.ipynb").read_text("utf-8")
    assert text == notebook((GUIDE / "book.md").read_text("utf-8"), text)
    assert "<!--" not in text
    assert ".md)" not in text


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


def test_the_life_of_a_text_names_functions_where_they_are() -> None:
    page = (GUIDE / "contributing.md").read_text("utf-8")
    life = page.partition("The life of a text")[2].partition("\n## ")[0]
    steps = re.split(r"(?m)^\d\. ", life)[1:]
    assert len(steps) == 8
    for step in steps:
        names = re.findall(r"`([\w.]+)`(?: of `[\w.]+`)? in\s+`(?:charrnn/)?([\w/]+)\.py`", step)
        assert names, step
        for name, file in names:
            module = import_module("charrnn." + file.replace("/", "."))
            assert callable(attrgetter(name)(module)), f"{file} has no {name}"

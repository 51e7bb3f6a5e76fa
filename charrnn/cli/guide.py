"""Show the manual, a page for each topic.

TOPIC is the name of a page, or a part of a title or heading. Without one, the command lists the
topics. A page is formatted for a terminal, in the program that PAGER names if it is long. A file or
a pipe gets the Markdown.

# list the topics
charrnn guide

# from a messy list to thirty good names
charrnn guide first-names

# a lesson for a class: the page as a notebook
charrnn guide book --notebook book.ipynb

# every line of the manual with a word
charrnn guide --search temperature
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from pydoc import getpager
from typing import NamedTuple

from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile
from charrnn.cli.options import OUTPUT, CommandOptions, Known, NewFile, excludes, flag, needs
from charrnn.errors import SettingError
from charrnn.settings.fields import Text, setting
from charrnn.text import Raw, question

INDEX = "README"
ENTRY = re.compile(r"^- \[([a-z-]+)\]\([a-z-]+\.md\): (.*)$", re.MULTILINE)
CODE = re.compile(r"^(```(?:console|python)\n.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
CLOSE = 0.6  # the similarity of a mistyped topic to a word of the manual


class Line(NamedTuple):
    """A line of a page, and the heading above it."""

    page: str
    heading: str
    text: str
    level: int  # 1 for a title, 2 and more for a heading, 0 for other lines


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    RULES = (
        *(needs("notebook", "topic"), needs("force", "notebook")),
        excludes("notebook", "search", "raw"),
        excludes("search", "topic"),
    )

    topic: str | None = setting(
        Known("TOPIC", names=lambda: topics()),
        "The name of a page, or a part of a title or heading.",
        names=("TOPIC",),
    )
    search: str | None = setting(
        Text("WORD"), "Show each line of the manual that contains this.", panel=OUTPUT
    )
    raw: bool = flag("Show the Markdown as it is.")
    notebook: Path | None = setting(
        NewFile("FILE.ipynb", "a file name that ends in .ipynb", (".ipynb",)),
        "Write TOPIC as a Jupyter notebook: commands and Python code become cells.",
        panel=OUTPUT,
    )
    force: bool = flag("Replace the file of --notebook if it exists.")
    as_json: bool = flag("A page is text.", names=())  # not an option


def run(options: Options, _threads: int, console: Console) -> None:
    if options.search is not None:
        text = lines_with(options.search)
    else:
        text = read(INDEX) if options.topic is None else find(options.topic)
    if options.notebook is not None:
        file, content = OutputFile(options.notebook, "--notebook", force=options.force), cells(text)
        file.check()
        file.write(len(content), [content])
        console.note(f"notebook saved to {options.notebook}")
    elif options.raw or not console.out.is_terminal:
        console.out.write(Raw(text))
    else:
        show(text, console)


def read(page: str) -> str:
    return files("charrnn").joinpath("guide", f"{page}.md").read_text("utf-8")


def topics() -> dict[str, str]:
    """Return the topics and their descriptions, in the order of the index."""
    return dict(ENTRY.findall(read(INDEX)))


def lines_of(page: str) -> Iterator[Line]:
    """Yield the lines of a page; a # within a code block begins no heading."""
    heading, is_code = "", False
    for text in read(page).splitlines():
        is_code ^= text.startswith("```")
        marks = re.match("#+ ", text)
        level = 0 if is_code or marks is None else len(marks[0]) - 1
        heading = text[level + 1 :] if level else heading
        yield Line(page, heading, text, level)


def find(topic: str) -> str:
    """Return the page of a topic, or the part below a heading that contains its words.

    If several match, return their list. Raise SettingError if none does.
    """
    wanted = topic.casefold()
    headings = [line for page in topics() for line in lines_of(page) if line.level]
    titles = [line for line in headings if line.level == 1]
    by_name = [line for line in titles if line.page == wanted]
    by_title = [line for line in titles if wanted in f"{line.page} {line.heading}".casefold()]
    by_heading = [line for line in headings if line.heading == topic]
    by_part = [line for line in headings if wanted in line.heading.casefold()]
    matches = by_name or by_title or by_heading or by_part
    if not matches:
        names = {word: line.page for line in headings for word in line.heading.casefold().split()}
        names |= {page: page for page in topics()}
        near = [names[word] for word in get_close_matches(wanted, names, 3, CLOSE)]
        meant = question(dict.fromkeys(near))
        raise SettingError(f"the guide has no topic {topic!r}", f"{meant}See 'charrnn guide'.")
    if len(matches) > 1:
        rows = [f"- {line.page}: {line.heading}" for line in matches]
        return "\n".join([f"{len(rows)} headings contain {topic!r}:", "", *rows, ""])
    if matches[0].level == 1:
        return read(matches[0].page)
    found, part = matches[0], list[str]()
    for line in lines_of(found.page):
        if part and 0 < line.level <= found.level:
            break
        if part or line == found:
            part.append(line.text)
    return "\n".join([*part, ""])


def lines_with(word: str) -> str:
    """Return the lines with a word, below their pages and headings."""
    lines = [
        line
        for page in topics()
        for line in lines_of(page)
        if word.casefold() in line.text.casefold() and not line.text.startswith("<!--")
    ]
    if not lines:
        raise SettingError(f"the guide does not contain {word!r}", "See 'charrnn guide'.")
    parts = []
    for (page, heading), found in groupby(lines, key=lambda line: (line.page, line.heading)):
        shown = [f"    {line.text.strip()}" for line in found if not line.level]
        parts += [f"**{page}**: {heading}", "", *shown, *[""] * bool(shown)]
    return "\n".join([*parts, ""])


def plain(text: str) -> str:
    """Return Markdown without the directives of the tests and the links between pages."""
    text = re.sub(r"<!--.*?-->\n*", "", text, flags=re.DOTALL)
    return re.sub(r"\[([^]]*)\]\([^)]*\.md\)", r"\1", text)


def cells(text: str) -> bytes:
    """Return Markdown as a notebook, without the output of its commands."""
    import json

    found: list[dict[str, object]] = []
    for part in CODE.split(plain(text)):
        language, _, code = part.partition("\n")
        cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "outputs": []}
        if language == "```python":
            source = code
        elif language == "```console":
            source = "\n".join(f"!{command}" for command in COMMAND.findall(code))
        else:
            cell, source = {"cell_type": "markdown"}, part
        found.append(cell | {"metadata": {}, "source": source.strip()})
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document = {"cells": found, "metadata": about, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def show(text: str, console: Console) -> None:
    """Format Markdown for the terminal; a page longer than the window goes to the pager."""
    from io import StringIO

    from rich.console import Console as Rich
    from rich.markdown import Markdown

    out, page = console.out, StringIO()
    text = plain(text)
    rich = Rich(file=page, width=out.width, force_terminal=True, color_system="standard")
    rich.print(Markdown(text, code_theme="bw", hyperlinks=False))
    shown = page.getvalue() if out.takes_colour else re.sub("\x1b\\[[0-9;]*m", "", page.getvalue())
    if shown.count("\n") < os.get_terminal_size(out.stream.fileno()).lines:
        out.write(Raw(shown))
        return
    os.environ.setdefault("LESS", "-FRX")
    os.environ.pop("MANPAGER", None)  # for manual pages, and getpager prefers it to PAGER
    getpager()(shown)

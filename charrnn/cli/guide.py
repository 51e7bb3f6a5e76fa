"""Show the manual, a page for each topic.

TOPIC is the name of a page, or words of a heading. Without one, the command lists the topics. A
page is formatted for a terminal, in the program that PAGER names if it is long. A file or a pipe
gets the Markdown.

# list the topics
charrnn guide

# from a messy list to thirty good names
charrnn guide first-names

# every line of a page with a word
charrnn guide sampling | grep temperature
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files

from charrnn.cli.console import Console
from charrnn.cli.options import CommandOptions, Known, flag
from charrnn.errors import SettingError
from charrnn.settings import setting
from charrnn.text import Raw, question

ENTRY = re.compile(r"^- \[([a-z-]+)\]\([a-z-]+\.md\): ", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    topic: str | None = setting(
        Known("TOPIC", names=lambda: topics()),
        "The name of a page, or words of a heading.",
        names=("TOPIC",),
    )
    raw: bool = flag("Show the Markdown as it is.")
    as_json: bool = flag("A page is text.", names=())  # not an option


def run(options: Options, console: Console) -> None:
    text = page("README") if options.topic is None else page(find(options.topic))
    if options.raw or not console.out.is_terminal:
        console.out.write(Raw(text))
        return
    from rich.console import Console as Rich
    from rich.markdown import Markdown

    text = re.sub(r"<!--.*?-->\n*", "", text, flags=re.DOTALL)  # directives of the tests
    text = re.sub(r"\[([^]]*)\]\([^)]*\.md\)", r"\1", text)
    os.environ.setdefault("LESS", "-FRX")  # a short page needs no pager
    os.environ.pop("MANPAGER", None)  # for manual pages, and pydoc prefers it to PAGER
    rich = Rich(width=console.out.width)
    with rich.pager(styles=console.out.takes_colour):
        rich.print(Markdown(text, code_theme="bw", hyperlinks=False))


def page(name: str) -> str:
    return files("charrnn").joinpath("guide", f"{name}.md").read_text("utf-8")


def topics() -> list[str]:
    """Return the names of the pages, in the order of the index."""
    return ENTRY.findall(page("README"))


def find(topic: str) -> str:
    """Return the name of the page, or of the only page with these words in a heading."""
    wanted, names = topic.casefold(), topics()
    if wanted in names:
        return wanted
    heading = re.compile(rf"^#.*{re.escape(wanted)}", re.MULTILINE | re.IGNORECASE)
    matches = [name for name in names if heading.search(page(name))]
    if len(matches) != 1:
        near = question(matches or get_close_matches(wanted, names))
        raise SettingError(f"the guide has no topic {topic!r}", f"{near}See 'charrnn guide'.")
    return matches[0]

"""Without TOPIC, the command lists the topics. A page is formatted for a terminal, in the program
that PAGER names. A file or a pipe gets the Markdown.

# list the topics
charrnn guide

# from a messy list to thirty good names
charrnn guide first-names

# every line of a page with a word
charrnn guide sampling | grep temperature
"""

import os
import re
from dataclasses import dataclass
from importlib.resources import files

from charrnn.cli.console import Console
from charrnn.cli.shared_options import CommandOptions, flag
from charrnn.settings.values import OneOf, setting
from charrnn.system.visible import Visible


def page(name: str) -> str:
    return files("charrnn").joinpath("guide", f"{name}.md").read_text("utf-8")


TOPICS = re.findall(r"(?m)^- \[([a-z-]+)\]", page("README"))  # in the order of the index


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    topic: str | None = setting(
        OneOf(TOPICS), "The name of a page.", names=("TOPIC",), short="Show this page"
    )
    raw: bool = flag(short="Show the Markdown as it is")
    as_json: bool = flag("A page is text.", names=())  # not an option


def run(options: Options, console: Console) -> None:
    text = page(options.topic or "README")
    if options.raw or not console.out.is_terminal:
        console.out.write(Visible(text))
        return
    from rich.markdown import Markdown

    text = re.sub(r"<!--.*?-->\n*", "", text, flags=re.DOTALL)  # directives of the tests
    text = re.sub(r"^!\[[^]]*\]\(.*\)\n*", "", text, flags=re.MULTILINE)  # pictures
    text = re.sub(r"\[([^]]*)\]\([^)]*\.md\)", r"\1", text)
    os.environ.setdefault("LESS", "-FRX")  # a short page needs no pager
    os.environ.pop("MANPAGER", None)  # for manual pages, and pydoc prefers it to PAGER
    rich = console.out.rich
    with rich.pager(styles=console.out.takes_colour):
        rich.print(Markdown(text, code_theme="bw", hyperlinks=False))

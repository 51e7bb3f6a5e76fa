"""Write the pages of the guide that are made from the code: ``python -m tests.make_pages``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import MISSING
from functools import cached_property
from importlib import import_module
from inspect import Parameter, cleandoc, getsource, signature
from typing import Any

import charrnn
from charrnn.cli.app import COMMANDS
from charrnn.cli.options import Option, options_of
from charrnn.settings import Flag, OneOf, Setting, settings_of, value_in_words
from tests.pages import GUIDE

BEGIN, END = "<!-- from the code -->\n", "<!-- end of what is from the code -->\n"
VAGUE = ("a text", "a path", "the name of a file")
WIDE = 70  # characters of parameters
CODE = re.compile(r"^(```(?:console|python)\n.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
HEAD = """# Every option of every command

`charrnn COMMAND --help` shows the same in short, with examples. This page adds the range of each
value. A panel of options is in bold.
"""


def options_page() -> str:
    """Return the page with each option of each command."""
    parts = [HEAD]
    for name, line in COMMANDS.items():
        parts += [f"\n## charrnn {name}\n", f"\n{line}\n"]
        panels: dict[str, list[str]] = {}
        for option in options_of(import_module(f"charrnn.cli.{name}").Options):
            panels.setdefault(option.setting.panel or "Options", []).append(option_line(option))
        for panel, lines in panels.items():
            parts += [f"\n**{panel}**\n\n", *lines]
    return "".join(parts)


def option_line(option: Option) -> str:
    """Return the names of an option, its help, its range and its default."""
    setting = option.setting
    is_flag = isinstance(setting.values, Flag)
    metavar = "" if is_flag or setting.options("")[0].isupper() else f" {setting.values.metavar}"
    parts = [f"`{', '.join(setting.options(option.name))}{metavar}`: {setting.about}"]
    if (
        not is_flag
        and not isinstance(setting.values, OneOf)
        and setting.values.allowed not in VAGUE
    ):
        parts.append(f"{capital(setting.values.allowed)}.")
    if setting.default is MISSING:
        parts.append("Required.")
    elif setting.default_in_words:
        parts.append(f"Default: {setting.default_in_words}.")
    if setting.variable:
        parts.append(f"Environment: `{setting.variable}`.")
    return f"- {' '.join(parts)}\n"


def interface() -> str:
    """Return the reference of each public name, in Markdown."""
    parts = []
    for name in charrnn.__all__:
        found = getattr(charrnn, name)
        parts += [f"\n### charrnn.{name}\n\n", *described(name, found)]
        for attribute, what in public(found):
            parts += [f"\n#### {name}.{attribute}\n\n", *described(attribute, what)]
    return "".join(parts)


def public(found: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class."""
    for name, what in vars(found).items() if isinstance(found, type) else ():
        is_attribute = isinstance(what, (property, cached_property))
        if not name.startswith("_") and (is_attribute or is_function(what)):
            yield name, what


def is_function(what: Any) -> bool:
    return type(what).__name__ == "function"


def described(name: str, what: Any) -> list[str]:
    """Return the signature of a function and its docstring, each parameter as a list item."""
    text = cleandoc(what.__doc__ or "")
    text = re.sub(r"\n {4}(?=\S)", " ", text)  # join the lines of a parameter
    text = re.sub(r"^([a-z]\w*): ", r"- `\1`: ", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=\n)(- .*\n)\n(?=- )", r"\1", text)
    fields = [f"- `{field}`{about}" for field, about in fields_of(what)]
    if isinstance(what, type):
        fields += [f"- `{field}`: {about(one)}" for field, one in settings_of(what).items()]
    code = f"```\n{name}{shown(what)}\n```\n\n" if is_function(what) else ""
    return [code, text.strip(), "\n", *["\n" * bool(fields), *(f"{one}\n" for one in fields)]]


def shown(function: Any) -> str:
    """Return the signature of a function without self, and one parameter a line if it is long."""
    found = signature(function)
    parameters = [one for one in found.parameters.values() if one.name != "self"]
    shown = [str(one) for one in parameters]
    named = [i for i, one in enumerate(parameters) if one.kind is Parameter.KEYWORD_ONLY]
    if named:
        shown.insert(named[0], "*")
    one_line = ", ".join(shown)
    lines = f"({one_line})" if len(one_line) < WIDE else "(\n    " + ",\n    ".join(shown) + ",\n)"
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", f"{lines} -> {found.return_annotation!r}")
    return re.sub(r"Unpack\[\w+\]", "Any", text)


def fields_of(what: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a result, with the comments on them in the code."""
    if isinstance(what, type) and not settings_of(what):
        names = [*getattr(what, "__dataclass_fields__", {})]
        for line in getsource(what).splitlines() if names else ():
            found = re.match(r"    (\w+): ([^=#]+?)(?: = [^#]*)?(?:  # (.*))?$", line)
            if found and found[1] in names:
                yield found[1], f" ({found[2]}){': ' if found[3] else ''}{found[3] or ''}"


def about(setting: Setting) -> str:
    """Return the help of a setting, its range and its default, as Python users read them."""
    default = f", or None: {setting.default_in_words}"
    if setting.default is not None:
        default = f"; default: {value_in_words(setting.default)}"
    return f"{setting.about} {capital(setting.values.allowed)}{default}."


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def python_page(page: str) -> str:
    """Return the page with a new reference between its markers."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{interface()}\n{END}{rest.partition(END)[2]}"


def notebook(text: str) -> str:
    """Return a page as a notebook: commands and Python code are cells, without their output."""
    text = re.sub(r"<!--.*?-->\n*", "", text, flags=re.DOTALL)
    text = re.sub(r"\[([^]]*)\]\([^)]*\.md\)", r"\1", text)
    cells: list[dict[str, object]] = []
    for part in CODE.split(text):
        language, _, code = part.partition("\n")
        cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "outputs": []}
        if language == "```python":
            source = code
        elif language == "```console":
            source = "\n".join(f"!{command}" for command in COMMAND.findall(code))
        else:
            cell, source = {"cell_type": "markdown"}, part
        cells.append(cell | {"metadata": {}, "source": source.strip()})
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    (GUIDE / "options.md").write_text(options_page(), "utf-8")
    python = GUIDE / "python.md"
    python.write_text(python_page(python.read_text("utf-8")), "utf-8")
    (GUIDE / "book.ipynb").write_text(notebook((GUIDE / "book.md").read_text("utf-8")), "utf-8")

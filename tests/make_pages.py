"""Write the pages of the guide that are made from the code: ``python -m tests.make_pages``.

With --run, the notebook gets new outputs: ``pip install nbclient ipykernel matplotlib`` first.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING
from functools import cached_property
from importlib import import_module
from inspect import Parameter, Signature, cleandoc, getsource, isfunction, signature
from tempfile import TemporaryDirectory
from typing import Any

import charrnn
from charrnn.cli.app import COMMANDS
from charrnn.cli.typer_options import command_settings
from charrnn.settings.values import Flag, OneOf, Setting, settings_of
from tests.pages import GUIDE

BEGIN, END = "<!-- from the code -->\n", "<!-- end of what is from the code -->\n"
CODE = re.compile(r"^(```(?:console|python)\n.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
# described once, by hand
SHARED = ("model", "models", "as_json", "quiet", "force", "cores", "scheduler")
Settings = dict[str, Setting]


def options_page(page: str) -> str:
    """Return the page with a new list of the options of each command between its markers."""
    parts = []
    of_train: Settings = {}
    trained: Settings = {}  # settings that stand under train
    seen: dict[str, str] = {}  # line -> the command that it stands under
    for name, line in COMMANDS.items():
        parts.append(f"\n### charrnn {name}\n\n{line}\n\n")
        settings = command_settings(import_module(f"charrnn.cli.{name}").Options)
        own = {field: settings[field] for field in settings if field not in SHARED}
        known = {field: trained[field].about for field in own if field in trained}
        again = [f for f in known if name == "sweep" or own[f].about == known[f]]
        if again:
            missing = [f"`{of_train[f].options(f)[0]}`" for f in of_train if f not in settings]
            what = by_default(again, own, trained)
            what = f": all but {', '.join(missing)}" if name == "sweep" else what
            parts.append(f"As for `train`{what}.\n\n")
        new = {option_line(f, own[f]): own[f].options(f)[0] for f in own if f not in again}
        of = {line: seen.setdefault(line, name) for line in new}
        parts += [f"As for `{of[line]}`: `{new[line]}`.\n\n" for line in new if of[line] != name]
        parts += [line for line in new if of[line] == name]
        if name == "train":
            of_train = settings
            trained = {f: own[f] for f in own if f not in ("resume", "seed", "dry_run")}
    return between(page, "".join(parts))


def by_default(again: list[str], own: Settings, trained: Settings) -> str:
    """Return the names of options: those with the defaults of train, then those with others."""
    leads: dict[str, list[str]] = {}
    for field in again:
        default = own[field].default_in_words
        lead = ": " if default == trained[field].default_in_words else f"; by default {default}: "
        leads.setdefault(lead, []).append(f"`{own[field].options(field)[0]}`")
    return "".join(lead + ", ".join(names) for lead, names in sorted(leads.items()))


def option_line(field: str, setting: Setting) -> str:
    """Return the names of an option, its values, its default and its help."""
    names = setting.options(field)
    is_flag = isinstance(setting.values, Flag)
    metavar = "" if is_flag or names[0].isupper() else f" {setting.values.metavar}"
    facts = [] if is_flag or isinstance(setting.values, OneOf) else [allowed(setting.values)]
    default = setting.default_in_words
    if setting.default is not MISSING and default and default != "chosen for the corpus":
        facts.append(f"default {default}")
    note = f" ({'; '.join(filter(None, facts))})" if any(facts) else ""
    return f"- `{', '.join(names)}{metavar}`{note}: {setting.about}\n"


def allowed(values: Any) -> str:
    """Return the range of numbers in few words; nothing where the metavar says it all."""
    text = re.sub(r"^a (?:whole )?number ", "", values.allowed)
    text = re.sub(r"^from (\S+) to [\d,]{9,}$", r"from \1", text)
    return text if " to " in text else ""


def python_page(page: str) -> str:
    """Return the page with a new reference of each public name between its markers."""
    parts: list[str] = []
    for name in charrnn.__all__:
        found = getattr(charrnn, name)
        parts += [f"\n### charrnn.{name}{shown(found)}\n\n", *described(found)]
        for attribute, what in public(found):
            parts += [f"\n#### {name}.{attribute}{shown(what)}\n\n", *described(what)]
    lines = "".join(parts).splitlines(keepends=True)
    seen = {line: number for number, line in reversed([*enumerate(lines)])}
    is_again = [line.startswith("- `") and seen[line] < i for i, line in enumerate(lines)]
    kept = [line for line, again in zip(lines, is_again, strict=True) if not again]
    return between(page, re.sub(r"\n{3,}", "\n\n", "".join(kept)))


def public(found: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, and the properties that it inherits."""
    *above, itself = [dict[str, Any](), *map(vars, ours(found))]
    inherited = {k: what for of in above for k, what in of.items() if isinstance(what, property)}
    for name, what in {**inherited, **itself}.items():
        is_attribute = isinstance(what, property | cached_property)
        if not name.startswith("_") and (is_attribute or isfunction(what)):
            yield name, what


def ours(found: Any) -> list[type]:
    """Return a class and those of charrnn that it comes from, the first of them first."""
    classes = found.__mro__[::-1] if isinstance(found, type) else ()
    return [cls for cls in classes if cls.__module__.startswith("charrnn")]


def described(what: Any) -> list[str]:
    """Return a docstring, each parameter as a list item."""
    text = cleandoc(what.__doc__ or "")
    text = re.sub(r"\n {4}(?=\S)", " ", text)  # join the lines of a parameter
    text = re.sub(r"^([a-z]\w*): ", r"- `\1`: ", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=\n)(- .*\n)\n(?=- )", r"\1", text)
    fields = [f"- `{field}`{about}" for field, about in fields_of(what)]
    if isinstance(what, type):
        fields += [", ".join(f"`{field}`" for field in settings_of(what))] * bool(settings_of(what))
    return [text.strip(), "\n", *["\n" * bool(fields), *(f"{one}\n" for one in fields)]]


def shown(function: Any) -> str:
    """Return the parameters of a function without self and without types; nothing for others."""
    if not isfunction(function):
        return ""
    parameters = [one for one in signature(function).parameters.values() if one.name != "self"]
    return str(Signature([one.replace(annotation=Parameter.empty) for one in parameters]))


def fields_of(what: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a result, with the comments on them in the code."""
    if isinstance(what, type) and not settings_of(what):
        names = [*getattr(what, "__dataclass_fields__", {})]
        sources = [getsource(cls) for cls in ours(what)] if names else []
        for line in "\n".join(sources).splitlines():
            found = re.match(r"    (\w+): ([^=#]+?)(?: = [^#]*)?(?:  # (.*))?$", line)
            if found and found[1] in names:
                yield found[1], f" ({found[2]}){': ' if found[3] else ''}{found[3] or ''}"


def between(page: str, made: str) -> str:
    """Return a page with new text between its markers."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{made}\n{END}{rest.partition(END)[2]}"


def notebook(text: str, before: str = '{"cells": []}') -> str:
    """Return a page as a notebook: commands and Python code are cells.

    Cells that the notebook had before, in order, keep their outputs.
    """
    old = {cell["source"]: cell for cell in json.loads(before)["cells"]}
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
        if source.strip() in old and "outputs" in cell:
            cell |= {name: old[source.strip()][name] for name in ("execution_count", "outputs")}
        cells.append(cell | {"metadata": {}, "source": source.strip()})
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def run_notebook(text: str) -> str:
    """Return a notebook with the outputs of a kernel in a new folder."""
    nbformat, nbclient = map(import_module, ("nbformat", "nbclient"))
    os.environ["PATH"] = os.pathsep.join([os.path.join(sys.exec_prefix, "bin"), os.environ["PATH"]])
    document = nbformat.reads(text, 4)
    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        nbclient.NotebookClient(document, record_timing=False, resources=where).execute()
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = shown_outputs(cell["outputs"])
    return json.dumps(document)


def shown_outputs(outputs: list[Any]) -> list[Any]:
    """Return the outputs of a cell, all text in one, as a terminal without colours shows it."""
    text = "".join(one["text"] for one in outputs if one["output_type"] == "stream")
    text = re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", text).replace("\r\n", "\n")
    text = re.sub(r" +$", "", re.sub(r"(?m)^.*\r", "", text), flags=re.MULTILINE)  # no bars
    stream = {"name": "stdout", "output_type": "stream", "text": text}
    return [stream] * bool(text) + [one for one in outputs if one["output_type"] != "stream"]


if __name__ == "__main__":
    for name, made in (("options", options_page), ("python", python_page)):
        file = GUIDE / f"{name}.md"
        file.write_text(made(file.read_text("utf-8")), "utf-8")
    page, file = (GUIDE / "book.md").read_text("utf-8"), GUIDE / "book.ipynb"
    made_before = notebook(page, file.read_text("utf-8"))
    if "--run" in sys.argv:
        made_before = notebook(page, run_notebook(made_before))
    file.write_text(made_before, "utf-8")

"""Convert each text to a vector.

The vector is the last hidden state of the top layer, after the whole text, with a number for each
unit. Texts with similar continuations have similar vectors. The vector of a text does not depend
on the other texts.

The output is one JSON object per example, with its text and vector. With -o it is an array
(examples, units) of 32-bit numbers. Blank lines are skipped.

# a line of JSON for each name
charrnn embed names.txt | head -n 2

# an array for NumPy, with a row for each name
charrnn embed names.txt -o names.npy

# a single text
echo Tyrannosaurus | charrnn embed - | jq -c .vector
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import Console, check_output, count, write_output
from charrnn.cli.options import OUTPUT, CommandOptions, File, exclusive, flag
from charrnn.errors import CorpusError, SettingError
from charrnn.settings import CorpusConfig, setting
from charrnn.text import encodable

if TYPE_CHECKING:
    from charrnn.model import Model


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    sources: tuple[str, ...] = options.sources(
        "TEXT",
        "Files to read, or - for standard input. Default: the held-out part of the corpus.",
    )
    examples: str | None = options.like(CorpusConfig, "examples", default_in_words="as in training")

    model: Path = options.model()
    output: Path | None = setting(
        File("FILE.npy", ".npy"),
        "Write an array for numpy.load into this file, and nothing to stdout.",
        panel=OUTPUT,
        names=("-o", "--output"),
    )
    force: bool = flag("Replace the file of --output if it exists.")
    as_json: bool = flag("Write JSON; the default without -o.", names=("--json",))


def run(options: Options, console: Console) -> None:
    import numpy as np

    from charrnn.analysis import embed
    from charrnn.runs import load
    from charrnn.scorer import groups_of

    path = options.output
    if path is not None and options.as_json:
        raise exclusive("--output", "--json")
    if options.force and path is None:
        raise SettingError("--force needs --output FILE.npy", "Add --output FILE.npy.")
    if options.examples is not None and not options.sources:
        raise SettingError("--examples needs TEXT", "Held-out text is read as in training.")
    model = load(options.model)
    if path is not None:
        texts = (*options.sources, *model.corpus.names)
        check_output(path, "--output", options.model, *texts, force=options.force)
    console.note_if_waiting(options.sources)
    examples = texts_for(model, options.sources, options.examples)
    if not examples:
        raise CorpusError("the text has no examples", "Name a text that is not empty.")
    if path is not None:
        content = BytesIO()
        np.save(content, model.embed(examples))
        write_output(path, content.getbuffer())
        vectors = count(len(examples), "vector")
        console.note(f"{vectors} of {model.config.hidden:,} numbers: {path}")
        return
    for group in groups_of(examples):
        for text, vector in zip(group, embed(model.language_model, group).tolist(), strict=True):
            console.json("embed", {"text": encodable(text), "vector": vector})


def texts_for(model: Model, sources: Sequence[str], examples: Any = None) -> list[str]:
    """Return the examples of texts, or of the held-out text if none is named."""
    from charrnn import texts

    if sources:
        return texts.texts_like(model.corpus, sources, examples)
    corpus = texts.rebuild_corpus(model.corpus, model.vocabulary)
    return [example.text for example in texts.held_out_examples(corpus)]

"""The vector is the last hidden state of the top layer, after the whole text, with a number for
each unit. Texts with similar continuations have similar vectors. The vector of a text does not
depend on the other texts.

The output is one JSON object per example, with its text and vector. With -o it is an array
(examples, units) of 32-bit numbers. Blank lines are skipped.

# a line of JSON for each name
charrnn embed names.txt | head -n 2

# an array for NumPy, with a row for each name
charrnn embed names.txt -o names.npy

# a single text
echo Tyrannosaurus | charrnn embed | jq -c .vector
"""

from __future__ import annotations

from dataclasses import dataclass
from os.path import abspath
from pathlib import Path

import charrnn
from charrnn.cli import shared_options as shared
from charrnn.cli.console import Console, check_output
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.values import File
from charrnn.system.visible import count, encodable


@dataclass(frozen=True, kw_only=True)
class Options(shared.CommandOptions):
    sources: tuple[str, ...] = shared.text_option("Read these files")
    examples: str | None = shared.examples_option()
    label: str | None = shared.label_option("Read each text with this label.")
    model: Path = shared.model_option()
    output: Path | None = shared.output_option(
        File("FILE.npy", ".npy"),
        "Write an array for numpy.load into this file, and nothing to stdout.",
        short="Write an array to this file",
    )
    force: bool = shared.force_option("the file of --output")


def run(options: Options, console: Console) -> None:
    import numpy as np

    from charrnn.files.safe_writing import locked, replaced

    sources = options.sources or console.piped()
    path, model = options.output, charrnn.load(options.model)
    if path is not None:
        # of the names in a model, only this one is looked up
        learned = [name for name in model.corpus.names if abspath(name) == abspath(path)]
        check_output(path, "--output", options.model, *sources, *learned, force=options.force)
    texts = texts_to_read(model, sources, console, options.examples)
    vectors = model.embed(texts, label=options.label)
    if path is None:
        for text, vector in zip(texts, vectors, strict=True):
            console.json("embed", {"text": encodable(text), "vector": vector.tolist()})
        return
    with locked(path), replaced(path) as file:
        np.save(file, vectors)
    console.note(f"{count(len(texts), 'vector')} of {count(model.config.hidden, 'number')}: {path}")


def texts_to_read(
    model: charrnn.Model, sources: tuple[str, ...], console: Console, kind: str | None = None
) -> list[str]:
    """Return the examples of texts, or of the held-out text if none is named."""
    from charrnn.files.model_corpus import examples_in, held_out_examples, rebuild_corpus

    console.note_if_waiting(sources)
    if kind and not sources:
        raise SettingError("--examples needs TEXT", "Held-out text is read as in training.")
    if not sources:
        return [example.text for example in held_out_examples(rebuild_corpus(model.corpus))]
    files = examples_in(model.corpus, sources, {}, kind, console.warn)
    texts = [example.text for of_file in files for example in of_file]
    if not texts:
        raise CorpusError("the text has no examples", "Name a text that is not empty.")
    return texts

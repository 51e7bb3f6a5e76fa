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

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile, codes_for
from charrnn.cli.options import OUTPUT, CommandOptions, NewFile, excludes, flag, needs
from charrnn.errors import CorpusError
from charrnn.settings import CorpusConfig, setting
from charrnn.text import encodable


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    RULES = (
        *(excludes("output", "as_json"), needs("force", "output")),
        needs("examples", "sources", hint="Held-out text is read as in training."),
    )

    sources: tuple[str, ...] = options.sources(
        "TEXT",
        "Files to read, or - for standard input. Default: the held-out part of the corpus.",
    )
    examples: str | None = options.like(CorpusConfig, "examples", default_in_words="as in training")

    model: Path = options.model()
    output: Path | None = setting(
        NewFile("FILE.npy", (".npy",)),
        "Write an array for numpy.load into this file, and nothing to stdout.",
        panel=OUTPUT,
        names=("-o", "--output"),
    )
    force: bool = flag("Replace the file of --output if it exists.")
    as_json: bool = flag("Write JSON; the default without -o.", names=("--json",))


def run(options: Options, _threads: int, console: Console) -> None:
    import numpy as np

    from charrnn.analysis import embed
    from charrnn.cli.terminal.tables import count
    from charrnn.reading import texts_of
    from charrnn.runs import load
    from charrnn.scorer import groups_of

    model, file = load(options.model), None
    if options.output is not None:
        file = OutputFile(options.output, "--output", force=options.force)
        file.check(options.model, *options.sources, corpus=model.corpus.names)
    console.note_if_waiting(options.sources)
    codes = codes_for(model, options.sources, options.examples)
    texts = [text for part in codes for text in texts_of(part)]
    if not texts:
        raise CorpusError("the text has no examples", "Name a text that is not empty.")
    if file is not None:
        content = BytesIO()
        np.save(content, model.embed(texts))
        file.write(len(content.getbuffer()), [content.getbuffer()])
        console.note(
            f"{count(len(texts), 'vector')} of {model.config.hidden:,} numbers: {file.path}"
        )
        return
    for group in groups_of(texts):
        for text, vector in zip(group, embed(model.language_model, group).tolist(), strict=True):
            console.json("embed", {"text": encodable(text), "vector": vector})

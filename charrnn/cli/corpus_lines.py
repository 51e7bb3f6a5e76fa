"""Lines of the plan of a training that are about its corpus, with warnings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from charrnn.cli.console import Entry, count

if TYPE_CHECKING:
    from charrnn.text.corpus import Corpus, Warned

Files = Mapping[str, tuple[int, str]]  # by name, size and hash of each

WARNING_TEXTS = {  # why a list may be messy, or its loss misleading
    "few examples": "only {count:,} to train on: see --examples",
    "untidy": "of {of:,} lines, {what}: add --tidy",
    "rare labels": "{count:,} of {of:,} labels have fewer than ten examples, such as {column}",
    "repeated": "{count:,} of {of:,} held-out texts are also trained on: the loss is too low",
    "header": "the first line may be a heading: add --column {column}",
}
TABLE = "{count:,} of {of:,} lines look like rows of a table: add --column {column}"
COMMON_LABELS = 3  # that are named
MOST_WARNINGS = 2  # on the screen; a dry run shows all


def corpus_entries(
    corpus: Corpus,
    warned: list[Warned],
    old_files: Files,
    start_from: Path | None,
    *,
    all_of: bool,
) -> Iterator[Entry]:
    """Yield lines about the corpus, and some warnings or all; ``old_files`` are those of --from."""
    from charrnn.text.tidy import mess_in_words

    train, held_out, example = corpus.train, corpus.held_out, corpus.examples_are.removesuffix("s")
    names = ", ".join("standard input" if name == "-" else name for name in corpus.sources)
    size = f"{count(len(train), example)}, {count(train.characters, 'character')}"
    part = f"{len(held_out):,} held out" if len(held_out) else "nothing held out"
    files = f": {', '.join(corpus.valid)}" if corpus.valid else ""
    yield "corpus", f"{names}   {size}; {part}{files}"
    if corpus.vocabulary.labels:
        yield "labels", labels_in_words(corpus.vocabulary.labels)
    for number, (rule, words) in enumerate(mess_in_words(corpus.tidied.lines)):
        yield "" if number else "tidy", f"{words}: {'; '.join(corpus.tidied.examples[rule])}"
    lines = []
    for warning in warned:
        words = WARNING_TEXTS.get(warning.kind, TABLE)
        lines.append(words.format(**asdict(warning), column=shlex.quote(warning.what)))
    if not corpus.valid and set(corpus.files.values()) & set(old_files.values()):
        lines.append(f"{start_from} may know what is held out: add --valid FILE")
    shown = lines if all_of else lines[:MOST_WARNINGS]
    yield from (("  !", line) for line in shown)


def labels_in_words(labels: Mapping[str, int]) -> str:
    """Return the number of labels, and the commonest and the rarest with their examples."""
    ordered = sorted(labels.items(), key=itemgetter(1), reverse=True)
    some = [f"{label} {number:,}" for label, number in ordered]
    if len(some) > COMMON_LABELS + 2:
        some[COMMON_LABELS:-1] = ["..."]
    return f"{len(labels):,}: {', '.join(some)}"

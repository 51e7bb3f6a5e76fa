"""How many samples stand in the corpus word for word: told where that is soon known."""

from __future__ import annotations

import os
from contextlib import suppress

from charrnn.cli.console import Console
from charrnn.corpus.bundled import path_of
from charrnn.errors import CharrnnError
from charrnn.model import Model
from charrnn.sampling.redrawing import Known, mark_of
from charrnn.scoring.texts import check_there, codes_in

SOON_READ = 1 << 22  # bytes of a corpus


def is_at_hand(model: Model) -> bool:
    """Whether what the model learned from is there, and not large."""
    with suppress(CharrnnError, OSError):
        check_there(model.corpus)
        files = [path_of(name) for name in model.corpus.source_files]
        return all(map(os.path.isfile, files)) and sum(map(os.path.getsize, files)) <= SOON_READ
    return False


class Copies:
    """Remembers samples until the corpus is looked through, when nobody waits for them any more."""

    def __init__(self, model: Model) -> None:
        self._corpus = model.corpus
        self._marks: list[int] = []

    def add(self, text: str) -> None:
        """One more sample, its prime included."""
        self._marks.append(mark_of(text))

    def tell(self, console: Console) -> None:
        """Say how many stand there. Of a single one it is said only if it does."""
        with suppress(CharrnnError, OSError):
            corpus = self._corpus
            files = corpus.source_files
            kinds = corpus.config.kinds(len(files))
            known = Known(codes_in(files, kinds, corpus.config.reading))
            copies, drawn = sum(map(known.has_mark, self._marks)), len(self._marks)
            if drawn > 1:
                console.note(f"word for word in the corpus: {copies:,} of {drawn:,} samples")
            elif copies:
                console.note("the sample stands in the corpus word for word")

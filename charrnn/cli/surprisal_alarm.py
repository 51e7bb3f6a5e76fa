"""What surprises more than was said to be usual: counted, and told by the exit status."""

from __future__ import annotations

import numpy as np

from charrnn.cli.console import Console
from charrnn.cli.exit_status import ABOVE
from charrnn.cli.formatting import count
from charrnn.scoring.pieces import Gatherer, Piece
from charrnn.scoring.surprisal_bands import BITS


class Alarm:
    """Counts the examples above so many bits per character, or the characters above so many."""

    def __init__(self, bits: float, *, of_characters: bool) -> None:
        self.bits = bits
        self.found = 0
        self._gatherer = None if of_characters else Gatherer()

    def hear(self, piece: Piece) -> None:
        """Look at a piece."""
        nats = piece.nats
        if self._gatherer is not None:
            rows = self._gatherer.add(piece)
            nats = np.zeros(0) if rows is None else rows.nats_per_character
        self.found += int(np.count_nonzero(nats * BITS > self.bits))

    def finish(self) -> None:
        """That was all."""

    def tell(self, console: Console) -> None:
        """Say how many there are, and end with a status of its own if there is one."""
        what, unit = "character", "bits"
        if self._gatherer is not None:
            what, unit = "example", "bits per character"
        console.note(f"{count(self.found, what)} above {self.bits:g} {unit}")
        if self.found:
            raise SystemExit(ABOVE)

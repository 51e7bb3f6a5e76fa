"""How surprised the network is by a text, symbol by symbol.

The negative log-likelihood of an example is the sum of -log P(y(t) | y(1) .. y(t-1)) over its
characters and its END (10.32, 10.33). Chunks of the text are read side by side only to be quick:
what a symbol costs does not depend on how the work was cut.

A character that was never seen has a probability too, so that no text has an infinite loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.builder import ended_codes
from charrnn.corpus.examples import Examples
from charrnn.network.inputs import read_after, read_before
from charrnn.network.language_model import LanguageModel
from charrnn.network.novelty import add_novelty
from charrnn.scoring.chunk_layout import Text, cut
from charrnn.scoring.chunk_reading import ChunkReader
from charrnn.scoring.length_ranks import rank_ends
from charrnn.scoring.pieces import Floats, Ranks, pieces
from charrnn.scoring.score import Score, tally
from charrnn.vocabulary import END, Ids

__all__ = ["Score", "Scorer"]

WARM_UP: Final = 256  # symbols read before a stretch: twice as many as most networks remember
CHECKUP_WARM_UP: Final = 128
RUINED: Final = 1e15  # nats, where parameters have grown out of bounds


class Scorer:
    """A model that reads on and on, and says what each symbol cost it.

    A text has one score, to the last bit, however it arrives and whoever computes it; ``fast`` has
    the precision of training instead, in half the time.
    """

    def __init__(
        self,
        model: LanguageModel,
        workers: int = 1,
        *,
        ranking: bool = False,
        fast: bool = False,
        keeping: bool = False,
    ) -> None:
        """With ``keeping``, ``logits`` is for the symbols that were read last."""
        self.model = model
        self.vocabulary = model.vocabulary
        self.ranking = ranking
        self.wants_whole = model.architecture.head.lengths is not None
        self._counts = bool(model.architecture.inputs)
        self._reader = ChunkReader(
            model, workers, on_grid=not fast, ranking=ranking, keeping=keeping
        )
        self._keeping = keeping
        self.logits: Floats | None = None
        self.parts: dict[str, Floats] = {}  # one that reads alone has none
        self.begin()

    def begin(self) -> None:
        """Forget what was read: the next symbol is the first of a text."""
        self._before, self._index, self._since = END, 0, 0
        self._state = self._reader.zeros(1)

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        """The surprisal of every symbol, given all that was read since the beginning; its rank.

        It may be called with one piece of a text after the other, cut anywhere; where they are to
        be whole, only after an END.
        """
        ranks = np.zeros(len(ids), np.int32) if self.ranking else None
        since, room = self._since if self._counts else None, self._room(ids)
        text = Text(ids, self._before, self._index, np.zeros(len(ids)), ranks, since, room)
        if len(ids):
            chunks = cut(ids, self._reader.most, WARM_UP, self.model.carry)
            self._state = self._reader.read(text, chunks, self._state)
            self._before, self._index = int(ids[-1]), self._index_after(ids)
            self._since = read_after(ids, self._since)
        add_novelty(self.model, ids, text.nats, ranks)
        if ranks is not None and self.wants_whole:
            rank_ends(self.model.parameters, ids, read_before(ids), ranks)
        return text.nats, ranks

    def _room(self, ids: Ids) -> Floats | None:
        """Where their logits go, (S, K), if anybody wants them."""
        self.logits = np.empty((len(ids), self.vocabulary.symbols)) if self._keeping else None
        return self.logits

    def _index_after(self, ids: Ids) -> int:
        """The index of the last symbol in its example, or in all that was read where they carry."""
        return self._index + len(ids) if self.model.carry else read_after(ids, self._index)

    def nats(self, examples: Examples) -> Floats:
        """The surprisal of every symbol of ``examples.ids``, read from their beginning."""
        self.begin()
        return self.read(examples.ids)[0]

    def score(self, examples: Examples) -> Score:
        """The sums over these examples."""
        return tally(examples.ids, self.nats(examples))

    def score_texts(self, texts: Iterable[str]) -> Score:
        """The sums over texts that are an example each, bytes among them."""
        return sum((piece.score() for piece in pieces(self, ended_codes(texts))), Score())

    def nats_in_chunks(self, examples: Examples) -> Floats:
        """Nearly the same as nats, sooner: nobody looks whether the chunks meet."""
        return self._in_chunks(examples, 0, 1)[0]

    def score_in_chunks(
        self,
        examples: Examples,
        counted: NDArray[np.bool_],
        number: int = 0,
        processes: int = 1,
    ) -> Score:
        """The sums of those over the symbols that count, or over what one of several processes has
        to read: what all of them find adds up to the same.
        """
        nats, here = self._in_chunks(examples, number, processes)
        chosen = counted[here]
        return tally(examples.ids[here][chosen], nats[here][chosen])

    def _in_chunks(self, examples: Examples, number: int, processes: int) -> tuple[Floats, slice]:
        """The surprisal of every symbol, and where it is that of a symbol which was read here."""
        ids, here = examples.ids, slice(0)
        since, room = 0 if self._counts else None, self._room(ids)
        text = Text(ids, END, 0, np.zeros(len(ids)), None, since, room)
        if len(ids):
            chunks = cut(ids, self._reader.most, CHECKUP_WARM_UP, self.model.carry)
            chunks = self._reader.share(chunks, number, processes)
            if len(chunks):
                self._reader.pass_over(text, chunks, self._reader.zeros(len(chunks)))
            here = chunks.places
        np.nan_to_num(text.nats, copy=False, nan=RUINED, posinf=RUINED)
        add_novelty(self.model, ids, text.nats, None)
        return text.nats, here

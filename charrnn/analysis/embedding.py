"""One vector for a text: the top hidden state after its last character.

    END  a  n  n  a          END
     h -> h -> h -> h -> h  ---->      the many to one of figure 10.5
                         |
                     the vector

Each text starts from a zero state, also in a model that carries its state. Computation is on the
grid, so a text has the same vector alone and among thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import END_CODE, texts_in, whole_examples
from charrnn.network.parameters import LanguageModel
from charrnn.network.stepper import Stepper
from charrnn.vocabulary import END, Codes, Ids

Vectors = NDArray[np.float32]

LANES: Final = 512  # texts read side by side


class Embedded(NamedTuple):
    texts: list[str]
    vectors: Vectors  # (n, H)


def embed(model: LanguageModel, blocks: Iterable[Codes]) -> Iterator[Embedded]:
    """Yield the examples of a stream with their vectors, as soon as their ENDs are read."""
    stepper = Stepper(model.parameters, LANES)
    for codes in whole_examples(blocks):
        ends = np.flatnonzero(codes == END_CODE)
        if len(ends):
            ids = model.vocabulary.encode_codes(codes)
            yield Embedded(texts_in(codes), vectors_of(stepper, ids, np.append(-1, ends)))


def vectors_of(stepper: Stepper, ids: Ids, bounds: NDArray[np.intp]) -> Vectors:
    """Return the vectors of the texts between these bounds: (n, H)."""
    starts, lengths = bounds[:-1] + 1, np.diff(bounds) - 1
    vectors: Vectors = np.empty((len(starts), stepper.architecture.hidden), np.float32)
    # Long texts first: lanes whose text has ended are the last ones, and are left out.
    order = np.argsort(-lengths, kind="stable")
    for at in range(0, len(order), LANES):
        lanes = order[at : at + LANES]
        vectors[lanes] = last_states(stepper, ids, starts[lanes], lengths[lanes])
    return vectors


def last_states(
    stepper: Stepper, ids: Ids, starts: NDArray[np.intp], lengths: NDArray[np.intp]
) -> Vectors:
    """Return the top state of each lane after its last symbol; the longest texts come first."""
    state = stepper.zeros(len(starts))
    left = {"left": lengths.astype(np.intp)}
    stepper.read(np.full(len(starts), END), state, 0, left)
    for step in range(int(lengths[0])):
        going = int(np.searchsorted(-lengths, -step))  # lanes whose text is longer than this
        x = ids[starts[:going] + step].astype(np.intp)
        left = {"left": lengths[:going] - step - 1}
        stepper.read(x, [h[:going] for h in state], step + 1, left)
    top = stepper.architecture.layers - 1
    return state[top * len(stepper.architecture.cell.states)].astype(np.float32)

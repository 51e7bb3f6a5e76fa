"""One vector for a text: the state of the top layer when all of the text was read.

    END  a  n  n  a          END
     h -> h -> h -> h -> h  ---->      the many to one of figure 10.5
                         |
                     the vector

It is the h that the end is predicted from: that after the last character, and for the empty text
that after the END with which every text begins. Each text begins afresh, also where a model was
trained to carry its state on. Texts are read side by side, on the grid, so that a text has
the same vector alone and among thousands.
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

LANES: Final = 512  # texts that are read side by side


class Embedded(NamedTuple):
    """Some texts, and the vector of each."""

    texts: list[str]
    vectors: Vectors  # (n, H)


def embedded(model: LanguageModel, blocks: Iterable[Codes]) -> Iterator[Embedded]:
    """The examples of a text and their vectors, some together, as soon as their ENDs were read."""
    stepper = Stepper(model.parameters, LANES)
    for codes in whole_examples(blocks):
        ends = np.flatnonzero(codes == END_CODE)
        if len(ends):
            ids = model.vocabulary.encode_codes(codes)
            yield Embedded(texts_in(codes), vectors(stepper, ids, np.append(-1, ends)))


def vectors(stepper: Stepper, ids: Ids, bounds: NDArray[np.intp]) -> Vectors:
    """The last states of the texts that stand between these bounds: (n, H)."""
    starts, lengths = bounds[:-1] + 1, np.diff(bounds) - 1
    found: Vectors = np.empty((len(starts), stepper.architecture.hidden), np.float32)
    order = np.argsort(-lengths, kind="stable")  # so that those which are read to their end are
    for at in range(0, len(order), LANES):  # the last lanes, and the others go on without them
        lanes = order[at : at + LANES]
        found[lanes] = last_states(stepper, ids, starts[lanes], lengths[lanes])
    return found


def last_states(
    stepper: Stepper, ids: Ids, starts: NDArray[np.intp], lengths: NDArray[np.intp]
) -> Vectors:
    """The top state of each lane after its last symbol; the longest come first."""
    state = stepper.zeros(len(starts))
    left = {"left": lengths.astype(np.intp)}
    stepper.read(np.full(len(starts), END), state, 0, left)
    for step in range(int(lengths[0])):
        going = int(np.searchsorted(-lengths, -step))  # those longer than so many symbols
        x = ids[starts[:going] + step].astype(np.intp)
        left = {"left": lengths[:going] - step - 1}
        stepper.read(x, [h[:going] for h in state], step + 1, left)
    top = stepper.architecture.layers - 1
    return state[top * len(stepper.architecture.cell.states)].astype(np.float32)

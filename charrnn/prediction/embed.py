"""A vector for a text: the state after its last character.

END  a  n  n  a          END
 h -> h -> h -> h -> h  ---->      the many to one of figure 10.5
                     |
                 the vector
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import LanguageModel
from charrnn.network.step import Network
from charrnn.text.vocabulary import END

Vectors = NDArray[np.float32]

EMBEDDED_LANES: Final = 512  # texts read side by side


def embed(model: LanguageModel, texts: Sequence[str]) -> Vectors:
    """Return the top state after the last character of each text: (n, H)."""
    network, a = Network(model.parameters), model.architecture
    top = len(a.state_names) - len(a.cell.states)
    ids = model.vocabulary.encode("".join(texts)).astype(np.intp)
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(-sizes, kind="stable")  # lanes that have ended come last
    vectors: Vectors = np.empty((len(texts), a.hidden), np.float32)
    for at in range(0, len(texts), EMBEDDED_LANES):
        lanes = order[at : at + EMBEDDED_LANES]
        size, start = sizes[lanes], starts[lanes]
        state = network.zeros(len(lanes), to_come=size)
        network.step(np.full(len(lanes), END), state)
        for t in range(int(size[0])):
            longer = int(np.searchsorted(-size, -t))  # lanes with a symbol here
            network.step(ids[start[:longer] + t], [h[:longer] for h in state])
        vectors[lanes] = state[top]
    return vectors

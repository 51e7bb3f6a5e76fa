"""A vector for a text: the state after its last character.

END  a  n  n  a          END
 h -> h -> h -> h -> h  ---->      the many to one of figure 10.5
                     |
                 the vector
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import LanguageModel
from charrnn.prediction.kinds import likeliest_of
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import cut_into_stretches, lanes_at_once, read_stretches
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import END

Vectors = NDArray[np.float32]


def embed(model: LanguageModel, texts: Sequence[str], label: str | None = None) -> Vectors:
    """Return the top state after the last character of each text: (n, H).

    A model with labels reads each text with this label, or with its likeliest.
    """
    predictor, a, vocabulary = Predictor([model]), model.architecture, model.vocabulary
    top = len(a.state_names) - len(a.cell.states)
    flat = np.append(END, vocabulary.encode_codes(join_examples(texts))).astype(np.intp)
    if vocabulary.labels or label is not None:
        firsts = np.append(0, np.flatnonzero(flat[1:] == END) + 1)[: len(texts)]
        flat[firsts] = [vocabulary.id_of(of) for of in likeliest_of(predictor, texts, label)]
    sizes = np.array([len(text) + 1 for text in texts], np.int64)  # with the END that is read first
    whole = cut_into_stretches(sizes, int(sizes.max(initial=1)), 0)  # the longest text first
    order = np.argsort(-sizes, kind="stable")
    vectors: Vectors = np.empty((len(texts), a.hidden), np.float32)
    at_once = lanes_at_once(a.symbols)
    for first in range(0, len(texts), at_once):
        some = slice(first, first + at_once)
        lanes = whole.at(some)
        state = predictor.zeros(len(lanes.first), lanes.clock, lanes.to_come)
        for _ in read_stretches(predictor, flat, lanes, state, None, flat[lanes.first]):
            pass
        vectors[order[some]] = state[top]
    return vectors

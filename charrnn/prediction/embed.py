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
from charrnn.prediction.predictor import Predictor, read_texts
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import END, Ids

Vectors = NDArray[np.float32]


def embed(model: LanguageModel, texts: Sequence[str], labels: Ids | None = None) -> Vectors:
    """Return the top state after the last character of each text: (n, H).

    ``labels`` has that of each symbol.
    """
    predictor, a = Predictor([model]), model.architecture
    ids = model.vocabulary.encode_codes(join_examples(texts))
    top = len(a.state_names) - len(a.cell.states)
    number = np.cumsum(ids == END) - 1  # of the text that an END ends
    vectors: Vectors = np.empty((len(texts), a.hidden), np.float32)
    longest = 1 + max(map(len, texts), default=0)
    for place, _, state in read_texts(predictor, ids, longest, 0, labels=labels):
        is_over = ids[place] == END
        vectors[number[place[is_over]]] = state[top][is_over]
    return vectors

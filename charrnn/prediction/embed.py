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
from charrnn.prediction.scoring import likeliest_of
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import END

Vectors = NDArray[np.float32]


def embed(model: LanguageModel, texts: Sequence[str], label: str | None = None) -> Vectors:
    """Return the top state after the last character of each text: (n, H).

    A model with labels reads each text with this label, or with its likeliest.
    """
    predictor, a = Predictor([model]), model.architecture
    ids = model.vocabulary.encode_codes(join_examples(texts))
    sizes = np.array([len(text) + 1 for text in texts], np.int64)
    labels = None
    if model.vocabulary.labels or label is not None:
        kinds = likeliest_of(predictor, texts, label)
        labels = model.vocabulary.label_ids(kinds).repeat(sizes)
    top = len(a.state_names) - len(a.cell.states)
    number = np.arange(len(texts)).repeat(sizes)  # of the text of each symbol
    vectors: Vectors = np.empty((len(texts), a.hidden), np.float32)
    longest = int(sizes.max(initial=1))
    for place, _, state in read_texts(predictor, ids, longest, 0, labels=labels):
        is_over = ids[place] == END
        vectors[number[place[is_over]]] = state[top][is_over]
    return vectors

"""Labels where they meet other options: the network to start from, large texts, odd values."""

from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.prediction.kinds import score_texts
from charrnn.prediction.predictor import Predictor

TEXTS = ["ab", "abab", "ba", "cd", "cdcd", "dcd"] * 4
LABELS = ["x", "x", "x", "y", "y", "y"] * 4
SMALL: dict[str, Any] = {"hidden": 6, "layers": 1, "epochs": 2, "batch": 2, "bptt": 6}


@pytest.mark.parametrize("forced", [False, True])
def test_with_new_labels_a_network_scores_as_before(forced: bool) -> None:
    plain = charrnn.fit(TEXTS, cell="output", teacher_forcing=forced, **SMALL)
    run = charrnn.train(TEXTS, labels=LABELS, start_from=plain, epochs=1)
    before = score_texts(Predictor([plain.language_model]), TEXTS)
    after = score_texts(Predictor([run.checkpoint.latest]), TEXTS, LABELS)
    np.testing.assert_allclose(after.nats, before.nats, atol=1e-3)

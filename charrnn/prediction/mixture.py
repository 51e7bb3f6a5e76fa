"""The weights by which network and counts are mixed: see ``predictor``.

They are fitted on each half of the held-out text. A small penalty pulls them towards EVEN. With it,
the loss is convex in them, and a few of Newton's steps find its minimum.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from charrnn.network.arrays import Array64, Integers, softmax
from charrnn.prediction.predictor import EVEN, SMALLEST, Predictor
from charrnn.prediction.scoring import read_texts
from charrnn.text.examples import WARM_UP, excerpt_of
from charrnn.text.vocabulary import Ids

FEWEST_TO_FIT: Final = 500  # symbols in each half of a held-out text
FIT_LANE: Final = 256  # symbols of a lane that the fit reads
FIT_LANES: Final = 64
FIT_LOGITS: Final = 8000 * FIT_LANE  # fewer symbols of a large vocabulary, whose logits need memory
NEWTON_STEPS: Final = 6
PULL: Final = 50.0  # towards EVEN, where the text does not determine the weights: as of symbols


def fit_mixture(predictor: Predictor, held_out: Ids) -> tuple[float, ...]:
    """Return the weights that suit each half of a held-out text; EVEN for a short text."""
    middle = len(held_out) // 2
    if predictor.counts is None or middle < FEWEST_TO_FIT:
        return EVEN
    halves = held_out[:middle], held_out[middle:]
    first, second = (fit_weights(*read_excerpt(predictor, half)) for half in halves)
    return first + second


def read_excerpt(predictor: Predictor, ids: Ids) -> tuple[Array64, Array64, Integers]:
    """Read some of a text. Return, for each symbol that counts, the logits of network and counts
    (N, K, 2), what the counts know of its context (N, F), and the symbol (N,).
    """
    most = min(FIT_LANES * FIT_LANE, 2 * FIT_LANE + FIT_LOGITS // predictor.vocabulary.symbols)
    places, is_counted = excerpt_of(ids, most)
    text = ids[places].astype(np.intp)
    logits, known, at = list[Array64](), list[Array64](), list[Integers]()
    for place, rows in read_texts(predictor, text, FIT_LANE, WARM_UP):
        of_use = predictor.logits["network"][rows], predictor.logits["counts"][rows]
        logits.append(np.stack(of_use, 2))
        known.append(predictor.known[rows])
        at.append(place[rows].copy())
    read = np.concatenate(at)
    counts = is_counted[read]
    return np.concatenate(logits)[counts], np.concatenate(known)[counts], text[read[counts]]


def fit_weights(logits: Array64, known: Array64, y: Integers) -> tuple[float, ...]:
    """Return the weights (2 F,) with the lowest loss of these symbols."""
    rows, weights, even = np.arange(len(y)), np.array(EVEN), np.array(EVEN)
    best_loss, best = np.inf, even
    for _ in range(NEWTON_STEPS):
        exponents = known @ weights.reshape(2, -1).T  # (N, 2)
        y_hat = softmax(np.einsum("nki,ni->nk", logits, exponents))
        penalty = PULL / 2 * ((weights - even) ** 2).sum()
        loss = penalty - np.log(y_hat[rows, y] + SMALLEST).sum()
        if loss < best_loss:
            best_loss, best = loss, weights.copy()
        centred = logits - np.einsum("nk,nki->ni", y_hat, logits)[:, None]
        spread = np.einsum("nki,nkj->nij", y_hat[:, :, None] * centred, centred)
        gradient = PULL * (weights - even) - (centred[rows, y].T @ known).ravel()
        # (2, F, 2, F)
        hessian = np.einsum("nij,nf,ng->ifjg", spread, known, known, optimize=True)
        pull = PULL * np.eye(len(even))
        weights -= np.linalg.solve(hessian.reshape(pull.shape) + pull, gradient)
    return tuple(best.tolist())

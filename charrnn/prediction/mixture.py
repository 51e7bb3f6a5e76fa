"""The weights by which network and counts are mixed: see ``predictor``.

They are fitted on each half of the held-out text. A small penalty pulls them towards EVEN. With it,
the loss is convex in them, and a few of Newton's steps find its minimum.
"""

from typing import Final

import numpy as np

from charrnn.network.arrays import Array64, Integers, softmax
from charrnn.prediction.predictor import EVEN, SMALLEST, Predictor
from charrnn.prediction.scoring import read_texts
from charrnn.text.corpus import Examples
from charrnn.text.counts import KNOWLEDGE
from charrnn.text.examples import WARM_UP, excerpt_of

FEWEST_TO_FIT: Final = 500  # symbols in each half of a held-out text
FIT_LANE: Final = 256  # symbols of a lane that the fit reads
FIT_LANES: Final = 64
FIT_LOGITS: Final = 8000 * FIT_LANE  # fewer symbols of a large vocabulary, whose logits need memory
NEWTON_STEPS: Final = 6
PULL: Final = 50.0  # towards EVEN, where the text does not determine the weights: as of symbols


def fit_mixture(predictor: Predictor, held_out: Examples) -> tuple[float, ...]:
    """Return the weights that suit each half of a held-out text; EVEN for a short text."""
    middle = len(held_out.ids) // 2
    if predictor.counts is None or middle < FEWEST_TO_FIT:
        return EVEN
    halves = slice(0, middle), slice(middle, None)
    first, second = (fit_weights(*read_excerpt(predictor, held_out, half)) for half in halves)
    return first + second


def symbols_to_fit(symbols: int) -> int:
    """Return how much of a text with so large a vocabulary is read, at most."""
    return min(FIT_LANES * FIT_LANE, 2 * FIT_LANE + FIT_LOGITS // symbols)


def read_excerpt(
    predictor: Predictor, held_out: Examples, half: slice
) -> tuple[Array64, Array64, Integers]:
    """Read some of one half of a text. Return, for each symbol that counts, the logits of network
    and counts (N, K, 2), what the counts know of its context (N, F), and the symbol (N,).
    """
    ids = held_out.ids[half]
    places, is_counted = excerpt_of(ids, symbols_to_fit(predictor.vocabulary.symbols))
    text, labels = ids[places].astype(np.intp), held_out.labels_at(places + half.start)
    size, read = np.count_nonzero(is_counted), 0
    logits: Array64 = np.empty((size, predictor.vocabulary.symbols, 2))
    known: Array64 = np.empty((size, KNOWLEDGE))
    y = np.empty(size, np.intp)
    for place, rows in read_texts(predictor, text, FIT_LANE, WARM_UP, labels=labels):
        counts = is_counted[place[rows]]
        into = slice(read, read := read + int(np.count_nonzero(counts)))
        logits[into, :, 0] = predictor.logits["network"][rows][counts]
        logits[into, :, 1] = predictor.logits["counts"][rows][counts]
        known[into], y[into] = predictor.known[rows][counts], text[place[rows][counts]]
    return logits[:read], known[:read], y[:read]


def fit_weights(logits: Array64, known: Array64, y: Integers) -> tuple[float, ...]:
    """Return the weights (2 F,) with the lowest loss of these symbols."""
    weights, even = np.array(EVEN), np.array(EVEN)
    size = max(1, FIT_LOGITS // logits.shape[1])
    blocks = [slice(at, at + size) for at in range(0, len(y), size)]
    best_loss, best = np.inf, even
    for _ in range(NEWTON_STEPS):
        exponents = known @ weights.reshape(2, -1).T  # (N, 2)
        parts = (moments_of(logits[rows], exponents[rows], y[rows]) for rows in blocks)
        chances, at_y, spread = map(np.concatenate, zip(*parts, strict=True))
        penalty = PULL / 2 * ((weights - even) ** 2).sum()
        loss = penalty - np.log(chances + SMALLEST).sum()
        if loss < best_loss:
            best_loss, best = loss, weights.copy()
        gradient = PULL * (weights - even) - (at_y.T @ known).ravel()
        # (2, F, 2, F)
        hessian = np.einsum("nij,nf,ng->ifjg", spread, known, known, optimize=True)
        pull = PULL * np.eye(len(even))
        weights -= np.linalg.solve(hessian.reshape(pull.shape) + pull, gradient)
    return tuple(best.tolist())


def moments_of(logits: Array64, powers: Array64, y: Integers) -> tuple[Array64, Array64, Array64]:
    """Return P at y (n,), the logits at y less their means (n, 2), and their covariance (n, 2, 2).

    Few rows at a time: the arrays are as large as the logits.
    """
    rows = np.arange(len(y))
    y_hat = softmax(np.einsum("nki,ni->nk", logits, powers))
    centred = logits - np.einsum("nk,nki->ni", y_hat, logits)[:, None]
    spread = np.einsum("nki,nkj->nij", y_hat[:, :, None] * centred, centred)
    return y_hat[rows, y], centred[rows, y], spread

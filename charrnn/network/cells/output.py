"""Output recurrence, figure 10.4: only the output goes on from step to step.

    h(t) = tanh(b + W o(t-1) + U x(t))        o(t) = c + V h(t)        W is (H, K)

With o(t-1) = c + V h(t-1) substituted, this is the plain network with another W and another b,

    h(t) = tanh(b + W c  +  W V h(t-1)  +  U x(t))

W V has a rank of at most K, since states with equal outputs have the same future. Training,
drawing and scoring use the plain network, with the state h. It starts from 0, so o(0) = c, the
output of a network that has read nothing. By the chain rule, with M = W V

    dL/dW = dL/dM V' + dL/db c'       dL/dV gets W' dL/dM       dL/dc gets W' dL/db

which is BPTT through o. Dropout hides units from the output, not from the feedback.

With teacher forcing the true y(t-1), one-hot, takes the place of o(t-1). Then no step needs the
one before it, and all are computed at once:

    h(t) = tanh(b + W y(t-1) + U x(t))

The plain network then has U + W for its U, and zeros for its W. Scoring feeds back the truth as
well, and drawing the drawn symbol: the condition of (10.31), so all three use one distribution. In
a model of text x(t) is y(t-1) already, so this network knows only the last character.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from charrnn.network.cells import Feedback
from charrnn.network.cells.tanh import TANH
from charrnn.network.rounding import Arrays


def as_hidden(p: Arrays, plain: Arrays) -> None:
    """Fill the plain network that feeds back h."""
    V, W = p["V"], p["W1"]
    np.matmul(W, V, out=plain["W1"])
    np.add(p["b1"], W @ p["c"], out=plain["b1"])


def through_output(p: Arrays, of_plain: Arrays, gradient: Arrays) -> None:
    """Turn the gradient of the plain network into that of this one: BPTT through o."""
    W, d_M, d_b = p["W1"], of_plain["W1"], of_plain["b1"]
    d_W, d_V, d_c = gradient["W1"], gradient["V"], gradient["c"]
    np.add(d_M @ p["V"].T, np.outer(d_b, p["c"]), out=d_W)
    d_V += W.T @ d_M
    d_c += W.T @ d_b


def as_input(p: Arrays, plain: Arrays) -> None:
    """Fill the plain network that reads the truth as an input."""
    np.add(p["U1"], p["W1"].T, out=plain["U1"])
    plain["W1"][...] = 0


def through_input(p: Arrays, of_plain: Arrays, gradient: Arrays) -> None:
    """Copy the gradient of U: both matrices read the same symbol."""
    gradient["W1"][...] = of_plain["U1"].T


OUTPUT = replace(TANH, feedback=Feedback(as_hidden, through_output))
FORCED = replace(TANH, feedback=Feedback(as_input, through_input, comes_apart=True))

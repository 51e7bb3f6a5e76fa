"""Output recurrence, figure 10.4: what goes on from step to step is the output, and nothing else.

    h(t) = tanh(b + W o(t-1) + U x(t))        o(t) = c + V h(t)        W is (H, K)

With o(t-1) = c + V h(t-1) put in, that is the plain network with another W and another b,

    h(t) = tanh(b + W c  +  W V h(t-1)  +  U x(t))

whose W V has at most the rank K: what V sends to the same outputs has the same future. So it is
unfolded, drawn from and scored as the plain network that it is, with h for its state, which starts
from 0: o(0) is c, the output of a network that has read nothing. By the chain rule, with M = W V

    dL/dW = dL/dM V' + dL/db c'       dL/dV gets W' dL/dM       dL/dc gets W' dL/db

and that is BPTT through o. Dropout hides units from the reader of o, not from what goes back.

With teacher forcing the true y(t-1) goes where o(t-1) would go, one-hot. Then no step needs the
one before it, and all are computed at once:

    h(t) = tanh(b + W y(t-1) + U x(t))

The plain network has then U + W for its U, and nothing for its W. The truth is fed back also where
a text is scored, and the symbol that was drawn where one is drawn: it is what the conditional of
(10.31) is given, and all three are one distribution. In a model of a text x(t) is y(t-1) already:
so it knows the last character and no other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from charrnn.network.cells import Feedback
from charrnn.network.cells.tanh import TANH
from charrnn.network.parameters import Parameters


def as_hidden(p: Parameters, plain: Parameters) -> None:
    """The plain network that feeds back what this one does."""
    V, W = p["V"], p["W1"]
    np.matmul(W, V, out=plain["W1"])
    np.add(p["b1"], W @ p["c"], out=plain["b1"])


def through_output(p: Parameters, of_plain: Parameters, gradient: Parameters) -> None:
    """From the gradient of the plain network to that of this one: BPTT through o."""
    W, d_M, d_b = p["W1"], of_plain["W1"], of_plain["b1"]
    d_W, d_V, d_c = gradient["W1"], gradient["V"], gradient["c"]
    np.add(d_M @ p["V"].T, np.outer(d_b, p["c"]), out=d_W)
    d_V += W.T @ d_M
    d_c += W.T @ d_b


def as_input(p: Parameters, plain: Parameters) -> None:
    """The plain network that reads what this one is fed."""
    np.add(p["U1"], p["W1"].T, out=plain["U1"])
    plain["W1"][...] = 0


def through_input(p: Parameters, of_plain: Parameters, gradient: Parameters) -> None:
    """Both are read at the same symbol."""
    gradient["W1"][...] = of_plain["U1"].T


OUTPUT = replace(TANH, feedback=Feedback(as_hidden, through_output))
FORCED = replace(TANH, feedback=Feedback(as_input, through_input, comes_apart=True))

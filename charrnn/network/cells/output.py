"""Output recurrence, figure 10.4: only the output goes on from step to step.

    h(t) = tanh(b + W o(t-1) + U x(t)),  o(t) = c + V h(t),  o(0) = c           W is (H, K)
         = tanh(b + W c  +  W V h(t-1)  +  U x(t))

So this is the plain network with another W and b, and the plain network does the work. By the
chain rule, with M = W V, dropout hides units from the output, not from the feedback, and

    dL/dW = dL/dM V' + dL/db c'       dL/dV gets W' dL/dM       dL/dc gets W' dL/db

With teacher forcing the true y(t-1), one-hot, takes the place of o(t-1), in scoring as well; in
drawing, the drawn symbol does: the condition of (10.31). Then no step needs the one before it. The
plain network has U + W for its U, and zeros for its W. In a model of text x(t) is y(t-1) already,
so this network sees only the last character.
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


A = "{b} + {W o(t-1)} + {U x(t)}  (10.8)"
D_H = "{V' W' dL/da(t+1)} + {V' dL/do(t)}  (10.21)"
EQUATIONS = {**TANH.equations, "a": A, "dL/dh": D_H}
OUTPUT = replace(TANH, feedback=Feedback(as_hidden, through_output), equations=EQUATIONS)
FORCED = replace(
    TANH,
    feedback=Feedback(as_input, through_input, comes_apart=True),
    equations={**TANH.equations, "a": A.replace("o(t-1)", "y(t-1)")},
)

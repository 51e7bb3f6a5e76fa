"""Cells: how a layer computes its next state.

A cell is a class here, a line in CELLS, and a name among the settings. It has three functions, and
the layer calls them in this order: `forward` at each time step t, `slopes` for many time steps at
once (they look like more lanes), and `backward` at each time step, from the last to the first.

What each finds in a buffer, and what it leaves there, with B lanes, H units and G gates:

    buffer               forward               slopes                backward
    ux (G, B, H)         reads b + U x(t),     makes its factors     leaves dL/d(W h) and,
                         may leave the gates   of dL/d(W h)          but for d_h, dL/d(U x)
    wh (G, B, H)         reads W h(t-1),
                         may overwrite it
    before (B, H) each   reads the states      reads them
                         at t-1
    after (B, H) each    leaves those at t     reads them
    tape (B, H)          may leave a value     makes a factor of it  reads it
    factor (B, H)                              leaves that of dL/dh  reads it
    room (B, H)                                scratch memory
    d_after (B, H) each                                              reads dL/d(after), see below
    d_before (B, H)                                                  leaves dL/dh(t-1), without
                                                                     the part through W h

The layer adds the part through W h. The gradient of a state besides h stays in ``d_after``, which
is its ``d_before``, too. A gate with a bias of its own (see own_bias) leaves dL/d(U x) in
``d_after`` of h, since it differs from dL/d(W h). So does a cell of one gate: its ``ux`` and ``wh``
lack the first axis, and its ``ux`` is the memory of the new h. ``after`` may be ``before``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from charrnn.network.arrays import Array, Arrays, States


class Cell:
    """The functions of a cell, and the facts needed to call them."""

    states: ClassVar[Sequence[str]]  # their names; |h| <= 1
    gates: ClassVar[int]  # blocks of H columns in U, W and b
    has_tape: ClassVar[bool] = False
    reads_h: ClassVar[bool] = False  # it reads h(t-1) itself, not only through W h
    own_bias: ClassVar[bool] = False  # W h of the last gate has a bias d; their sum is on the tape
    feeds_back: ClassVar[bool] = False  # W multiplies something else than h: see Output
    comes_apart: ClassVar[bool] = False  # no step needs the one before it
    # value -> its equation, with the names of other values in braces and the book's number: first
    # those of the gates, with terms that begin with b, W, U or d, then those of the states
    equations: ClassVar[Mapping[str, str]]

    forward: Callable[[Array, Array, States, States, Array], None]
    slopes: Callable[[Array, States, States, Array, Array, Array], None]
    backward: Callable[[States, Array, Array, Array, States], None]
    # of a cell that feeds back: from its parameters to those of the plain network, and back
    plainly: Callable[[Arrays, Arrays], None]
    back_from_plain: Callable[[Arrays, Arrays, Arrays], None]


class Tanh(Cell):
    """The cell of the book: tanh units that read their own last state.

        a(t) = b + W h(t-1) + U x(t)                                                  (10.8)
        h(t) = tanh a(t)                                                              (10.9)
        dL/dh(t) = (dh(t+1)/dh(t))' dL/dh(t+1) + (do(t)/dh(t))' dL/do(t)              (10.20)
                 = W' dL/da(t+1) + V' dL/do(t),   the last step has no first term     (10.21)
        dL/da(t) = diag(1 - h(t)^2) dL/dh(t)

    By hand, two units, one lane, two steps: W = [[0, 1], [1, 0]], b = 0, inputs U x(1) = (1, 0)
    and U x(2) = (0, 0). Forward: h(1) = (tanh 1, 0) = (0.7616, 0), and W swaps the units, so
    h(2) = (0, tanh 0.7616) = (0, 0.6420). Let the loss be the second unit of h(2), so that
    dL/dh(2) = (0, 1) and nothing else comes from above. Then dL/da(2) = (0, 1 - 0.6420^2) =
    (0, 0.5878), W' sends it to dL/dh(1) = (0.5878, 0), and dL/da(1) =
    (0.5878 (1 - 0.7616^2), 0) = (0.2469, 0).
    """

    states = ("h",)
    gates = 1
    equations: ClassVar = {
        "a": "{b} + {W h(t-1)} + {U x(t)}  (10.8)",
        "h": "tanh {a}(t)  (10.9)",
        "dL/dh": "{W' dL/da(t+1)} + {V' dL/do(t)}  (10.21)",
        "dL/da": "(1 - {h}(t)^2) * {dL/dh}(t)",
    }

    @staticmethod
    def forward(ux: Array, wh: Array, before: States, after: States, tape: Array) -> None:
        h = after[0]
        np.add(ux, wh, h)  # (10.8)
        np.tanh(h, h)  # (10.9)

    @staticmethod
    def slopes(
        ux: Array, before: States, after: States, tape: Array, factor: Array, room: Array
    ) -> None:
        h = after[0]
        np.multiply(h, h, factor)
        np.subtract(1, factor, factor)  # 1 - h(t)^2

    @staticmethod
    def backward(d_after: States, ux: Array, tape: Array, factor: Array, d_before: States) -> None:
        np.multiply(d_after[0], factor, d_after[0])  # dL/da(t)


class Gru(Cell):
    """A gated recurrent unit: a gate for how much of the past is read, one for how much is new.

        r(t), z(t) = sigmoid of the first and second block of b + U x(t) + W h(t-1)
        n(t) = tanh(b + U x(t)  +  r(t) (d + W h(t-1)))            of the third
        h(t) = (1 - z(t)) n(t) + z(t) h(t-1)

        dL/dn = (1 - z) dL/dh                 through tanh:     dL/da_n = (1 - n^2) dL/dn
        dL/dz = (h(t-1) - n) dL/dh            through sigmoid:  dL/da_z = z (1 - z) dL/dz
        dL/dr = (d + W h)_n dL/da_n                             dL/da_r = r (1 - r) dL/dr

    W h gets r dL/da_n in place of dL/da_n, and h(t-1) also gets z dL/dh. The reset r comes after
    the product, as in PyTorch, so W h is one product. By hand: W = b = d = 0, h(0) = 1, U x =
    (0, 0, 1): r = z = 0.5, n = tanh 1 = 0.7616, h(1) = 0.5 x 0.7616 + 0.5 = 0.8808. With dL/dh(1)
    = 1: dL/da_n = 0.5 (1 - 0.7616^2) = 0.2100, dL/da_z = 0.25 (1 - 0.7616) = 0.0596.
    """

    states = ("h",)
    gates = 3
    has_tape = reads_h = own_bias = True
    equations: ClassVar = {
        "r": "sigmoid({b_r} + {W_r h(t-1)} + {U_r x(t)})",
        "z": "sigmoid({b_z} + {W_z h(t-1)} + {U_z x(t)})",
        "n": "tanh({b_n} + {U_n x(t)} + {r}(t) * ({d} + {W_n h(t-1)}))",
        "h": "(1 - {z}(t)) * {n}(t) + {z}(t) * {h(t-1)}",
        "dL/dh": "{dL/dh(t) through step t+1} + {V' dL/do(t)}",
    }

    @staticmethod
    def forward(ux: Array, wh: Array, before: States, after: States, tape: Array) -> None:
        """Leave r, z and n in ``ux``."""
        gates, (r, z, n), h = ux[:2], ux, after[0]
        np.add(gates, wh[:2], gates)
        np.multiply(gates, 0.5, gates)
        np.tanh(gates, gates)
        np.multiply(gates, 0.5, gates)
        np.add(gates, 0.5, gates)  # sigmoid(a) = tanh(a / 2) / 2 + 1 / 2
        np.multiply(r, tape, wh[2])
        np.add(n, wh[2], n)
        np.tanh(n, n)
        np.subtract(before[0], n, h)
        np.multiply(h, z, h)
        np.add(h, n, h)  # (1 - z) n + z h(t-1)

    @staticmethod
    def slopes(
        ux: Array, before: States, after: States, tape: Array, factor: Array, room: Array
    ) -> None:
        """Keep the factors of W h in place of r, z, n; of the last block of U x on the tape."""
        (r, z, n), h_before = ux, before[0]
        np.copyto(factor, z)  # h(t-1): z
        np.subtract(h_before, n, room)
        np.multiply(room, z, room)
        np.subtract(1, z, z)
        np.multiply(n, n, n)
        np.subtract(1, n, n)
        np.multiply(n, z, n)  # a_n: (1 - z) (1 - n^2)
        np.multiply(z, room, z)  # a_z: z (1 - z) (h(t-1) - n)
        np.subtract(1, r, room)
        np.multiply(room, tape, room)
        np.copyto(tape, n)
        np.multiply(n, r, n)  # W h: r times that of a_n
        np.multiply(n, room, r)  # a_r: (1 - r) (d + W h)_n times the one before

    @staticmethod
    def backward(d_after: States, ux: Array, tape: Array, factor: Array, d_before: States) -> None:
        d_h = d_after[0]
        np.multiply(d_h, factor, d_before[0])
        np.multiply(ux, d_h, ux)
        np.multiply(d_h, tape, d_h)


HALVES = np.array([0.5, 0.5, 1, 0.5], np.float32)[:, None, None]  # sigmoid by tanh: see Gru
SHIFTS = np.array([0.5, 0.5, 0, 0.5], np.float32)[:, None, None]


class Lstm(Cell):
    """Long short-term memory: a state c, with gates for what enters it, stays in it and leaves it.

        i(t), f(t), o(t) = sigmoid of the first, second and fourth block of b + U x(t) + W h(t-1)
        g(t) = tanh of the third;  c(t) = f(t) c(t-1) + i(t) g(t);  h(t) = o(t) tanh c(t)

        dL/do = tanh(c) dL/dh                                     dL/da_o = o (1 - o) dL/do
        dL/dc = dL/dc(t) from t+1  +  o (1 - tanh(c)^2) dL/dh     dL/dc(t-1) = f dL/dc
        dL/di = g dL/dc                                           dL/da_i = i (1 - i) dL/di
        dL/dg = i dL/dc                                           dL/da_g = (1 - g^2) dL/dg
        dL/df = c(t-1) dL/dc                                      dL/da_f = f (1 - f) dL/df

    By hand, one unit: W = b = 0, c(0) = 1, U x = (0, 0, 1, 0): i = f = o = 0.5, g = tanh 1 =
    0.7616, c(1) = 0.5 + 0.5 x 0.7616 = 0.8808, h(1) = 0.5 tanh 0.8808 = 0.3534.
    """

    states = ("h", "c")
    gates = 4
    has_tape = True
    equations: ClassVar = {
        "i": "sigmoid({b_i} + {W_i h(t-1)} + {U_i x(t)})",
        "f": "sigmoid({b_f} + {W_f h(t-1)} + {U_f x(t)})",
        "g": "tanh({b_g} + {W_g h(t-1)} + {U_g x(t)})",
        "o": "sigmoid({b_o} + {W_o h(t-1)} + {U_o x(t)})",
        "c": "{f}(t) * {c(t-1)} + {i}(t) * {g}(t)",
        "h": "{o}(t) * tanh {c}(t)",
        "dL/dh": "{W' dL/da(t+1)} + {V' dL/do(t)}",
    }

    @staticmethod
    def forward(ux: Array, wh: Array, before: States, after: States, tape: Array) -> None:
        """Leave i, f, g, o in ``ux`` and tanh c on the tape."""
        (i, f, g, o), (h, c) = ux, after
        np.add(ux, wh, ux)
        np.multiply(ux, HALVES, ux)
        np.tanh(ux, ux)
        np.multiply(ux, HALVES, ux)
        np.add(ux, SHIFTS, ux)
        np.multiply(f, before[1], c)
        np.multiply(i, g, tape)
        np.add(c, tape, c)
        np.tanh(c, tape)
        np.multiply(o, tape, h)

    @staticmethod
    def slopes(
        ux: Array, before: States, after: States, tape: Array, factor: Array, room: Array
    ) -> None:
        """Keep factors of dL/dc for i, f, g; of dL/dh for o and, on the tape, c; f for c(t-1)."""
        (i, f, g, o), tanh_c = ux, tape
        np.multiply(o, tanh_c, room)
        np.multiply(room, tanh_c, tanh_c)
        np.subtract(o, tanh_c, tanh_c)  # c: o (1 - tanh(c)^2)
        np.multiply(o, room, o)
        np.subtract(room, o, o)  # a_o: tanh(c) o (1 - o)
        np.copyto(factor, f)
        np.subtract(1, f, room)
        np.multiply(f, room, f)
        np.multiply(f, before[1], f)  # a_f: c(t-1) f (1 - f)
        np.multiply(g, i, room)
        np.multiply(g, room, g)
        np.subtract(i, g, g)  # a_g: i (1 - g^2)
        np.multiply(i, room, i)
        np.subtract(room, i, i)  # a_i: g i (1 - i)

    @staticmethod
    def backward(d_after: States, ux: Array, tape: Array, factor: Array, d_before: States) -> None:
        d_h, d_c = d_after
        np.multiply(d_h, tape, tape)
        np.add(d_c, tape, d_c)  # dL/dc
        np.multiply(ux[:3], d_c, ux[:3])
        np.multiply(ux[3], d_h, ux[3])
        np.multiply(d_c, factor, d_c)  # dL/dc(t-1)


class Output(Tanh):
    """Output recurrence, figure 10.4: only the output goes on from step to step.

        h(t) = tanh(b + W o(t-1) + U x(t)),  o(t) = c + V h(t),  o(0) = c           W is (H, K)
             = tanh(b + W c  +  W V h(t-1)  +  U x(t))

    So this is the plain network with another W and b, and the plain network does the work. By the
    chain rule, with M = W V, dropout hides units from the output, not from the feedback, and

        dL/dW = dL/dM V' + dL/db c'       dL/dV gets W' dL/dM       dL/dc gets W' dL/db
    """

    feeds_back = True
    equations: ClassVar = {
        **Tanh.equations,
        "a": "{b} + {W o(t-1)} + {U x(t)}  (10.8)",
        "dL/dh": "{V' W' dL/da(t+1)} + {V' dL/do(t)}  (10.21)",
    }

    @staticmethod
    def plainly(p: Arrays, plain: Arrays) -> None:
        """Fill those parameters of the plain network that differ."""
        np.matmul(p["W1"], p["V"], out=plain["W1"])
        np.add(p["b1"], p["W1"] @ p["c"], out=plain["b1"])

    @staticmethod
    def back_from_plain(p: Arrays, of_plain: Arrays, gradient: Arrays) -> None:
        """Fill those gradients that differ from the gradients of the plain network."""
        W, d_M, d_b = p["W1"], of_plain["W1"], of_plain["b1"]
        np.add(d_M @ p["V"].T, np.outer(d_b, p["c"]), out=gradient["W1"])
        gradient["V"][...] += W.T @ d_M
        gradient["c"][...] += W.T @ d_b


class Forced(Output):
    """Output recurrence with teacher forcing: the true y(t-1), one-hot, takes the place of o(t-1).

    In drawing, the drawn symbol does: the condition of (10.31). Then no step needs the one before
    it. The plain network has U + W for its U, and zeros for its W. In a model of text x(t) is
    y(t-1) already, so this network sees only the last character.
    """

    comes_apart = True
    equations: ClassVar = {
        **Tanh.equations,
        "a": "{b} + {W y(t-1)} + {U x(t)}  (10.8)",
        "dL/dh": "{V' dL/do(t)}  (10.19)",
    }

    @staticmethod
    def plainly(p: Arrays, plain: Arrays) -> None:
        plain["U1"][...] = p["U1"]
        plain["U1"][: len(p["c"])] += p["W1"].T
        plain["W1"][...] = 0

    @staticmethod
    def back_from_plain(p: Arrays, of_plain: Arrays, gradient: Arrays) -> None:
        # Both matrices read the same symbol, but for a label.
        gradient["W1"][...] = of_plain["U1"][: len(gradient["c"])].T


CELLS: dict[str, type[Cell]] = {"tanh": Tanh, "gru": Gru, "lstm": Lstm, "output": Output}

"""Comparison of our cells with PyTorch's: same network, same loss, same gradient."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from charrnn.network.architecture import Architecture
from charrnn.network.cells import CELLS
from charrnn.network.parameters import initial
from charrnn.network.unfolded import Unfolded, Window

PEER = Path(__file__).parent / "peers" / "torch_gradient.py"
SYMBOLS, HIDDEN, LAYERS, LANES, STEPS = 11, 16, 3, 4, 20


def apart(python: str, cell: str) -> tuple[str, float, float] | None:
    """The library, and how far from its loss and its gradient ours are, as a share of the largest;
    three layers in float64, from a state that is carried in. None where there is no PyTorch.
    """
    rng = np.random.default_rng(0)
    size = Architecture(SYMBOLS, HIDDEN, LAYERS, cell)
    p = initial(size, np.log(np.full(SYMBOLS, 1 / SYMBOLS)), rng, np.float64)
    p.flat[...] = 0.5 * rng.standard_normal(p.flat.shape)
    start = [np.tanh(rng.standard_normal((LANES, HIDDEN))) for _ in size.state_names]
    x, y = rng.integers(0, SYMBOLS, (2, STEPS, LANES))
    unfolded, gradient = Unfolded(size, STEPS, LANES, np.float64), p.like()
    for state, known in zip(unfolded.states, start, strict=True):
        state[0] = known
    loss = unfolded.nats_and_gradient(p, Window(x, y), gradient)
    kinds = len(size.cell.states)
    arrays: dict[str, Any] = {"x": x, "y": y, **p}
    for at, name in enumerate(size.cell.states):
        arrays[f"{name}0"] = np.stack(start[at::kinds])  # (L, B, H)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "network.npz", Path(folder) / "gradient.npz"
        np.savez(given, **arrays)
        command = [python, str(PEER), str(given), str(found), cell]
        done = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            return None
        with np.load(found) as theirs:
            off = max(np.abs(theirs[name] - gradient[name]).max() for name in p)
            largest = max(np.abs(theirs[name]).max() for name in p)
            loss_off = abs(float(theirs["loss"]) / loss - 1)
            return str(theirs["library"]), loss_off, float(off / largest)


def report(against: list[str]) -> None:
    """Print the differences between each cell and PyTorch's, if PyTorch is installed."""
    for python in against:
        for cell in CELLS:
            if found := apart(python, cell):
                library, loss, gradient = found
                print(f"{cell}: loss {loss:.0e}, gradient {gradient:.0e} apart from {library}'s")

"""The loss and the gradient of a network that comes as a file, by PyTorch's own cell.

PYTHON torch_gradient.py NETWORK.npz GRADIENT.npz tanh|gru|lstm
"""

import sys

import numpy as np
import torch
from torch import nn

network, gradient, cell = sys.argv[1:]
given = {name: torch.from_numpy(array) for name, array in np.load(network).items()}
symbols, hidden = given["V"].shape
layers = len(given["h0"])
torch.set_default_dtype(torch.float64)
recurrence = {"tanh": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell](symbols, hidden, layers)
readout = nn.Linear(hidden, symbols)
theirs = {"V": readout.weight, "c": readout.bias}
for layer in range(layers):
    for name, of in {"U": "weight_ih", "W": "weight_hh", "b": "bias_ih", "d": "bias_hh"}.items():
        theirs[f"{name}{layer + 1}"] = getattr(recurrence, f"{of}_l{layer}")
with torch.no_grad():
    for name, array in theirs.items():
        array.zero_()
        if name in given:  # theirs has a bias of W h for every gate, ours for the last or none
            ours = given[name].T if name == "U1" else given[name]
            array[-len(ours) :] = ours

begun = (given["h0"], given["c0"]) if "c0" in given else given["h0"]
states, _ = recurrence(nn.functional.one_hot(given["x"], symbols).double(), begun)
o = readout(states).flatten(0, 1)
loss = nn.functional.cross_entropy(o, given["y"].flatten(), reduction="sum")
loss.backward()

found = {name: theirs[name].grad for name in theirs if name in given}
found["U1"] = found["U1"].T
arrays = {name: array[-len(given[name]) :].numpy() for name, array in found.items()}
np.savez(gradient, loss=loss.item(), library=f"torch {torch.__version__}", **arrays)

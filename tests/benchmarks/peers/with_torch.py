"""One training step in PyTorch: an embedding, its own cell, cross-entropy, clip, Adam.

PYTHON with_torch.py SYMBOLS HIDDEN LANES STEPS tanh|gru|lstm
"""

import json
import statistics
import sys
import time

import torch
from torch import nn

symbols, hidden, lanes, steps = map(int, sys.argv[1:5])
torch.manual_seed(0)
embed = nn.Embedding(symbols, hidden)
recurrence = {"tanh": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[sys.argv[5]](hidden, hidden)
readout = nn.Linear(hidden, symbols)
network = nn.ModuleList([embed, recurrence, readout])
adam = torch.optim.Adam(network.parameters(), lr=0.001)
x, y = torch.randint(symbols, (2, steps, lanes))

seconds = []
for _ in range(30):
    began = time.perf_counter()
    adam.zero_grad()
    o = readout(recurrence(embed(x))[0])
    nn.functional.cross_entropy(o.flatten(0, 1), y.flatten()).backward()
    nn.utils.clip_grad_norm_(network.parameters(), 5.0)
    adam.step()
    seconds.append(time.perf_counter() - began)
rate = steps * lanes / statistics.median(seconds[5:])
print(json.dumps({"library": f"torch {torch.__version__}", "characters_per_second": rate}))

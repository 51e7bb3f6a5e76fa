"""A plain tanh network in PyTorch that learns a list for so many seconds, and its held-out loss.

PYTHON torch_seconds.py EXAMPLES.json HIDDEN LAYERS SECONDS

A batch is 64 random lines with END behind each, padded to the longest; Adam, rate 0.003, clipped to
norm 1. The loss is the mean over characters and ends, as charrnn's. It is measured at the end.
"""

import json
import sys
import time
from pathlib import Path

import torch
from torch import nn

END, PAD = 0, -100  # a symbol that stands before and behind each text; no target
examples = json.loads(Path(sys.argv[1]).read_text("utf-8"))
hidden, layers, seconds = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
symbols = sorted({letter for text in examples["learn"] for letter in text})
id_of = {letter: number + 1 for number, letter in enumerate(symbols)}
UNKNOWN = len(symbols) + 1

torch.manual_seed(0)
embed = nn.Embedding(len(symbols) + 2, hidden)
recurrence = nn.RNN(hidden, hidden, layers, batch_first=True)
readout = nn.Linear(hidden, len(symbols) + 2)
network = nn.ModuleList([embed, recurrence, readout])
adam = torch.optim.Adam(network.parameters(), lr=0.003)


def batch_of(texts):
    """Return inputs and targets (B, T): END and the text, the text and END."""
    rows = [[id_of.get(letter, UNKNOWN) for letter in text] for text in texts]
    steps = max(map(len, rows)) + 1
    x = torch.full((len(rows), steps), END)
    y = torch.full((len(rows), steps), PAD)
    for lane, row in enumerate(rows):
        x[lane, 1 : len(row) + 1] = torch.tensor(row, dtype=torch.long)
        y[lane, : len(row) + 1] = torch.tensor([*row, END])
    return x, y


def loss_of(x, y, reduction="mean"):
    o = readout(recurrence(embed(x))[0])
    return nn.functional.cross_entropy(o.flatten(0, 1), y.flatten(), reduction=reduction)


began = time.perf_counter()
while time.perf_counter() - began < seconds:
    chosen = torch.randint(len(examples["learn"]), (64,))
    adam.zero_grad()
    loss_of(*batch_of([examples["learn"][number] for number in chosen])).backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    adam.step()

with torch.no_grad():
    nats = count = 0
    for start in range(0, len(examples["held_out"]), 256):
        x, y = batch_of(examples["held_out"][start : start + 256])
        nats += float(loss_of(x, y, "sum"))
        count += int((y != PAD).sum())
best = {"nats_per_character": nats / count}
print(json.dumps({"best": best, "settings": {"hidden": hidden, "layers": layers}}))

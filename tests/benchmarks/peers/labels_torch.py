"""The network of PyTorch's tutorial on names: it reads texts and labels, and tells labels.

PYTHON labels_torch.py SECONDS < TEXTS.json

One layer of 128 tanh units reads a text, and a linear layer tells the label from the last state.
Batches of 64, gradient descent at a rate of 0.15, clipped to norm 3.
"""

import json
import sys
import time

import torch
from torch import nn

given = json.load(sys.stdin)
seconds = float(sys.argv[1])
texts, labels = zip(*given["learn"], strict=True)
kinds = sorted(set(labels))
letters = sorted({letter for text in texts for letter in text})
id_of = {letter: number for number, letter in enumerate(letters)}

torch.manual_seed(0)
recurrence = nn.RNN(len(letters) + 1, 128, batch_first=True)  # the last input: an unknown letter
readout = nn.Linear(128, len(kinds))
network = nn.ModuleList([recurrence, readout])
descent = torch.optim.SGD(network.parameters(), lr=0.15)


def logits_of(batch):
    """Return the outputs of some texts, (B, L)."""
    rows = [torch.tensor([id_of.get(c, len(letters)) for c in text]) for text in batch]
    x = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    one_hot = nn.functional.one_hot(x, len(letters) + 1).float()
    states, _ = recurrence(one_hot)
    last = torch.tensor([len(text) - 1 for text in batch])
    return readout(states[torch.arange(len(batch)), last])


answers = torch.tensor([kinds.index(label) for label in labels])
began = time.perf_counter()
while time.perf_counter() - began < seconds:
    chosen = torch.randint(len(texts), (64,))
    descent.zero_grad()
    outputs = logits_of([texts[i] for i in chosen.tolist()])
    nn.functional.cross_entropy(outputs, answers[chosen]).backward()
    nn.utils.clip_grad_norm_(network.parameters(), 3)
    descent.step()

with torch.no_grad():
    held_out = given["held_out"]
    batches = [held_out[i : i + 256] for i in range(0, len(held_out), 256)]
    said = [kinds[at] for batch in batches for at in logits_of(batch).argmax(1).tolist()]
json.dump(said, sys.stdout)

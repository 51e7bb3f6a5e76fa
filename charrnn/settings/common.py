"""What the settings of several commands share: ranges, and the panels of help."""

from __future__ import annotations

from charrnn.settings.fields import Real, Whole

CORPUS, NETWORK, LEARNING, DRAWING = "Corpus", "Network", "Learning", "Drawing"
FILLING = "Filling"

LARGEST = 1 << 20  # units, lanes, steps: more is a slip of the keyboard
SIZE = Whole(1, LARGEST)
COUNT = Whole(1, 1 << 40)
MANY = Whole(1, 1 << 62)
SHARE = Real(0, 0.95)
SEED = Whole(0, (1 << 64) - 1)
DYNAMIC_RATE = Real(0, 1e6, above=True)

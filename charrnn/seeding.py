"""One seed, many uses: each draws from a stream that is named by its number, and by what follows.

numpy.random.default_rng([seed, ORDER, epoch])
"""

from __future__ import annotations

from typing import Final

# 0 is the split of a corpus: default_rng(seed) is default_rng([seed, 0]).
WEIGHTS: Final = 1
REGULARIZATION: Final = 2  # then the step
ORDER: Final = 3  # then the epoch
OWN_INPUTS: Final = 4  # then the step

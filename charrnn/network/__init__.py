"""The network of chapter 10.2 of *Deep Learning* (Goodfellow, Bengio, Courville), in numpy alone.

"The book" is this one, and numbers such as (10.8) are its equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Array64 = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Arrays = Mapping[str, Array]  # parameters by name
States = Sequence[Array]  # (B, H) each, of one layer

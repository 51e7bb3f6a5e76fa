"""Names for the types of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Array64 = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Arrays = Mapping[str, Array]  # parameters by name
CellStates = Sequence[Array]  # (B, H) each, of one layer

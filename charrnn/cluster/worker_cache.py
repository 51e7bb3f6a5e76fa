"""What a worker makes ready once and uses for many pieces: in each of its threads one of its own,
for what draws and reads has buffers that two cannot share.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")

_here = threading.local()


def prepared(key: str, make: Callable[[], Made]) -> Made:
    """What was made under this key in this thread, if it was the last; else it is made."""
    if getattr(_here, "key", None) != key:
        _here.key, _here.made = None, None  # two of them may be more than there is memory for
        _here.made = make()
        _here.key = key
    made: Made = _here.made
    return made

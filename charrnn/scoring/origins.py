"""Where each example of some files begins: in which of them, and on which line."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import LineNumbers

Numbers = NDArray[np.int64]


class Origins:
    """Noted while the files are cut, and taken as soon as examples are complete."""

    def __init__(self) -> None:
        self._files = 0
        self._noted: deque[tuple[int, Numbers]] = deque()  # a file, and lines of it

    def of_next_file(self) -> LineNumbers:
        """What notes the lines of one more file."""
        number = self._files
        self._files += 1
        return LineNumbers(lambda lines: self.note(number, lines))

    def note(self, file: int, lines: Numbers) -> None:
        """Examples begin on these lines of a file."""
        self._noted.append((file, lines))

    def take(self, count: int) -> tuple[Numbers, Numbers]:
        """The files and the lines of the next examples, so many of them; both count from the first,
        files from 0 and lines from 1.
        """
        files, lines, left = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], count
        while left:
            file, noted = self._noted.popleft()
            if len(noted) > left:
                self._noted.appendleft((file, noted[left:]))
            lines.append(noted[:left])
            files.append(np.full(len(lines[-1]), file, np.int64))
            left -= len(lines[-1])
        return np.concatenate(files), np.concatenate(lines)


class Several(Origins):
    """What is noted here is noted by all of these, who are asked at different times."""

    def __init__(self, *others: Origins) -> None:
        super().__init__()
        self._others = others

    def note(self, file: int, lines: Numbers) -> None:
        for other in self._others:
            other.note(file, lines)

    def take(self, count: int) -> tuple[Numbers, Numbers]:
        """Have all of them forget these, too."""
        for other in self._others:
            other.take(count)
        return np.zeros(0, np.int64), np.zeros(0, np.int64)


class Counted(Origins):
    """Numbers for examples that are not cut from files: in their order, from 1."""

    def __init__(self) -> None:
        super().__init__()
        self._taken = 0

    def take(self, count: int) -> tuple[Numbers, Numbers]:
        first = self._taken + 1
        self._taken += count
        return np.zeros(count, np.int64), np.arange(first, first + count)

"""Characters and the numbers that stand for them.

      0    1       2    3    4
     END  UNKNOWN  a    b    ё        a vocabulary of three characters has five symbols

END and UNKNOWN come first, then the characters as Unicode orders them. END has no character: no
text can hold it, and decoding prints nothing for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.unsignedinteger[Any]]
Codes = NDArray[np.uint32]  # Unicode code points

END: Final = 0
UNKNOWN: Final = 1
SCALARS: Final = 1_112_064  # how many characters Unicode has room for: surrogates are none
REPLACEMENT: Final = 0xFFFD  # what UNKNOWN looks like


def codes_of(text: str) -> Codes:
    """The code points of a text. Half a surrogate pair, which Python lets in, is one too."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def is_surrogate(codes: Codes) -> NDArray[np.bool_]:
    """Which code points are halves of pairs: they stand in Python strings, never in a text."""
    return (codes >= 0xD800) & (codes <= 0xDFFF)


@dataclass(frozen=True)
class Vocabulary:
    characters: str  # distinct, in code-point order: characters[i] has the id i + 2
    novelty: float = 0.0  # the chance that the next symbol is a character never seen before

    def __post_init__(self) -> None:
        codes = codes_of(self.characters)
        if bool((codes[1:] <= codes[:-1]).any()) or bool(is_surrogate(codes).any()):
            raise ValueError("the characters of a vocabulary are distinct and in order")
        if not 0 <= self.novelty < 1:
            raise ValueError(f"a chance of {self.novelty!r:.40}")

    @classmethod
    def counted(cls, counts: Mapping[str, int], symbols: int) -> Vocabulary:
        """The vocabulary of a text of so many symbols, in which each character stands so often.

        By Good and Turing, what was seen once tells how much was not seen at all. The tenth
        keeps the chance above zero where every character was seen twice or more.
        """
        seen_once = sum(count == 1 for count in counts.values())
        return cls("".join(sorted(counts)), (seen_once + 0.1) / (symbols + 1))

    @property
    def symbols(self) -> int:
        """How many symbols there are, END and UNKNOWN among them: K."""
        return len(self.characters) + 2

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest type that holds every id."""
        return np.dtype(np.min_scalar_type(self.symbols - 1))

    @property
    def unseen_nats(self) -> float:
        """What naming a character costs, once it is known to be one that was never seen."""
        return math.log(max(1, SCALARS - len(self.characters)))

    @cached_property
    def _codes(self) -> Codes:  # (K,)  id -> code point; END is left out before it is asked for
        return np.concatenate(([0, REPLACEMENT], codes_of(self.characters))).astype(np.uint32)

    @cached_property
    def _ids(self) -> Ids:  # code point -> id; the last stands for all that are larger
        known = self._codes[2:]
        ids = np.full(int(known.max(initial=0)) + 2, UNKNOWN, self.dtype)
        ids[known] = np.arange(2, self.symbols)
        return ids

    def encode_codes(self, codes: Codes) -> Ids:
        """The ids of code points: UNKNOWN for those that were never seen, surrogates included."""
        return self._ids.take(codes, mode="clip")

    def encode(self, text: str) -> Ids:
        """The ids of a text, a character each."""
        return self.encode_codes(codes_of(text))

    def decode(self, ids: Ids) -> str:
        """The text of ids. END prints nothing, UNKNOWN is the replacement character."""
        ids = np.asarray(ids)
        text: bytes = self._codes[ids[ids != END]].astype("<u4").tobytes()
        return text.decode("utf-32-le")

    def unknown_in(self, text: str) -> list[str]:
        """The distinct characters of a text that were never seen, as they appear."""
        codes = codes_of(text)
        unseen, first = np.unique(codes[self.encode_codes(codes) == UNKNOWN], return_index=True)
        return [chr(code) for code in unseen[np.argsort(first)].tolist()]

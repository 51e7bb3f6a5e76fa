"""Characters and the numbers that stand for them.

 0    1       2    3    4        characters in code-point order; a text cannot contain END
END  UNKNOWN  a    b    ё        a vocabulary of three characters has five symbols

Labels have the ids from K on. A network reads that of an example in the place of the END before it,
and nothing ever predicts one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError, unbracketed
from charrnn.system.visible import did_you_mean

Ids = NDArray[np.unsignedinteger[Any]]
Codes = NDArray[np.uint32]  # Unicode code points

END, UNKNOWN = 0, 1
END_CODE: Final = np.uint32(0x110000)  # stands for END: the first number that is not a code point
AT_ONCE: Final = 1 << 20  # symbols, at most
SCALARS: Final = 1_112_064  # characters that Unicode has room for, without surrogates
REPLACEMENT: Final = 0xFFFD  # the character shown for UNKNOWN
MOST_LABELS, SHOWN_LABELS = 1000, 20  # of a vocabulary, and in an error


def codes_of(text: str) -> Codes:
    """Return the code points of a text, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def in_blocks(symbols: Codes | Ids) -> list[NDArray[np.unsignedinteger[Any]]]:
    """Return an array in pieces; as indices, the whole would take eight bytes a symbol."""
    return np.array_split(symbols, 1 + len(symbols) // AT_ONCE)


@dataclass(frozen=True)
class Vocabulary:
    """The characters of a training text, and the chance of one that it does not contain."""

    characters: str = ""  # distinct, in code-point order: characters[i] has the id i + 2
    novelty: float = 0.0  # the probability that the next symbol is a new character
    # the number of examples of each, by name
    labels: dict[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        codes = codes_of(self.characters)
        is_lone = (codes >= 0xD800) & (codes <= 0xDFFF)  # half of a surrogate pair
        if bool((codes[1:] <= codes[:-1]).any()) or bool(is_lone.any()):
            raise ValueError("the characters of a vocabulary are not distinct and in order")
        if not 0 <= self.novelty < 1:
            raise ValueError(f"{self.novelty!r:.40} is not a probability below 1")
        is_number_odd = self.labels and not 2 <= len(self.labels) <= MOST_LABELS
        is_empty = min(self.labels.values(), default=1) < 1
        if is_number_odd or is_empty or [*self.labels] != sorted(self.labels):
            raise ValueError("the labels are too few, too many, empty or not in order")

    @classmethod
    def counted(cls, counts: Mapping[str, int], symbols: int) -> Vocabulary:
        """Return the vocabulary of a text; a new character has its chance by Good and Turing."""
        seen_once = sum(count == 1 for count in counts.values())
        return cls("".join(sorted(counts)), (seen_once + 0.1) / (symbols + 1))  # never 0

    @property
    def symbols(self) -> int:
        return len(self.characters) + 2  # K, with END and UNKNOWN

    @cached_property
    def log_label_shares(self) -> NDArray[np.float64]:
        """The logarithm of P(label), (L,): its share of the examples."""
        return np.log(np.array([*self.labels.values()], np.float64) / sum(self.labels.values()))

    def label_ids(self, labels: Sequence[str]) -> Ids:
        """Return the ids of the labels of some texts."""
        ids = {label: self.id_of(label) for label in dict.fromkeys(labels)}
        size = np.min_scalar_type(self.symbols + len(self.labels))
        return np.array([ids[label] for label in labels], size)

    def id_of(self, label: str | None) -> int:
        """Return what is read before a text: END, or the id of a label where there are labels."""
        names = list(self.labels)
        if label is None and not names:
            return END
        if isinstance(label, str) and label in names:
            return self.symbols + names.index(label)
        several = ", ".join(map(unbracketed, names[:SHOWN_LABELS]))
        several += ", ..." if len(names) > SHOWN_LABELS else ""
        if label is None:
            what = "the model has labels, and none was given"
            hint = f"Name one with [label]: {several}."
        elif not names:
            what = "the model has no labels"
            hint = "Train one with labels, or name none."
        else:
            what, near = f"there is no label {label!r:.80}", did_you_mean(str(label), names)
            alike = {normalize("NFC", name): name for name in names}
            if isinstance(label, str) and (name := alike.get(normalize("NFC", label))):
                what, near = f"{what} in this form of Unicode", f"Copy {unbracketed(name)}."
            hint = f"{near} There are {several}.".lstrip()
        raise SettingError(what, hint, "label")

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        return np.dtype(np.min_scalar_type(self.symbols - 1))

    @property
    def unseen_nats(self) -> float:
        """Return the nats that name a character, once it is known to be a new one."""
        return math.log(max(1, SCALARS - len(self.characters)))

    @cached_property
    def codes(self) -> Codes:  # (K,)  id -> code point
        return np.append([END_CODE, REPLACEMENT], codes_of(self.characters)).astype(np.uint32)

    @cached_property
    def _ids(self) -> Ids:  # code point -> id; the last entry is for all larger ones
        known = self.codes[2:]
        ids = np.full(int(known.max(initial=0)) + 2, UNKNOWN, self.dtype)
        ids[known] = np.arange(2, self.symbols)
        return ids

    def encode_codes(self, codes: Codes) -> Ids:
        """Return the ids of code points, END_CODE among them: UNKNOWN for new ones."""
        blocks = [self._ids.take(block, mode="clip") for block in in_blocks(codes)]
        ids: Ids = np.concatenate(blocks)
        ids[codes == END_CODE] = END
        return ids

    def encode(self, text: str) -> Ids:
        return self.encode_codes(codes_of(text))

    def decode(self, ids: Sequence[int] | NDArray[np.integer[Any]]) -> str:
        """Return the text of ids, without END and with U+FFFD for UNKNOWN."""
        symbols = np.asarray(ids, np.intp)
        text: bytes = self.codes[symbols[symbols != END]].astype("<u4").tobytes()
        return text.decode("utf-32-le")

    def unknown_in(self, text: str) -> list[str]:
        """Return the distinct characters of a text that are not known, in order of appearance."""
        codes = codes_of(text)
        unseen, first = np.unique(codes[self.encode_codes(codes) == UNKNOWN], return_index=True)
        return [chr(code) for code in unseen[np.argsort(first)].tolist()]

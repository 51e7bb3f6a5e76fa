"""Streams of code points with END_CODE after each example, in blocks that may end anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from charrnn.reading import END_CODE, NEWLINE, join
from charrnn.vocabulary import REPLACEMENT, Codes, Ids


def stream_of(texts: Iterable[str]) -> Iterator[Codes]:
    """Yield the code points of texts, END_CODE after each."""
    yield join(texts)


def whole_examples(blocks: Iterable[Codes]) -> Iterator[Codes]:
    """Join the blocks of a stream so that each ends in END_CODE; a rest without one comes last."""
    begun: list[Codes] = []
    for codes in blocks:
        ends = np.flatnonzero(codes == END_CODE)
        after = int(ends[-1]) + 1 if len(ends) else 0
        if after:
            yield np.concatenate([*begun, codes[:after]])
            begun = []
        begun.append(codes[after:])
    if any(map(len, begun)):
        yield np.concatenate(begun)


def text_of(codes: Codes) -> str:
    """Return the text of code points, with a newline for each END_CODE."""
    characters = np.where(codes == END_CODE, NEWLINE, codes).astype("<u4")
    return characters.tobytes().decode("utf-32-le", "surrogatepass")


def codes_of_ids(ids: Ids, characters: Codes) -> Codes:
    """Return the code points of ids: END_CODE for END, U+FFFD for UNKNOWN."""
    return np.concatenate([[END_CODE, REPLACEMENT], characters]).astype(np.uint32)[ids]

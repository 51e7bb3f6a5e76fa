"""Texts to examples: cut into lines or paragraphs, or left whole.

    lines        ab⏎⏎cd⏎ef    ->  ab■cd■ef■
    paragraphs   ab⏎cd⏎⏎⏎ef⏎  ->  ab⏎cd■ef■
    files        ab⏎cd⏎       ->  ab⏎cd⏎■

Examples are an array of code points with END_CODE (■) after each. Blank lines are dropped. An
excerpt of many examples is evenly spaced over them.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.settings.corpus import Kind
from charrnn.text.tables import lines_in
from charrnn.text.vocabulary import END, END_CODE, Codes, Ids, codes_of

LONE: Final = "\udfff"  # a lone surrogate, which no text has: it marks the gaps between paragraphs
MOST_PIECES, SHORTEST_PIECE = 64, 1 << 9  # of an excerpt, and the symbols of one
WARM_UP: Final = 1 << 5  # symbols of a piece in the midst of an example
LOOK: Final = 1 << 16  # characters that show how to cut a text


def split_examples(text: str, kind: Kind) -> Codes:
    """Return the code points of the examples of a text, END_CODE after each."""
    if kind == "files":
        return np.append(codes_of(text), END_CODE) if text.strip() else codes_of("")
    end = "\n" if kind == "lines" else LONE  # of an example
    text = re.sub(r"\n(?:[^\S\n]*\n)+", end, f"\n{text}\n").strip(f"\n{LONE}")
    codes = codes_of(text + end if text else "")  # (S,)
    del text  # a large one takes much memory
    return np.where(codes == ord(end), END_CODE, codes)


def line_numbers(text: str, kind: Kind) -> NDArray[np.int64]:
    """Return the lines on which the examples of a text begin, from 1."""
    if kind == "files":
        return np.ones(1 if text.strip() else 0, np.int64)
    visible = np.array([bool(line.strip()) for line in text.replace("\r", "\n").split("\n")])
    if kind == "paragraphs":
        visible[1:] &= ~visible[:-1].copy()
    return np.compress(visible, lines_in(text))


def join_examples(texts: Sequence[str]) -> Codes:
    """Return the code points of texts that are an example each, END_CODE after each."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return np.insert(codes_of("".join(texts)), ends, END_CODE)


def texts_of(codes: Codes) -> list[str]:
    """Return the texts of examples with END_CODE after each."""
    ends = np.flatnonzero(codes == END_CODE).tolist()
    data = np.where(codes == END_CODE, ord("\n"), codes).astype("<u4").tobytes()
    text = data.decode("utf-32-le", "surrogatepass")
    return [text[last_end + 1 : end] for last_end, end in pairwise([-1, *ends])]


def choose_kind(text: str) -> Literal["lines", "paragraphs"]:
    """Return the examples of a text that begins so: paragraphs if many are short, else lines.

    A paragraph has at most 16 lines on average: more is a chapter. One in ten has several lines:
    else the text is a list with gaps. In the groups of a list, lines have a word or two, and few
    groups end in a full stop or another mark.
    """
    lines = text[:LOOK].split("\n")
    lines = lines[:-1] if len(text) >= LOOK else lines  # the last one may be incomplete
    visible = [line.strip() for line in lines]
    groups = [list(group) for is_visible, group in groupby(visible, bool) if is_visible]
    long = sum(len(group) > 1 for group in groups)
    marked = sum(unicodedata.category(group[-1][-1])[0] not in "LMN" for group in groups)
    total, words = sum(map(len, groups)), sum(len(line.split()) for line in visible)
    is_list = 10 * long < len(groups) or (words <= 2 * total and 4 * marked < len(groups))
    is_prose = total <= 16 * len(groups) and not is_list
    return "paragraphs" if len(groups) >= 10 and is_prose else "lines"


def excerpt_of(ids: Ids, most: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the places of about ``most`` symbols, and whether each counts.

    They are evenly spaced pieces, of whole examples if there are any. Else the first symbols of a
    piece only warm up a network.
    """
    if len(ids) <= most:
        return np.arange(len(ids)), np.ones(len(ids), np.bool_)
    pieces = max(1, min(MOST_PIECES, most // SHORTEST_PIECE))
    size = most // pieces
    places, counted = [], []
    for start in np.linspace(0, len(ids) - size, pieces, dtype=np.int64).tolist():
        stops = np.flatnonzero(ids[start : start + size] == END) + 1
        first, stop = (stops[0], stops[-1]) if len(stops) > 1 and start else (0, size)
        places.append(np.arange(start + first, start + stop))
        counted.append(np.arange(stop - first) >= (WARM_UP if start and not first else 0))
    return np.concatenate(places), np.concatenate(counted)

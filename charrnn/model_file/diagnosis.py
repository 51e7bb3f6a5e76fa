"""What is wrong with a model file that is not as it must be: words for the message.

That the file is refused is settled before anything here runs. So this only looks at the headers
of the members, from the first to the first that makes no sense, and may know no answer.
"""

from __future__ import annotations

import struct
import tokenize
import warnings
from collections import Counter
from io import BytesIO, FileIO
from itertools import islice

import numpy as np

from charrnn.model_file.npz import JSON_MEMBER, Layout, Member
from charrnn.model_file.zip_members import End, Found, bytes_at, walk

_PREFACE = 10_000  # bytes, far more than an array's header has
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, AttributeError, SyntaxError, EOFError, struct.error),
    *(tokenize.TokenError, RecursionError, MemoryError, OverflowError),
)


def difference(file: FileIO, size: int, layout: Layout) -> str:
    """In which way the file of that size is not the one that the layout describes."""
    *steps, last = islice(walk(file), len(layout.members) + 1)
    found = [step for step in (*steps, last) if isinstance(step, Found)]
    wanted = {member.name: member for member in layout.members}
    for name, times in Counter(member.name for member in found).items():
        if name not in wanted:
            return f"{_shown(name)} is not one of its members, and is there"
        if times > 1:
            return f"its member {name} is there more than once"
    for member in found:
        if not member.stored:
            return f"its member {member.name} is compressed or encrypted, and should be neither"
        words = _other_array(file, member, wanted[member.name])
        if words:
            return words
    missing = [name for name in wanted if name not in {member.name for member in found}]
    if missing and last == End(complete=True):
        return f"its member {missing[0]} is missing"
    if size != layout.size:
        return f"it should have {layout.size:,} bytes, and has {size:,}"
    return "what stands around its numbers is not what was written"


def _other_array(file: FileIO, found: Found, wanted: Member) -> str:
    """Words where the member is not the array that it should be; none where it is."""
    if found.name == JSON_MEMBER:
        return ""
    preface = bytes_at(file, found.content_at, min(found.size, _PREFACE))
    if preface.startswith(wanted.preface):
        return ""
    due, there = _array(wanted.preface), _array(preface)
    return "" if due == there else f"{found.name} should be {due}, and is {there}"


def _array(preface: bytes) -> str:
    stream = BytesIO(preface)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's advice to whoever wrote such a header
            version = np.lib.format.read_magic(stream)
            if version == (1, 0):
                shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
            else:
                shape, by_column, dtype = np.lib.format.read_array_header_2_0(stream)
    except _UNREADABLE:
        return "no array"
    sides = " x ".join(str(length) for length in shape) or "a single"
    return _shown(f"{sides} {dtype}{' stored by columns' if by_column else ''}")


def _shown(text: str) -> str:
    """Text from a stranger: not too much of it, and nothing that acts on a terminal."""
    short = text if len(text) <= 80 else text[:80] + "..."
    return short if short.isprintable() else ascii(short)

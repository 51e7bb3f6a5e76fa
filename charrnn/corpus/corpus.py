"""Files to examples, a part of them held out, all in numbers: what a network learns from.

A corpus while it is read: symbols numbered as they arrive, for the alphabet is not known yet.

It is kept in pieces. Whoever copies them into their last place frees each one on the way, so that
the corpus is never in memory twice.

Encoded examples, end to end, and how text becomes that once the vocabulary is known.

The part of a corpus that is kept from training: examples by lot, or the tail of a single one."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.decoding import blocks
from charrnn.corpus.files import name_of
from charrnn.corpus.segmentation import END_CODE, FileCut, common_cut, cut_file
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import CorpusConfig, Kind, Reading
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids, Vocabulary, codes_of, is_surrogate

Starts = NDArray[np.unsignedinteger[Any]]
Texts = Iterable[str] | Path | Sequence[Path]  # examples, or files with examples

BLOCK: Final = 1 << 17  # symbols worked on at a time
PIECE_BYTES: Final = 1 << 22


class Draft:
    """Symbols end to end, numbered by arrival: END and UNKNOWN, then 2, 3, 4 ..."""

    def __init__(self) -> None:
        self.characters: list[int] = []  # code points; characters[i] has the number i + 2
        self.size = 0
        self.examples = 0
        self._numbers: Ids = np.full(int(END_CODE) + 1, UNKNOWN, np.uint8)
        self._numbers[END_CODE] = END
        self._pieces: deque[Ids] = deque()
        self._room: Ids = np.empty(0, np.uint8)  # the rest of the last piece

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest type that holds the numbers given so far."""
        return self._numbers.dtype

    def add(self, codes: Codes) -> None:
        """Add code points, END_CODE after each example."""
        numbers = self._numbers.take(codes)
        if self._learn(codes[numbers == UNKNOWN]):
            numbers = self._numbers.take(codes)
        self.examples += int(np.count_nonzero(numbers == END))
        self.size += len(numbers)
        self._store(numbers)

    def starts(self) -> Starts:
        """Where each example starts, and where the last one ends: (examples + 1,)."""
        starts = np.empty(self.examples + 1, starts_type(self.size))
        starts[0] = at = done = 0
        self._close_piece()
        for block in (block for piece in self._pieces for block in blocks_of(piece)):
            ends = np.flatnonzero(block == END)
            starts[done + 1 : done + 1 + len(ends)] = ends + (at + 1)
            at += len(block)
            done += len(ends)
        return starts

    def drain(self) -> Iterator[Ids]:
        """The symbols in blocks. What has been given is gone from the draft, and freed."""
        self._close_piece()
        while self._pieces:
            yield from blocks_of(self._pieces.popleft())

    def join(self) -> Ids:
        """All symbols in one array, at the cost of the draft."""
        joined = np.empty(self.size, self._numbers.dtype)
        at = 0
        for block in self.drain():
            joined[at : at + len(block)] = block
            at += len(block)
        return joined

    def _learn(self, codes: Codes) -> bool:
        """Number the characters that are new. Halves of surrogate pairs stay unknown."""
        new = np.unique(codes[~is_surrogate(codes)])
        if not len(new):
            return False
        numbers = np.arange(len(new)) + len(self.characters) + 2
        self.characters += new.tolist()
        if numbers[-1] > np.iinfo(self._numbers.dtype).max:
            self._numbers = self._numbers.astype(np.min_scalar_type(int(numbers[-1])))
        self._numbers[new] = numbers
        return True

    def _store(self, numbers: Ids) -> None:
        if numbers.dtype != self._room.dtype:  # the alphabet has outgrown its type
            self._close_piece()
        while len(numbers):
            if not len(self._room):
                self._room = _new_piece(numbers.dtype)
                self._pieces.append(self._room)
            fits = min(len(numbers), len(self._room))
            self._room[:fits] = numbers[:fits]
            self._room = self._room[fits:]
            numbers = numbers[fits:]

    def _close_piece(self) -> None:
        """Cut the last piece where it ends; what was never touched takes no memory."""
        if len(self._room):
            last = self._pieces.pop()
            self._pieces.append(last[: -len(self._room)])
            self._room = self._room[:0]


def _new_piece(dtype: np.dtype[np.unsignedinteger[Any]]) -> Ids:
    """Memory from the system itself: malloc would keep what we free between what we need."""
    try:
        return np.frombuffer(mmap(-1, PIECE_BYTES), dtype)
    except OSError:
        raise CorpusError(
            "the corpus needs more memory than there is",
            "Learn from a part of it, or on a machine with more memory.",
        ) from None


def draft_of(
    texts: Iterable[Iterable[str]], kinds: Iterable[Kind]
) -> tuple[Draft, tuple[FileCut, ...]]:
    """All texts, each coming in blocks, and what the examples of each are."""
    draft = Draft()
    cuts = []
    for text, kind in zip(texts, kinds, strict=True):
        codes, found = cut_file(text, kind)
        for block in codes:
            draft.add(block)
        cuts.append(found())
    return draft, tuple(cuts)


def starts_type(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The type of places among so many symbols: four bytes, eight where four are not enough."""
    return np.dtype(np.uint32 if size < 1 << 32 else np.uint64)


def blocks_of(ids: Ids) -> Iterator[Ids]:
    """Views of an array, a block each."""
    for at in range(0, len(ids), BLOCK):
        yield ids[at : at + BLOCK]


def ended_codes(texts: Iterable[str]) -> Iterator[Codes]:
    """The code points of texts that are an example each, however short or long they are."""
    ends: list[int] = []
    waiting: list[str] = []
    size = 0
    for text in texts:
        for at in range(0, len(text), BLOCK):
            waiting.append(text[at : at + BLOCK])
            size += len(waiting[-1])
            if size >= BLOCK:
                yield _with_ends(waiting, ends)
                ends, waiting, size = [], [], 0
        ends.append(size)
    yield _with_ends(waiting, ends)


def _with_ends(texts: list[str], ends: list[int]) -> Codes:
    return np.insert(codes_of("".join(texts)), ends, END_CODE)


@dataclass(frozen=True, eq=False)
class Examples:
    ids: Ids  # (S,)  each example followed by END
    starts: Starts  # (n + 1,)  example i is ids[starts[i] : starts[i + 1]], its END last

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def characters(self) -> int:
        """How many characters there are, ENDs not counted."""
        return len(self.ids) - len(self)

    def nth(self, i: int) -> Ids:
        """One example, its END last."""
        return self.ids[self.starts[i] : self.starts[i + 1]]


def encode_draft(draft: Draft, vocabulary: Vocabulary) -> Examples:
    """The examples of a draft, at its cost."""
    starts = draft.starts()
    return Examples(renumbered(draft.join(), draft, vocabulary), starts)


def renumbered(ids: Ids, draft: Draft, vocabulary: Vocabulary) -> Ids:
    """A draft's numbers turned into the vocabulary's: in place, where both have the same size."""
    numbers = np.array([END, UNKNOWN], vocabulary.dtype)
    codes = np.array(draft.characters, np.uint32)
    numbers = np.concatenate((numbers, vocabulary.encode_codes(codes)))
    encoded = ids if ids.dtype == numbers.dtype else np.empty(len(ids), numbers.dtype)
    for source, target in zip(blocks_of(ids), blocks_of(encoded), strict=True):
        target[:] = numbers[source]
    return encoded


STRATUM: Final = 1 << 16  # examples among which lots are drawn at once


def split(draft: Draft, share: float, seed: int) -> tuple[Examples, Examples]:
    """Training and held-out examples, in the order and the numbers of the draft, at its cost."""
    starts = draft.starts()
    if len(starts) == 2 and share > 0:
        return _split_off_tail(draft.join(), share)
    trains = draw(len(starts) - 1, share, seed)
    train_count = np.count_nonzero(trains)
    if train_count == len(trains):
        return Examples(draft.join(), starts), _one(np.empty(0, np.uint8))
    held_starts = np.empty(len(trains) - train_count + 1, starts.dtype)
    _close_ranks(starts, trains, False, held_starts)
    train, held = _divide(draft, starts, trains, int(held_starts[-1]))
    _close_ranks(starts, trains, True, starts)
    starts.resize(train_count + 1, refcheck=False)  # nobody else has seen it
    return Examples(train, starts), Examples(held, held_starts)


def draw(count: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Which examples train: all but the share drawn by lot, which is one at least and never all.

    Each stratum gives its part, so that no permutation of all examples has to be in memory.
    """
    trains = np.ones(count, np.bool_)
    held = min(max(1, round(count * share)), count - 1) if share > 0 and count else 0
    lots = np.random.default_rng(seed)
    for first in range(0, count, STRATUM):
        last = min(first + STRATUM, count)
        here = held * last // count - held * first // count
        trains[first + lots.choice(last - first, here, replace=False, shuffle=False)] = False
    return trains


def _split_off_tail(ids: Ids, share: float) -> tuple[Examples, Examples]:
    characters = len(ids) - 1
    kept = max(1, min(int(characters * (1 - share)), characters - 1))
    if characters <= kept:  # one character cannot be shared
        return _one(ids), _one(ids[:0])
    tail = ids[kept:].copy()
    ids.resize(kept + 1, refcheck=False)  # nobody else has seen it
    ids[kept] = END
    return _one(ids), _one(tail)


def _one(ids: Ids) -> Examples:
    """A single example, or none at all."""
    return Examples(ids, np.array([0, len(ids)][: 1 + bool(len(ids))], starts_type(len(ids))))


def _close_ranks(starts: Starts, trains: NDArray[np.bool_], side: bool, out: Starts) -> None:
    """Write where the examples of one side start once they stand together.

    The output may be the input: writing never overtakes reading, and where it catches up with it
    nothing has been left out, so that what is written is what stood there.
    """
    out[0] = at = done = 0
    for first in range(0, len(trains), BLOCK):
        here = trains[first : first + BLOCK] == side
        sizes = np.diff(starts[first : first + len(here) + 1])[here]
        out[done + 1 : done + 1 + len(sizes)] = at + np.cumsum(sizes, dtype=np.int64)
        at += int(sizes.sum(dtype=np.int64))
        done += len(sizes)


def _divide(
    draft: Draft, starts: Starts, trains: NDArray[np.bool_], held_size: int
) -> tuple[Ids, Ids]:
    """The symbols that train and those that do not, each in one array."""
    sides = _Side(draft.size - held_size, draft.dtype), _Side(held_size, draft.dtype)
    at = example = 0
    for block in draft.drain():
        to = at + len(block)
        # The type is named: an int would have NumPy copy all starts, each time.
        last = int(np.searchsorted(starts, starts.dtype.type(to)))
        edges = starts[example : last + 1].astype(np.int64).clip(at, to)
        mask = trains[example:last].repeat(np.diff(edges))
        sides[0].append(block[mask])
        sides[1].append(block[~mask])
        at = to
        example = last if int(starts[last]) == to else last - 1
    return sides[0].ids, sides[1].ids


class _Side:
    """An array that is filled from its beginning."""

    def __init__(self, size: int, dtype: np.dtype[np.unsignedinteger[Any]]) -> None:
        self.ids: Ids = np.empty(size, dtype)
        self.filled = 0

    def append(self, ids: Ids) -> None:
        self.ids[self.filled : self.filled + len(ids)] = ids
        self.filled += len(ids)


__all__ = [
    "Corpus",
    "CorpusConfig",
    "Examples",
    "Kind",
    "from_texts",
    "read_files",
]

TEXT_ENDS: Final = b"\xff"  # neither stands in UTF-8
VALIDATION_FOLLOWS: Final = b"\xfe"


@dataclass(frozen=True, eq=False)
class Corpus:
    vocabulary: Vocabulary  # of the training part, and what was known before
    train: Examples
    held_out: Examples
    examples_are: str  # lines, paragraphs, files; mixed; or texts that came from Python
    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str  # SHA-256 over the text as it was read: two corpora with the same are the same
    cuts: tuple[FileCut, ...] = ()  # how each file was cut, those to validate with after the others

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the examples in their numbers: the same for the same, wherever they were."""
        digest = hashlib.sha256(self.vocabulary.characters.encode("utf-8", "surrogatepass"))
        for ids in (self.train.ids, self.held_out.ids):
            digest.update(f"{len(ids)} ".encode())
            for block in blocks_of(ids):
                digest.update(block.astype("<u4").tobytes())
        return digest.hexdigest()

    def is_that_of(self, fingerprint: str, digest: str) -> bool:
        """Whether it is the corpus that had these; files of the first format have no digest."""
        return self.fingerprint == fingerprint or (bool(digest) and self.digest == digest)


def read_files(
    sources: Sequence[str], config: CorpusConfig | None = None, valid: Sequence[str] = ()
) -> Corpus:
    """The corpus in some files, "-" for standard input.

    Where there are files to validate with, they are what is held out, and all the rest trains.
    """
    config = config or CorpusConfig()
    sources, valid = tuple(_each_of(sources)), tuple(_each_of(valid))
    digest = hashlib.sha256()
    draft, cuts = draft_of(
        _texts(sources, config.reading, digest.update), config.kinds(len(sources))
    )
    _check_not_empty(draft, sources)
    are = common_cut(cuts)
    share = 0.0 if valid else config.holdout
    vocabulary, train, held_out = _settle(draft, share, config)
    if valid:
        digest.update(VALIDATION_FOLLOWS)
        likewise: Any = [are] * len(valid)
        kinds = config.kinds(len(valid), len(sources)) if are == "mixed" else likewise
        draft, more = draft_of(_texts(valid, config.reading, digest.update), kinds)
        _check_not_empty(draft, valid)
        cuts += more
        held_out = encode_draft(draft, vocabulary)
    return Corpus(vocabulary, train, held_out, are, sources, valid, digest.hexdigest(), cuts)


def corpus_of(texts: Texts, config: CorpusConfig, valid: Sequence[str] = ()) -> Corpus:
    """Return the corpus of texts, an example each, or of files."""
    files = files_in(texts)
    return read_files(files, config, valid) if files else from_texts(check_texts(texts), config)


def files_in(texts: Texts) -> tuple[str, ...]:
    """Return the names of the files, if these are paths and not texts."""
    if isinstance(texts, str):
        raise SettingError(
            "a str is one text, and a corpus has many",
            f"Give a list of texts, or Path({texts[:40]!r}) to read a file.",
        )
    if isinstance(texts, Path):
        return (str(texts),)
    if isinstance(texts, Sequence) and all(isinstance(path, Path) for path in texts):
        return tuple(map(str, texts))
    return ()


def check_texts(texts: object, name: str = "texts") -> Iterator[str]:
    """Yield each text; raise SettingError at what is no text, or if a text is given alone."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise SettingError(f"{name} cannot be {type(texts).__name__}", "Give a list of texts.")
    for text in texts:
        if not isinstance(text, str):
            raise SettingError(
                f"a text cannot be {type(text).__name__}", "Give texts alone, or paths alone."
            )
        yield text


def from_texts(texts: Iterable[str], config: CorpusConfig | None = None) -> Corpus:
    """The corpus of texts that are an example each, whatever is in them.

    Half a surrogate pair is no character: it is UNKNOWN wherever it stands.
    """
    config = config or CorpusConfig()
    digest = hashlib.sha256()
    draft = Draft()
    for codes in ended_codes(_hashed_whole(_each_of(texts), digest.update)):
        draft.add(codes)
    if draft.size == draft.examples:
        raise CorpusError("the corpus is empty", "Give it a text with something in it.")
    vocabulary, train, held_out = _settle(draft, config.holdout, config)
    return Corpus(vocabulary, train, held_out, "texts", (), (), digest.hexdigest())


def _each_of(strings: Iterable[str]) -> Iterable[str]:
    """A string alone is meant as one, not as its characters."""
    return (strings,) if isinstance(strings, str) else strings


def _texts(
    sources: Sequence[str], reading: Reading, hash_in: Callable[[bytes], None]
) -> Iterator[Iterator[str]]:
    return (_hashed(blocks(source, reading), hash_in) for source in sources)


def _hashed(blocks: Iterable[str], hash_in: Callable[[bytes], None]) -> Iterator[str]:
    """The blocks of a text, as they come, each of them hashed on the way."""
    for block in blocks:
        hash_in(block.encode("utf-8", "surrogatepass"))
        yield block
    hash_in(TEXT_ENDS)


def _hashed_whole(texts: Iterable[str], hash_in: Callable[[bytes], None]) -> Iterator[str]:
    for text in texts:
        for at in range(0, len(text), BLOCK):
            hash_in(text[at : at + BLOCK].encode("utf-8", "surrogatepass"))
        hash_in(TEXT_ENDS)
        yield text


def _check_not_empty(draft: Draft, sources: Sequence[str]) -> None:
    if draft.size:
        return
    more = f", with {len(sources) - 1} more," if len(sources) > 1 else ""
    which = name_of(sources[0]) + more if sources else "the corpus"
    raise CorpusError(f"{which} is empty", "A corpus needs a character that can be seen.")


def _settle(
    draft: Draft, share: float, config: CorpusConfig
) -> tuple[Vocabulary, Examples, Examples]:
    """The vocabulary of the training part and of what is known, and both parts in its numbers."""
    train, held_out = split(draft, share, config.seed)
    counts = np.zeros(len(draft.characters) + 2, np.int64)
    for block in blocks_of(train.ids):
        counts += np.bincount(block, minlength=len(counts))
    counted = zip(draft.characters, counts[2:].tolist(), strict=True)
    found = {chr(code): count for code, count in counted if count}
    vocabulary = Vocabulary.counted({**dict.fromkeys(config.known, 0), **found}, len(train.ids))
    return (
        vocabulary,
        replace(train, ids=renumbered(train.ids, draft, vocabulary)),
        replace(held_out, ids=renumbered(held_out.ids, draft, vocabulary)),
    )

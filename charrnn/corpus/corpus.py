"""Files to examples, in the numbers of a vocabulary; a part of them is held out.

While files are read, their vocabulary is not known yet. So a Draft numbers characters as they
arrive. It frees each piece of symbols once that is copied, so the corpus is never in memory twice.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.files import blocks, name_of
from charrnn.corpus.segmentation import END_CODE, FileCut, common_cut, cut_file, stream_of
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import CorpusConfig, Kind
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids, Vocabulary, is_surrogate

Starts = NDArray[np.unsignedinteger[Any]]
Texts = Iterable[str] | Path | Sequence[Path]  # examples, or files with examples

BLOCK: Final = 1 << 17  # symbols worked on at a time
PIECE_BYTES: Final = 1 << 22
STRATUM: Final = 1 << 16  # examples among which lots are drawn at once
TEXT_ENDS: Final = b"\xff"  # not in UTF-8


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples end to end, each with its END."""

    ids: Ids  # (S,)
    starts: Starts  # (n + 1,)  example i is ids[starts[i] : starts[i + 1]], its END last

    @staticmethod
    def of(texts: Sequence[Ids]) -> Examples:
        """Return these examples, each with its END, end to end."""
        starts = np.cumsum([0, *map(len, texts)]).astype(np.uint32)
        return Examples(np.concatenate(texts), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def characters(self) -> int:
        return len(self.ids) - len(self)  # ENDs not counted

    def nth(self, i: int) -> Ids:
        return self.ids[self.starts[i] : self.starts[i + 1]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """The examples to learn from and those held out, and where they come from."""

    vocabulary: Vocabulary  # of the training part, and of the model it starts from
    train: Examples
    held_out: Examples
    examples_are: str  # lines, paragraphs, files, mixed; texts if they come from Python
    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str  # SHA-256 of the text that was read: it identifies the corpus
    cuts: tuple[FileCut, ...] = ()  # of each file, validation files last

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the encoded examples, wherever they come from."""
        digest = hashlib.sha256(self.vocabulary.characters.encode("utf-8", "surrogatepass"))
        for ids in (self.train.ids, self.held_out.ids):
            digest.update(f"{len(ids)} ".encode())
            for block in blocks_of(ids):
                digest.update(block.astype("<u4").tobytes())
        return digest.hexdigest()

    @cached_property
    def log_frequencies(self) -> NDArray[np.float64]:
        """The logarithm of how often each symbol is a target in training; -inf for never."""
        counts = np.zeros(self.vocabulary.symbols, np.int64)
        for block in blocks_of(self.train.ids):
            counts += np.bincount(block, minlength=len(counts))
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(counts / counts.sum())
        return logs

    @property
    def entropy(self) -> float:
        """The loss of the symbol frequencies alone (a unigram model), in nats per character."""
        seen = self.log_frequencies[np.isfinite(self.log_frequencies)]
        return -float(np.sum(np.exp(seen) * seen))


def read_files(
    sources: Sequence[str], config: CorpusConfig | None = None, valid: Sequence[str] = ()
) -> Corpus:
    """Read the corpus from files; validation files are held out, and everything else trains."""
    config = config or CorpusConfig()
    sources, valid = tuple(_each_of(sources)), tuple(_each_of(valid))
    reading, digest = config.reading, hashlib.sha256()

    def hashed(source: str) -> Iterator[str]:
        for block in blocks(source, reading):
            digest.update(block.encode("utf-8", "surrogatepass"))
            yield block
        digest.update(TEXT_ENDS)

    def read(names: Sequence[str], kinds: Iterable[Kind]) -> tuple[Draft, tuple[FileCut, ...]]:
        draft, cuts = read_draft(map(hashed, names), kinds)
        if not draft.size:
            more = f", with {len(names) - 1} more," if len(names) > 1 else ""
            name = name_of(names[0]) + more if names else "the corpus"
            raise CorpusError(f"{name} is empty", "A corpus needs at least one visible character.")
        return draft, cuts

    draft, cuts = read(sources, config.kinds(len(sources)))
    are = common_cut(cuts)
    vocabulary, train, held_out = _settle(draft, 0.0 if valid else config.holdout, config)
    if valid:
        digest.update(b"\xfe")  # not in UTF-8, either: validation files follow
        same: Any = [are] * len(valid)
        kinds = config.kinds(len(valid), len(sources)) if are == "mixed" else same
        draft, more = read(valid, kinds)
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
        hint = f"Give a list of texts, or Path({texts[:40]!r}) to read a file."
        raise SettingError("a str is one text, and a corpus has many", hint)
    if isinstance(texts, Path):
        return (str(texts),)
    if isinstance(texts, Sequence) and all(isinstance(path, Path) for path in texts):
        return tuple(map(str, texts))
    return ()


def check_texts(texts: object, name: str = "texts") -> Iterator[str]:
    """Yield each text; raise SettingError if something else is given, or a text alone."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise SettingError(f"{name} cannot be {type(texts).__name__}", "Give a list of texts.")
    for text in texts:
        if not isinstance(text, str):
            what = f"a text cannot be {type(text).__name__}"
            raise SettingError(what, "Give texts alone, or paths alone.")
        yield text


def from_texts(texts: Iterable[str], config: CorpusConfig | None = None) -> Corpus:
    """Return the corpus of these texts, an example each. A lone surrogate is UNKNOWN."""
    config = config or CorpusConfig()
    digest, draft = hashlib.sha256(), Draft()

    def hashed() -> Iterator[str]:
        for text in _each_of(texts):
            for at in range(0, len(text), BLOCK):
                digest.update(text[at : at + BLOCK].encode("utf-8", "surrogatepass"))
            digest.update(TEXT_ENDS)
            yield text

    for codes in stream_of(hashed()):
        draft.add(codes)
    if draft.size == draft.examples:
        raise CorpusError("the corpus is empty", "Give it a text with at least one character.")
    vocabulary, train, held_out = _settle(draft, config.holdout, config)
    return Corpus(vocabulary, train, held_out, "texts", (), (), digest.hexdigest())


def _each_of(strings: Iterable[str]) -> Iterable[str]:
    return (strings,) if isinstance(strings, str) else strings


def _settle(
    draft: Draft, share: float, config: CorpusConfig
) -> tuple[Vocabulary, Examples, Examples]:
    """Return the vocabulary of training part and config, and both parts in its numbers."""
    train, held_out = split(draft, share)
    counts = np.zeros(len(draft.characters) + 2, np.int64)
    for block in blocks_of(train.ids):
        counts += np.bincount(block, minlength=len(counts))
    counted = zip(draft.characters, counts[2:].tolist(), strict=True)
    seen = {chr(code): count for code, count in counted if count}
    vocabulary = Vocabulary.counted({**dict.fromkeys(config.known, 0), **seen}, len(train.ids))
    train = replace(train, ids=_renumber(train.ids, draft, vocabulary))
    return vocabulary, train, replace(held_out, ids=_renumber(held_out.ids, draft, vocabulary))


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
        return self._numbers.dtype

    def add(self, codes: Codes) -> None:
        """Add code points, END_CODE after each example."""
        numbers = self._numbers.take(codes)
        if self._learn(codes[numbers == UNKNOWN]):
            numbers = self._numbers.take(codes)
        self.examples += int(np.count_nonzero(numbers == END))
        self.size += len(numbers)
        if numbers.dtype != self._room.dtype:  # the alphabet has outgrown its type
            self._close_piece()
        while len(numbers):
            if not len(self._room):
                try:  # memory from the system itself: malloc would keep freed pieces for later
                    self._room = np.frombuffer(mmap(-1, PIECE_BYTES), numbers.dtype)
                except OSError:
                    hint = "Learn from a part of it, or on a machine with more memory."
                    raise CorpusError("the corpus needs more memory than there is", hint) from None
                self._pieces.append(self._room)
            fits = min(len(numbers), len(self._room))
            self._room[:fits] = numbers[:fits]
            self._room = self._room[fits:]
            numbers = numbers[fits:]

    def starts(self) -> Starts:
        """Return where each example starts, and where the last one ends: (examples + 1,)."""
        kind = np.uint32 if self.size < 1 << 32 else np.uint64
        starts: Starts = np.empty(self.examples + 1, kind)
        starts[0] = at = done = 0
        self._close_piece()
        for block in (block for piece in self._pieces for block in blocks_of(piece)):
            ends = np.flatnonzero(block == END)
            starts[done + 1 : done + 1 + len(ends)] = ends + (at + 1)
            at += len(block)
            done += len(ends)
        return starts

    def drain(self) -> Iterator[Ids]:
        """Yield the symbols in blocks, and free each piece once it is yielded."""
        self._close_piece()
        while self._pieces:
            yield from blocks_of(self._pieces.popleft())

    def join(self) -> Ids:
        """Return all symbols in one array; the draft is empty afterwards."""
        joined = np.empty(self.size, self.dtype)
        at = 0
        for block in self.drain():
            joined[at : at + len(block)] = block
            at += len(block)
        return joined

    def _learn(self, codes: Codes) -> bool:
        """Number the new characters; lone surrogates stay unknown."""
        new = np.unique(codes[~is_surrogate(codes)])
        if not len(new):
            return False
        numbers = np.arange(len(new)) + len(self.characters) + 2
        self.characters += new.tolist()
        if numbers[-1] > np.iinfo(self.dtype).max:
            self._numbers = self._numbers.astype(np.min_scalar_type(int(numbers[-1])))
        self._numbers[new] = numbers
        return True

    def _close_piece(self) -> None:
        """Cut off the unused end of the last piece, which has not taken memory yet."""
        if len(self._room):
            last = self._pieces.pop()
            self._pieces.append(last[: -len(self._room)])
            self._room = self._room[:0]


def blocks_of(ids: Ids) -> Iterator[Ids]:
    for at in range(0, len(ids), BLOCK):
        yield ids[at : at + BLOCK]


def read_draft(
    texts: Iterable[Iterable[str]], kinds: Iterable[Kind]
) -> tuple[Draft, tuple[FileCut, ...]]:
    """Read texts that come in blocks; return the draft, and how each text was cut."""
    draft, cuts = Draft(), []
    for text, kind in zip(texts, kinds, strict=True):
        stream, how = cut_file(text, kind)
        for codes in stream:
            draft.add(codes)
        cuts.append(how())
    return draft, tuple(cuts)


def encode_draft(draft: Draft, vocabulary: Vocabulary) -> Examples:
    """Return the examples of a draft, which is empty afterwards."""
    starts = draft.starts()
    return Examples(_renumber(draft.join(), draft, vocabulary), starts)


def _renumber(ids: Ids, draft: Draft, vocabulary: Vocabulary) -> Ids:
    """Return the ids of a draft's numbers, in place where both types are the same."""
    known = vocabulary.encode_codes(np.array(draft.characters, np.uint32))
    numbers = np.concatenate((np.array([END, UNKNOWN], known.dtype), known))
    encoded = ids if ids.dtype == numbers.dtype else np.empty(len(ids), numbers.dtype)
    for source, target in zip(blocks_of(ids), blocks_of(encoded), strict=True):
        target[:] = numbers[source]
    return encoded


def split(draft: Draft, share: float) -> tuple[Examples, Examples]:
    """Return training examples and those held out by lot; of a single one, hold out the tail."""
    starts = draft.starts()
    if len(starts) == 2 and share > 0:
        ids = draft.join()
        kept = max(1, min(int((len(ids) - 1) * (1 - share)), len(ids) - 2))
        if len(ids) - 1 <= kept:  # one character cannot be divided
            return _single(ids), _single(ids[:0])
        tail = ids[kept:].copy()
        ids.resize(kept + 1, refcheck=False)  # nothing else refers to it
        ids[kept] = END
        return _single(ids), _single(tail)
    trains = draw(len(starts) - 1, share)
    train_count = np.count_nonzero(trains)
    if train_count == len(trains):
        return Examples(draft.join(), starts), _single(np.empty(0, np.uint8))
    held_starts = np.empty(len(trains) - train_count + 1, starts.dtype)
    _close_ranks(starts, ~trains, held_starts)
    train, held = _divide(draft, starts, trains, int(held_starts[-1]))
    _close_ranks(starts, trains, starts)
    starts.resize(train_count + 1, refcheck=False)  # nothing else refers to it
    return Examples(train, starts), Examples(held, held_starts)


def draw(count: int, share: float) -> NDArray[np.bool_]:
    """Return which examples train; at least one is held out, and never all.

    The number of examples and the share decide, so all seeds hold out the same text.
    """
    trains = np.ones(count, np.bool_)
    held = min(max(1, round(count * share)), count - 1) if share > 0 and count else 0
    lots = np.random.default_rng(0)
    for first in range(0, count, STRATUM):  # a permutation of all would take much memory
        last = min(first + STRATUM, count)
        here = held * last // count - held * first // count
        trains[first + lots.choice(last - first, here, replace=False, shuffle=False)] = False
    return trains


def _single(ids: Ids) -> Examples:
    """Return one example; without ids, none."""
    starts = np.array([0, len(ids)] if len(ids) else [0])
    return Examples(ids, starts.astype(np.uint32 if len(ids) < 1 << 32 else np.uint64))


def _close_ranks(starts: Starts, chosen: NDArray[np.bool_], out: Starts) -> None:
    """Write where the chosen examples start side by side; ``out`` may be ``starts`` itself."""
    out[0] = at = done = 0
    for first in range(0, len(chosen), BLOCK):
        here = chosen[first : first + BLOCK]
        sizes = np.diff(starts[first : first + len(here) + 1])[here]
        out[done + 1 : done + 1 + len(sizes)] = at + np.cumsum(sizes, dtype=np.int64)
        at += int(sizes.sum(dtype=np.int64))
        done += len(sizes)


def _divide(
    draft: Draft, starts: Starts, trains: NDArray[np.bool_], held_size: int
) -> tuple[Ids, Ids]:
    """Return the symbols of the training examples, and those of the others."""
    train: Ids = np.empty(draft.size - held_size, draft.dtype)
    held: Ids = np.empty(held_size, draft.dtype)
    at = filled = example = 0  # symbols read; of them for training; the example they are in
    for block in draft.drain():
        to = at + len(block)
        # An int would make NumPy copy all starts, each time.
        last = int(np.searchsorted(starts, starts.dtype.type(to)))
        edges = starts[example : last + 1].astype(np.int64).clip(at, to)
        mask = trains[example:last].repeat(np.diff(edges))
        more = int(np.count_nonzero(mask))
        train[filled : filled + more] = block[mask]
        held[at - filled : to - filled - more] = block[~mask]
        at, filled = to, filled + more
        example = last if int(starts[last]) == to else last - 1
    return train, held

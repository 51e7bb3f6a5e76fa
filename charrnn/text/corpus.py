"""Examples in the numbers of a vocabulary; a part of them is held out."""

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, compress
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import CorpusError, EncodingError, SettingError
from charrnn.settings.corpus import CorpusConfig, Kind, Reading
from charrnn.text.counts import JUDGED, baselines
from charrnn.text.examples import LOOK, choose_kind, join_examples, split_examples, texts_of
from charrnn.text.reading import Mark, Read, content_of, is_kept, labelled_texts, name_of, unpacked
from charrnn.text.tables import rows_of, table_in
from charrnn.text.tidy import Tidied, mess_in_words, untidy
from charrnn.text.vocabulary import END, END_CODE, MOST_LABELS, Codes, Ids, Vocabulary, in_blocks

Texts = Iterable[str] | Path | Sequence[Path]  # examples, or files with examples

STRATUM: Final = 1 << 16  # examples among which lots are drawn at once
TEXT_ENDS, VALID_FOLLOWS = b"\xff", b"\xfe"  # not in UTF-8
FEW_OF_LABEL: Final = 10  # examples
FEWEST_JUDGED: Final = 1000  # held-out symbols
LOOKED_THROUGH, LINES_LOOKED_AT = 1 << 24, 1 << 10  # symbols and lines, for warnings


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples end to end, each with its END."""

    ids: Ids  # (S,)
    labels: Ids | None = None  # (n,) the input that is read before each

    @cached_property
    def starts(self) -> NDArray[np.uint32]:
        """Return (n + 1,) places: example i is ids[starts[i] : starts[i + 1]]."""
        return np.flatnonzero(np.append(True, self.ids == END)).astype(np.uint32)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def characters(self) -> int:
        return len(self.ids) - len(self)  # ENDs not counted

    def nth(self, i: int) -> Ids:
        return self.ids[self.starts[i] : self.starts[i + 1]]

    def labels_at(self, places: NDArray[np.integer[Any]]) -> Ids | None:
        if self.labels is None:
            return None
        return self.labels[np.searchsorted(self.starts, places, "right") - 1]

    @property
    def labelled(self) -> Ids:
        """The ids as a text whose n-grams are counted: with labels, these stand for the ENDs."""
        if self.labels is None:
            return self.ids
        labelled = self.ids.astype(np.promote_types(self.ids.dtype, self.labels.dtype))
        labelled[labelled == END] = self.labels
        return labelled


class Part(NamedTuple):
    """Examples as they were read, those to learn from or those held out."""

    codes: Codes  # END_CODE after each
    labels: Sequence[str] = ()  # none, or one of each


@dataclass(frozen=True, eq=False)
class Corpus:
    """The examples to learn from and those held out, and where they come from."""

    vocabulary: Vocabulary  # of the training part, and of the model it starts from
    train: Examples
    held_out: Examples
    examples_are: str  # lines, paragraphs, files; texts if they come from Python
    fingerprint: str  # SHA-256 of the text that was read: it identifies the corpus
    held_out_codes: Codes  # also of characters that do not occur in training
    sources: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    files: dict[str, Mark] = field(default_factory=dict)  # those that can be read again
    tidied: Tidied = field(default_factory=Tidied)
    head: str = ""  # the first line of the first file, unless that is tidied
    are_cells: bool = False  # the examples, of a column of a table

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the encoded examples, wherever they come from."""
        digest = hashlib.sha256(self.vocabulary.characters.encode("utf-8", "surrogatepass"))
        for ids in (self.train.ids, self.held_out.ids):
            digest.update(f"{len(ids)} ".encode())
            digest.update(ids.astype("<u4").data)
        for part in (self.train, self.held_out):
            if part.labels is not None:
                digest.update(repr((*self.vocabulary.labels, part.labels.tolist())).encode())
        return digest.hexdigest()

    @cached_property
    def log_frequencies(self) -> NDArray[np.float64]:
        """The logarithm of how often each symbol is a target in training; -inf for never."""
        counts = np.bincount(self.train.ids, minlength=self.vocabulary.symbols)
        with np.errstate(divide="ignore"):
            return np.log(counts / len(self.train.ids))

    @property
    def entropy(self) -> float:
        """The loss of the symbol frequencies alone (a unigram model), in nats per character."""
        seen = self.log_frequencies[np.isfinite(self.log_frequencies)]
        return -float(np.sum(np.exp(seen) * seen))

    @cached_property
    def counting_loss(self) -> float:
        """An estimate of the held-out loss of counting, by a part of the text; or infinity."""
        if len(self.held_out.ids) < FEWEST_JUDGED:
            return inf
        texts = self.train.labelled, self.held_out.labelled
        _, *counting = baselines(*texts, self.vocabulary, *JUDGED)  # without uniform
        return min(baseline.nats_per_character for baseline in counting)


def read_files(
    sources: Sequence[str],
    config: CorpusConfig | None = None,
    valid: Sequence[str] = (),
    read: Read = content_of,
    typed: Container[str] | None = None,  # names that a person trusts, if these are not all
) -> Corpus:
    """Read the corpus from files; validation files are held out, and everything else trains."""
    config, digest, tidied = config or CorpusConfig(), hashlib.sha256(), Tidied()
    files: dict[str, Mark] = {}

    def read_and_mark(name: str) -> bytes:
        data = read(name)
        if is_kept(name):
            files[name] = len(data), hashlib.sha256(data).hexdigest()
        return unpacked(data, name, is_bounded=typed is not None and name not in typed)

    are_cells = config.reading.column is not None
    kind: Kind = "lines" if are_cells or config.reading.tidy else config.examples
    parts = []
    for names in (sources, valid):
        codes, labels = [np.empty(0, np.uint32)], list[str]()
        repeats = tidied.lines["repeat"]
        for name in names:
            for label, text in labelled_texts(name, config.reading, tidied, read_and_mark):
                digest.update((label + text).encode("utf-8", "surrogatepass") + TEXT_ENDS)
                if kind == "auto" and text.strip():
                    kind = choose_kind(text)  # of the first file for all
                codes.append(split_examples(text, kind))
                del text  # a large one takes much memory
                if config.reading.label_by is not None:
                    labels += [label] * np.count_nonzero(codes[-1] == END_CODE)
        parts.append(Part(np.concatenate(codes), labels))
        if names and not len(parts[-1].codes):
            but = f" in column {config.reading.column}" if are_cells else ""
            but += " once it is tidied" if config.reading.tidy else ""
            hint = "A corpus needs at least one visible character."
            if tidied.lines["repeat"] > repeats:
                but, hint = f"{but}, without repeats", "Hold out lines that are not in the corpus."
            raise CorpusError(f"{name_of(names[0])} is empty{but}", hint)
        if names is sources and valid:
            digest.update(VALID_FOLLOWS)
    head = [] if config.reading.tidy else texts_of(parts[0].codes[:LOOK])[:1]
    train, held_out = parts if valid else hold_out(*parts.pop(0), config.holdout)
    corpus = encoded(train, held_out, config.known, kind, digest.hexdigest())
    corpus = replace(corpus, sources=tuple(sources), valid=tuple(valid), head="".join(head))
    return replace(corpus, files=files, tidied=tidied, are_cells=are_cells)


def corpus_of(
    texts: Texts, config: CorpusConfig | None = None, labels: Iterable[str] | None = None
) -> Corpus:
    """Return the corpus of texts, an example each, or of files. A lone surrogate is UNKNOWN."""
    config, files = config or CorpusConfig(), files_in(texts)
    kinds = None if labels is None else check_texts(labels, "labels")
    if files:
        if kinds is not None:
            raise SettingError("labels are for texts, not for files", "Give a list of texts.")
        try:
            return read_files(files, config)
        except EncodingError as error:
            raise CorpusError(error.what, "Save it as UTF-8, or give its texts.") from None
    listed = check_texts(texts, or_files=True)
    if not any(listed):
        raise CorpusError("the corpus is empty", "Give it a text with at least one character.")
    if kinds is not None and len(kinds) != len(listed):
        what = f"texts and labels differ in number: {len(listed):,} and {len(kinds):,}"
        raise SettingError(what, "Give a label for each text.", "labels")
    if any(re.search("[\ud800-\udbff][\udc00-\udfff]", label) for label in set(kinds or ())):
        what = "a label has a character in two halves, which a file cannot keep"
        raise SettingError(what, "Give it as one character.", "labels")
    digest = hashlib.sha256()
    for text in chain(listed, kinds or ()):
        digest.update(text.encode("utf-8", "surrogatepass") + TEXT_ENDS)
    parts = hold_out(join_examples(listed), kinds or (), config.holdout)
    corpus = encoded(*parts, config.known, "texts", digest.hexdigest())
    if not corpus.vocabulary.characters:
        what = "the corpus has no character to learn from"
        raise CorpusError(what, "Give it more texts that are not empty.")
    return corpus


def files_in(texts: Texts) -> tuple[str, ...]:
    """Return the names of the files, if these are paths and not texts."""
    paths = [texts] if isinstance(texts, Path) else texts
    is_files = isinstance(paths, Sequence) and all(isinstance(path, Path) for path in paths)
    return tuple(map(str, paths)) if is_files else ()


def check_texts(texts: object, name: str = "texts", *, or_files: bool = False) -> list[str]:
    """Return the texts; raise SettingError for a text alone, an open file or a table."""
    is_open, is_table = hasattr(texts, "readline"), hasattr(texts, "columns")
    is_wrong = isinstance(texts, str | bytes | dict) or is_open or is_table
    is_number = getattr(texts, "shape", None) == ()  # an array that cannot be iterated
    if is_wrong or is_number or not isinstance(texts, Iterable):
        several = "one column of the table" if is_table else "a list of texts"
        hint = f"Give {several}{', or Path(...) to read a file' if or_files else ''}."
        raise SettingError(f"{name} cannot be {type(texts).__name__}", hint)
    listed = list(texts)
    for text in listed:
        if not isinstance(text, str):
            one, hint = "text", f"Give texts alone{', or a list of paths' if or_files else ''}."
            if name == "labels":
                one, hint = "label", "Give str(label) for each."
            raise SettingError(f"a {one} cannot be {type(text).__name__}", hint)
    return list(map(str.__str__, listed))  # those of NumPy differ in their repr


def hold_out(codes: Codes, labels: Sequence[str], share: float) -> tuple[Part, Part]:
    """Return training examples and those held out by lot; of a single one, hold out the tail."""
    lengths = np.diff(np.flatnonzero(codes == END_CODE), prepend=-1)  # (n,)  END counted
    count, characters = len(lengths), len(codes) - 1
    if not labels and count == 1 and share > 0 and characters > 1:  # one is not divided
        size = min(max(1, int(characters * (1 - share))), characters - 1)
        return Part(np.append(codes[:size], END_CODE)), Part(codes[size:].copy())
    places: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    drawn = np.zeros(count, np.bool_) if labels else draw_lots(count, share)
    for of_label in places.values():
        if len(of_label) >= FEW_OF_LABEL:  # else none of them are held out
            drawn[of_label] = draw_lots(len(of_label), share)
    is_held_out = drawn.repeat(lengths)  # (S,)
    train = Part(codes[~is_held_out], list(compress(labels, ~drawn)))
    return train, Part(codes[is_held_out], list(compress(labels, drawn)))


def draw_lots(count: int, share: float) -> NDArray[np.bool_]:
    """Return which of so many examples are held out, whatever the seed: one or more, never all."""
    drawn = np.zeros(count, np.bool_)
    total = min(max(1, round(count * share)), count - 1) if share > 0 else 0
    lots = np.random.default_rng(0)
    for first in range(0, count, STRATUM):  # a permutation of all would take much memory
        last = min(first + STRATUM, count)
        size = total * last // count - total * first // count
        drawn[first + lots.choice(last - first, size, replace=False, shuffle=False)] = True
    return drawn


def encoded(train: Part, held_out: Part, known: str, kind: str, fingerprint: str) -> Corpus:
    """Return the corpus with the vocabulary of the training part, and known characters."""
    counts = np.zeros(int(END_CODE) + 1, np.int64)
    for block in in_blocks(train.codes):
        counts += np.bincount(block, minlength=len(counts))
    counts[0xD800:0xE000] = counts[END_CODE] = 0  # lone surrogates
    counted = dict.fromkeys(known, 0)
    counted |= {chr(code): int(counts[code]) for code in np.flatnonzero(counts).tolist()}
    labels = counted_labels(train.labels, held_out.labels, kind)
    vocabulary = replace(Vocabulary.counted(counted, len(train.codes)), labels=labels)

    def examples_of(part: Part) -> Examples:
        ids = vocabulary.encode_codes(part.codes)
        return Examples(ids, vocabulary.label_ids(part.labels) if labels else None)

    texts = examples_of(train), examples_of(held_out)
    return Corpus(vocabulary, *texts, kind, fingerprint, held_out.codes)


def counted_labels(train: Sequence[str], held_out: Sequence[str], kind: str) -> dict[str, int]:
    """Return the labels and the number of training examples of each; CorpusError if that is odd."""
    counts = dict(sorted(Counter(train).items()))
    if train and not 2 <= len(counts) <= MOST_LABELS:
        what = f"there are {len(counts):,} labels, not 2 to {MOST_LABELS:,}"
        what = f"all examples have the label {train[0]}" if len(counts) == 1 else what
        hint = "Name several files, or another column with [label_by]."
        raise CorpusError(what, f"Give 2 to {MOST_LABELS:,} labels." if kind == "texts" else hint)
    for label in (label for label in held_out if label not in counts):
        what = f"the label {label} is only in the held-out part"
        raise CorpusError(what, "Add training examples of it, or leave it out of [valid].")
    return counts


@dataclass(frozen=True)
class Warned:
    """A warning, and the two numbers behind it."""

    kind: str  # few examples, rare labels, repeated, header, or the separator of a table in lines
    count: int  # examples learned from; labels; held-out examples that are known; lines
    of: int  # all examples or labels; held-out examples that were looked for; lines looked at
    what: str = ""  # the column to read; a rare label


def find_warnings(corpus: Corpus) -> list[Warned]:
    """Return the reasons why scores on this corpus may be unreliable."""
    train, held_out, codes = corpus.train, corpus.held_out, corpus.vocabulary.codes
    learned, unseen = (texts_of(codes[part.ids[:LOOKED_THROUGH]]) for part in (train, held_out))
    warned = []
    if len(train) < 2 and corpus.examples_are != "files":  # one does not show how examples end
        warned.append(Warned("few examples", len(train), len(train) + len(held_out)))
    rare = [label for label, n in corpus.vocabulary.labels.items() if n < FEW_OF_LABEL]
    if rare:
        warned.append(Warned("rare labels", len(rare), len(corpus.vocabulary.labels), rare[0]))
    known = set(learned)
    if count := sum(text in known for text in unseen):
        warned.append(Warned("repeated", count, len(unseen)))
    if corpus.examples_are == "lines":
        lines = learned[:LINES_LOOKED_AT]
        if table := table_in(corpus.head, lines, corpus.are_cells):
            kind, count, column = table
            with suppress(CorpusError):  # which is no table then
                rows_of("\n".join([corpus.head, *learned, *unseen]), Reading(column=column), "")
                warned.append(Warned(kind, count, len(lines), column))
        if counts := untidy(lines):
            words = ", ".join(words for _, words in mess_in_words(counts))
            warned.append(Warned("untidy", counts.total(), len(lines), words))
    return warned

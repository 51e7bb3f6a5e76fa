"""What all runs of a sweep learn from, and how it becomes the corpus of one of them.

It holds plain values alone, so that it can be sent to another process. A seed decides which
examples are held out, so each seed has a corpus of its own; it is read once for all runs of that
seed that are made here in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from charrnn.corpus.corpus import Corpus, CorpusConfig, from_texts, load
from charrnn.counts.markov import Baseline
from charrnn.errors import CorpusError, SettingError
from charrnn.model_file import checkpoint
from charrnn.model_file.corpus_record import record_of
from charrnn.model_file.schema import CorpusRecord
from charrnn.network.language_model import LanguageModel
from charrnn.scoring.baselines import by_counting
from charrnn.settings.corpus import Reading


@dataclass(frozen=True)
class Material:
    """Files, or texts from Python; the names that are remembered of them; how they are read."""

    files: tuple[str, ...] = ()  # to be read here and now
    valid_files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # as the user knows them
    valid_names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # where those are
    texts: tuple[str, ...] | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    cutting: dict[str, Any] = field(default_factory=dict)
    start_from: str | None = None  # a model file
    fingerprint: str = ""  # of the corpus, once that was read


def material_of(sent: dict[str, Any]) -> Material:
    """The material from what is left of it when it was sent as JSON, which has no tuples."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in sent.items()
    }
    return Material(**values)


@dataclass(frozen=True)
class Split:
    """The corpus as a seed parts it, and what a model file will say of it."""

    corpus: Corpus
    record: CorpusRecord

    def baselines(self) -> Iterator[Baseline]:
        """What counting makes of it, each written into the record as it is found."""
        for one in by_counting(self.corpus, self.corpus.held_out.ids):
            self.record.baselines[one.name] = one.nats_per_character
            yield one


class Splits:
    """The corpus of each seed, of which the last is kept."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.model = model_in(material.start_from)
        self._last: tuple[int, Split] | None = None

    def of(self, seed: int) -> Split:
        """The corpus of that seed; CorpusError where it is no longer what it was."""
        if self._last is None or self._last[0] != seed:
            self._last = None  # so that two are never in memory
            self._last = seed, self._read(seed)
        return self._last[1]

    def counted(self, seed: int) -> Split:
        """The same, with all that counting makes of it."""
        split = self.of(seed)
        if not split.record.baselines:
            for _ in split.baselines():
                pass
        return split

    def _read(self, seed: int) -> Split:
        m = self.material
        known = "" if self.model is None else self.model.vocabulary.characters
        cutting = CorpusConfig(reading=Reading(**m.reading), seed=seed, known=known, **m.cutting)
        if m.texts is not None:
            corpus = from_texts(m.texts, cutting)
        else:
            corpus = load(m.files, cutting, m.valid_files)
            corpus = replace(corpus, sources=m.names, valid=m.valid_names)
        if m.fingerprint and corpus.fingerprint != m.fingerprint:
            raise CorpusError(
                f"{', '.join(m.names) or 'the corpus'} is no longer what the sweep began with",
                "Give it the same text again, or sweep anew into another folder.",
            )
        if not len(corpus.held_out):
            raise SettingError(
                "a sweep compares held-out losses, and nothing is held out",
                "Hold some out",
                "nothing held out",
            )
        record = record_of(corpus, cutting, {})
        return Split(corpus, replace(record, places=m.places) if m.places else record)


def model_in(path: str | None) -> LanguageModel | None:
    """The model to start from, if there is one."""
    return None if path is None else checkpoint.load_trained(path).model

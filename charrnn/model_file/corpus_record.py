"""What a model file keeps of a corpus: how it was read and cut, and where it was found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from os import PathLike

from charrnn.corpus.corpus import Corpus, CorpusConfig
from charrnn.corpus.file_locations import NOWHERE, place_of, seen_from
from charrnn.model_file.schema import CorpusRecord

Path = str | PathLike[str]


def record_of(corpus: Corpus, config: CorpusConfig, baselines: Mapping[str, float]) -> CorpusRecord:
    """What to keep of a corpus."""
    return CorpusRecord(
        corpus.sources,
        corpus.valid,
        corpus.fingerprint,
        corpus.examples_are,
        config.holdout,
        config.seed,
        **asdict(config.reading),
        examples=len(corpus.train),
        characters=corpus.train.characters,
        held_out_examples=len(corpus.held_out),
        held_out_characters=corpus.held_out.characters,
        baselines=dict(baselines),
        cuts=tuple(each.are for each in corpus.cuts) if corpus.examples_are == "mixed" else (),
        digest=corpus.digest,
        places=tuple(map(place_of, (*corpus.sources, *corpus.valid))),
        known=config.known,
    )


def as_seen_from(model: Path, record: CorpusRecord) -> CorpusRecord:
    """The record as it stands in a model file: no name of a text in it is absolute."""
    places = tuple(seen_from(model, place) for place in record.places)
    ways = places or (NOWHERE,) * len(record.names)
    names = [
        (way or os.path.basename(name)) if os.path.isabs(name) else name
        for name, way in zip(record.names, ways, strict=True)
    ]
    first = len(record.sources)
    sources, valid = tuple(names[:first]), tuple(names[first:])
    return replace(record, sources=sources, valid=valid, places=places)

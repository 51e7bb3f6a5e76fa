"""The options of ``train``, panel by panel; those that it shares with others are in options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from charrnn.cli import values
from charrnn.cli.options import (
    CORPUS_PANEL,
    LEARNING_PANEL,
    NETWORK_PANEL,
    OUTPUT_PANEL,
    flag,
    option,
    sources,
)
from charrnn.cli.values import Kind
from charrnn.corpus.bundled import NAMES

# The limits are those of charrnn.settings, which is not imported here, for numpy comes with it: a
# test holds the two against each other.
SIZE = values.whole(1, 1 << 20)
COUNT = values.whole(1, 1 << 40)
SHARE = values.real(0, 0.95)
FITS = "what fits the corpus"


def _network(name: str, kind: Kind, about: str) -> object:
    return option(name, kind=kind, about=about, default=FITS, panel=NETWORK_PANEL)


def _learning(name: str, kind: Kind, about: str, default: str = "") -> object:
    return option(name, kind=kind, about=about, default=default, panel=LEARNING_PANEL)


Corpus = Annotated[
    list[str] | None,
    sources(
        "CORPUS",
        "Texts to learn from: files, - for standard input, or a corpus that comes with the"
        f" program: {', '.join(NAMES)}.",
    ),
]
Valid = Annotated[
    list[str] | None,
    option(
        "--valid",
        kind=values.text("FILE"),
        about="Hold out this text; may be repeated.",
        default="a part of the corpus",
        panel=CORPUS_PANEL,
    ),
]
Holdout = Annotated[
    float | None,
    option(
        "--holdout",
        kind=values.real(0, 1, below=True),
        about="Hold out this share of the corpus.",
        default="0.1",
        panel=CORPUS_PANEL,
    ),
]
Carry = Annotated[
    bool | None,
    flag(
        "--carry/--reset",
        about="Let examples follow each other as a book does, or begin each afresh, as usual.",
        panel=CORPUS_PANEL,
    ),
]

Hidden = Annotated[int | None, _network("--hidden", SIZE, "Units in a layer.")]
Layers = Annotated[int | None, _network("--layers", values.whole(1, 64), "Layers.")]
Dropout = Annotated[
    float | None, _network("--dropout", SHARE, "Share of units hidden from the layer above.")
]
Dropconnect = Annotated[
    float | None, _network("--dropconnect", SHARE, "Share of recurrent weights hidden.")
]
Blank = Annotated[
    float | None, _network("--blank", SHARE, "Share of characters that are read as unknown.")
]

Bptt = Annotated[
    int | None,
    _learning(
        "--bptt",
        values.whole(0, 1 << 20),
        "Steps that the gradient goes back; 0: a whole example.",
        FITS,
    ),
]
Batch = Annotated[
    int | None, _learning("--batch", SIZE, "Examples that are read side by side.", FITS)
]
Optimizer = Annotated[
    str | None,
    _learning(
        "--optimizer",
        values.one_of("adam", "rmsprop", "adagrad", "sgd"),
        "What makes a step of a gradient.",
        "adam",
    ),
]
Rate = Annotated[
    float | None,
    _learning("--lr", values.real(1e-12, 1e6), "How long a step is: the learning rate.", FITS),
]
Schedule = Annotated[
    str | None,
    _learning(
        "--schedule",
        values.one_of("cosine", "linear", "constant"),
        "How the learning rate falls.",
        "cosine",
    ),
]
Warmup = Annotated[
    int | None,
    _learning(
        "--warmup",
        values.whole(0, 1 << 40),
        "Steps in which the learning rate rises.",
        "a twentieth of the run, up to 200",
    ),
]
Clip = Annotated[
    float | None,
    _learning("--clip", values.real(0, 1e12), "The longest gradient; 0: any.", "1"),
]
WeightDecay = Annotated[
    float | None,
    _learning("--weight-decay", values.real(0, 1e6), "How much weights are drawn to zero.", "0"),
]
Epochs = Annotated[int | None, _learning("--epochs", COUNT, "How often the corpus is read.", FITS)]
Minutes = Annotated[
    float | None,
    _learning("--minutes", values.real(1e-3, 1e7), "End after so many minutes.", "when it is done"),
]
Patience = Annotated[
    int | None,
    _learning(
        "--patience", COUNT, "End after so many check-ups with nothing better.", "to the end"
    ),
]
CheckEvery = Annotated[
    int | None,
    _learning("--check-every", COUNT, "Steps from check-up to check-up.", "some 40 in a run"),
]
Seed = Annotated[
    int | None,
    _learning(
        "--seed",
        values.whole(0, 2**64 - 1),
        "Where random numbers start: same seed, same threads, same bytes.",
        "0",
    ),
]

Resume = Annotated[
    bool, flag("--resume", about="Go on with the run in the model file.", panel=OUTPUT_PANEL)
]
Force = Annotated[
    bool, flag("--force", about="Replace a model file that is there.", panel=OUTPUT_PANEL)
]
Metrics = Annotated[
    Path | None,
    option(
        "--metrics",
        kind=values.path(),
        about="Append a line of JSON to this file for each step and each check-up.",
        panel=OUTPUT_PANEL,
    ),
]
Preview = Annotated[
    int | None,
    option(
        "--preview",
        kind=values.whole(0, 100),
        about="How many samples to show at a check-up.",
        default="1",
        panel=OUTPUT_PANEL,
    ),
]
DryRun = Annotated[
    bool, flag("--dry-run", about="Show the plan, and leave it at that.", panel=OUTPUT_PANEL)
]
